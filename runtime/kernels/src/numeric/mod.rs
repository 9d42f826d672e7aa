//! Functions of numbers, for formulas that are written once for all compute types.
//!
//! Formulas are computed in three types: `f32` (which `float16` and `bfloat16` are converted to), `f64`, and
//! `Wrapping<i64>` (for integers of all sizes and booleans). [`Numeric`] has the functions of all three,
//! [`Floating`] those of `f32` and `f64`, [`Whole`] those of integers. Arithmetic of integers wraps.

mod digamma;
mod fast;
mod floating;
mod whole;

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number that formulas compute with.
pub trait Numeric:
    Copy
    + PartialEq
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + Send
    + Sync
    + 'static
{
    /// Converts a literal to the nearest number; an integer drops the fraction.
    fn of(value: f64) -> Self;
    /// Converts an integer to the nearest number.
    fn of_integer(value: i64) -> Self;
    /// Converts true to 1 and false to 0.
    fn of_truth(value: bool) -> Self;
    /// Returns true if the number is nonzero or NaN.
    fn truth(self) -> bool;

    /// Computes the absolute value.
    #[must_use]
    fn abs(self) -> Self;
    /// Returns the smaller of two numbers, NaN if either is NaN.
    #[must_use]
    fn min(self, other: Self) -> Self;
    /// Returns the larger of two numbers, NaN if either is NaN.
    #[must_use]
    fn max(self, other: Self) -> Self;
    /// Returns 1, 0 or -1 for a number above, at or below zero, and NaN for NaN.
    #[must_use]
    fn sign(self) -> Self;
    /// Divides and rounds down: floats as in NumPy's `floor_divide`. The quotient of an integer and zero is
    /// zero.
    #[must_use]
    fn floor_div(self, divisor: Self) -> Self;
    /// Computes the remainder with the sign of the divisor: floats as in NumPy's `remainder`. The remainder
    /// of an integer and zero is zero.
    #[must_use]
    fn floor_mod(self, divisor: Self) -> Self;
    /// Divides and rounds towards zero. The quotient of an integer and zero is zero.
    #[must_use]
    fn trunc_div(self, divisor: Self) -> Self;
    /// Computes the remainder with the sign of the dividend. The remainder of an integer and zero is zero.
    #[must_use]
    fn trunc_mod(self, divisor: Self) -> Self;
    /// Computes a power.
    ///
    /// A negative power of an integer is the truncated reciprocal: zero except for the bases 1 and -1.
    #[must_use]
    fn pow(self, exponent: Self) -> Self;

    /// Returns true if the number is NaN.
    fn is_nan(self) -> bool;
    /// Returns true if the number is infinite.
    fn is_inf(self) -> bool;
    /// Returns true if the number is neither NaN nor infinite.
    fn is_finite(self) -> bool;

    /// Returns the nearest number from `low` to `high`; NaN if any of the three is NaN, `high` if `low` is above it.
    #[must_use]
    #[inline(always)]
    fn clamp(self, low: Self, high: Self) -> Self {
        self.max(low).min(high)
    }

    /// Multiplies the number by itself.
    #[must_use]
    #[inline(always)]
    fn square(self) -> Self {
        self * self
    }
}

macro_rules! floating_trait {
    ($($doc:literal $name:ident($($other:ident)?);)*) => {
        /// A floating-point number.
        pub trait Floating: Numeric + Div<Output = Self> {
            $(
                #[doc = $doc]
                #[must_use]
                fn $name(self $(, $other: Self)?) -> Self;
            )*

            /// Divides 1 by the number.
            #[must_use]
            #[inline(always)]
            fn recip(self) -> Self {
                Self::of(1.0) / self
            }

            /// Computes the logistic function `1 / (1 + exp(-x))`, without overflow.
            #[must_use]
            #[inline(always)]
            fn sigmoid(self) -> Self {
                let one = Self::of(1.0);
                let small = (-self.abs()).exp();
                (if self < Self::of(0.0) { small } else { one }) / (one + small)
            }

            /// Computes the sines of a slice. Both slices have the same length.
            fn sin_all(out: &mut [Self], x: &[Self]);

            /// Computes the cosines of a slice. Both slices have the same length.
            fn cos_all(out: &mut [Self], x: &[Self]);

            /// Computes the reciprocal square roots of a slice. Both slices have the same length.
            fn rsqrt_all(out: &mut [Self], x: &[Self]);

            /// Computes `log(1 + exp(x))`, without overflow.
            #[must_use]
            #[inline(always)]
            fn softplus(self) -> Self {
                self.max(Self::of(0.0)) + (-self.abs()).exp().log1p()
            }
        }
    };
}
floating_trait! {
    "The exponential function." exp();
    "`exp(x) - 1`, exact near zero." expm1();
    "The natural logarithm." log();
    "`log(1 + x)`, exact near zero." log1p();
    "The logarithm to base 2." log2();
    "The logarithm to base 10." log10();
    "The square root." sqrt();
    "The reciprocal of the square root." rsqrt();
    "The cube root." cbrt();
    "The sine." sin();
    "The cosine." cos();
    "The tangent." tan();
    "The inverse sine." asin();
    "The inverse cosine." acos();
    "The inverse tangent." atan();
    "The hyperbolic sine." sinh();
    "The hyperbolic cosine." cosh();
    "The hyperbolic tangent." tanh();
    "The inverse hyperbolic sine." asinh();
    "The inverse hyperbolic cosine." acosh();
    "The inverse hyperbolic tangent." atanh();
    "The error function." erf();
    "The complementary error function." erfc();
    "Rounds down." floor();
    "Rounds up." ceil();
    "Rounds towards zero." trunc();
    "Rounds to the nearest integer, halves to even." round();
    "The angle of the point `(x, y)`, where `self` is `y`." atan2(x);
    "The length of the vector `(self, other)`, without overflow." hypot(other);
    "The logarithm of the absolute value of the gamma function." lgamma();
    "The derivative of the logarithm of the gamma function." digamma();
    "The remainder with the sign of the dividend, as C's `fmod`." fmod(divisor);
    "The absolute value of `self` with the sign of another number." copysign(sign);
}

/// An integer or a boolean.
pub trait Whole: Numeric {
    /// Returns the bits that are set in both.
    #[must_use]
    fn bit_and(self, other: Self) -> Self;
    /// Returns the bits that are set in either.
    #[must_use]
    fn bit_or(self, other: Self) -> Self;
    /// Returns the bits that are set in exactly one of the two.
    #[must_use]
    fn bit_xor(self, other: Self) -> Self;
    /// Inverts all bits.
    #[must_use]
    fn bit_not(self) -> Self;
    /// Shifts to the left; zero if the count is negative or larger than the type, as in NumPy.
    #[must_use]
    fn shift_left(self, count: Self) -> Self;
    /// Shifts to the right and keeps the sign; 0 or -1 if the count is negative or larger than the type, as
    /// in NumPy.
    #[must_use]
    fn shift_right(self, count: Self) -> Self;
}
