//! The distance of sequences (Levenshtein, 1966).

use super::lengths;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::slices::{Slot, integers, store_integers};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the number of sequences of [`edit_distance`].
///
/// # Errors
/// None.
pub fn edit_count_shape(
    _hyps: TensorMeta<'_>,
    _refs: TensorMeta<'_>,
    _hypslength: Option<TensorMeta<'_>>,
    _refslength: Option<TensorMeta<'_>>,
    _normalized: bool,
) -> Result<Vec<usize>> {
    Ok(vec![1])
}

/// Computes the shape of the distances of [`edit_distance`].
///
/// # Errors
/// As [`edit_distance`].
pub fn edit_distance_shape(
    hyps: TensorMeta<'_>,
    _refs: TensorMeta<'_>,
    _hypslength: Option<TensorMeta<'_>>,
    _refslength: Option<TensorMeta<'_>>,
    _normalized: bool,
) -> Result<Vec<usize>> {
    Ok(vec![matrix(hyps.dims())?[0], 1])
}

/// Counts the insertions, deletions and substitutions from each sequence to its reference. Without lengths, sequences
/// are whole rows. `normalized` divides the number by the length of the reference.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`] for a length that is longer than a row, [`Error::Empty`] for an
/// empty reference with `normalized`, and [`Error::Type`] unless the sequences are integers.
pub fn edit_distance(
    sequencenum: &mut ViewMut<'_>,
    out: &mut ViewMut<'_>,
    hyps: &View<'_>,
    refs: &View<'_>,
    hypslength: Option<&View<'_>>,
    refslength: Option<&View<'_>>,
    normalized: bool,
) -> Result<()> {
    let ([batch, width], [references, reference_width]) = (matrix(hyps.dims())?, matrix(refs.dims())?);
    expect_length("refs", batch, references)?;
    expect_shape(&[batch, 1], out.dims())?;
    let own = hypslength.map_or(Ok(vec![width; batch]), |view| lengths(view, batch, width))?;
    let of_references =
        refslength.map_or(Ok(vec![reference_width; batch]), |view| lengths(view, batch, reference_width))?;
    if normalized && of_references.contains(&0) {
        return Err(Error::Empty);
    }
    let (hyps, refs) = (integers(hyps)?, integers(refs)?);
    let distance = |n: usize| {
        let edits = edits(&hyps[n * width..][..own[n]], &refs[n * reference_width..][..of_references[n]]);
        edits as f64 / if normalized { of_references[n] as f64 } else { 1.0 }
    };
    <f64 as Slot>::store(out, &(0..batch).map(distance).collect::<Vec<f64>>())?;
    store_integers(sequencenum, &[batch as i64])
}

fn matrix(dims: &[usize]) -> Result<[usize; 2]> {
    dims.try_into().map_err(|_| Error::Rank { dims: dims.len(), strides: 2 })
}

fn edits(from: &[i64], to: &[i64]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (n, token) in from.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = n + 1;
        for (place, other) in to.iter().enumerate() {
            let substituted = diagonal + usize::from(token != other);
            diagonal = row[place + 1];
            row[place + 1] = substituted.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[to.len()]
}
