//! Tensors among the inputs.

use std::borrow::Cow;
use std::ffi::c_void;
use std::ops::Range;
use std::slice;

use tenon::device::DataType;
use tenon::paddle::ffi::PD_Tensor;
use tenon::paddle::{KernelArgument, KernelContext, Tensor as Handle};
use tenon_kernels::strided::Layout;
use tenon_kernels::{Bool, Complex, FromNumber, Number, Pod, bf16, f16};

use super::argument::{Argument, Input};
use super::call::Call;
use super::element::Element;
use super::list::{Made, elements};
use super::memory::{Access, overlap};
use crate::error::{Code, Error, Result};

/// A tensor of Paddle's, for the time of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tensor<'c> {
    pub(super) call: &'c Call,
    pub(super) name: &'static str,
    pub(super) handle: Handle,
}

impl<'c> Tensor<'c> {
    /// A tensor of Paddle's.
    ///
    /// # Safety
    /// `raw` is null or a live one for `'c`.
    pub(super) unsafe fn of_raw(call: &'c Call, name: &'static str, raw: *mut PD_Tensor) -> Self {
        Self { call, name, handle: Handle::from_raw(raw) }
    }

    /// The same tensor, if it is there.
    pub(super) fn present(self) -> Option<Self> {
        (!self.handle.is_null()).then_some(self)
    }

    fn required(self) -> Result<Self> {
        self.present().ok_or_else(|| Error::invalid(format!("`{}` is not given", self.name)))
    }

    /// The length of each dimension.
    pub(crate) fn dims(self) -> Result<Vec<usize>> {
        let api = self.call.api();
        // SAFETY: the handle is live, here and below, by the promise to `of_raw`.
        let rank = unsafe { api.tensor_get_num_dims(self.handle) }?;
        let dim = |index| self.count("a dimension", unsafe { api.tensor_get_dim(self.handle, index) }?);
        (0..self.count("the rank", rank)?).map(dim).collect()
    }

    /// How many elements lie between neighbours along each dimension.
    pub(crate) fn strides(self) -> Result<Vec<usize>> {
        let api = self.call.api();
        // SAFETY: the handle is live, here and below, by the promise to `of_raw`.
        let rank = unsafe { api.tensor_get_num_strides(self.handle) }?;
        let stride = |index| self.count("a stride", unsafe { api.tensor_get_stride(self.handle, index) }?);
        (0..self.count("the number of strides", rank)?).map(stride).collect()
    }

    /// What C++ has as a signed number, and here must not be negative.
    fn count(self, what: &str, number: i64) -> Result<usize> {
        usize::try_from(number)
            .map_err(|_| Error::unimplemented(format!("{what} of `{}` is {number}", self.name)))
    }

    /// How many elements there are.
    pub(crate) fn len(self) -> Result<usize> {
        // SAFETY: the handle is live by the promise to `of_raw`.
        self.count("the size", unsafe { self.call.api().tensor_get_element_count(self.handle) }?)
    }

    /// The type of the elements.
    pub(crate) fn data_type(self) -> Result<DataType> {
        // SAFETY: the handle is live by the promise to `of_raw`.
        Ok(unsafe { self.call.api().tensor_get_pd_data_type(self.handle) }?)
    }

    /// Whether there is memory behind it.
    pub(super) fn is_initialized(self) -> Result<bool> {
        // SAFETY: the handle is live by the promise to `of_raw`.
        Ok(unsafe { self.call.api().tensor_is_initialized(self.handle) }?)
    }

    /// The address of the first element.
    pub(super) fn data(self) -> Result<*mut c_void> {
        // SAFETY: the handle is live by the promise to `of_raw`.
        Ok(unsafe { self.call.api().tensor_get_data_pointer(self.handle) }?)
    }

    /// Bytes from the first element to the end of the memory.
    pub(super) fn reach(self) -> Result<usize> {
        // SAFETY: the handle is live by the promise to `of_raw`.
        self.count("the memory", unsafe { self.call.api().tensor_get_byte_size(self.handle) }?)
    }

    pub(crate) fn expect_type(self, wanted: DataType) -> Result<()> {
        let actual = self.data_type()?;
        if actual == wanted {
            return Ok(());
        }
        Err(Error::invalid(format!("`{}` has elements of type {actual:?}, not {wanted:?}", self.name)))
    }

    /// Refuses gaps between elements.
    pub(super) fn expect_contiguous(self) -> Result<()> {
        let (dims, strides) = (self.dims()?, self.strides()?);
        if Layout::new(&dims, &strides)?.is_contiguous() {
            return Ok(());
        }
        Err(Error::unimplemented(format!("`{}` has gaps between its elements: {strides:?}", self.name)))
    }

