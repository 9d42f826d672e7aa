//! The functions behind the export of a plugin.

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use super::methods::find;
use super::{Arguments, Call, RawLaunch, SHAPE_RANK, Shape};
use crate::{Launch, Operators};
use tenon::device::{DataType, DeviceId, Error, Result, Status, Stream};
use tenon::support::{panic_text, write_message};

/// Returns true if a method exists and is implemented for elements of a type.
///
/// # Safety
/// `method` is null or a string.
pub unsafe fn provides(operators: &dyn Operators, method: *const c_char, ty: DataType) -> bool {
    // SAFETY: the caller's promise.
    let Some(method) = (unsafe { text(method) }) else { return false };
    let provides = || find(method).is_some() && operators.provides(method, ty);
    catch_unwind(AssertUnwindSafe(provides)).unwrap_or(false)
}

/// Calls a method, and writes the reason of a failure to its launch.
///
/// # Safety
/// `call` is null, or its pointers are null or point to what it describes. The arguments are as [`Arguments::new`]
/// promises.
pub unsafe fn call(operators: &dyn Operators, call: *const Call) -> Status {
    // SAFETY: the caller's promise.
    let Some(call) = (unsafe { call.as_ref() }).filter(|call| call.size >= size_of::<Call>()) else {
        return Status::ERROR;
    };
    // SAFETY: the caller's promise.
    let Some(launch) = (unsafe { call.launch.as_ref() }) else { return Status::ERROR };
    // SAFETY: the caller's promise.
    let called = || unsafe { called(operators, call, launch) };
    let outcome = catch_unwind(AssertUnwindSafe(called)).unwrap_or_else(|panic| {
        Err(Error::new(Status::INTERNAL_ERROR, format!("panicked: {}", panic_text(&*panic))))
    });
    let Err(error) = outcome else { return Status::SUCCESS };
    // SAFETY: the launch has the room by the caller's promise.
    unsafe { write_message(&error.message, launch.message, launch.message_size) };
    error.status
}

/// # Safety
/// As for [`call`].
unsafe fn called(operators: &dyn Operators, call: &Call, launch: &RawLaunch) -> Result<()> {
    // SAFETY: the caller's promise.
    let method = unsafe { text(call.method) }.ok_or_else(|| Error::invalid("the method has no name"))?;
    let entry = find(method).ok_or_else(|| Error::unsupported(method))?;
    let arguments = match call.count {
        0 => &[],
        _ if call.arguments.is_null() || !call.arguments.is_aligned() => {
            return Err(Error::invalid("the arguments are null"));
        }
        // SAFETY: not null and aligned; as many as the call says by the caller's promise.
        count => unsafe { slice::from_raw_parts(call.arguments, count) },
    };
    // SAFETY: the caller's promise.
    let arguments = unsafe { Arguments::new(arguments) };
    // SAFETY: the device is null or one of the host by the caller's promise.
    let device = unsafe { launch.device.as_ref() }.map_or(DeviceId(0), |device| DeviceId(device.id));
    let launch = Launch { device, stream: Stream::from_raw(launch.stream) };
    let Some(dims) = entry.call(operators, launch, arguments)? else { return Ok(()) };
    if dims.len() > SHAPE_RANK {
        return Err(Error::unsupported("a shape with so many dimensions"));
    }
    let mut shape = Shape { rank: dims.len(), ..Shape::default() };
    shape.dims[..dims.len()].copy_from_slice(&dims);
    if call.shape.is_null() || !call.shape.is_aligned() {
        return Err(Error::invalid("there is no room for the shape"));
    }
    // SAFETY: not null and aligned; writable by the caller's promise.
    unsafe { call.shape.write(shape) };
    Ok(())
}

/// # Safety
/// `text` is null or a string that lives during the call.
unsafe fn text<'t>(text: *const c_char) -> Option<&'t str> {
    // SAFETY: not null; a string by the caller's promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }).and_then(|text| text.to_str().ok())
}
