//! Input tensors.

mod list;
pub(in crate::kernel) mod memory;
mod temporary;

use std::ops::Range;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::slice;

use crate::paddle::ffi::PD_Tensor;
use crate::paddle::{self, KernelArgument, KernelContext, PaddleApi, Tensor as Handle};
use smallvec::{SmallVec, smallvec};
use tenon::DevicePtr;
use tenon::device::DataType;
use tenon_operators::{Layout, TensorRef, contiguous_strides};

use crate::error::{Error, Result};
use crate::kernel::argument::{Argument, Input};
use crate::kernel::call::Call;
use crate::kernel::element::{Element, size_and_alignment};
use crate::kernel::tensor::memory::Access;

/// A tensor of Paddle, valid for the duration of a call.
#[derive(Clone, Copy)]
pub(crate) struct Tensor<'c> {
    pub(in crate::kernel) call: &'c Call,
    pub(in crate::kernel) name: &'static str,
    pub(in crate::kernel) handle: Handle,
}

/// One number for each dimension: few tensors have more than six.
pub(crate) type PerDimension<T> = SmallVec<[T; 6]>;

/// A function of Paddle that queries a tensor.
type Question<T> = unsafe fn(&PaddleApi, Handle) -> paddle::Result<T>;
/// A function of Paddle that queries one dimension of a tensor.
type QuestionAt<T> = unsafe fn(&PaddleApi, Handle, usize) -> paddle::Result<T>;

impl<'c> Tensor<'c> {
    /// Wraps a tensor of Paddle.
    ///
    /// # Safety
    /// `raw` must be null or live for `'c`.
    pub(in crate::kernel) unsafe fn of_raw(call: &'c Call, name: &'static str, raw: *mut PD_Tensor) -> Self {
        Self { call, name, handle: Handle::from_raw(raw) }
    }

    /// Returns the same tensor, if it is present.
    pub(in crate::kernel) fn present(self) -> Option<Self> {
        (!self.handle.is_null()).then_some(self)
    }

    pub(in crate::kernel) fn required(self) -> Result<Self> {
        self.present().ok_or_else(|| Error::invalid(format!("`{}` is not given", self.name)))
    }

    /// Returns the length of each dimension.
    pub(crate) fn dims(self) -> Result<PerDimension<usize>> {
        let Ok(rank) = usize::try_from(self.ask(PaddleApi::tensor_get_num_dims)?) else {
            return Err(Error::broken(format!("`{}` has no shape", self.name)));
        };
        let mut dims = smallvec![0; rank];
        for (index, dim) in dims.iter_mut().enumerate() {
            *dim = self.count("a dimension", self.ask_at(PaddleApi::tensor_get_dim, index)?)?;
        }
        Ok(dims)
    }

    /// Returns true if it has memory.
    pub(crate) fn is_initialized(self) -> Result<bool> {
        self.ask(PaddleApi::tensor_is_initialized)
    }

    /// Returns true if its dimensions are set.
    pub(in crate::kernel) fn has_shape(self) -> Result<bool> {
        Ok(self.ask(PaddleApi::tensor_get_num_dims)? >= 0)
    }

    /// Returns the length of each dimension, -1 where it is unknown; `None` if there is no shape yet.
    pub(in crate::kernel) fn signed_dims(self) -> Result<Option<PerDimension<i64>>> {
        let rank = self.ask(PaddleApi::tensor_get_num_dims)?;
        let dim = |index| self.ask_at(PaddleApi::tensor_get_dim, index);
        usize::try_from(rank).ok().map(|rank| (0..rank).map(dim).collect()).transpose()
    }

    /// Returns the distance from each element to its neighbour along each dimension, in elements.
    ///
    /// A tensor without strides is contiguous: Paddle sets none for some results without elements, or another number
    /// of them than there are dimensions.
    pub(crate) fn strides(self) -> Result<PerDimension<isize>> {
        let dims = self.dims()?;
        if let Some(strides) = self.known_strides()?
            && (strides.len() == dims.len() || !dims.contains(&0))
        {
            return Ok(strides);
        }
        let strides = contiguous_strides(&dims).map_err(Error::of_operator)?;
        Ok(strides.into_iter().collect())
    }

