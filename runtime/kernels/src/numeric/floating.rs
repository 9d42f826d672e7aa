//! The functions of `f32` and `f64`.

use super::digamma::digamma;
use super::fast::{double, single};
use super::{Floating, Numeric};

macro_rules! floating {
    ($float:ident, $pow:path, $sin_all:path, $cos_all:path, $rsqrt_all:path: $($name:ident($($other:ident)?) = $function:expr;)*) => {
        impl Numeric for $float {
            #[inline(always)]
            fn of(value: f64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn of_integer(value: i64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn of_truth(value: bool) -> Self {
                Self::from(u8::from(value))
            }

            #[inline(always)]
            fn truth(self) -> bool {
                self != 0.0
            }

            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if self < other || self.is_nan() { self } else { other }
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self > other || self.is_nan() { self } else { other }
            }

            #[inline(always)]
            fn sign(self) -> Self {
                if self > 0.0 {
                    1.0
                } else if self < 0.0 {
                    -1.0
                } else {
                    self
                }
            }

            #[inline(always)]
            fn floor_div(self, divisor: Self) -> Self {
                let quotient = self / divisor;
                if divisor == 0.0 {
                    return quotient;
                }
                // The floor of the quotient would be wrong: it rounds up where `self` is just below a
                // multiple.
                let remainder = self % divisor;
                let mut whole = (self - remainder) / divisor;
                if remainder != 0.0 && (divisor < 0.0) != (remainder < 0.0) {
                    whole -= 1.0;
                }
                if whole == 0.0 {
                    return (0.0 as Self).copysign(quotient);
                }
                let floor = whole.floor();
                if whole - floor > 0.5 { floor + 1.0 } else { floor }
            }

            #[inline(always)]
            fn floor_mod(self, divisor: Self) -> Self {
                let remainder = self % divisor;
                if remainder == 0.0 {
                    remainder.copysign(divisor)
                } else if (divisor < 0.0) != (remainder < 0.0) {
                    remainder + divisor
                } else {
                    remainder
                }
            }

            #[inline(always)]
            fn trunc_div(self, divisor: Self) -> Self {
                (self / divisor).trunc()
            }

            #[inline(always)]
            fn trunc_mod(self, divisor: Self) -> Self {
                self % divisor
            }

            #[inline(always)]
            fn pow(self, exponent: Self) -> Self {
                $pow(self, exponent)
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }

            #[inline(always)]
            fn is_inf(self) -> bool {
                self.is_infinite()
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
        }

        impl Floating for $float {
            $(
                #[inline(always)]
                fn $name(self $(, $other: Self)?) -> Self {
                    $function(self $(, $other)?)
                }
            )*

            #[inline(always)]
            fn sin_all(out: &mut [Self], x: &[Self]) {
                $sin_all(out, x);
            }

            #[inline(always)]
            fn cos_all(out: &mut [Self], x: &[Self]) {
                $cos_all(out, x);
            }

            #[inline(always)]
            fn rsqrt_all(out: &mut [Self], x: &[Self]) {
                $rsqrt_all(out, x);
            }
        }
    };
}

macro_rules! both {
    ($($own:ident, $fast:ident: $sin:path, $cos:path, $tan:path, $pow:path, $erf:path, $erfc:path, $asinh:ident $acosh:ident $atanh:ident;)*) => {$(
        floating! {
            $own, $pow, $fast::sin_all, $fast::cos_all, $fast::rsqrt_all:
            exp() = $fast::exp;
            expm1() = $fast::expm1;
            log() = $fast::log;
            log1p() = $fast::log1p;
            log2() = $fast::log2;
            log10() = $own::log10;
            sqrt() = $own::sqrt;
            rsqrt() = $fast::rsqrt;
            cbrt() = $own::cbrt;
            sin() = $sin;
            cos() = $cos;
            tan() = $tan;
            asin() = $own::asin;
            acos() = $own::acos;
            atan() = $own::atan;
            sinh() = $own::sinh;
            cosh() = $own::cosh;
            tanh() = $fast::tanh;
            // The functions of std lose precision near 0 (`atanh`) and 1 (`acosh`).
            asinh() = libm::$asinh;
            acosh() = libm::$acosh;
            atanh() = libm::$atanh;
            erf() = $erf;
            erfc() = $erfc;
            floor() = $own::floor;
            ceil() = $own::ceil;
            trunc() = $own::trunc;
            round() = $own::round_ties_even;
            atan2(x) = $own::atan2;
            hypot(other) = $own::hypot;
            lgamma() = |x: $own| libm::lgamma(x.into()) as $own;
            digamma() = |x: $own| digamma(x.into()) as $own;
            fmod(divisor) = |x: $own, divisor: $own| x % divisor;
            copysign(sign) = $own::copysign;
        }
    )*};
}
both! {
    f32, single: single::sin, single::cos, single::tan, single::pow, single::erf, single::erfc, asinhf acoshf atanhf;
    f64, double: f64::sin, f64::cos, f64::tan, f64::powf, libm::erf, libm::erfc, asinh acosh atanh;
}
