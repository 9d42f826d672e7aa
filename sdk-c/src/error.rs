//! Failures of calls, and the record of the last one for each thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::fmt::{self, Write as _};
use std::ptr::null;

use tenon::{Origin, device};
use tenon_loader::LoadError;

use crate::Status;
use crate::c_text::c_text;
use crate::pool::PoolError;

/// The cause of a failure, before the function and the device are added to it.
#[derive(Debug)]
pub enum Failure {
    /// The device, or a layer in front of it, returned an error.
    Device(device::Error),
    /// An error of the library itself.
    Own(tenon::Error<Status>),
    /// Out of memory.
    OutOfMemory {
        /// The requested size.
        bytes: usize,
    },
}

impl From<device::Error> for Failure {
    fn from(error: device::Error) -> Self {
        Failure::Device(error)
    }
}

impl From<tenon::Error<Status>> for Failure {
    fn from(error: tenon::Error<Status>) -> Self {
        Failure::Own(error)
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        let status = match error {
            LoadError::NotFound { .. } => Status::NOT_FOUND,
            _ => Status::LOAD_FAILED,
        };
        Failure::new(status, error.to_string())
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::TooLarge { size } | PoolError::OutOfMemory { size } => {
                Failure::OutOfMemory { bytes: size }
            }
            PoolError::HostMemory => Failure::new(Status::OUT_OF_MEMORY, error.to_string()),
            PoolError::Unknown { .. } | PoolError::Inside { .. } | PoolError::Free { .. } => {
                Failure::invalid(error.to_string())
            }
            PoolError::Device(error) => Failure::Device(error),
        }
    }
}

impl Failure {
    /// Makes the failure for a host without memory for the description of an object or of queued work.
    #[cold]
    pub(crate) fn no_room() -> Self {
        Failure::new(Status::OUT_OF_MEMORY, "out of host memory".to_owned())
    }

    #[cold]
    pub(crate) fn new(status: Status, message: String) -> Self {
        Failure::Own(tenon::Error::new(status, message))
    }

    #[cold]
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Failure::new(Status::INVALID_ARGUMENT, message.into())
    }

    #[cold]
    pub(crate) fn handle(message: String) -> Self {
        Failure::new(Status::INVALID_HANDLE, message)
    }

    #[cold]
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Failure::new(Status::BUSY, message.into())
    }

    #[cold]
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Failure::new(Status::NOT_FOUND, message.into())
    }

    /// Returns the status for the caller.
    pub(crate) fn status(&self) -> Status {
        match self {
            Failure::Device(error) => Status::of_error(error),
            Failure::Own(error) => error.status,
            Failure::OutOfMemory { .. } => Status::OUT_OF_MEMORY,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Device(error) => formatter.write_str(&error.message),
            Failure::Own(error) => formatter.write_str(&error.message),
            Failure::OutOfMemory { bytes } => write!(formatter, "there is no memory for {bytes} bytes"),
        }
    }
}

impl Status {
    /// Returns the caller's status for an error of a device or a layer.
    pub(crate) fn of_error(error: &device::Error) -> Self {
        match &error.origin {
            Origin::Layer(refusal) => refusal.code.map_or(Status::REFUSED, Status),
            Origin::Device | Origin::Plugin => Status::of_device(error.status),
        }
    }
}

/// Converts a panic to a failure. A panic must not unwind into a caller in C.
#[cold]
pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> Failure {
    let text = format!("a panic was stopped: {}", tenon::support::panic_text(&*panic));
    // The payload's destructor may panic, which would end the process, so the payload is leaked.
    std::mem::forget(panic);
    Failure::new(<Status as tenon::StatusCode>::INTERNAL, text)
}

/// Everything that is known about a failed call.
#[derive(Debug)]
pub(crate) struct ErrorRecord {
    pub(crate) status: Status,
    pub(crate) function: String,
    pub(crate) device: Option<String>,
    pub(crate) plugin: Option<String>,
    pub(crate) plugin_message: Option<String>,
    pub(crate) layer: Option<String>,
    pub(crate) rule: Option<String>,
    pub(crate) message: String,
}

impl ErrorRecord {
    /// Renders the record as text: one line for the failure, and one for each detail that is known.
    fn text(&self) -> String {
        let status = self.status;
        let name = status.name().map_or_else(|| "status".into(), CStr::to_string_lossy);
        let mut text = format!("{}: {} ({name}, {})", self.function, self.message, status.0);
        let mut line = |what: &str, value: &Option<String>| {
            if let Some(value) = value {
                let _ = write!(text, "\n  {what}: {value}");
            }
        };
        line("device", &self.device);
        line("plugin", &self.plugin);
        if self.plugin_message.as_ref().is_some_and(|said| *said != self.message) {
            line("plugin says", &self.plugin_message);
        }
        line("layer", &self.layer);
        line("rule", &self.rule);
        text
    }
}

/// An error record in C strings.
struct CErrorRecord {
    status: Status,
    function: CString,
    device: Option<CString>,
    plugin: Option<CString>,
    plugin_message: Option<CString>,
    layer: Option<CString>,
    rule: Option<CString>,
    message: CString,
    text: CString,
}

