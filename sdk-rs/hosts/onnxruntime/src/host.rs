//! The tables of the running host, and the release that it and this crate agree on.

use std::ffi::{CStr, CString, c_void};

use tenon::support::Mutex;

use crate::api::base::OrtBase;
use crate::api::ep::OrtEp;
use crate::api::objects::OrtObjects;
use crate::api::runtime::{ErrorCode, OnnxRuntime, Release, Status};

/// The tables of the host, which stay as long as the library.
#[derive(Clone, Copy)]
pub(crate) struct Host {
    pub(crate) runtime: &'static OnnxRuntime,
    pub(crate) ep: &'static OrtEp,
}

/// The answer to a host that cannot be used: a status of that host, or null if not even that can be made.
pub(crate) struct Refusal(pub(crate) *mut c_void);

impl Host {
    /// Finds the tables of a host, in the newest release that both have.
    ///
    /// # Errors
    /// The host is older than the oldest release of the spec, or returns no table.
    ///
    /// # Safety
    /// `base` is the `OrtApiBase` of a host that stays as long as the library.
    pub(crate) unsafe fn find(base: *const c_void) -> Result<Self, Refusal> {
        /// The hosts that were found, by the address of their `OrtApiBase`. Libraries that come and go share the tables.
        static FOUND: Mutex<Vec<(usize, Host)>> = Mutex::new(Vec::new());

        let nothing = Refusal(std::ptr::null_mut());
        if base.is_null() {
            return Err(nothing);
        }
        let mut found = FOUND.lock();
        if let Some((_, host)) = found.iter().find(|(known, _)| *known == base.addr()) {
            return Ok(*host);
        }
        // SAFETY: the caller's promise.
        let host = unsafe { Self::search(base) }?;
        found.push((base.addr(), host));
        Ok(host)
    }

    /// # Safety
    /// As for [`find`](Self::find); `base` is not null.
    unsafe fn search(base: *const c_void) -> Result<Self, Refusal> {
        let nothing = Refusal(std::ptr::null_mut());
        // SAFETY: the caller's promise. Each table that the host returns is as long as its release says, and a table
        // begins with the functions of older releases.
        unsafe {
            let base = OrtBase::of_table(base);
            let Ok(version) = base.get_version_string() else { return Err(nothing) };
            let version = CStr::from_ptr(version).to_string_lossy();
            let number = number(&version).unwrap_or(0);
            let agreed = Release::of_host(number);
            let table = match base.get_api(agreed.map_or(number, Release::number)) {
                Ok(table) if !table.is_null() => table,
                _ => return Err(nothing),
            };
            let runtime = OnnxRuntime::of_table(table, agreed.unwrap_or(Release::ALL[0]));
            if agreed.is_none() {
                let oldest = Release::ALL[0].name();
                return Err(refuse(
                    &runtime,
                    &format!("this library needs ONNX Runtime {oldest} or newer, and this is {version}"),
                ));
            }
            let runtime: &'static OnnxRuntime = Box::leak(Box::new(runtime));
            match runtime.get_ep_api() {
                Ok(table) if !table.is_null() => {
                    Ok(Self { runtime, ep: Box::leak(Box::new(OrtEp::of_table(table, runtime))) })
                }
                _ => Err(refuse(
                    runtime,
                    &format!("ONNX Runtime {version} has no functions for execution providers"),
                )),
            }
        }
    }

    /// Returns what makes objects for the host.
    pub(crate) fn objects(&self) -> OrtObjects {
        OrtObjects { release: self.runtime.release(), host: self.runtime }
    }
}

/// Makes a status of the host.
pub(crate) fn refuse(runtime: &OnnxRuntime, message: &str) -> Refusal {
    let message = CString::new(message).unwrap_or_default();
    // SAFETY: the host's own function, and a text.
    let status = unsafe { runtime.create_status(ErrorCode::FAIL, message.as_ptr()) };
    Refusal(status.map_or(std::ptr::null_mut(), |status: Status| status.as_raw().cast()))
}

/// Returns the number of a version: the second number of `1.24.1`.
fn number(version: &str) -> Option<u32> {
    let (major, rest) = version.split_once('.')?;
    if major != "1" {
        return None;
    }
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn versions_have_numbers() {
        assert_eq!(["1.24.1", "1.32.0", "1.33.0.dev1", "1.9"].map(number), [24, 32, 33, 9].map(Some));
        assert_eq!(["2.0.1", "1", "", "1.x"].map(number), [None; 4]);
    }
}
