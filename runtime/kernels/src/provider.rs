//! An external library that computes some products and convolutions in place of this crate.
//!
//! A program sets a [`Provider`] once. The kernels of this crate check shapes and make contiguous slices,
//! call the provider, and compute what it declines. Results differ by rounding only. If the program has set
//! [`threads`](crate::threads), several of them may call the provider, each for a part of the work.

use std::marker::PhantomData;
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

/// A matrix that a [`Provider`] writes. Threads may write other elements between its own.
#[derive(Debug)]
pub struct Target<'a> {
    first: *mut u8,
    dims: [usize; 2],
    strides: [usize; 2],
    elements: PhantomData<&'a mut [u8]>,
}

impl<'a> Target<'a> {
    /// Describes a matrix of some elements of a type, with the distances to the next row and to the next column.
    ///
    /// # Panics
    /// If it extends past its memory.
    #[must_use]
    pub fn new(elements: &'a mut [u8], dtype: DType, dims: [usize; 2], strides: [usize; 2]) -> Self {
        let extent: usize =
            dims.iter().zip(strides).map(|(dim, stride)| dim.saturating_sub(1) * stride).sum();
        let is_inside = dims.contains(&0) || (extent + 1) * dtype.size() <= elements.len();
        assert!(is_inside, "a matrix past its memory");
        // SAFETY: as just checked.
        unsafe { Self::from_raw(elements.as_mut_ptr(), dims, strides) }
    }

    /// # Safety
    /// The elements of the matrix are there, and nothing else accesses them for `'a`.
    pub(crate) unsafe fn from_raw(first: *mut u8, dims: [usize; 2], strides: [usize; 2]) -> Self {
        Self { first, dims, strides, elements: PhantomData }
    }

    /// Returns the address of the first element.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.first
    }

    /// Returns the numbers of rows and columns.
    #[must_use]
    pub fn dims(&self) -> [usize; 2] {
        self.dims
    }

    /// Returns the distances to the next row and to the next column, in elements.
    #[must_use]
    pub fn strides(&self) -> [usize; 2] {
        self.strides
    }

    /// Returns the transposed matrix.
    #[must_use]
    pub fn transposed(self) -> Self {
        let ([rows, columns], [row, column]) = (self.dims, self.strides);
        Self { dims: [columns, rows], strides: [column, row], ..self }
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

    /// Computes `out = left · right`, or adds the product to `out`. Returns false and leaves `out` unchanged to leave the work
    /// to the kernel.
    ///
    /// All elements have the same floating-point type. `shape` holds the number of rows of `left`, the number
    /// of columns of `left`, and the number of columns of `right`.
    fn multiply(
        &self,
        dtype: DType,
        out: Target<'_>,
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
