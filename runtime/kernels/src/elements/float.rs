//! Floating-point compute types.

use std::ops::{AddAssign, MulAssign, SubAssign};

use num_traits::MulAdd;

use crate::loops::convert::Compute;
use crate::loops::slices::Slot;
use crate::matmul::product::Product;
use crate::numeric::Floating;

/// A floating-point compute type.
pub(crate) trait Float:
    Compute + Slot + Floating + Product + AddAssign + SubAssign + MulAssign + MulAdd<Output = Self> + Into<f64>
{
    const ZERO: Self;
    const ONE: Self;
    /// The lowest finite number.
    const LOWEST: Self;
    /// The smallest positive normal number.
    const NORMAL: Self;

    /// Replaces a subnormal number by zero, because processors compute much more slowly with subnormal
    /// numbers.
    ///
    /// A state that is multiplied by a decay factor in each step becomes subnormal after about a thousand
    /// steps, and never zero.
    #[inline(always)]
    fn normal_or_zero(self) -> Self {
        if self.abs() < Self::NORMAL { Self::ZERO } else { self }
    }
}

impl Float for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::MIN;
    const NORMAL: Self = Self::MIN_POSITIVE;
}

impl Float for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::MIN;
    const NORMAL: Self = Self::MIN_POSITIVE;
}
