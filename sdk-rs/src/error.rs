//! A status with the message that the C ABI has no room for.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::fmt;
use std::ops::Deref;

use crate::log::{self, LogLevel};

/// The status enum of an interface.
pub trait StatusCode: Copy + fmt::Debug + Send + Sync + 'static {
    /// The call did what it says.
    const SUCCESS: Self;
    /// An argument is null, out of range or stale.
    const INVALID_ARGUMENT: Self;
    /// The function is not there.
    const UNSUPPORTED: Self;
    /// The implementation panicked.
    const INTERNAL: Self;

    /// The number in the ABI.
    fn code(self) -> i32;
}

/// Why a call failed: the status that the host sees, and a message for people.
///
/// It is one pointer wide, so that a call that succeeds pays nothing for what it might have had to say.
#[derive(Clone, PartialEq, Eq)]
pub struct Error<S>(Box<Reason<S>>);

/// What an [`Error`] holds; its fields are the error's own.
#[derive(Clone, PartialEq, Eq)]
pub struct Reason<S> {
    /// What the host gets.
    pub status: S,
    /// What [`last_error`] says.
    pub message: Cow<'static, str>,
    /// Whether the message is a loaded plugin's, word for word.
    pub is_quoted: bool,
}

impl<S: StatusCode> Error<S> {
    /// An error with a status and a message.
    #[cold]
    pub fn new(status: S, message: impl Into<Cow<'static, str>>) -> Self {
        Error(Box::new(Reason { status, message: message.into(), is_quoted: false }))
    }

    /// An error that a loaded plugin has explained in its own words.
    #[cold]
    pub fn quoted(status: S, message: impl Into<Cow<'static, str>>) -> Self {
        Error(Box::new(Reason { status, message: message.into(), is_quoted: true }))
    }

    /// An argument is null, out of range or stale.
    #[cold]
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Error::new(S::INVALID_ARGUMENT, message)
    }

    /// The function is not implemented.
    #[cold]
    pub fn unsupported(function: &str) -> Self {
        Error::new(S::UNSUPPORTED, format!("`{function}` is not implemented by this device"))
    }
}

impl<S> Deref for Error<S> {
    type Target = Reason<S>;

    fn deref(&self) -> &Reason<S> {
        &self.0
    }
}

impl<S: fmt::Debug> fmt::Debug for Error<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Error").field("status", &self.status).field("message", &self.message).finish()
    }
}

impl<S: fmt::Debug> fmt::Display for Error<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({:?})", self.message, self.status)
    }
}

impl<S: fmt::Debug> std::error::Error for Error<S> {}

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// Runs `read` on the message of the last call that failed on this thread.
///
/// A call that succeeds leaves the message alone, as `errno` is left alone.
pub fn last_error<T>(read: impl FnOnce(Option<&CStr>) -> T) -> T {
    // A thread that is shutting down has no message to keep, and may be asked all the same: `exit` runs what programs
    // have registered behind the thread's own destructors.
    if LAST.try_with(|_| ()).is_err() {
        return read(None);
    }
    LAST.with(|last| match last.try_borrow() {
        Ok(message) => read(message.as_deref()),
        Err(_) => read(None),
    })
}

#[cold]
pub(crate) fn remember(function: &str, message: &str) {
    let text = format!("{function}: {message}").replace('\0', " ");
    if log::writes(LogLevel::Error) {
        log::tell(format_args!("{text}"));
    }
    let _ = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = CString::new(text).ok();
        }
    });
}
