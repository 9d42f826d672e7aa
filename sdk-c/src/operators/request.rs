//! A call of a method of an operator, and the failures of such calls.

use std::ffi::CStr;

use tenon::device::{DataType, DeviceId, Error, Status, Stream};
use tenon_operators::Launch;
use tenon_operators::by_name::{Argument, Calls, Shape};

use crate::error::Failure;

/// A call of a method of an operator.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) stream: Stream,
    pub(super) method: &'a CStr,
    pub(super) data_type: DataType,
    pub(super) arguments: &'a [Argument],
    /// Null for a method that computes elements.
    pub(super) shape: *mut Shape,
}

/// Calls a method at once.
///
/// # Safety
/// As for [`run`].
pub(super) unsafe fn call(
    calls: Calls,
    device: DeviceId,
    stream: Stream,
    request: Request<'_>,
) -> tenon::device::Result<()> {
    let launch = Launch { device, stream };
    // SAFETY: the caller's promise.
    let called = unsafe { calls.run(request.method, launch, request.arguments, request.shape) };
    called.map_err(|error| {
        let (method, status) = (request.method.to_string_lossy(), error.status);
        let message = if error.message.is_empty() {
            format!("the operator `{method}` failed with the status {status:?}")
        } else {
            format!("the operator `{method}`: {}", error.message)
        };
        Error::from_plugin(status, message)
    })
}

/// Returns the failure for an error of an operator. Its status says who is wrong: the caller or the device.
pub(super) fn failure(error: Error) -> Failure {
    match error.status {
        Status::ERROR => Failure::invalid(error.message.to_string()),
        Status::FAILED => unsupported(error.message.to_string()),
        _ => Failure::from(error),
    }
}

pub(super) fn unsupported(message: String) -> Failure {
    Failure::new(crate::Status::UNSUPPORTED, message)
}