impl CErrorRecord {
    fn new(record: &ErrorRecord) -> Self {
        let text = |text: &Option<String>| text.as_deref().map(c_text);
        CErrorRecord {
            status: record.status,
            function: c_text(&record.function),
            device: text(&record.device),
            plugin: text(&record.plugin),
            plugin_message: text(&record.plugin_message),
            layer: text(&record.layer),
            rule: text(&record.rule),
            message: c_text(&record.message),
            text: c_text(&record.text()),
        }
    }
}

thread_local! {
    static LAST: RefCell<Option<CErrorRecord>> = const { RefCell::new(None) };
}

/// Sets the error record of the thread's last failed call.
#[cold]
pub(crate) fn set_last_error(record: &ErrorRecord) {
    let record = CErrorRecord::new(record);
    // When a thread ends, its error record may already be destroyed.
    let _ = LAST.try_with(|last| *last.borrow_mut() = Some(record));
}

/// The record of a failed call.
///
/// The strings belong to the library, and stay valid until another call fails on the same thread. A string
/// that does not apply is `null`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Error {
    /// The result of the call.
    pub status: Status,
    /// The library function that was called.
    pub function: *const c_char,
    /// The message.
    pub message: *const c_char,
    /// The device, as `cpu:0`.
    pub device: *const c_char,
    /// The name of the plugin.
    pub plugin: *const c_char,
    /// The plugin's own message; `null` if it has none, or was not called.
    pub plugin_message: *const c_char,
    /// The layer that refused the call; `null` if none did.
    pub layer: *const c_char,
    /// The rule that the call broke, such as `V001`; `null` if there is none.
    pub rule: *const c_char,
}

const NONE: Error = Error {
    status: Status::SUCCESS,
    function: null(),
    message: null(),
    device: null(),
    plugin: null(),
    plugin_message: null(),
    layer: null(),
    rule: null(),
};

/// Gets the record of the last failed call of the calling thread.
///
/// Successful calls do not change the record, as with `errno`.
///
/// @param[out] error The record; all `null`, and #TENON_SUCCESS, if no call has failed.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_NOT_FOUND No call has failed on this thread.
/// @retval TENON_INVALID_ARGUMENT [C] `error` is `null`. This failure and the one above do not change the
/// record.
/// @par Threads
///     Any thread, also several at once; each has its own last error.
///
/// # Safety
/// `error` is null, or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_error_last(error: *mut Error) -> Status {
    if error.is_null() || !error.is_aligned() {
        return Status::INVALID_ARGUMENT;
    }
    let last = LAST.try_with(|last| {
        last.borrow().as_ref().map(|record| {
            let text = |text: &Option<CString>| text.as_ref().map_or(null(), |text| text.as_ptr());
            Error {
                status: record.status,
                function: record.function.as_ptr(),
                message: record.message.as_ptr(),
                device: text(&record.device),
                plugin: text(&record.plugin),
                plugin_message: text(&record.plugin_message),
                layer: text(&record.layer),
                rule: text(&record.rule),
            }
        })
    });
    let last = last.ok().flatten();
    // SAFETY: not null and aligned by the check, writable by the caller's promise.
    unsafe { error.write(last.unwrap_or(NONE)) };
    if last.is_some() { Status::SUCCESS } else { Status::NOT_FOUND }
}

/// Returns the record of the last failed call as a text of several lines.
///
/// @return The text, which stays valid until another call fails on the same thread. Never `null`.
/// @par Threads
///     Any thread, also several at once; each has its own last error.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_error_text() -> *const c_char {
    let text = LAST.try_with(|last| last.borrow().as_ref().map(|record| record.text.as_ptr()));
    text.ok().flatten().unwrap_or(c"no call has failed on this thread".as_ptr())
}

/// Returns the name of a status, such as `TENON_BUSY`.
///
/// @param[in] status Any number.
/// @return A string that is never freed; `unknown status` for a number that no function returns.
/// @par Threads
///     Any thread, also several at once.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_status_name(status: Status) -> *const c_char {
    status.name().unwrap_or(c"unknown status").as_ptr()
}

/// Returns the meaning of a status, as a sentence without a full stop.
///
/// @param[in] status Any number.
/// @return A string that is never freed; `unknown status` for a number that no function returns.
/// @par Threads
///     Any thread, also several at once.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_status_string(status: Status) -> *const c_char {
    status.text().unwrap_or(c"unknown status").as_ptr()
}

#[cfg(test)]
mod tests {
    use tenon::Refusal;

    use super::*;

    fn refused(code: Option<i32>) -> device::Error {
        let refusal = Refusal { layer: "custom".into(), rule: None, code };
        device::Error::refused(device::Status::FAILED, "no", refusal)
    }

    #[test]
    fn of_error_layer_with_code_is_the_code() {
        assert_eq!(Status::of_error(&refused(Some(Status::BUSY.0))), Status::BUSY);
    }

    #[test]
    fn of_error_layer_without_code_is_refused() {
        assert_eq!(Status::of_error(&refused(None)), Status::REFUSED);
    }

    #[test]
    fn of_error_device_is_its_status() {
        let error = device::Error::new(device::Status::FAILED, "no");
        assert_eq!(Status::of_error(&error).0, device::Status::FAILED.0);
    }
}
