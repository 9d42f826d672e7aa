//! Tensors whose elements are selected from an input by one index for each dimension.

use crate::elements::accumulate::with_number;
use crate::error::Result;
use crate::loops::convert::Compute;
use crate::loops::movement::{with_word, words};
use crate::loops::slices::{Slot, with_slices};
use crate::tensor::strided::contiguous_strides;
use crate::tensor::{View, ViewMut};

/// For each index of an output along a dimension, the index of the input, if there is one.
pub(super) type Map = Vec<Option<usize>>;

/// Copies the elements that the maps select. Where a map has no index, the element of `missing` is used.
///
/// The maps must have the lengths of the output, and their indices must be in range for the input.
pub(super) fn take(out: &mut ViewMut<'_>, x: &View<'_>, maps: &[Map], missing: &View<'_>) -> Result<()> {
    let strides = contiguous_strides(x.dims())?;
    let runs = maps.last().map(runs).unwrap_or_default();
    with_word!(out.dtype(), W => {
        let missing = words::<W>(missing)?.first().copied().unwrap_or_default();
        with_slices::<W, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            walk(out, x, maps, &runs, &strides, 0, missing);
            Ok(())
        })
    })
}

/// Neighbours in a row of the output that come from neighbours in a row of the input, or that have no source.
struct Run {
    len: usize,
    first: Option<usize>,
}

/// Splits a map into runs. Returns none if they are too short to be copied as a whole.
fn runs(map: &Map) -> Vec<Run> {
    const SHORTEST: usize = 8;
    let mut runs: Vec<Run> = Vec::new();
    for &index in map {
        match runs.last_mut() {
            Some(Run { len, first }) if index == first.map(|first| first + *len) => *len += 1,
            _ => runs.push(Run { len: 1, first: index }),
        }
    }
    if runs.len() * SHORTEST > map.len() { Vec::new() } else { runs }
}

fn walk<W: Copy>(
    mut out: &mut [W],
    x: &[W],
    maps: &[Map],
    runs: &[Run],
    strides: &[isize],
    at: usize,
    missing: W,
) {
    let Some((map, rest)) = maps.split_first() else {
        out[0] = x[at];
        return;
    };
    if out.is_empty() {
        return;
    }
    if let [stride] = *strides {
        for run in runs {
            let part = out.split_off_mut(..run.len).unwrap_or_default();
            match run.first {
                None => part.fill(missing),
                Some(first) => part.copy_from_slice(&x[at + first..][..run.len]),
            }
        }
        // Everything, without runs.
        for (out, index) in out.iter_mut().zip(map) {
            *out = index.map_or(missing, |index| x[at + index * stride as usize]);
        }
        return;
    }
    let chunk = out.len() / map.len();
    for (out, index) in out.chunks_exact_mut(chunk).zip(map) {
        match index {
            None => out.fill(missing),
            Some(index) => {
                walk(out, x, rest, runs, &strides[1..], at + index * strides[0] as usize, missing);
            }
        }
    }
}

/// Adds each element to the element that the maps select for it: the gradient of [`take`].
pub(super) fn add_back(dx: &mut ViewMut<'_>, dout: &View<'_>, maps: &[Map]) -> Result<()> {
    fn each<T: Compute + Slot>(dx: ViewMut<'_>, dout: &View<'_>, maps: &[Map]) -> Result<()> {
        let strides = contiguous_strides(dx.dims())?;
        with_slices::<T, 1, 1>([dx], [dout], |[dx], [dout]| {
            dx.fill(T::of(0.0));
            add(dx, dout, maps, &strides, 0);
            Ok(())
        })
    }
    with_number!(dout.dtype(), T => each::<T>(dx.reborrow(), dout, maps))
}

fn add<T: Compute>(dx: &mut [T], dout: &[T], maps: &[Map], strides: &[isize], at: usize) {
    let Some((map, rest)) = maps.split_first() else {
        dx[at] = dx[at] + dout[0];
        return;
    };
    if dout.is_empty() {
        return;
    }
    let chunk = dout.len() / map.len();
    for (dout, index) in dout.chunks_exact(chunk).zip(map) {
        if let Some(index) = index {
            add(dx, dout, rest, &strides[1..], at + index * strides[0] as usize);
        }
    }
}
