//! Sliding windows over images: their attributes and the elements that they cover.
//!
//! Images have one to three dimensions. All are treated as three-dimensional: missing dimensions are added in
//! front, with length one.

use std::ops::Range;

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::tensor::{View, ViewMut};

/// The spatial dimensions of an image: depth, height and width.
pub(crate) const SPACE: usize = 3;

/// A number for each spatial dimension.
pub type Spatial<T> = [T; SPACE];

/// Returns true if a layout's name says that the last dimension is the channels, and false if the second one is.
pub(crate) fn channels_last(data_format: &str) -> Result<bool> {
    match data_format {
        "NCHW" | "NCDHW" | "NCL" | "AnyLayout" | "ANYLAYOUT" => Ok(false),
        "NHWC" | "NDHWC" | "NLC" => Ok(true),
        _ => Err(Error::Attribute { name: "data_format", value: data_format.to_owned() }),
    }
}

/// Returns a view with the channels as the second dimension.
pub(crate) fn channels_first<'v>(view: &View<'v>, last: bool) -> View<'v> {
    if last { view.clone().move_last_to_second() } else { view.clone() }
}

/// Returns an output with the channels as the second dimension, as [`channels_first`] does.
pub(crate) fn channels_first_mut<'v>(view: &'v mut ViewMut<'_>, last: bool) -> ViewMut<'v> {
    if last { view.reborrow().move_last_to_second() } else { view.reborrow() }
}

/// Returns the lengths of the spatial dimensions of a tensor `[batch, channels, …]`.
///
/// # Errors
/// [`Error::Rank`] unless there are one to three.
pub(crate) fn space(dims: &[usize]) -> Result<Spatial<usize>> {
    match dims {
        [_, _, space @ ..] if (1..=SPACE).contains(&space.len()) => Ok(padded(space, 1)),
        _ => Err(Error::Rank { dims: dims.len(), strides: SPACE + 1 }),
    }
}

/// Prepends `missing` for each missing dimension.
fn padded<T: Copy>(values: &[T], missing: T) -> Spatial<T> {
    let mut padded = [missing; SPACE];
    padded[SPACE - values.len()..].copy_from_slice(values);
    padded
}

/// Reads an attribute that has one number for each spatial dimension.
///
/// # Errors
/// [`Error::Attribute`] unless there are as many numbers as dimensions, none of them below `least`.
pub(crate) fn attribute(
    name: &'static str,
    values: &[i64],
    rank: usize,
    least: i64,
) -> Result<Spatial<usize>> {
    let refused = || Error::Attribute { name, value: format!("{values:?}") };
    let numbers: Option<SmallVec<[usize; SPACE]>> =
        values.iter().map(|&value| usize::try_from(value).ok().filter(|_| value >= least)).collect();
    numbers
        .filter(|numbers| numbers.len() == rank)
        .map(|numbers| padded(&numbers, least as usize))
        .ok_or_else(refused)
}

/// Computes the padding before the first and after the last element of each spatial dimension.
///
/// A list has one or two numbers for each spatial dimension, or two for each dimension of the tensor. With
/// the algorithm `"SAME"`, the number of windows is the length of the image divided by the stride, rounded
/// up. With `"VALID"` there is no padding.
///
/// # Errors
/// [`Error::Attribute`].
pub(crate) fn paddings(
    values: &[i64],
    algorithm: &str,
    rank: usize,
    image: Spatial<usize>,
    kernel: Spatial<usize>,
    strides: Spatial<usize>,
) -> Result<Spatial<[usize; 2]>> {
    match algorithm {
        "VALID" => Ok([[0; 2]; SPACE]),
        "SAME" => Ok(std::array::from_fn(|n| {
            let windows = image[n].div_ceil(strides[n]);
            let needed = windows.saturating_sub(1) * strides[n] + kernel[n];
            let total = needed.saturating_sub(image[n]);
            [total / 2, total - total / 2]
        })),
        "EXPLICIT" => {
            let refused = || Error::Attribute { name: "paddings", value: format!("{values:?}") };
            let numbers: Option<SmallVec<[usize; 2 * SPACE]>> =
                values.iter().map(|&value| usize::try_from(value).ok()).collect();
            let numbers = numbers.ok_or_else(refused)?;
            let pairs: SmallVec<[[usize; 2]; SPACE]> = match numbers.len() {
                len if len == rank => numbers.iter().map(|&padding| [padding; 2]).collect(),
                len if len == 2 * rank => numbers.as_chunks().0.iter().copied().collect(),
                _ => return Err(refused()),
            };
            Ok(padded(&pairs, [0; 2]))
        }
        _ => Err(Error::Attribute { name: "padding_algorithm", value: algorithm.to_owned() }),
    }
}

/// Returns the number of windows of `span` elements, `stride` apart, in `room` elements.
///
/// If the window is longer than the room by less than the stride, hosts differ: the quotient of a negative
/// number and the stride is rounded down, or truncated toward zero as in PaddlePaddle, so there is no window
/// or one. `wanted`, the number of windows in the host's result, decides.
pub(crate) fn windows(room: usize, span: usize, stride: usize, wanted: usize) -> usize {
    match room.checked_sub(span) {
        Some(rest) => rest / stride + 1,
        None => usize::from(wanted == 1 && span - room < stride),
    }
}

/// Returns the windows whose element at an offset from the window's start is in the image: the `n` below
/// `windows` for which `n * stride + offset` is at least 0 and below `len`.
pub(crate) fn inside(windows: usize, stride: usize, offset: isize, len: usize) -> Range<usize> {
    let end = usize::try_from(len as isize - offset).map_or(0, |reach| reach.div_ceil(stride)).min(windows);
    let start = if offset < 0 { offset.unsigned_abs().div_ceil(stride) } else { 0 };
    start.min(end)..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_longer_than_the_room_are_counted_as_the_host_does() {
        assert_eq!((windows(4, 5, 3, 1), windows(4, 5, 3, 0)), (1, 0));
        assert_eq!((windows(4, 7, 3, 1), windows(4, 5, 1, 1)), (0, 0));
        assert_eq!((windows(4, 4, 3, 0), windows(7, 4, 3, 1), windows(0, 0, 1, 0)), (1, 2, 1));
    }
}
