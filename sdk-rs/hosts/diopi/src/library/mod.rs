//! The functions of the library that are not operators.
//!
//! `buildGeneratorState` is not among them. It replaces the memory of a host handle, for which the interface
//! has no function, so the host defines it.
//!
//! * `device`: device memory and streams, for hosts without their own device interface.
//! * `lifecycle`: starts the device, and reports whether it is running.
//! * `shutdown`: stops the device.
//! * `registration`: registers the functions of `device` with older hosts.

pub(crate) mod blocks;
mod device;
mod lifecycle;
mod registration;
mod shutdown;
mod streams;

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use crate::error;
use crate::provider::library;
use crate::runtime::DiopiError;

/// Initialises the library, and registers its functions if the host requests it.
///
/// # Safety
/// The functions of the host must conform to the interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn initLibrary() -> DiopiError {
    error::call("initLibrary", || {
        lifecycle::start()?;
        registration::register()
    })
}

/// Finalises the library: waits for all work, destroys all streams and frees all memory.
#[unsafe(no_mangle)]
pub extern "C" fn finalizeLibrary() -> DiopiError {
    error::call("finalizeLibrary", shutdown::stop)
}

/// Returns the name of the device and its vendor.
#[unsafe(no_mangle)]
pub extern "C" fn diopiGetVendorName() -> *const c_char {
    static NAME: OnceLock<CString> = OnceLock::new();
    kept(&NAME, &library().vendor_name)
}

/// Returns the version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn diopiGetImplVersion() -> *const c_char {
    static VERSION: OnceLock<CString> = OnceLock::new();
    kept(&VERSION, library().version)
}

/// Returns the message of the last failure in this thread. It is valid until the next failure in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn diopiGetLastErrorString() -> *const c_char {
    error::last_message()
}

/// Returns a C string that is never freed.
fn kept(place: &'static OnceLock<CString>, text: &str) -> *const c_char {
    place.get_or_init(|| CString::new(text.replace('\0', " ")).unwrap_or_default()).as_ptr()
}
