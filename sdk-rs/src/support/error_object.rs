//! Error objects, for an ABI whose functions return them instead of a status.

use std::ffi::{CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::thunk::{failed, panic_text, panicked};
use crate::error::{Error, StatusCode};

/// An error as a heap object that the caller reads and destroys.
struct ErrorObject {
    code: i32,
    message: CString,
}

/// Runs the body of a thunk like [`call`](super::call), for an ABI that returns an error object; null is success.
pub fn call_object<S: StatusCode>(
    function: &'static str,
    body: impl FnOnce() -> Result<(), Error<S>>,
) -> *mut c_void {
    call_object_question(function, move || body().map(|()| S::SUCCESS))
}

/// Runs the body of a thunk like [`call_object`], for a function whose status answers a question.
pub fn call_object_question<S: StatusCode>(
    function: &'static str,
    body: impl FnOnce() -> Result<S, Error<S>>,
) -> *mut c_void {
    match status_outcome(function, body) {
        Ok(()) => std::ptr::null_mut(),
        Err((status, message)) => {
            Box::into_raw(Box::new(ErrorObject { code: status.code(), message })).cast()
        }
    }
}

/// Runs the body of a thunk: catches panics, and records the last error if it fails.
///
/// # Errors
/// The status and the message of a failure, for an error object that the host makes.
pub fn outcome<S: StatusCode>(
    function: &'static str,
    body: impl FnOnce() -> Result<(), Error<S>>,
) -> Result<(), (S, CString)> {
    status_outcome(function, move || body().map(|()| S::SUCCESS))
}

fn status_outcome<S: StatusCode>(
    function: &'static str,
    body: impl FnOnce() -> Result<S, Error<S>>,
) -> Result<(), (S, CString)> {
    let (status, message) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) if status.code() == S::SUCCESS.code() => return Ok(()),
        Ok(Ok(status)) => (status, format!("{function}: {status:?}")),
        Ok(Err(error)) => (failed(function, &error), format!("{function}: {}", error.message)),
        Err(panic) => {
            let message = format!("{function}: the device panicked: {}", panic_text(&*panic));
            (panicked(function, panic), message)
        }
    };
    Err((status, CString::new(message.replace('\0', " ")).unwrap_or_default()))
}

/// Returns the code of an error object; 0 for null.
///
/// # Safety
/// `object` is null, or came from [`call_object`] and is alive.
pub unsafe fn error_object_code(object: *const c_void) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { object.cast::<ErrorObject>().as_ref() }.map_or(0, |object| object.code)
}

/// Returns the message of an error object, which lives as long as the object; empty for null.
///
/// # Safety
/// As for [`error_object_code`].
pub unsafe fn error_object_message(object: *const c_void) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { object.cast::<ErrorObject>().as_ref() }.map_or(c"".as_ptr(), |object| object.message.as_ptr())
}

/// Returns the length of the message of an error object, without its NUL; 0 for null.
///
/// # Safety
/// As for [`error_object_code`].
pub unsafe fn error_object_length(object: *const c_void) -> usize {
    // SAFETY: the caller's promise.
    unsafe { object.cast::<ErrorObject>().as_ref() }.map_or(0, |object| object.message.count_bytes())
}

/// Destroys an error object; ignores null.
///
/// # Safety
/// As for [`error_object_code`]. The object is not used afterwards.
pub unsafe fn error_object_destroy(object: *const c_void) {
    if !object.is_null() {
        // SAFETY: `call_object` made it from a box, and the caller passes ownership.
        drop(unsafe { Box::from_raw(object.cast_mut().cast::<ErrorObject>()) });
    }
}
