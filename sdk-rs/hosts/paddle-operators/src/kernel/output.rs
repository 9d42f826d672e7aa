//! Output tensors.

use std::ops::Range;
use std::slice;

use crate::paddle::ffi::PD_Tensor;
use crate::paddle::{DeviceContext, KernelArgument, KernelContext, PaddleApi, Tensor as Handle};
use tenon::DevicePtr;
use tenon::device::DataType;
use tenon_operators::{TensorMut, contiguous_strides};

use crate::error::{Error, Result};
use crate::kernel::argument::list::{Made, elements};
use crate::kernel::argument::{Argument, Outcome};
use crate::kernel::call::Call;
use crate::kernel::element::Element;
use crate::kernel::tensor::memory::Access;
use crate::kernel::tensor::{PerDimension, Place, Tensor, Window, layout};

/// A tensor that the operator computes. Paddle has set its shape.
#[derive(Clone, Copy)]
pub(crate) struct Output<'c>(Tensor<'c>);

impl<'c> Output<'c> {
    /// Returns the tensor as an input.
    pub(crate) fn tensor(self) -> Tensor<'c> {
        self.0
    }

    /// Returns true if it is the same tensor as an input, not only a tensor with the same memory.
    pub(crate) fn is(self, input: Tensor<'c>) -> bool {
        self.0.handle.as_raw() == input.handle.as_raw()
    }

    /// Returns the current location and layout of its elements.
    pub(crate) fn place(self) -> Result<Place> {
        self.0.place()
    }

    /// Wraps an output that the caller has created.
    pub(in crate::kernel) fn of_tensor(tensor: Tensor<'c>) -> Self {
        Self(tensor)
    }

    /// Allocates device memory for the output, and returns it in the form that the device's operators take.
    pub(crate) fn view(self, data_type: DataType) -> Result<TensorMut<'c>> {
        self.allocate(data_type)?;
        let (dims, strides) = (self.0.dims()?, self.0.strides()?);
        let layout = layout(&dims, &strides)?;
        let first = DevicePtr::from_ptr(self.0.first(layout, data_type)?);
        // SAFETY: the elements are in memory of the tensor, which Paddle keeps for work on the stream.
        Ok(unsafe { TensorMut::new(first, data_type, layout) }?)
    }

    /// Returns the elements in a window of its current memory.
    pub(crate) fn memory<T: Element>(self, window: Window) -> Result<&'c mut [T]> {
        self.0.call.settle()?;
        let span = self.span::<T>(window)?;
        if span.is_empty() {
            return Ok(&mut []);
        }
        let count = span.len() / size_of::<T>();
        self.0.call.ledger.claim(self.0.name, span.clone(), Access::Write)?;
        // SAFETY: `span` was checked to be aligned memory of the tensor, which lives for `'c` and is not in
        // use by the stream; the ledger shows that no other slice of it exists. Every bit pattern is an
        // element.
        Ok(unsafe { slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(span.start), count) })
    }

    /// Returns the address of a window of its current memory.
    pub(crate) fn span<T: Element>(self, window: Window) -> Result<Range<usize>> {
        self.0.span::<T>(window)
    }

    /// Allocates device memory, unless it already has enough.
    pub(crate) fn allocate(self, data_type: DataType) -> Result<()> {
        self.allocate_in(self.0.call.context, data_type)
    }

    /// Allocates host memory, unless it already has enough.
    pub(crate) fn allocate_on_host(self, data_type: DataType) -> Result<()> {
        self.allocate_in(DeviceContext::NULL, data_type)
    }

    fn allocate_in(self, context: DeviceContext, data_type: DataType) -> Result<()> {
        let api = self.0.call.api();
        if self.is_initialized()? {
            // Paddle may replace its memory while slices of the old memory are in use.
            self.keep_memory()?;
        }
        // SAFETY: the handles are live. With the size 0, Paddle computes the size.
        unsafe { api.device_context_allocate_tensor(context, self.0.handle, 0, data_type) }?;
        Ok(())
    }

    /// Keeps its current memory allocated until the call ends.
    ///
    /// The memory may be too small for its shape, such as that of a smaller batch. Paddle does not share such
    /// memory, so it is shared with the shape of no elements.
    fn keep_memory(self) -> Result<()> {
        if self.0.fits()? {
            return self.0.call.keep(self.0.handle);
        }
        let dims = self.0.dims()?;
        self.set_dims(&[0])?;
        let kept = self.0.call.keep(self.0.handle);
        self.set_dims(&dims)?;
        kept
    }

    /// Returns true if it already has memory.
    pub(crate) fn is_initialized(self) -> Result<bool> {
        self.0.is_initialized()
    }

    /// Sets its shape, and contiguous strides.
    pub(crate) fn set_dims(self, dims: &[usize]) -> Result<()> {
        let dims: PerDimension<i64> = dims.iter().map(|&dim| dim as i64).collect();
        if self.0.signed_dims()?.as_ref() != Some(&dims) {
            self.expect_short("dimension", &dims)?;
            // SAFETY: the handle is live, and the number of dimensions is correct.
            unsafe { self.0.call.api().tensor_set_dims(self.0.handle, dims.len() as i64, dims.as_ptr()) }?;
        }
        Ok(())
    }

    /// Sets its shape, and makes it contiguous.
    pub(crate) fn reshape(self, dims: &[usize]) -> Result<()> {
        self.set_dims(dims)?;
        self.set_contiguous()
    }

    /// Gives contiguous strides and the shape of an input to an output that has no strides yet.
    ///
    /// The output of a kernel that supports any strides has none, unless it is a contiguous input.
    pub(crate) fn complete(self, input: Tensor<'c>) -> Result<()> {
        if self.0.known_strides()?.is_some() {
            return Ok(());
        }
        self.set_dims(&input.dims()?)?;
        self.set_contiguous()
    }

    /// Makes it a view of the memory of another tensor, with the same shape and type.
    pub(crate) fn share(self, other: Tensor<'c>) -> Result<()> {
        // SAFETY: both handles are live.
        Ok(unsafe { self.0.call.api().tensor_share_data_with(self.0.handle, other.handle) }?)
    }

    /// Sets the type of its elements.
    pub(crate) fn set_data_type(self, data_type: DataType) -> Result<()> {
        // SAFETY: the handle is live.
        Ok(unsafe { self.0.call.api().tensor_set_data_type(self.0.handle, data_type) }?)
    }

    /// Sets its strides.
    pub(crate) fn set_strides(self, strides: &[isize]) -> Result<()> {
        if self.0.known_strides()?.as_deref() != Some(strides) {
            let strides: PerDimension<i64> = strides.iter().map(|&stride| stride as i64).collect();
            self.expect_short("stride", &strides)?;
            let count = strides.len() as i64;
            // SAFETY: the handle is live, and the number of strides is correct.
            unsafe { self.0.call.api().tensor_set_strides(self.0.handle, count, strides.as_ptr()) }?;
        }
        Ok(())
    }

    /// Sets contiguous strides.
    pub(crate) fn set_contiguous(self) -> Result<()> {
        let dims = self.0.dims()?;
        if let Some(strides) = self.0.known_strides()?
            && layout(&dims, &strides).is_ok_and(|layout| layout.is_contiguous())
        {
            return Ok(());
        }
        self.set_strides(&contiguous_strides(&dims).map_err(Error::of_operator)?)
    }

    /// Sets its offset in its memory, in bytes.
    pub(crate) fn set_offset(self, offset: usize) -> Result<()> {
        if self.0.ask(PaddleApi::tensor_get_offset)? != offset {
            let offset = i64::try_from(offset).map_err(|_| Error::invalid("the offset is too large"))?;
            // SAFETY: the handle is live.
            unsafe { self.0.call.api().tensor_set_offset(self.0.handle, offset) }?;
        }
        Ok(())
    }

    /// Checks that numbers fit in 32 bits, because the setters of the C API truncate them without an error.
    fn expect_short(self, what: &str, numbers: &[i64]) -> Result<()> {
        match numbers.iter().find(|&&number| i32::try_from(number).is_err()) {
            None => Ok(()),
            Some(number) => {
                let message = format!("Paddle cannot be told a {what} of {number} for `{}`", self.0.name);
                Err(Error::unimplemented(message))
            }
        }
    }
}

