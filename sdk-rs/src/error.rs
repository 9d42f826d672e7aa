//! The error of a call: a status, and the message and origin that the C ABI has no room for.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::fmt;
use std::ops::Deref;

use crate::log::{self, LogLevel};

/// The status enum of an interface.
pub trait StatusCode: Copy + fmt::Debug + Send + Sync + 'static {
    /// The call succeeded.
    const SUCCESS: Self;
    /// An argument is null, out of range or stale.
    const INVALID_ARGUMENT: Self;
    /// The function is not implemented.
    const UNSUPPORTED: Self;
    /// The implementation panicked.
    const INTERNAL: Self;

    /// Returns the number in the ABI.
    fn code(self) -> i32;
}

/// The error of a call: the status that the host receives, a message, and the origin.
///
/// It is one pointer wide, to keep the `Result` of a successful call small.
///
/// ```
/// use tenon::device::{Error, Result, Status};
///
/// fn start_copy(code: i32) -> Result<()> {
///     match code {
///         0 => Ok(()),
///         code => Err(Error::new(Status::FAILED, format!("the driver reports {code}"))),
///     }
/// }
///
/// let error = start_copy(7).unwrap_err();
/// assert_eq!(error.status, Status::FAILED);
/// assert_eq!(error.message, "the driver reports 7");
/// assert_eq!(Error::invalid("there is no device 3").status, Status::ERROR);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error<S>(Box<Reason<S>>);

/// The content of an [`Error`], which implements `Deref` to it.
#[derive(Clone, PartialEq, Eq)]
pub struct Reason<S> {
    /// The status that the host receives.
    pub status: S,
    /// The message that [`last_error`] returns.
    pub message: Cow<'static, str>,
    /// The origin of the error.
    pub origin: Origin,
}

/// The origin of an error.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Origin {
    /// The device, or Tenon's own code.
    #[default]
    Device,
    /// A loaded plugin. The message is the plugin's, word for word.
    Plugin,
    /// A layer in front of the device, which rejected the call.
    Layer(Refusal),
}

/// The layer that rejected a call, and the rule it applied.
///
/// ```
/// use tenon::device::{Error, Status};
/// use tenon::{Origin, Refusal};
///
/// let refusal = Refusal { layer: "validate".into(), rule: Some("V012".into()), code: None };
/// let error = Error::refused(Status::ERROR, "the stream was destroyed", refusal);
/// assert!(matches!(&error.origin, Origin::Layer(refusal) if refusal.rule.as_deref() == Some("V012")));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Name of the layer.
    pub layer: Cow<'static, str>,
    /// Number of the broken rule, such as `V012`; `None` if the layer has no numbered rules.
    pub rule: Option<Cow<'static, str>>,
    /// The code that the layer returned, if the interface's status has no value for it.
    pub code: Option<i32>,
}

impl<S: StatusCode> Error<S> {
    /// Makes an error of the device.
    #[cold]
    pub fn new(status: S, message: impl Into<Cow<'static, str>>) -> Self {
        Self::with_origin(status, message, Origin::Device)
    }

    /// Makes an error with the message of a loaded plugin.
    #[cold]
    pub fn from_plugin(status: S, message: impl Into<Cow<'static, str>>) -> Self {
        Self::with_origin(status, message, Origin::Plugin)
    }

    /// Makes an error of a layer that rejects a call.
    #[cold]
    pub fn refused(status: S, message: impl Into<Cow<'static, str>>, refusal: Refusal) -> Self {
        Self::with_origin(status, message, Origin::Layer(refusal))
    }

    fn with_origin(status: S, message: impl Into<Cow<'static, str>>, origin: Origin) -> Self {
        Error(Box::new(Reason { status, message: message.into(), origin }))
    }

    /// Makes an error for an argument that is null, out of range or stale.
    #[cold]
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Error::new(S::INVALID_ARGUMENT, message)
    }

    /// Makes an error for a function that is not implemented.
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

/// Runs `read` on the message of the last failed call of this thread.
///
/// A successful call does not change the message, just as `errno` stays unchanged.
///
/// ```
/// let message = tenon::last_error(|message| message.map(|text| text.to_string_lossy().into_owned()));
/// assert_eq!(message, None, "no call has failed on this thread");
/// ```
pub fn last_error<T>(read: impl FnOnce(Option<&CStr>) -> T) -> T {
    // A handler that `exit` runs may ask for the message after the thread-locals were destroyed.
    if LAST.try_with(|_| ()).is_err() {
        return read(None);
    }
    LAST.with(|last| match last.try_borrow() {
        Ok(message) => read(message.as_deref()),
        Err(_) => read(None),
    })
}

/// Sets the message of the last failed call of this thread, and logs it.
#[cold]
pub(crate) fn set_last_error(function: &str, message: &str) {
    let text = format!("{function}: {message}").replace('\0', " ");
    if log::writes(LogLevel::Error) {
        log::write_line(format_args!("{text}"));
    }
    let _ = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = CString::new(text).ok();
        }
    });
}
