//! The functions that the library exports: they find the tables of the host, and make a factory.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use crate::base::ApiBase;
use crate::provider::{ProviderHost, ffi};
use crate::provider_api::ProviderApi;
use crate::provider_of_add::AddFactory;
use crate::runtime::{ErrorCode, Release, Runtime, Status};

/// The tables of the host, which stay as long as the library.
#[derive(Clone, Copy)]
pub struct Tables {
    pub runtime: &'static Runtime,
    pub api: &'static ProviderApi,
}

/// Makes the factory of the library.
///
/// # Safety
/// ONNX Runtime calls it: `base` is its `OrtApiBase`, and there is room for `capacity` factories.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CreateEpFactories(
    name: *const c_char,
    base: *const c_void,
    _logger: *const c_void,
    factories: *mut *mut ffi::OrtEpFactory,
    capacity: usize,
    count: *mut usize,
) -> *mut crate::runtime::ffi::OrtStatus {
    // SAFETY: the caller's promise.
    let tables = match unsafe { tables(base) } {
        Ok(tables) => tables,
        Err(refusal) => return refusal.map_or(std::ptr::null_mut(), Status::as_raw),
    };
    if capacity == 0 || name.is_null() {
        let message = c"there is no room for a factory, or it has no name";
        // SAFETY: the host's own function.
        let made = unsafe { tables.runtime.create_status(ErrorCode::INVALID_ARGUMENT, message.as_ptr()) };
        return made.map_or(std::ptr::null_mut(), Status::as_raw);
    }
    if std::env::var_os("ADD_PROVIDER_WATCH").is_some() {
        tenon::watch_objects();
    }
    let host = ProviderHost { release: tables.runtime.release(), host: tables.runtime };
    // SAFETY: the caller promises a text and the room.
    unsafe {
        let factory = AddFactory::new(CStr::from_ptr(name).to_owned(), tables);
        factories.write(host.make_factory(Box::new(factory)));
        count.write(1);
    }
    std::ptr::null_mut()
}

/// Releases the factory of the library.
///
/// # Safety
/// ONNX Runtime calls it with a factory of this library that it no longer uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ReleaseEpFactory(
    factory: *mut ffi::OrtEpFactory,
) -> *mut crate::runtime::ffi::OrtStatus {
    // SAFETY: the caller's promise.
    match unsafe { ProviderHost::release_factory(factory) } {
        Ok(()) => std::ptr::null_mut(),
        // The host has no use for a status here.
        Err(error) => {
            eprintln!("ReleaseEpFactory: {error}");
            std::ptr::null_mut()
        }
    }
}

/// Returns the tables of the host, or the status with which the library refuses it.
///
/// # Safety
/// `base` is the `OrtApiBase` of a host that stays as long as the library.
unsafe fn tables(base: *const c_void) -> Result<Tables, Option<Status>> {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    if let Some(tables) = TABLES.get() {
        return Ok(*tables);
    }
    // SAFETY: the caller's promise; each table that the host returns is as long as its release says.
    unsafe {
        let base = ApiBase::of_table(base);
        let minor = base.get_version_string().ok().and_then(|version| minor(CStr::from_ptr(version)));
        let Some(minor) = minor else { return Err(None) };
        let Some(release) = Release::of_host(minor) else {
            let oldest = Release::ALL[0];
            // A table begins with the functions of older ones.
            let table = base.get_api(minor).map_err(|_| None)?;
            let runtime = Runtime::of_table(table, oldest);
            let message = format!("this provider needs ONNX Runtime {} or newer\0", oldest.name());
            return Err(runtime.create_status(ErrorCode::FAIL, message.as_ptr().cast()).ok());
        };
        let table = base.get_api(release.number()).map_err(|_| None)?;
        let runtime: &Runtime = Box::leak(Box::new(Runtime::of_table(table, release)));
        let api = runtime.get_ep_api().map_err(|_| None)?;
        let api = Box::leak(Box::new(ProviderApi::of_table(api, runtime)));
        Ok(*TABLES.get_or_init(|| Tables { runtime, api }))
    }
}

/// Returns the second number of a version.
fn minor(version: &CStr) -> Option<u32> {
    version.to_str().ok()?.split('.').nth(1)?.parse().ok()
}
