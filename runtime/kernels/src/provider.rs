//! A library that computes some products and convolutions in place of this crate.
//!
//! A program sets a [`Provider`] once. The kernels of this crate check shapes and make contiguous slices, ask the
//! provider, and compute by themselves what it leaves to them. Results differ by rounding only.

use std::sync::OnceLock;

use crate::dtype::DType;
use crate::tensor::{View, ViewMut};

pub use crate::conv::{Geometry, Pass};
pub use crate::product::Factor;

/// Computes what it is faster at than the kernels of this crate. By default that is nothing.
pub trait Provider: Send + Sync {
    /// Computes one tensor of a convolution from the other two, in the order that [`Pass`] names. All are contiguous, of a
    /// type of floats, and have the sizes that the geometry says. Returns false, with anything in `result`, to leave it to
    /// the kernel.
    fn convolve(
        &self,
        pass: Pass,
        dtype: DType,
        geometry: &Geometry,
        result: &mut [u8],
        operands: [&[u8]; 2],
    ) -> bool {
        let _ = (pass, dtype, geometry, result, operands);
        false
    }

    /// Computes `out = left · right`, or adds the product to `out`, whose elements have the given strides. Returns false,
    /// with `out` as it was, to leave it to the kernel.
    ///
    /// All elements are of one type of floats. `shape` is the number of rows of `left`, of its columns, and of the columns of
    /// `right`.
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

/// Sets the provider, for all calls from now on. Returns false if there is one already.
pub fn set(provider: &'static dyn Provider) -> bool {
    PROVIDER.set(provider).is_ok()
}

/// Returns true if there is a provider and it has computed.
pub(crate) fn computes(with: impl FnOnce(&dyn Provider) -> bool) -> bool {
    PROVIDER.get().is_some_and(|provider| with(*provider))
}

/// Returns true if a provider may compute an output of half precision from inputs of the same type, without conversions.
pub(crate) fn takes_halves(out: &ViewMut<'_>, inputs: &[&View<'_>]) -> bool {
    matches!(out.dtype(), DType::F16 | DType::Bf16)
        && PROVIDER.get().is_some()
        && out.is_contiguous()
        && inputs.iter().all(|input| input.dtype() == out.dtype() && !out.shares_memory(input))
}
