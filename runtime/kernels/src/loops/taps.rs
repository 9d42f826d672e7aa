//! Bilinear interpolation between pixels.

use smallvec::SmallVec;

use crate::elements::float::Float;

/// A pixel that a sample depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tap<T> {
    /// The index of the pixel in its image.
    pub(crate) pixel: usize,
    pub(crate) weight: T,
    /// The derivatives of the weight with respect to the row and the column of the sample.
    pub(crate) slopes: [T; 2],
}

/// The pixels that a sample depends on.
pub(crate) type Taps<T> = SmallVec<[Tap<T>; 4]>;

/// Returns the pixels that a sample at a given row and column depends on. Pixels outside the image are zero.
pub(crate) fn taps<T: Float>(y: T, x: T, [height, width]: [usize; 2]) -> Taps<T> {
    let inside = |place: T, len: usize| place > -T::ONE && place < T::of(len as f64);
    let mut taps = SmallVec::new();
    if !inside(y, height) || !inside(x, width) {
        return taps;
    }
    let (top, left) = (y.floor(), x.floor());
    let (down, right) = (y - top, x - left);
    for (row, of_row, slope_of_row) in [(0, T::ONE - down, -T::ONE), (1, down, T::ONE)] {
        for (column, of_column, slope_of_column) in [(0, T::ONE - right, -T::ONE), (1, right, T::ONE)] {
            let index = |low: T, high: i64, len: usize| {
                let low: f64 = low.into();
                usize::try_from(low as i64 + high).ok().filter(|&index| index < len)
            };
            if let (Some(row), Some(column)) = (index(top, row, height), index(left, column, width)) {
                taps.push(Tap {
                    pixel: row * width + column,
                    weight: of_row * of_column,
                    slopes: [slope_of_row * of_column, of_row * slope_of_column],
                });
            }
        }
    }
    taps
}

/// Returns the pixels that a sample depends on by the rules of RoI Align: outside the image, pixels are those at
/// its edge, and a sample more than one pixel outside is zero.
pub(crate) fn clamped_taps<T: Float>(y: T, x: T, [height, width]: [usize; 2]) -> Taps<T> {
    let mut moved = [false; 2];
    let mut inside = [T::ZERO; 2];
    for (axis, (place, len)) in [(y, height), (x, width)].into_iter().enumerate() {
        let len = T::of(len as f64);
        if !(place >= -T::ONE && place <= len) || len == T::ZERO {
            return Taps::new();
        }
        inside[axis] = place.max(T::ZERO).min(len - T::ONE);
        moved[axis] = inside[axis] != place;
    }
    let mut taps = taps(inside[0], inside[1], [height, width]);
    for tap in &mut taps {
        for (slope, moved) in tap.slopes.iter_mut().zip(moved) {
            *slope = if moved { T::ZERO } else { *slope };
        }
    }
    taps
}
