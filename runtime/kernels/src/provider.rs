//! An external library that computes some products and convolutions in place of this crate.
//!
//! A program sets a [`Provider`] once. The kernels of this crate check shapes and make contiguous slices,
//! call the provider, and compute what it declines. Results differ by rounding only.

use std::sync::OnceLock;

use crate::constant::Copies;
use crate::elements::dtype::DType;
use crate::tensor::{View, ViewMut};

pub use crate::conv::{Geometry, Pass};
pub use crate::matmul::product::Factor;

/// A contiguous tensor that a [`Provider`] reads.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// The elements.
    pub elements: &'a [u8],
    /// What the provider keeps about the tensor, if it never changes.
    pub copies: Option<&'a Copies>,
}

impl<'a> Operand<'a> {
    /// Describes a tensor that may change after the call.
    #[must_use]
    pub fn new(elements: &'a [u8]) -> Self {
        Self { elements, copies: None }
    }
}

/// Computes the operations at which it is faster than the kernels of this crate. The defaults decline
/// everything.
pub trait Provider: Send + Sync {
    /// Computes one tensor of a convolution from the other two, in the order that [`Pass`] names, and adds `bias` to the
    /// channels of the small image. All are contiguous, floating-point, and have the sizes that the geometry determines.
    /// Returns false to leave the work to the kernel; the contents of `result` are then unspecified.
    fn convolve(
        &self,
        pass: Pass,
        dtype: DType,
        geometry: &Geometry,
        result: &mut [u8],
        operands: [Operand<'_>; 2],
        bias: Option<&[u8]>,
    ) -> bool {
        let _ = (pass, dtype, geometry, result, operands, bias);
        false
    }

    /// Computes `out = left · right`, or adds the product to `out`, whose elements have the given strides.
    /// Returns false and leaves `out` unchanged to leave the work to the kernel.
    ///
    /// All elements have the same floating-point type. `shape` holds the number of rows of `left`, the number
    /// of columns of `left`, and the number of columns of `right`.
    fn multiply(
        &self,
        dtype: DType,
        out: (&mut [u8], [usize; 2]),
        shape: [usize; 3],
        factors: [Factor<'_>; 2],
        is_added: bool,
    ) -> bool {
        let _ = (dtype, out, shape, factors, is_added);
        false
    }
}

static PROVIDER: OnceLock<&'static dyn Provider> = OnceLock::new();

/// Sets the provider for all later calls. Returns false if one is already set.
pub fn set(provider: &'static dyn Provider) -> bool {
    PROVIDER.set(provider).is_ok()
}

/// Returns true if a provider is set and it has computed the result.
pub(crate) fn computes(with: impl FnOnce(&dyn Provider) -> bool) -> bool {
    PROVIDER.get().is_some_and(|provider| with(*provider))
}

/// Returns true if a provider may compute a half-precision output from inputs of the same type, without
/// conversions.
pub(crate) fn takes_halves<'a, 'v: 'a>(
    out: &ViewMut<'_>,
    inputs: impl IntoIterator<Item = &'a View<'v>>,
) -> bool {
    matches!(out.dtype(), DType::F16 | DType::Bf16)
        && PROVIDER.get().is_some()
        && out.is_contiguous()
        && inputs.into_iter().all(|input| input.dtype() == out.dtype() && !out.shares_memory(input))
}
