//! Vector instructions, chosen at run time.
//!
//! Results are the same with and without them, except in functions that use the argument of [`wide_fused`]: the compiler never
//! fuses multiplications and additions on its own, and `mul_add` rounds once on every processor.

use crate::elements::float::Float;

/// Runs a function that is compiled for the widest vectors of the processor.
///
/// Only code that is inlined into the function uses these vectors, so put loops in closures or in functions
/// with `#[inline(always)]`.
#[inline]
pub(crate) fn wide<R>(function: impl FnOnce() -> R) -> R {
    wide_fused(
        #[inline(always)]
        |_| function(),
    )
}

/// Does the same as [`wide`], and passes true to the function if the processor has an instruction for `mul_add`, which is a
/// slow call otherwise.
#[inline]
pub(crate) fn wide_fused<R>(function: impl FnOnce(bool) -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            // SAFETY: the processor has these instructions.
            return unsafe { with_avx512(function) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return unsafe { with_avx2(function) };
        }
    }
    function(cfg!(target_arch = "aarch64"))
}

/// Returns `a * b + sum`. It is rounded once if `fused` is true; [`wide_fused`] passes the value to its function.
#[inline(always)]
pub(crate) fn multiply_add<T: Float>(a: T, b: T, sum: T, fused: bool) -> T {
    if fused { a.mul_add(b, sum) } else { sum + a * b }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn with_avx512<R>(function: impl FnOnce(bool) -> R) -> R {
    function(true)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2<R>(function: impl FnOnce(bool) -> R) -> R {
    function(true)
}
