//! The bodies of exported functions, whose interface reports the last failure of a thread.

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char};
use std::thread::LocalKey;

use super::thunk::call_question;
use crate::error::{Error, StatusCode, last_error};

/// Runs the body of an exported function like [`call`](super::call), and stores the message of a failure for its interface.
pub fn call_export<S: StatusCode>(
    last: &'static LocalKey<LastFailure>,
    function: &'static str,
    body: impl FnOnce() -> Result<(), Error<S>>,
) -> S {
    call_export_question(last, function, || body().map(|()| S::SUCCESS))
}

/// Runs the body of an exported function like [`call_export`], for a function whose status answers a question.
pub fn call_export_question<S: StatusCode>(
    last: &'static LocalKey<LastFailure>,
    function: &'static str,
    body: impl FnOnce() -> Result<S, Error<S>>,
) -> S {
    let mut is_answered = false;
    let status = call_question(function, || body().inspect(|_| is_answered = true));
    if !is_answered {
        keep_failure(last, status.code());
    }
    status
}

/// Runs the body of an exported function without a status like [`call_value`](super::call_value), and stores the message
/// of a failure for its interface.
pub fn call_export_value<S: StatusCode, T>(
    last: &'static LocalKey<LastFailure>,
    function: &'static str,
    default: T,
    body: impl FnOnce() -> Result<T, Error<S>>,
) -> T {
    let mut yielded = default;
    call_export(last, function, || body().map(|value| yielded = value));
    yielded
}

/// Returns a body that only refuses. All refusals of an interface have this one body.
pub fn refusal<S: StatusCode, T>(status: S, message: &'static str) -> impl FnOnce() -> Result<T, Error<S>> {
    move || Err(Error::new(status, message))
}

/// Defines a function for each declaration, which returns the status and keeps the message of the declaration. A function
/// without a status returns the value after the message.
#[doc(hidden)]
#[macro_export]
macro_rules! refuse_functions {
    (unsafe extern $convention:literal {
        $(
            #[refuse($status:expr, $message:literal $(, $failure:expr)?)]
            $(#[$attribute:meta])*
            fn $name:ident($(_: $type:ty),* $(,)?) $(-> $result:ty)?;
        )*
    }) => {$(
        #[allow(clippy::too_many_arguments, reason = "the interface has that many")]
        $(#[$attribute])*
        pub unsafe extern $convention fn $name($(_: $type),*) $(-> $result)? {
            $crate::refuse_functions!(@call stringify!($name), $status, $message $(, $failure)?)
        }
    )*};
    (@call $name:expr, $status:expr, $message:literal) => {
        super::api::call($name, $crate::support::refusal($status, $message))
    };
    (@call $name:expr, $status:expr, $message:literal, $failure:expr) => {
        super::api::call_value($name, $failure, $crate::support::refusal($status, $message))
    };
}

#[cold]
fn keep_failure(last: &'static LocalKey<LastFailure>, code: i32) {
    let message = last_error(|message| message.map(CStr::to_owned));
    // When a thread ends, its thread-local slot for the message may already be destroyed.
    let _ = last.try_with(|last| {
        last.message.replace(message);
        last.code.set(Some(code));
    });
}

/// Message and code of the last failed function of an interface on a thread. They are taken independently.
#[derive(Default)]
pub struct LastFailure {
    message: Cell<Option<CString>>,
    code: Cell<Option<i32>>,
}

impl LastFailure {
    /// Makes a slot without a failure.
    pub const fn new() -> Self {
        LastFailure { message: Cell::new(None), code: Cell::new(None) }
    }

    /// Takes the message.
    pub fn take(&self) -> Option<CString> {
        self.message.take()
    }

    /// Returns the code without taking it.
    pub fn code(&self) -> Option<i32> {
        self.code.get()
    }

    /// Takes the code.
    pub fn take_code(&self) -> Option<i32> {
        self.code.take()
    }
}

/// The string that a thread borrowed last.
#[derive(Default)]
pub struct KeptText(Cell<Option<CString>>);

impl KeptText {
    /// Makes a slot without a string.
    pub const fn new() -> Self {
        KeptText(Cell::new(None))
    }
}

/// Lends a string to C. An owned string stays valid until the thread borrows another one or ends.
pub fn lend(kept: &'static LocalKey<KeptText>, text: Option<Cow<'static, CStr>>) -> *const c_char {
    match text {
        None => std::ptr::null(),
        Some(Cow::Borrowed(text)) => text.as_ptr(),
        Some(Cow::Owned(text)) => {
            let pointer = text.as_ptr();
            // The thread-local slot is already destroyed, so nothing can own the string.
            match kept.try_with(|kept| kept.0.replace(Some(text))) {
                Ok(_) => pointer,
                Err(_) => std::ptr::null(),
            }
        }
    }
}
