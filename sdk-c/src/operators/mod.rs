//! Calls of operators: of the plugin if it exports them, and of the library beside this one for the built-in device.

mod arguments;
mod calls;
pub(crate) mod composed;
mod cpu;
mod request;

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;
use std::ptr;

use tenon::device::{DataType, Stream, ffi};
use tenon::support::has_room;
use tenon_operators::by_name;

use crate::call::export_on;
use crate::call::text::{place, required};
use crate::error::Failure;
use crate::{DeviceHandle, Status};

use self::request::Request;

/// A tensor in device memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OperatorTensor {
    /// Address of the first element. The element with the indices `i` is `sum(i * strides)` elements behind it.
    pub data: *mut c_void,
    /// The number of the element type.
    pub data_type: c_int,
    /// Number of dimensions; 0 for a single number.
    pub rank: usize,
    /// Length of each dimension.
    pub dims: *const usize,
    /// Distance between neighbours along each dimension, in elements. It may be zero or negative.
    pub strides: *const isize,
}

/// The shape of a tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OperatorShape {
    /// Number of dimensions.
    pub rank: usize,
    /// Length of each dimension; those from `rank` on are 0.
    pub dims: [usize; 16],
}

/// The type of the values of an argument.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorKind {
    /// No value: an optional tensor that is not there.
    Absent = 0,
    /// Pointers to `tenon_operator_tensor`.
    Tensors = 1,
    /// Integers of 64 bits. A truth value is 0 or 1.
    Integers = 2,
    /// Numbers of the type `double`.
    Numbers = 3,
    /// The bytes of a text in UTF-8.
    Text = 4,
    /// Texts in UTF-8: `tenon_operator_text`.
    Texts = 5,
}

/// A text in a list.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OperatorText {
    /// Address of the first byte; `null` if there is none.
    pub first: *const c_char,
    /// Number of bytes.
    pub count: usize,
}

/// An argument of an operator.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OperatorArgument {
    /// The type of the values.
    pub kind: OperatorKind,
    /// The number of values: 1 unless the operator takes a list.
    pub count: usize,
    /// The address of the first value.
    pub values: *const c_void,
}

const _: () = assert!(size_of::<OperatorTensor>() == size_of::<by_name::Tensor>());
const _: () = assert!(offset_of!(OperatorTensor, strides) == offset_of!(by_name::Tensor, strides));
const _: () = assert!(size_of::<OperatorShape>() == size_of::<by_name::Shape>());
const _: () = assert!(size_of::<OperatorArgument>() == size_of::<by_name::Argument>());
const _: () = assert!(offset_of!(OperatorArgument, values) == offset_of!(by_name::Argument, values));
const _: () = assert!(OperatorKind::Text as u32 == by_name::Kind::TEXT.0);
const _: () = assert!(OperatorKind::Texts as u32 == by_name::Kind::TEXTS.0);
const _: () = assert!(size_of::<OperatorText>() == size_of::<by_name::Text>());

/// Finds out whether a device has an operator for a type of elements.
///
/// An operator that a plugin lacks is composed of others, if it has all that are needed.
///
/// @param[in] device The device.
/// @param[in] method The name of the operator, as in the reference of operators.
/// @param[in] data_type The number of the element type of its first input.
/// @param[out] supported True if the device has it.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval TENON_INVALID_ARGUMENT [C] `method` or `supported` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `method` is null or NUL-terminated; `supported` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_operator_supported(
    device: DeviceHandle,
    method: *const c_char,
    data_type: c_int,
    supported: *mut bool,
) -> Status {
    export_on("tenon_operator_supported", device, |open| {
        // SAFETY: the caller's promise.
        let method = unsafe { required("method", method) }?;
        let supported = place("supported", supported)?;
        let request = Request {
            stream: Stream::NULL,
            method,
            data_type: DataType(data_type),
            arguments: &[],
            shape: ptr::null_mut(),
        };
        let found = calls::provides(open, request);
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { supported.write(found) };
        Ok(())
    })
}

