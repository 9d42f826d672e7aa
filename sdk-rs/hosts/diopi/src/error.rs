//! Errors of the library: a code for the host, and a message with the name of the function that failed.
//!
//! The message is stored per thread. `diopiGetLastErrorString` returns it.

use std::ffi::{CStr, c_char};

use tenon::{device, support};

use crate::runtime::DiopiError;
pub(crate) use crate::runtime::{Error, Result};

/// Runs the body of a function of the library: catches panics, and records the message of a failure.
pub(crate) fn call(name: &'static str, body: impl FnOnce() -> Result<()>) -> DiopiError {
    support::call(name, body)
}

/// Converts an error of a computed function: `no_implement` for operations that the device does not support.
#[cold]
pub(crate) fn computed(error: &device::Error) -> Error {
    let code = match error.status {
        device::Status::FAILED => DiopiError::NO_IMPLEMENT,
        _ => DiopiError::ERROR_OCCURRED,
    };
    Error::new(code, error.message.clone())
}

/// Creates an error of a computed function for operations that the library does not implement.
#[cold]
pub(crate) fn unsupported(message: String) -> device::Error {
    device::Error::new(device::Status::FAILED, message)
}

/// Converts an error of the host for a computed function.
#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn refused(error: Error) -> device::Error {
    device::Error::new(device::Status::INTERNAL_ERROR, error.message.clone())
}

/// Converts the error of a device for a function that each device supports.
#[cold]
#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn failed(error: device::Error) -> Error {
    Error::new(DiopiError::ERROR_OCCURRED, error.message.clone())
}

/// Creates an error for an argument that is null, out of range or stale.
#[cold]
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(DiopiError::ERROR_OCCURRED, message.into())
}

/// Returns the message of the last failure in this thread; an empty string if there was none.
///
/// The next failure in this thread frees it.
pub(crate) fn last_message() -> *const c_char {
    tenon::last_error(|message| message.map_or(c"".as_ptr(), CStr::as_ptr))
}
