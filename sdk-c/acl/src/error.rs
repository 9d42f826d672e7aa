//! Errors: a code of the interface with a sentence that says which argument was wrong and why.

use std::borrow::Cow;

use tenon::device;

use crate::api::AclError;

/// A code with a sentence.
pub type Error = tenon::Error<AclError>;
/// What functions of this crate answer.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error in the place of a result.
#[cold]
pub(crate) fn refuse<T>(code: AclError, message: impl Into<Cow<'static, str>>) -> Result<T> {
    Err(Error::new(code, message))
}

/// The error of a device in the codes of this interface.
#[cold]
pub(crate) fn of_device(error: &device::Error) -> Error {
    let code = match error.status {
        device::Status::ERROR => AclError::RT_PARAM_INVALID,
        _ => AclError::RT_INTERNAL_ERROR,
    };
    Error::new(code, error.message.clone())
}
