//! Processes dense tensors along one dimension, line by line.

use crate::elements::float::Float;
use crate::loops::simd::wide;
use crate::tensor::axis::Around;

/// Calls a function for each line of an output along a dimension, with the same line of each input. Inputs
/// have the shape of the output.
///
/// Lines that are not contiguous are copied, so that the function receives slices.
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

/// The number of independent partial results, so that the compiler vectorises the loops.
const LANES: usize = 64;

/// Combines partial results pairwise, which the compiler also vectorises.
#[inline(always)]
pub(crate) fn in_pairs<T: Copy, const N: usize>(mut lanes: [T; N], step: impl Fn(T, T) -> T) -> T {
    let mut half = N / 2;
    while half > 0 {
        for n in 0..half {
            lanes[n] = step(lanes[n], lanes[n + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Returns the maximum: NaN if any number is NaN, and negative infinity if there are none.
///
/// NaN is looked for separately: a maximum that keeps NaN takes three instructions and a mask.
pub(crate) fn largest<T: Float>(line: &[T]) -> T {
    let has_nan = wide(
        #[inline(always)]
        move || {
            let mut found = 0;
            for value in line {
                found |= u32::from(value.is_nan());
            }
            found != 0
        },
    );
    if has_nan { T::of(f64::NAN) } else { largest_number(line) }
}

/// Returns the maximum of all numbers except NaN, and negative infinity if there are none.
pub(crate) fn largest_number<T: Float>(line: &[T]) -> T {
    let (chunks, rest) = line.as_chunks::<LANES>();
    let mut top = T::of(f64::NEG_INFINITY);
    for &value in rest {
        top = larger(value, top);
    }
    if !chunks.is_empty() {
        // Results are returned: through a captured reference, the compiler keeps lanes in memory.
        let top_of_chunks = wide(
            #[inline(always)]
            move || {
                let mut lanes = [T::of(f64::NEG_INFINITY); LANES];
                for chunk in chunks {
                    for n in 0..LANES {
                        lanes[n] = larger(chunk[n], lanes[n]);
                    }
                }
                in_pairs(lanes, larger)
            },
        );
        top = larger(top_of_chunks, top);
    }
    top
}

/// Returns the larger number, or the second one if the first is NaN.
#[inline(always)]
fn larger<T: Float>(value: T, top: T) -> T {
    if value > top { value } else { top }
}

/// Sums the elements of a line in lanes, so that large sums lose little precision.
pub(crate) fn total<T: Float>(line: &[T]) -> T {
    let (chunks, rest) = line.as_chunks::<LANES>();
    let mut total = T::ZERO;
    for &value in rest {
        total += value;
    }
    if !chunks.is_empty() {
        total += wide(
            #[inline(always)]
            move || {
                let mut lanes = [T::ZERO; LANES];
                for chunk in chunks {
                    for n in 0..LANES {
                        lanes[n] += chunk[n];
                    }
                }
                in_pairs(
                    lanes,
                    #[inline(always)]
                    |a, b| a + b,
                )
            },
        );
    }
    total
}

/// Sums the values that a function computes from the elements of lines of equal length. Accumulates in lanes,
/// so that large sums lose little precision.
///
/// The function should be `#[inline(always)]`.
pub(crate) fn sum<T: Float, const N: usize>(lines: [&[T]; N], value: impl Fn([T; N]) -> T) -> T {
    let len = lines[0].len();
    let whole = len - len % LANES;
    let at = |index: usize| value(std::array::from_fn(|n| lines[n][index]));
    let mut total = (whole..len).fold(T::ZERO, |sum, index| sum + at(index));
    if whole > 0 {
        let parts = lines.map(|line| line[..whole].as_chunks::<LANES>().0);
        wide(
            #[inline(always)]
            || {
                let zeros = [T::ZERO; LANES];
                let mut lanes = zeros;
                let mut number = 0;
                while number < whole / LANES {
                    // Plain loops instead of iterators over lines: the closures of iterators may not be
                    // inlined.
                    let (mut chunks, mut k) = ([&zeros; N], 0);
                    while k < N {
                        chunks[k] = &parts[k][number];
                        k += 1;
                    }
                    for n in 0..LANES {
                        let (mut values, mut k) = ([T::ZERO; N], 0);
                        while k < N {
                            values[k] = chunks[k][n];
                            k += 1;
                        }
                        lanes[n] += value(values);
                    }
                    number += 1;
                }
                total += in_pairs(
                    lanes,
                    #[inline(always)]
                    |a, b| a + b,
                );
            },
        );
    }
    total
}
