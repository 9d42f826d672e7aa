//! The floats that operators compute in.

use std::ops::{AddAssign, MulAssign, SubAssign};

use crate::convert::Compute;
use crate::numeric::Floating;
use crate::product::Product;
use crate::slices::Slot;

/// A float that operators compute in.
pub(crate) trait Float:
    Compute + Slot + Floating + Product + AddAssign + SubAssign + MulAssign + Into<f64>
{
    const ZERO: Self;
    const ONE: Self;
    /// The lowest finite number.
    const LOWEST: Self;
}

impl Float for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::MIN;
}

impl Float for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::MIN;
}
