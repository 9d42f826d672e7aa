//! The elements of dense tensors along one dimension, line by line.

use crate::axis::Around;
use crate::float::Float;
use crate::simd::wide;

/// Calls a function for each line of an output along a dimension, with the same lines of inputs of the same shape.
///
/// Lines whose elements are not neighbours are copied: so the function sees slices.
pub(crate) fn each_line<T: Copy, const N: usize>(
    shape: Around,
    out: &mut [T],
    inputs: [&[T]; N],
    mut function: impl FnMut(&mut [T], [&[T]; N]),
) {
    let Around { outer, len, inner } = shape;
    if len == 0 {
        return;
    }
    if inner == 1 {
        for (line, out) in out.chunks_exact_mut(len).enumerate() {
            function(out, inputs.map(|input| &input[line * len..][..len]));
        }
        return;
    }
    let mut lines: [Vec<T>; N] = [const { Vec::new() }; N];
    let mut result = Vec::new();
    for start in (0..outer).flat_map(|outer| (0..inner).map(move |n| outer * len * inner + n)) {
        for (line, input) in lines.iter_mut().zip(inputs) {
            line.clear();
            line.extend(input[start..].iter().step_by(inner).take(len));
        }
        result.clear();
        result.extend(out[start..].iter().step_by(inner).take(len));
        function(&mut result, std::array::from_fn(|n| &lines[n][..]));
        for (target, &value) in out[start..].iter_mut().step_by(inner).zip(&result) {
            *target = value;
        }
    }
}

/// Partial results that are accumulated side by side, so that the compiler vectorises the loops.
const LANES: usize = 64;

/// The largest of some numbers: NaN if one is, negative infinity if there are none.
pub(crate) fn largest<T: Float>(line: &[T]) -> T {
    let (chunks, rest) = line.as_chunks::<LANES>();
    let mut lanes = [T::of(f64::NEG_INFINITY); LANES];
    wide(
        #[inline(always)]
        || {
            for chunk in chunks {
                lanes.iter_mut().zip(chunk).for_each(|(lane, &value)| *lane = lane.max(value));
            }
        },
    );
    lanes.into_iter().chain(rest.iter().copied()).fold(T::of(f64::NEG_INFINITY), T::max)
}

/// Adds values up in lanes, so that large sums lose little.
pub(crate) fn sum<T: Float>(len: usize, value: impl Fn(usize) -> T) -> T {
    let mut lanes = [T::ZERO; LANES];
    let whole = len - len % LANES;
    wide(
        #[inline(always)]
        || {
            for start in (0..whole).step_by(LANES) {
                lanes.iter_mut().enumerate().for_each(|(n, lane)| *lane += value(start + n));
            }
        },
    );
    let rest = (whole..len).fold(T::ZERO, |sum, n| sum + value(n));
    lanes.into_iter().fold(rest, |sum, lane| sum + lane)
}
