//! The arguments of operators as the functions of a plugin take them.

use std::ffi::{CString, c_char};
use std::ptr;

use tenon::DevicePtr;
use tenon::device::{DataType, Error, Result};
use tenon::operators::{TensorMut, TensorRef};

use crate::ffi;

/// A tensor that is read or written.
pub(crate) trait View {
    fn view(&self) -> ffi::Tensor;
}

impl View for TensorRef<'_> {
    fn view(&self) -> ffi::Tensor {
        of_parts(self.first(), self.data_type(), self.dims(), self.strides())
    }
}

impl View for TensorMut<'_> {
    fn view(&self) -> ffi::Tensor {
        of_parts(self.first(), self.data_type(), self.dims(), self.strides())
    }
}

fn of_parts(first: DevicePtr, data_type: DataType, dims: &[usize], strides: &[isize]) -> ffi::Tensor {
    ffi::Tensor {
        data: first.as_ptr(),
        data_type,
        rank: dims.len(),
        dims: dims.as_ptr(),
        strides: strides.as_ptr(),
    }
}

/// Returns the struct of a tensor. Its arrays are those of the tensor.
pub(crate) fn tensor(tensor: &impl View) -> ffi::Tensor {
    tensor.view()
}

/// Returns the struct of a tensor, if there is one.
pub(crate) fn optional<V: View>(tensor: Option<impl std::ops::Deref<Target = V>>) -> Option<ffi::Tensor> {
    tensor.map(|tensor| tensor.view())
}

/// The structs of a list of tensors, and a pointer to each.
pub(crate) struct Tensors {
    pointers: Option<Vec<*const ffi::Tensor>>,
    #[allow(dead_code, reason = "the pointers point to it")]
    tensors: Vec<ffi::Tensor>,
}

impl Tensors {
    fn of(views: impl Iterator<Item = Option<ffi::Tensor>>) -> Self {
        let views: Vec<Option<ffi::Tensor>> = views.collect();
        let is_there: Vec<bool> = views.iter().map(Option::is_some).collect();
        let tensors: Vec<ffi::Tensor> = views.into_iter().flatten().collect();
        let mut rest = tensors.iter();
        let pointer = |is_there| match is_there {
            true => rest.next().map_or(ptr::null(), ptr::from_ref),
            false => ptr::null(),
        };
        Self { pointers: Some(is_there.into_iter().map(pointer).collect()), tensors }
    }

    /// Returns the address of the first pointer; null if there is no list.
    pub(crate) fn first(&self) -> *const *const ffi::Tensor {
        self.pointers.as_ref().map_or(ptr::null(), Vec::as_ptr)
    }

    pub(crate) fn count(&self) -> usize {
        self.pointers.as_ref().map_or(0, Vec::len)
    }
}

/// Returns the structs of tensors that are read.
pub(crate) fn inputs(tensors: &[TensorRef<'_>]) -> Tensors {
    Tensors::of(tensors.iter().map(|tensor| Some(tensor.view())))
}

/// Returns the structs of tensors that are read, if there is a list.
pub(crate) fn optional_inputs(tensors: Option<&[TensorRef<'_>]>) -> Tensors {
    tensors.map_or(Tensors { pointers: None, tensors: Vec::new() }, inputs)
}

/// Returns the structs of tensors that are written, as far as the host wants them.
pub(crate) fn outputs(tensors: &[Option<TensorMut<'_>>]) -> Tensors {
    Tensors::of(tensors.iter().map(|tensor| tensor.as_ref().map(View::view)))
}

/// Returns a string of C.
pub(crate) fn text(name: &str, value: &str) -> Result<CString> {
    CString::new(value).map_err(|_| Error::invalid(format!("`{name}` contains a zero byte")))
}

/// Strings of C, and a pointer to each.
pub(crate) struct Texts {
    pointers: Vec<*const c_char>,
    #[allow(dead_code, reason = "the pointers point to it")]
    texts: Vec<CString>,
}

impl Texts {
    pub(crate) fn first(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }

    pub(crate) fn count(&self) -> usize {
        self.pointers.len()
    }
}

/// Returns strings of C.
pub(crate) fn texts(name: &str, values: &[&str]) -> Result<Texts> {
    let texts = values.iter().map(|value| text(name, value)).collect::<Result<Vec<CString>>>()?;
    Ok(Texts { pointers: texts.iter().map(|text| text.as_ptr()).collect(), texts })
}
