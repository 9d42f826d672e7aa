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
    with_word!(out.dtype(), W => {
        let missing = words::<W>(missing)?.first().copied().unwrap_or_default();
        with_slices::<W, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            walk(out, x, maps, &strides, 0, missing);
            Ok(())
        })
    })
}

fn walk<W: Copy>(out: &mut [W], x: &[W], maps: &[Map], strides: &[isize], at: usize, missing: W) {
    let Some((map, rest)) = maps.split_first() else {
        out[0] = x[at];
        return;
    };
    if out.is_empty() {
        return;
    }
    if let [stride] = *strides {
        for (out, index) in out.iter_mut().zip(map) {
            *out = index.map_or(missing, |index| x[at + index * stride as usize]);
        }
        return;
    }
    let chunk = out.len() / map.len();
    for (out, index) in out.chunks_exact_mut(chunk).zip(map) {
        match index {
            None => out.fill(missing),
            Some(index) => walk(out, x, rest, &strides[1..], at + index * strides[0] as usize, missing),
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