/// Computes an operator on a stream.
///
/// The call may return before the work is done. The memory of the tensors must stay allocated until then; the structs
/// and lists need not. The outputs have the shapes and types that the operator gives them. An output may be the same
/// tensor as an input. The reference of operators has the arguments of each.
///
/// An error in the arguments is reported by this call, or by the next synchronisation of the stream.
///
/// @param[in] device The device.
/// @param[in] stream The stream; `null`: the default stream.
/// @param[in] method The name of the operator.
/// @param[in] data_type The number of the element type of its first input. The device must have the operator
/// for it.
/// @param[in] arguments The outputs, the inputs, the seed and the offset of random numbers, and the attributes, in this
/// order. The last attributes may be left out: they have their defaults then.
/// @param[in] count The number of arguments.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_UNSUPPORTED The device does not have the operator, or not for this type.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval TENON_INVALID_ARGUMENT The operator does not accept the arguments. [C] Or `method` is `null`.
/// @retval other The status of the device.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `method` is null or NUL-terminated. `arguments` are as many as `count` says, and their values as many as they say.
/// The tensors are memory of the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_operator_call(
    device: DeviceHandle,
    stream: ffi::C_Stream,
    method: *const c_char,
    data_type: c_int,
    arguments: *const OperatorArgument,
    count: usize,
) -> Status {
    export_on("tenon_operator_call", device, |open| {
        if !has_room() {
            return Err(Failure::no_room());
        }
        // SAFETY: the caller's promise.
        let request = unsafe { request(stream, method, data_type, arguments, count, ptr::null_mut()) }?;
        // SAFETY: the caller's promise.
        unsafe { calls::run(open, request) }
    })
}

/// Computes the shape of an output of an operator.
///
/// Only operators whose shapes need a function of their own have one: `matmul_out_shape` computes that of the output
/// `out` of `matmul`. If the shape depends on elements, the call waits for the stream.
///
/// @param[in] device The device.
/// @param[in] stream The stream; `null`: the default stream.
/// @param[in] method The name: that of the operator, of the output, and `shape`, joined by `_`.
/// @param[in] data_type As for #tenon_operator_call.
/// @param[in] arguments The inputs and the attributes of the operator, in this order.
/// @param[in] count The number of arguments.
/// @param[out] shape The shape.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_UNSUPPORTED The device does not have the function, or not for this type.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval TENON_INVALID_ARGUMENT The operator does not accept the arguments. [C] Or `method` or `shape` is `null`.
/// @retval other The status of the device.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// As for [`tenon_operator_call`]; `shape` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_operator_infer_shape(
    device: DeviceHandle,
    stream: ffi::C_Stream,
    method: *const c_char,
    data_type: c_int,
    arguments: *const OperatorArgument,
    count: usize,
    shape: *mut OperatorShape,
) -> Status {
    export_on("tenon_operator_infer_shape", device, |open| {
        let shape = place("shape", shape)?.cast::<by_name::Shape>();
        // SAFETY: the caller's promise.
        let request = unsafe { request(stream, method, data_type, arguments, count, shape) }?;
        // SAFETY: the caller's promise.
        unsafe { calls::run(open, request) }
    })
}

/// # Safety
/// As for [`tenon_operator_infer_shape`], with arguments that live for `'a`.
unsafe fn request<'a>(
    stream: ffi::C_Stream,
    method: *const c_char,
    data_type: c_int,
    arguments: *const OperatorArgument,
    count: usize,
    shape: *mut by_name::Shape,
) -> Result<Request<'a>, Failure> {
    let arguments = match count {
        0 => &[],
        _ if arguments.is_null() || !arguments.is_aligned() => {
            return Err(Failure::invalid("`arguments` is null or misaligned"));
        }
        // SAFETY: not null and aligned; as many as `count` says by the caller's promise. Both structs have the same layout.
        _ => unsafe { std::slice::from_raw_parts(arguments.cast::<by_name::Argument>(), count) },
    };
    Ok(Request {
        stream: Stream::from_raw(stream),
        // SAFETY: the caller's promise.
        method: unsafe { required("method", method) }?,
        data_type: DataType(data_type),
        arguments,
        shape,
    })
}