    /// Where `count` elements from the first one on are.
    ///
    /// # Errors
    /// The memory ends before they do, or begins where no such element can.
    pub(super) fn span<T: Pod>(self, count: usize) -> Result<Range<usize>> {
        if count == 0 {
            return Ok(0..0);
        }
        let bytes = count.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize);
        let reach = self.reach()?;
        let bytes = bytes.filter(|&bytes| bytes <= reach).ok_or_else(|| {
            Error::broken(format!("`{}` has {reach} bytes of memory for {count} elements", self.name))
        })?;
        let data: *mut T = self.data()?.cast();
        if data.is_null() || !data.is_aligned() {
            return Err(Error::broken(format!("`{}` has its elements at {data:p}", self.name)));
        }
        let start = data.expose_provenance();
        Ok(start..start + bytes)
    }

    /// The elements, which must lie one after the other, and be none that the call writes.
    pub(crate) fn read<T: Element>(self) -> Result<&'c [T]> {
        self.expect_type(T::DATA_TYPE)?;
        self.expect_contiguous()?;
        self.read_as(self.len()?)
    }

    /// The same memory as elements of another type of any size.
    pub(crate) fn read_as<T: Pod>(self, count: usize) -> Result<&'c [T]> {
        let span = self.span::<T>(count)?;
        self.call.ledger.claim(self.name, span.clone(), Access::Read)?;
        // SAFETY: `span` was checked to be aligned memory of the tensor, which lives for `'c` and is at rest;
        // nothing of it is written, as the ledger tells. Every bit pattern is an element.
        Ok(unsafe { view(&span, count) })
    }

    /// As [`read_as`](Self::read_as), but a copy if the memory overlaps with a span that is to be written.
    pub(crate) fn read_apart_from<T: Pod>(self, count: usize, span: &Range<usize>) -> Result<Cow<'c, [T]>> {
        let own = self.span::<T>(count)?;
        if !overlap(&own, span) {
            return self.read_as(count).map(Cow::Borrowed);
        }
        // SAFETY: as in `read_as`; the copy is made before anything is written.
        Ok(Cow::Owned(unsafe { view(&own, count) }.to_vec()))
    }

    /// The only element, as a number of whatever type it has.
    pub(crate) fn number(self) -> Result<Number> {
        match self.numbers()?[..] {
            [number] => Ok(number),
            ref numbers => Err(Error::invalid(format!("`{}` has {} elements, not one", self.name, numbers.len()))),
        }
    }

    /// The elements as integers.
    pub(super) fn integers(self) -> Result<Vec<i64>> {
        Ok(self.numbers()?.into_iter().map(Number::to_i64).collect())
    }

    fn numbers(self) -> Result<Vec<Number>> {
        fn all<T: Element>(tensor: Tensor<'_>, number: impl Fn(T) -> Number) -> Result<Vec<Number>> {
            Ok(tensor.read::<T>()?.iter().map(|&element| number(element)).collect())
        }
        match self.data_type()? {
            DataType::BOOL => all::<Bool>(self, |element| Number::Integer(element.get().into())),
            DataType::UINT8 => all::<u8>(self, |element| Number::Integer(element.into())),
            DataType::INT8 => all::<i8>(self, |element| Number::Integer(element.into())),
            DataType::INT16 => all::<i16>(self, |element| Number::Integer(element.into())),
            DataType::INT32 => all::<i32>(self, |element| Number::Integer(element.into())),
            DataType::INT64 => all::<i64>(self, Number::Integer),
            DataType::FLOAT16 => all::<f16>(self, |element| Number::Real(element.to_f64())),
            DataType::BFLOAT16 => all::<bf16>(self, |element| Number::Real(element.to_f64())),
            DataType::FLOAT32 => all::<f32>(self, |element| Number::Real(element.into())),
            DataType::FLOAT64 => all::<f64>(self, Number::Real),
            DataType::COMPLEX64 => {
                all::<Complex<f32>>(self, |z| Number::Complex(Complex::new(z.re.into(), z.im.into())))
            }
            DataType::COMPLEX128 => all::<Complex<f64>>(self, Number::Complex),
            other => Err(Error::new(Code::Unimplemented, format!("`{}` has elements of type {other:?}", self.name))),
        }
    }

    /// The only element as an element of another type.
    pub(crate) fn value<T: FromNumber>(self) -> Result<T> {
        Ok(T::from_number(self.number()?))
    }
}

/// A slice of a span.
///
/// # Safety
/// `span` is empty, or aligned memory of `count` elements that nobody writes for `'c`.
unsafe fn view<'c, T: Pod>(span: &Range<usize>, count: usize) -> &'c [T] {
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

// SAFETY: a reference to a C++ vector is a pointer.
unsafe impl<'c> Argument<'c> for Vec<Tensor<'c>> {
    const KIND: KernelArgument = KernelArgument::LIST_TENSOR;
    type Raw = *mut PD_Tensor;

    unsafe fn from_raw(call: &'c Call, name: &'static str, raw: *mut PD_Tensor) -> Result<Self> {
        // SAFETY: the caller's promise; the list is borrowed.
        unsafe {
            let list = call.api().tensor_vector_to_list(Handle::from_raw(raw))?;
            of_pointers(call, name, elements(name, list)?)
        }
    }

    unsafe fn from_context(
        call: &'c Call,
        name: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Result<Self> {
        // SAFETY: the caller's promise; the list is made for the caller, the tensors are borrowed.
        unsafe {
            let list = Made::of_pointers(call.api(), call.api().kernel_context_multi_input_at(context, index)?);
            of_pointers(call, name, list.elements(name)?)
        }
    }
}

/// # Safety
/// The pointers lead to tensors that live for `'c`.
unsafe fn of_pointers<'c>(
    call: &'c Call,
    name: &'static str,
    pointers: &[*mut PD_Tensor],
) -> Result<Vec<Tensor<'c>>> {
    // SAFETY: the caller's promise.
    pointers.iter().map(|&pointer| unsafe { Tensor::of_raw(call, name, pointer) }.required()).collect()
}

impl<'c> Input<'c> for Tensor<'c> {}
impl<'c> Input<'c> for Option<Tensor<'c>> {}
impl<'c> Input<'c> for Vec<Tensor<'c>> {}