// SAFETY: a pointer to a C++ tensor.
unsafe impl<'c> Argument<'c> for Option<Output<'c>> {
    const KIND: KernelArgument = KernelArgument::TENSOR;
    type Raw = *mut PD_Tensor;

    unsafe fn from_raw(call: &'c Call, name: &'static str, raw: *mut PD_Tensor) -> Result<Self> {
        // SAFETY: the caller's promise.
        Ok(unsafe { Tensor::of_raw(call, name, raw) }.present().map(Output))
    }

    unsafe fn from_context(
        call: &'c Call,
        name: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        let handle = unsafe { call.api().kernel_context_output_at(context, index) }?;
        Ok(Tensor { call, name, handle }.present().map(Output))
    }
}

// SAFETY: a pointer to a C++ tensor.
unsafe impl<'c> Argument<'c> for Output<'c> {
    const KIND: KernelArgument = KernelArgument::TENSOR;
    type Raw = *mut PD_Tensor;

    unsafe fn from_raw(call: &'c Call, name: &'static str, raw: *mut PD_Tensor) -> Result<Self> {
        // SAFETY: the caller's promise.
        required(name, unsafe { Option::from_raw(call, name, raw) }?)
    }

    unsafe fn from_context(
        call: &'c Call,
        name: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        required(name, unsafe { Option::from_context(call, name, context, index) }?)
    }
}

