//! Errors of operators, with the error codes of Paddle.

use std::borrow::Cow;

use tenon::device::Status;

/// The result of an operator.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// The error codes of Paddle. Each becomes a different exception in Python.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub(crate) enum Code {
    /// An argument is wrong: `ValueError`.
    InvalidArgument = 1,
    /// A precondition of the host or of the operator is violated: `RuntimeError`.
    PreconditionNotMet = 6,
    /// The plugin does not implement the operation: `NotImplementedError`.
    Unimplemented = 9,
    /// An internal error of the operator: `SystemError`.
    Fatal = 11,
    /// The device failed: `OSError`.
    External = 12,
}

/// An error to report to Paddle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Error {
    /// The error code.
    pub(crate) code: Code,
    /// The message.
    pub(crate) message: Cow<'static, str>,
}

impl Error {
    /// Creates an error with a code and a message.
    pub(crate) fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into() }
    }

    /// Creates an error for an invalid argument.
    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// Creates an error for an operation that Paddle supports and this plugin does not.
    pub(crate) fn unimplemented(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Unimplemented, message)
    }

    /// Creates an error for an invalid value from the host.
    pub(crate) fn broken(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::PreconditionNotMet, message)
    }

    /// Converts an error of an operator.
    pub(crate) fn of_operator(error: tenon::Error<Status>) -> Self {
        let code = match error.status {
            Status::ERROR => Code::InvalidArgument,
            Status::FAILED => Code::Unimplemented,
            Status::INTERNAL_ERROR => Code::Fatal,
            _ => Code::External,
        };
        Self::new(code, error.message.clone())
    }

    /// Converts an error that passes through an operator.
    pub(crate) fn into_operator(self) -> tenon::Error<Status> {
        let status = match self.code {
            Code::InvalidArgument => Status::ERROR,
            Code::Unimplemented => Status::FAILED,
            Code::Fatal | Code::PreconditionNotMet | Code::External => Status::INTERNAL_ERROR,
        };
        tenon::Error::new(status, self.message)
    }

    /// Prepends the location of the error to the message.
    pub(crate) fn within(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message).into(), ..self }
    }
}

/// Converts errors of the device, and errors of Paddle's functions that return a status.
impl From<tenon::Error<Status>> for Error {
    fn from(error: tenon::Error<Status>) -> Self {
        Self::new(Code::External, error.message.clone())
    }
}
