//! Functions of slices that are faster for typical numbers.

/// The number of elements of a block.
const BLOCK: usize = 256;

/// Computes a function of each number: `usual` for numbers whose `key` is at most `limit`, and `any` for the
/// others.
///
/// Only blocks without other numbers are fast, because the compiler does not vectorise loops with a branch
/// for each number. The result for a number does not depend on its block.
#[inline(always)]
pub(super) fn in_blocks(
    out: &mut [f32],
    x: &[f32],
    (key, limit): (impl Fn(f32) -> u32, u32),
    usual: impl Fn(f32) -> f32,
    any: impl Fn(f32) -> f32,
) {
    for (out, x) in out.chunks_mut(BLOCK).zip(x.chunks(BLOCK)) {
        let mut largest = 0;
        for &x in x {
            largest = largest.max(key(x));
        }
        if largest <= limit {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = usual(x);
            }
        } else {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = if key(x) <= limit { usual(x) } else { any(x) };
            }
        }
    }
}
