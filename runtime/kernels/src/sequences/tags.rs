//! The tags with the largest sum of scores and transitions (Viterbi, 1967).

use super::lengths;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, elements, integers, store_integers};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the sums of [`viterbi_decode`].
///
/// # Errors
/// As [`viterbi_decode`].
pub fn viterbi_scores_shape(
    potentials: TensorMeta<'_>,
    _transition: TensorMeta<'_>,
    _lengths: &View<'_>,
    _include_bos_eos_tag: bool,
) -> Result<Vec<usize>> {
    Ok(vec![sizes(potentials.dims())?[0]])
}

/// Computes the shape of the tags of [`viterbi_decode`].
///
/// # Errors
/// As [`viterbi_decode`].
pub fn viterbi_path_shape(
    potentials: TensorMeta<'_>,
    _transition: TensorMeta<'_>,
    lengths: &View<'_>,
    _include_bos_eos_tag: bool,
) -> Result<Vec<usize>> {
    let [batch, times, _] = sizes(potentials.dims())?;
    let longest = integers(lengths)?.into_iter().max().unwrap_or(0);
    let longest = usize::try_from(longest).ok().filter(|&longest| longest <= times);
    longest.map(|longest| vec![batch, longest]).ok_or(Error::Overflow)
}

/// Finds the tags of each sequence with the largest sum of scores and transitions, and that sum. Scores are `[batch,
/// times, tags]`, and transitions `[tags, tags]`: from the row to the column. With `include_bos_eos_tag`, the row of
/// the last tag is added at the first time, and the one before it at the last time. Behind a sequence, tags are 0.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`] for a length that is longer than the scores,
/// [`Error::Attribute`] for `include_bos_eos_tag` with less than two tags, and [`Error::Type`].
pub fn viterbi_decode(
    scores: &mut ViewMut<'_>,
    path: &mut ViewMut<'_>,
    potentials: &View<'_>,
    transition: &View<'_>,
    lengths: &View<'_>,
    include_bos_eos_tag: bool,
) -> Result<()> {
    let [batch, times, tags] = sizes(potentials.dims())?;
    expect_shape(&[tags, tags], transition.dims())?;
    if (include_bos_eos_tag && tags < 2) || tags == 0 {
        return Err(Error::Attribute { name: "include_bos_eos_tag", value: include_bos_eos_tag.to_string() });
    }
    let lengths = self::lengths(lengths, batch, times)?;
    let longest = lengths.iter().copied().max().unwrap_or(0);
    expect_shape(&[batch], scores.dims())?;
    expect_shape(&[batch, longest], path.dims())?;
    if times == 0 && batch > 0 {
        return Err(Error::Empty);
    }
    with_float!(potentials.dtype(), T => {
        let (mut sums, mut all) = (vec![], vec![0; batch * longest]);
        {
            let (potentials, transition) = (elements::<T>(potentials)?, elements::<T>(transition)?);
            let model = Model { transition: &transition, tags, has_ends: include_bos_eos_tag };
            for (n, &length) in lengths.iter().enumerate() {
                let own = &potentials[n * times * tags..][..times * tags];
                sums.push(model.decode(own, &mut all[n * longest..][..length]));
            }
        }
        T::store(scores, &sums)?;
        store_integers(path, &all)
    })
}

fn sizes(dims: &[usize]) -> Result<[usize; 3]> {
    dims.try_into().map_err(|_| Error::Rank { dims: dims.len(), strides: 3 })
}

struct Model<'t, T> {
    transition: &'t [T],
    tags: usize,
    has_ends: bool,
}

impl<T: Float> Model<'_, T> {
    /// Writes the tags of a sequence, and returns their sum. An empty sequence has the sum of its first time.
    fn decode(&self, scores: &[T], path: &mut [i64]) -> T {
        let row = |tag: usize| &self.transition[tag * self.tags..][..self.tags];
        let add = |sums: &mut [T], tag: usize| {
            sums.iter_mut().zip(row(tag)).for_each(|(sum, &score)| *sum += score);
        };
        let mut sums = scores[..self.tags].to_vec();
        if self.has_ends {
            add(&mut sums, self.tags - 1);
            if path.len() == 1 {
                add(&mut sums, self.tags - 2);
            }
        }
        // The best tag before each tag, for all times but the first.
        let mut before: Vec<usize> = vec![];
        for time in 1..path.len() {
            let best = |to: usize| first_largest((0..self.tags).map(|from| sums[from] + row(from)[to]));
            let found: Vec<(usize, T)> = (0..self.tags).map(best).collect();
            before.extend(found.iter().map(|&(from, _)| from));
            let own = &scores[time * self.tags..][..self.tags];
            sums = found.iter().zip(own).map(|(&(_, sum), &score)| sum + score).collect();
            if self.has_ends && time + 1 == path.len() {
                add(&mut sums, self.tags - 2);
            }
        }
        let (mut tag, sum) = first_largest(sums.into_iter());
        for time in (0..path.len()).rev() {
            path[time] = tag as i64;
            if time > 0 {
                tag = before[(time - 1) * self.tags + tag];
            }
        }
        sum
    }
}

/// Returns the first of the largest numbers, and its index.
fn first_largest<T: Float>(numbers: impl Iterator<Item = T>) -> (usize, T) {
    let larger = |best: (usize, T), next: (usize, T)| if next.1 > best.1 { next } else { best };
    numbers.enumerate().reduce(larger).unwrap_or((0, T::LOWEST))
}
