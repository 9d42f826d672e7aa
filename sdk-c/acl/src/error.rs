//! Errors: a status code, and a message that says which argument is wrong and why.

use std::borrow::Cow;

use tenon::device;

use crate::api::AclError;

/// A status code with a message.
pub type Error = tenon::Error<AclError>;
/// The result of the functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Returns an error with this code and message.
#[cold]
pub(crate) fn refuse<T>(code: AclError, message: impl Into<Cow<'static, str>>) -> Result<T> {
    Err(Error::new(code, message))
}

/// Converts the error of a device to the codes of this interface.
#[cold]
pub(crate) fn of_device(error: &device::Error) -> Error {
    let code = match error.status {
        device::Status::ERROR => AclError::RT_PARAM_INVALID,
        _ => AclError::RT_INTERNAL_ERROR,
    };
    Error::new(code, error.message.clone())
}

/// Returns the error for a number that is not a value of its enumeration.
#[cold]
pub(crate) fn unknown_value<T>(param: &str, value: i32) -> Result<T> {
    refuse(AclError::INVALID_PARAM, format!("`{param}` is {value}, which is not a valid value"))
}

/// Returns the error for a handle without a live object.
#[cold]
pub(crate) fn unknown_handle(param: &str, handle: usize) -> Error {
    if handle == 0 {
        Error::new(AclError::INVALID_PARAM, format!("`{param}` is null"))
    } else {
        Error::new(
            AclError::RT_INVALID_HANDLE,
            format!("`{param}` is {handle:#x}, which was destroyed or never created"),
        )
    }
}

/// Returns the error for the handle of a data object. Their functions use one code for every invalid parameter.
#[cold]
pub(crate) fn unknown_data_handle(param: &str, handle: usize) -> Error {
    Error::new(AclError::INVALID_PARAM, unknown_handle(param, handle).message.clone())
}

/// Returns the error for a context handle without a live context.
#[cold]
pub(crate) fn unknown_context(handle: usize) -> Error {
    if handle == 0 {
        return Error::new(AclError::INVALID_PARAM, "`context` is null");
    }
    Error::new(
        AclError::RT_PARAM_INVALID,
        format!("`context` is {handle:#x}, which was destroyed or never created"),
    )
}

/// Returns the only element of a slice for a parameter that points to one value.
pub(crate) fn only<'a, T>(param: &str, values: &'a [T]) -> Result<&'a T> {
    match values {
        [value] => Ok(value),
        _ => {
            refuse(AclError::RT_PARAM_INVALID, format!("`{param}` must have 1 element, not {}", values.len()))
        }
    }
}
