//! The functions of integers.

use std::num::Wrapping;

use super::{Numeric, Whole};

impl Numeric for Wrapping<i64> {
    #[inline]
    fn of(value: f64) -> Self {
        Self(value as i64)
    }

    #[inline]
    fn of_integer(value: i64) -> Self {
        Self(value)
    }

    #[inline]
    fn of_truth(value: bool) -> Self {
        Self(value.into())
    }

    #[inline]
    fn truth(self) -> bool {
        self.0 != 0
    }

    #[inline]
    fn abs(self) -> Self {
        Self(self.0.wrapping_abs())
    }

    #[inline]
    fn min(self, other: Self) -> Self {
        Ord::min(self, other)
    }

    #[inline]
    fn max(self, other: Self) -> Self {
        Ord::max(self, other)
    }

    #[inline]
    fn sign(self) -> Self {
        Self(self.0.signum())
    }

    #[inline]
    fn floor_div(self, divisor: Self) -> Self {
        let rounds_up = self.trunc_mod(divisor).0 != 0 && (self.0 < 0) != (divisor.0 < 0);
        self.trunc_div(divisor) - Self::of_truth(rounds_up)
    }

    #[inline]
    fn floor_mod(self, divisor: Self) -> Self {
        let remainder = self.trunc_mod(divisor);
        if remainder.0 != 0 && (remainder.0 < 0) != (divisor.0 < 0) { remainder + divisor } else { remainder }
    }

    #[inline]
    fn trunc_div(self, divisor: Self) -> Self {
        if divisor.0 == 0 { Self(0) } else { Self(self.0.wrapping_div(divisor.0)) }
    }

    #[inline]
    fn trunc_mod(self, divisor: Self) -> Self {
        if divisor.0 == 0 { Self(0) } else { Self(self.0.wrapping_rem(divisor.0)) }
    }

    #[inline]
    fn pow(self, exponent: Self) -> Self {
        let Ok(mut left) = u64::try_from(exponent.0) else {
            return match self.0 {
                1 => self,
                -1 if exponent.0 % 2 != 0 => self,
                -1 => Self(1),
                _ => Self(0),
            };
        };
        let (mut power, mut factor) = (Self(1), self);
        while left > 0 {
            if left % 2 == 1 {
                power *= factor;
            }
            factor *= factor;
            left /= 2;
        }
        power
    }

    #[inline]
    fn is_nan(self) -> bool {
        false
    }

    #[inline]
    fn is_inf(self) -> bool {
        false
    }

    #[inline]
    fn is_finite(self) -> bool {
        true
    }
}

impl Whole for Wrapping<i64> {
    #[inline]
    fn bit_and(self, other: Self) -> Self {
        self & other
    }

    #[inline]
    fn bit_or(self, other: Self) -> Self {
        self | other
    }

    #[inline]
    fn bit_xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline]
    fn bit_not(self) -> Self {
        !self
    }

    #[inline]
    fn shift_left(self, count: Self) -> Self {
        Self(bits(count).and_then(|count| self.0.checked_shl(count)).unwrap_or(0))
    }

    #[inline]
    fn shift_right(self, count: Self) -> Self {
        Self(bits(count).and_then(|count| self.0.checked_shr(count)).unwrap_or(self.0 >> (i64::BITS - 1)))
    }
}

fn bits(count: Wrapping<i64>) -> Option<u32> {
    count.0.try_into().ok()
}