    /// Returns the strides; `None` if they are not set, as for the output of a kernel that supports any
    /// strides.
    pub(in crate::kernel) fn known_strides(self) -> Result<Option<PerDimension<isize>>> {
        let Ok(rank) = usize::try_from(self.ask(PaddleApi::tensor_get_num_strides)?) else {
            return Ok(None);
        };
        let mut strides = smallvec![0; rank];
        for (index, stride) in strides.iter_mut().enumerate() {
            *stride = self.ask_at(PaddleApi::tensor_get_stride, index)? as isize;
        }
        Ok(Some(strides))
    }

    /// Calls a function of Paddle that queries the tensor.
    pub(in crate::kernel) fn ask<T>(self, question: Question<T>) -> Result<T> {
        // SAFETY: the handle is live by the contract of `of_raw`, and such a function requires nothing else.
        Ok(unsafe { question(self.call.api(), self.handle) }?)
    }

    /// Calls a function of Paddle that queries one dimension of the tensor. Paddle checks the dimension.
    fn ask_at<T>(self, question: QuestionAt<T>, index: usize) -> Result<T> {
        // SAFETY: the handle is live by the contract of `of_raw`, and such a function requires nothing else.
        Ok(unsafe { question(self.call.api(), self.handle, index) }?)
    }

    /// Converts a number that is signed in C++, and must not be negative here.
    fn count(self, what: &str, number: i64) -> Result<usize> {
        usize::try_from(number)
            .map_err(|_| Error::unimplemented(format!("{what} of `{}` is {number}", self.name)))
    }

    /// Returns the number of elements.
    pub(crate) fn len(self) -> Result<usize> {
        self.count("the size", self.ask(PaddleApi::tensor_get_element_count)?)
    }

    /// Returns the element type.
    pub(crate) fn data_type(self) -> Result<DataType> {
        self.ask(PaddleApi::tensor_get_pd_data_type)
    }

    /// Returns true if the memory has the given numbers of bytes before the first element and from the first
    /// element on.
    fn has_bytes(self, [before, after]: [usize; 2]) -> Result<bool> {
        let fits_before = before == 0 || before <= self.ask(PaddleApi::tensor_get_offset)?;
        let available = self.count("the memory", self.ask(PaddleApi::tensor_get_byte_size)?)?;
        Ok(fits_before && after <= available)
    }

    /// Returns true if the memory is large enough for the shape, as Paddle checks before it shares memory.
    pub(in crate::kernel) fn fits(self) -> Result<bool> {
        let size = self.data_type()?.size().unwrap_or(0);
        self.has_bytes([0, self.len()?.saturating_mul(size)])
    }

    /// Rejects elements of a different type.
    pub(crate) fn expect_type(self, wanted: DataType) -> Result<()> {
        let actual = self.data_type()?;
        if actual == wanted {
            return Ok(());
        }
        Err(Error::invalid(format!("`{}` has elements of type {actual:?}, not {wanted:?}", self.name)))
    }

    /// Rejects gaps between elements.
    pub(in crate::kernel) fn expect_contiguous(self) -> Result<()> {
        let (dims, strides) = (self.dims()?, self.strides()?);
        if layout(&dims, &strides)?.is_contiguous() {
            return Ok(());
        }
        Err(Error::unimplemented(format!("`{}` has gaps between its elements: {strides:?}", self.name)))
    }

    /// Returns the address of the elements in a window.
    ///
    /// # Errors
    /// The window extends past the memory, or the first element is misaligned.
    pub(in crate::kernel) fn span<T: Element>(self, window: Window) -> Result<Range<usize>> {
        self.span_of(window, size_of::<T>(), align_of::<T>())
    }

