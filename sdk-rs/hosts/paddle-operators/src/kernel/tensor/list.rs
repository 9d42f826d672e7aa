//! Lists of input tensors.

use crate::paddle::ffi::PD_Tensor;
use crate::paddle::{KernelArgument, KernelContext, Tensor as Handle};

use crate::error::Result;
use crate::kernel::argument::list::{Made, elements};
use crate::kernel::argument::{Argument, Input};
use crate::kernel::call::Call;
use crate::kernel::tensor::Tensor;

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
        // SAFETY: the caller's promise; the list was created for the caller, the tensors are borrowed.
        unsafe {
            let list =
                Made::of_pointers(call.api(), call.api().kernel_context_multi_input_at(context, index)?);
            of_pointers(call, name, list.elements(name)?)
        }
    }
}

// SAFETY: a reference to a C++ `optional` is a pointer to it.
unsafe impl<'c> Argument<'c> for Option<Vec<Tensor<'c>>> {
    const KIND: KernelArgument = KernelArgument::OPTIONAL_MULTI_TENSOR;
    type Raw = *mut PD_Tensor;

    unsafe fn from_raw(call: &'c Call, name: &'static str, raw: *mut PD_Tensor) -> Result<Self> {
        // SAFETY: the caller's promise. The converter is for an `optional` of a tensor, but works for one of
        // a vector, too: both are a flag followed by a value with the alignment of a pointer.
        let list = unsafe { call.api().optional_tensor_get_pointer(Handle::from_raw(raw)) }?;
        if list.is_null() {
            return Ok(None);
        }
        // SAFETY: it is the vector in the `optional`.
        unsafe { Argument::from_raw(call, name, list.as_raw()) }.map(Some)
    }

    unsafe fn from_context(
        call: &'c Call,
        name: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Result<Self> {
        // SAFETY: the caller's promise; the list was created for the caller, the tensors are borrowed. An
        // absent list is one null pointer.
        unsafe {
            let list =
                Made::of_pointers(call.api(), call.api().kernel_context_multi_input_at(context, index)?);
            let pointers: &[*mut PD_Tensor] = list.elements(name)?;
            if pointers.iter().all(|pointer| pointer.is_null()) {
                return Ok(None);
            }
            of_pointers(call, name, pointers).map(Some)
        }
    }
}

/// # Safety
/// The pointers must point to tensors that live for `'c`.
unsafe fn of_pointers<'c>(
    call: &'c Call,
    name: &'static str,
    pointers: &[*mut PD_Tensor],
) -> Result<Vec<Tensor<'c>>> {
    // SAFETY: the caller's promise.
    pointers.iter().map(|&pointer| unsafe { Tensor::of_raw(call, name, pointer) }.required()).collect()
}

impl<'c> Input<'c> for Vec<Tensor<'c>> {}
impl<'c> Input<'c> for Option<Vec<Tensor<'c>>> {}