/// Rejects an absent output that the operator requires.
pub(in crate::kernel) fn required<'c>(name: &str, output: Option<Output<'c>>) -> Result<Output<'c>> {
    output.ok_or_else(|| Error::invalid(format!("the output `{name}` is not given")))
}

// SAFETY: a C++ vector passed by value is a pointer to one that the caller created.
unsafe impl<'c> Argument<'c> for Vec<Option<Output<'c>>> {
    const KIND: KernelArgument = KernelArgument::LIST_TENSOR;
    type Raw = *mut PD_Tensor;

    unsafe fn from_raw(call: &'c Call, name: &'static str, raw: *mut PD_Tensor) -> Result<Self> {
        // SAFETY: the caller's promise; the list is borrowed.
        unsafe {
            let list = call.api().tensor_vector_to_list(Handle::from_raw(raw))?;
            Ok(of_pointers(call, name, elements(name, list)?))
        }
    }

    unsafe fn from_context(
        call: &'c Call,
        name: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Result<Self> {
        // SAFETY: the caller's promise; the list was created for the caller, the tensors are borrowed.
        unsafe {
            let list =
                Made::of_pointers(call.api(), call.api().kernel_context_multi_output_at(context, index)?);
            Ok(of_pointers(call, name, list.elements(name)?))
        }
    }
}

/// # Safety
/// The pointers must be null or point to tensors that live for `'c`.
unsafe fn of_pointers<'c>(
    call: &'c Call,
    name: &'static str,
    pointers: &[*mut PD_Tensor],
) -> Vec<Option<Output<'c>>> {
    // SAFETY: the caller's promise.
    pointers
        .iter()
        .map(|&pointer| unsafe { Tensor::of_raw(call, name, pointer) }.present().map(Output))
        .collect()
}

impl<'c> Outcome<'c> for Output<'c> {}
impl<'c> Outcome<'c> for Option<Output<'c>> {}
impl<'c> Outcome<'c> for Vec<Option<Output<'c>>> {}
