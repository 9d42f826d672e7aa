//! Why an operator failed, in the kinds that Paddle knows.

use std::borrow::Cow;

use tenon::device::Status;

/// The result of what an operator does.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Paddle's error codes, each an exception of its own in Python.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub(crate) enum Code {
    /// An argument is wrong: `ValueError`.
    InvalidArgument = 1,
    /// The host or the operator broke a rule of the other: `RuntimeError`.
    PreconditionNotMet = 6,
    /// Not done here: `NotImplementedError`.
    Unimplemented = 9,
    /// The operator's own mistake: `SystemError`.
    Fatal = 11,
    /// The device failed: `OSError`.
    External = 12,
}

/// An error on its way to Paddle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Error {
    /// What kind of error.
    pub(crate) code: Code,
    /// What is wrong, for people.
    pub(crate) message: Cow<'static, str>,
}

impl Error {
    /// An error with a code and a message.
    pub(crate) fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into() }
    }

    /// An argument is wrong.
    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// Paddle can do it, this plugin cannot.
    pub(crate) fn unimplemented(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Unimplemented, message)
    }

    /// What the host handed over cannot be.
    pub(crate) fn broken(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::PreconditionNotMet, message)
    }

    /// Puts in front where it happened.
    pub(crate) fn within(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message).into(), ..self }
    }
}

impl From<tenon_kernels::Error> for Error {
    fn from(error: tenon_kernels::Error) -> Self {
        Self::invalid(error.to_string())
    }
}

/// Of the device, and of Paddle's functions that report instead of throwing.
impl From<tenon::Error<Status>> for Error {
    fn from(error: tenon::Error<Status>) -> Self {
        Self::new(Code::External, error.message.clone())
    }
}