    fn span_of(self, window: Window, size: usize, align: usize) -> Result<Range<usize>> {
        if window.count == 0 {
            return Ok(0..0);
        }
        let too_small =
            || Error::broken(format!("the memory of `{}` is too small for {window:?}", self.name));
        let [before, after] = window.bytes(size).ok_or_else(too_small)?;
        if !self.has_bytes([before, after])? {
            return Err(too_small());
        }
        let data = self.ask(PaddleApi::tensor_get_data_pointer)?;
        if data.is_null() || !data.addr().is_multiple_of(align) || data.addr() < before {
            return Err(Error::broken(format!("`{}` has its elements at {data:p}", self.name)));
        }
        let data = data.expose_provenance();
        Ok(data - before..data + after)
    }

    /// Returns the location and the layout of its elements, for kernels that support any layout.
    pub(crate) fn place(self) -> Result<Place> {
        let data_type = self.data_type()?;
        let (size, _) = size_and_alignment(self.name, data_type)?;
        let (dims, strides) = (self.dims()?, self.strides()?);
        let first = self.first(layout(&dims, &strides)?, data_type)?;
        Ok(Place { first, data_type, size, dims, strides })
    }

    /// Returns the address of the first element; null if there is none.
    ///
    /// # Errors
    /// As for [`span`](Self::span).
    pub(in crate::kernel) fn first(self, layout: Layout<'_>, data_type: DataType) -> Result<*mut u8> {
        let (size, alignment) = size_and_alignment(self.name, data_type)?;
        let span = self.span_of(layout.into(), size, alignment)?;
        Ok(if layout.is_empty() {
            null_mut()
        } else {
            with_exposed_provenance_mut(span.start + layout.before() * size)
        })
    }

    /// Returns the tensor in the form that operators of the device take.
    pub(crate) fn view(self) -> Result<TensorRef<'c>> {
        self.view_as(self.data_type()?)
    }

    /// Returns the tensor in the form that the device's operators take, as elements of another type than its own.
    ///
    /// Its memory must be large enough for these.
    pub(crate) fn view_as(self, data_type: DataType) -> Result<TensorRef<'c>> {
        let (dims, strides) = (self.dims()?, self.strides()?);
        let layout = layout(&dims, &strides)?;
        let first = DevicePtr::from_ptr(self.first(layout, data_type)?);
        // SAFETY: the elements are in memory of the tensor, which Paddle keeps for work on the stream.
        Ok(unsafe { TensorRef::new(first, data_type, layout) }?)
    }

    /// Returns the elements, which must be contiguous and must not be written by the call.
    pub(crate) fn read<T: Element>(self) -> Result<&'c [T]> {
        self.expect_type(T::DATA_TYPE)?;
        self.expect_contiguous()?;
        self.read_window(Window::first(self.len()?))
    }

    /// Returns the elements in a window, which the call must not write.
    pub(crate) fn read_window<T: Element>(self, window: Window) -> Result<&'c [T]> {
        self.call.settle()?;
        let span = self.span::<T>(window)?;
        self.call.ledger.claim(self.name, span.clone(), Access::Read)?;
        // SAFETY: `span` was checked to be aligned memory of the tensor, which lives for `'c` and is not in
        // use by the stream; the ledger shows that no part of it is written. Every bit pattern is an element.
        Ok(unsafe { view(&span, window.count) })
    }
}

/// Returns the layout of a shape with strides from Paddle.
pub(crate) fn layout<'v>(dims: &'v [usize], strides: &'v [isize]) -> Result<Layout<'v>> {
    Layout::new(dims, strides).map_err(Error::of_operator)
}

/// The location and the layout of a tensor's elements in memory.
pub(crate) struct Place {
    /// The address of the first element; null if there is none.
    pub(crate) first: *mut u8,
    pub(crate) data_type: DataType,
    /// The size of an element in bytes.
    pub(crate) size: usize,
    pub(crate) dims: PerDimension<usize>,
    pub(crate) strides: PerDimension<isize>,
}

impl Place {
    /// Appends a dimension.
    pub(crate) fn push(&mut self, dim: usize, stride: isize) {
        self.dims.push(dim);
        self.strides.push(stride);
    }
}

