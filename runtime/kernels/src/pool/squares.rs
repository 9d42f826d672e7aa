//! Pooling with windows of two by two elements that do not overlap.
//!
//! Most pooling has such windows. Their rows are neighbours, so one pass over pairs of rows computes all windows of an
//! image with vector instructions.

use super::plan::{Plan, Window};
use crate::elements::float::Float;
use crate::loops::simd::wide;

impl Plan {
    /// Returns true if the windows are squares of two by two elements that cover each image exactly.
    pub(super) fn has_squares(&self) -> bool {
        let is_cut = |windows: &[Window], len: usize, size: usize| {
            let mut windows = windows.iter().zip((0..len).step_by(size));
            len.is_multiple_of(size)
                && windows.all(|(w, start)| (w.start, w.end, w.len) == (start, start + size, size))
        };
        let [zs, ys, xs] = &self.windows;
        let [depth, height, width] = self.image;
        let counts = [zs.len(), 2 * ys.len(), 2 * xs.len()];
        counts == self.image && is_cut(zs, depth, 1) && is_cut(ys, height, 2) && is_cut(xs, width, 2)
    }
}

/// Combines the elements of each window. `width` is the length of a row of `x`.
///
/// The function should be `#[inline(always)]`.
pub(super) fn combine<T: Float>(out: &mut [T], x: &[T], width: usize, value: impl Fn([T; 4]) -> T) {
    let rows = x.chunks_exact((2 * width).max(1));
    wide(
        #[inline(always)]
        || {
            for (out, rows) in out.chunks_exact_mut((width / 2).max(1)).zip(rows) {
                let [top, bottom] = [&rows[..width], &rows[width..]].map(|row| row.as_chunks::<2>().0);
                for ((out, &[a, b]), &[c, d]) in out.iter_mut().zip(top).zip(bottom) {
                    *out = value([a, b, c, d]);
                }
            }
        },
    );
}

/// Stores the gradient of the largest elements: that of each window at the first of them, and zeros elsewhere.
pub(super) fn gradient_of_largest<T: Float>(dx: &mut [T], x: &[T], dout: &[T], width: usize) {
    let size = (2 * width).max(1);
    let windows = dx.chunks_exact_mut(size).zip(x.chunks_exact(size));
    for ((dx, x), dout) in windows.zip(dout.chunks_exact((width / 2).max(1))) {
        let ([top, bottom], (dtop, dbottom)) = ([&x[..width], &x[width..]], dx.split_at_mut(width));
        let [top, bottom] = [top, bottom].map(|row| row.as_chunks::<2>().0);
        let [dtop, dbottom] = [dtop, dbottom].map(|row| row.as_chunks_mut::<2>().0);
        wide(
            #[inline(always)]
            || gradient_of_rows([dtop, dbottom], [top, bottom], dout),
        );
    }
}

/// Stores the gradient of the means: a quarter of that of its window at each element.
pub(super) fn gradient_of_means<T: Float>(dx: &mut [T], dout: &[T], width: usize) {
    let quarter = T::of(0.25);
    for (rows, dout) in dx.chunks_exact_mut((2 * width).max(1)).zip(dout.chunks_exact((width / 2).max(1))) {
        let (top, bottom) = rows.split_at_mut(width);
        wide(
            #[inline(always)]
            || {
                for (dx, &dout) in top.as_chunks_mut::<2>().0.iter_mut().zip(dout) {
                    *dx = [dout * quarter; 2];
                }
            },
        );
        bottom.copy_from_slice(top);
    }
}

/// Stores the gradient of the windows in two rows.
#[inline(always)]
fn gradient_of_rows<T: Float>(
    [dtop, dbottom]: [&mut [[T; 2]]; 2],
    [top, bottom]: [&[[T; 2]]; 2],
    dout: &[T],
) {
    let count = dout.len();
    let (dtop, dbottom, top, bottom) =
        (&mut dtop[..count], &mut dbottom[..count], &top[..count], &bottom[..count]);
    for n in 0..count {
        let ([a, b], [c, d], dout) = (top[n], bottom[n], dout[n]);
        let (is_b, is_d) = (is_larger(b, a), is_larger(d, c));
        let (upper, lower) = (if is_b { b } else { a }, if is_d { d } else { c });
        let is_lower = is_larger(lower, upper);
        let (above, below) = if is_lower { (T::ZERO, dout) } else { (dout, T::ZERO) };
        dtop[n] = if is_b { [T::ZERO, above] } else { [above, T::ZERO] };
        dbottom[n] = if is_d { [T::ZERO, below] } else { [below, T::ZERO] };
    }
}

/// Returns true if a number is larger than an earlier one. NaN is larger than any number.
#[inline(always)]
fn is_larger<T: Float>(x: T, earlier: T) -> bool {
    (x > earlier) | (x.is_nan() & !earlier.is_nan())
}
