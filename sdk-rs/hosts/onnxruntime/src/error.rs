//! Errors of devices and operators as those of the host.

use tenon::device::Status;

use crate::api::objects::Error;
use crate::api::runtime::ErrorCode;

/// Converts the error of a device or an operator.
pub(crate) fn reported(error: tenon::device::Error) -> Error {
    let code = match error.status {
        Status::FAILED => ErrorCode::NOT_IMPLEMENTED,
        Status::ERROR => ErrorCode::INVALID_ARGUMENT,
        _ => ErrorCode::FAIL,
    };
    Error::new(code, error.message.clone())
}

/// Converts the error of a function of the host, for a rule that returns errors of operators.
pub(crate) fn refused(error: Error) -> tenon::device::Error {
    let status = match error.status {
        ErrorCode::INVALID_ARGUMENT => Status::ERROR,
        ErrorCode::NOT_IMPLEMENTED => Status::FAILED,
        _ => Status::INTERNAL_ERROR,
    };
    tenon::device::Error::new(status, error.message.clone())
}