/// A range of elements in memory, counted from the first element of the tensor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    before: usize,
    count: usize,
}

impl Window {
    /// Returns a window that starts with the first element.
    pub(crate) fn first(count: usize) -> Self {
        Self { before: 0, count }
    }

    /// Returns the number of bytes before the first element, and from the first element on.
    fn bytes(self, element: usize) -> Option<[usize; 2]> {
        let bytes = |count: usize| count.checked_mul(element).filter(|&bytes| isize::try_from(bytes).is_ok());
        Some([bytes(self.before)?, bytes(self.count - self.before)?])
    }
}

impl From<Layout<'_>> for Window {
    fn from(layout: Layout<'_>) -> Self {
        Self { before: layout.before(), count: layout.extent() }
    }
}

/// Returns a slice of a span.
///
/// # Safety
/// `span` must be empty, or aligned memory of `count` elements that is not written for `'c`.
unsafe fn view<'c, T: Element>(span: &Range<usize>, count: usize) -> &'c [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(std::ptr::with_exposed_provenance(span.start), count) }
}

// SAFETY: a reference to a C++ tensor is a pointer.
unsafe impl<'c> Argument<'c> for Tensor<'c> {
    const KIND: KernelArgument = KernelArgument::TENSOR;
    type Raw = *mut PD_Tensor;

    unsafe fn from_raw(call: &'c Call, name: &'static str, raw: *mut PD_Tensor) -> Result<Self> {
        // SAFETY: the caller's promise.
        unsafe { Self::of_raw(call, name, raw) }.required()
    }

    unsafe fn from_context(
        call: &'c Call,
        name: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        let handle = unsafe { call.api().kernel_context_input_at(context, index) }?;
        Self { call, name, handle }.required()
    }
}

/// A tensor that Paddle passes as a reference, which is null if the tensor is absent.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'c>(Option<Tensor<'c>>);

impl<'c> Plain<'c> {
    /// Returns the tensor, if it is present, in the form that operators of the device take.
    pub(crate) fn view(self) -> Result<Option<TensorRef<'c>>> {
        self.0.map(Tensor::view).transpose()
    }
}

// SAFETY: a reference to a C++ tensor is a pointer.
unsafe impl<'c> Argument<'c> for Plain<'c> {
    const KIND: KernelArgument = KernelArgument::TENSOR;
    type Raw = *mut PD_Tensor;

    unsafe fn from_raw(call: &'c Call, name: &'static str, raw: *mut PD_Tensor) -> Result<Self> {
        // SAFETY: the caller's promise.
        Ok(Self(unsafe { Tensor::of_raw(call, name, raw) }.present()))
    }

    unsafe fn from_context(
        call: &'c Call,
        name: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        let handle = unsafe { call.api().kernel_context_input_at(context, index) }?;
        Ok(Self(Tensor { call, name, handle }.present()))
    }
}

// SAFETY: a reference to a C++ `optional` is a pointer to it.
unsafe impl<'c> Argument<'c> for Option<Tensor<'c>> {
    const KIND: KernelArgument = KernelArgument::OPTIONAL_TENSOR;
    type Raw = *mut PD_Tensor;

    unsafe fn from_raw(call: &'c Call, name: &'static str, raw: *mut PD_Tensor) -> Result<Self> {
        // SAFETY: the caller's promise. The pointer inside the `optional` is null if there is no tensor.
        let handle = unsafe { call.api().optional_tensor_get_pointer(Handle::from_raw(raw)) }?;
        Ok(Tensor { call, name, handle }.present())
    }

    unsafe fn from_context(
        call: &'c Call,
        name: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        let handle = unsafe { call.api().kernel_context_input_at(context, index) }?;
        Ok(Tensor { call, name, handle }.present())
    }
}

impl<'c> Input<'c> for Tensor<'c> {}
impl<'c> Input<'c> for Plain<'c> {}
impl<'c> Input<'c> for Option<Tensor<'c>> {}
