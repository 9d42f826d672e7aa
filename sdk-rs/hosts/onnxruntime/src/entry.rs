//! The functions that a library exports.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tenon::support::{LibraryOf, panic_text, write_line};

use crate::api::objects::OrtObjects;
use crate::host::{Host, Refusal, refuse};
use crate::library::Library;
use crate::session::{Lease, LibraryFactory};

/// Makes the factory of a library.
///
/// # Safety
/// As for the function that [`library!`](crate::library!) exports.
pub unsafe fn create_factories(
    library: &'static Library,
    name: *const c_char,
    base: *const c_void,
    _logger: *const c_void,
    factories: *mut *mut c_void,
    capacity: usize,
    count: *mut usize,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    let host = match unsafe { Host::find(base) } {
        Ok(host) => host,
        Err(Refusal(status)) => return status,
    };
    if name.is_null() || factories.is_null() || count.is_null() || capacity == 0 {
        return refuse(host.runtime, "there is no name, or no room for a factory").0;
    }
    // SAFETY: not null; a text by the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let made = catch_unwind(AssertUnwindSafe(|| LibraryFactory::new(library, host)));
    let factory = match made {
        Ok(Ok(factory)) => host.objects().make_factory(Box::new(factory)),
        Ok(Err(error)) => return refuse(host.runtime, &format!("{name}: {error}")).0,
        Err(panic) => return refuse(host.runtime, &format!("{name}: panicked: {}", panic_text(&*panic))).0,
    };
    // SAFETY: not null; there is room by the caller's promise.
    unsafe {
        factories.write(factory.cast());
        count.write(1);
    }
    std::ptr::null_mut()
}

/// Returns the status with which a library refuses to be used.
///
/// # Safety
/// `base` is as for [`create_factories`].
pub unsafe fn refuse_host(base: *const c_void, reason: &str) -> *mut c_void {
    // SAFETY: the caller's promise.
    match unsafe { Host::find(base) } {
        Ok(host) => refuse(host.runtime, reason).0,
        Err(Refusal(status)) => status,
    }
}

/// Releases the factory of a library.
///
/// If objects of the factory are alive, it stays with its library, because the host calls it to release them.
///
/// # Safety
/// As for the function that [`library!`](crate::library!) exports.
pub unsafe fn release_factory(factory: *mut c_void) -> *mut c_void {
    if Lease::any() {
        // A program stays loaded by itself.
        LibraryOf::this_code().map(|library| library.stay_loaded());
        write_line(format_args!(
            "the library was unregistered while a session or a tensor uses it: it stays loaded until the process ends"
        ));
        return std::ptr::null_mut();
    }
    // SAFETY: the caller's promise.
    let released = catch_unwind(AssertUnwindSafe(|| unsafe { OrtObjects::release_factory(factory.cast()) }));
    if let Ok(Err(error)) = released {
        // The host ignores the status of this function.
        write_line(format_args!("ReleaseEpFactory: {error}"));
    }
    std::ptr::null_mut()
}
