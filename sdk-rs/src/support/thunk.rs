//! The bodies of functions that C calls: catches panics, and records failures.

use std::any::Any;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use crate::error::{Error, StatusCode, last_error, set_last_error};
use crate::log::{LogLevel, write_line};

/// Runs the body of a thunk: catches panics, and records the last error if it fails.
#[inline]
pub fn call<S: StatusCode>(function: &'static str, body: impl FnOnce() -> Result<(), Error<S>>) -> S {
    call_question(function, move || body().map(|()| S::SUCCESS))
}

/// Runs the body of a thunk like [`call`], for a function whose status answers a question.
#[inline]
pub fn call_question<S: StatusCode>(function: &'static str, body: impl FnOnce() -> Result<S, Error<S>>) -> S {
    // `AssertUnwindSafe`: the body only has `&self` of the device, which is responsible for its own state after a
    // panic.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => failed(function, &error),
        Err(panic) => panicked(function, panic),
    }
}

/// Runs the body of a thunk like [`call`], and logs the message of a failure at every log level.
///
/// For functions that initialise and finalise: if one of them fails, hosts give up on the device and cannot show the
/// message.
pub fn call_lifecycle<S: StatusCode>(
    function: &'static str,
    body: impl FnOnce() -> Result<(), Error<S>>,
) -> S {
    let status = call(function, body);
    if status.code() != S::SUCCESS.code() && !crate::log::writes(LogLevel::Error) {
        last_error(|message| {
            write_line(format_args!("{}", message.map_or("".into(), CStr::to_string_lossy)));
        });
    }
    status
}

#[cold]
pub(super) fn failed<S: StatusCode>(function: &str, error: &Error<S>) -> S {
    set_last_error(function, &error.message);
    // A failure must never look like success to the host, whatever status the device returns.
    if error.status.code() == S::SUCCESS.code() { S::INTERNAL } else { error.status }
}

#[cold]
pub(super) fn panicked<S: StatusCode>(function: &str, panic: Box<dyn Any + Send>) -> S {
    set_last_error(function, &format!("the device panicked: {}", panic_text(&*panic)));
    // The payload's destructor may panic, which would end the process.
    std::mem::forget(panic);
    S::INTERNAL
}

/// Runs the body of a thunk without a status: a failure records the last error and returns `default`.
pub fn call_value<S: StatusCode, T>(
    function: &'static str,
    default: T,
    body: impl FnOnce() -> Result<T, Error<S>>,
) -> T {
    let mut yielded = default;
    call(function, || body().map(|value| yielded = value));
    yielded
}

/// Returns the plugin's table: the first call makes it, and it is never freed. Null if making it panicked.
pub fn own<T>(kept: &'static OnceLock<usize>, make: impl FnOnce() -> T) -> *const T {
    let address = || *kept.get_or_init(|| Box::into_raw(Box::new(make())).expose_provenance());
    match catch_unwind(AssertUnwindSafe(address)) {
        Ok(address) => std::ptr::with_exposed_provenance(address),
        Err(panic) => {
            write_line(format_args!("the plugin has no table: {}", panic_text(&*panic)));
            std::mem::forget(panic);
            std::ptr::null()
        }
    }
}

/// Returns the message of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
