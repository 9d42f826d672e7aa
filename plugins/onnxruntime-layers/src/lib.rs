//! Layers between ONNX Runtime and any execution provider: `libtenon_onnxruntime_layers.so`.
//!
//! A program registers this library in place of that of a provider, which `TENON_PLUGIN` names. The host then calls the
//! provider's own objects; the layers stand in front of their functions. `TENON_LAYERS` lists the layers: `validate`, which
//! reports what breaks the [rules], and `trace`, which writes a timeline.
//!
//! * `vendor` loads the provider, and `host` has the tables that it gets: kernels come through them.
//! * `front` stands in front of the functions; `objects` knows which objects are alive.
//! * `memory`, `rules` and `validate` are the layer `validate`; `trace` is the other one.

mod front;
mod host;
mod memory;
mod objects;
mod rules;
mod settings;
mod trace;
mod validate;
mod vendor;

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tenon::support::{panic_text, write_line};
use tenon_onnxruntime::refuse_host;

/// The struct of factories.
const FACTORY: &str = "OrtEpFactory";

/// Makes the factories of the provider behind the layers.
///
/// # Safety
/// ONNX Runtime calls it, with its tables and room for the factories.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn CreateEpFactories(
    name: *const c_char,
    base: *const c_void,
    logger: *const c_void,
    factories: *mut *mut c_void,
    capacity: usize,
    count: *mut usize,
) -> *mut c_void {
    let vendor = match catch_unwind(vendor::Vendor::get) {
        Ok(Ok(vendor)) => vendor,
        // SAFETY: the host's tables.
        Ok(Err(refusal)) => return unsafe { refuse_host(base, &refusal.to_string()) },
        // SAFETY: as above.
        Err(panic) => return unsafe { refuse_host(base, panic_text(&*panic)) },
    };
    // SAFETY: the host's tables, which stay as long as it does.
    let behind = unsafe { host::behind(base) };
    let call = trace::Call::begin("CreateEpFactories", None);
    // SAFETY: the arguments of the host. The provider gets tables of the same form.
    let status = unsafe { (vendor.create)(name, behind, logger, factories, capacity, count) };
    call.end(status.is_null());
    if status.is_null() && !factories.is_null() && !count.is_null() {
        // SAFETY: the provider has written as many factories as it says.
        for index in 0..unsafe { *count } {
            // SAFETY: as above.
            let factory = unsafe { *factories.add(index) };
            // SAFETY: a factory of the provider, which nothing uses yet.
            unsafe { front::adopt(objects::kind(FACTORY), factory, "CreateEpFactories", None) };
        }
    }
    status
}

/// Releases a factory, and reports what is left.
///
/// # Safety
/// ONNX Runtime calls it, with a factory of [`CreateEpFactories`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ReleaseEpFactory(factory: *mut c_void) -> *mut c_void {
    let Ok(vendor) = vendor::Vendor::get() else { return std::ptr::null_mut() };
    let report = catch_unwind(AssertUnwindSafe(|| {
        objects::forget(factory);
        validate::report_rest(factory);
    }));
    if let Err(panic) = report {
        write_line(format_args!("the layers panicked: {}", panic_text(&*panic)));
    }
    let call = trace::Call::begin("ReleaseEpFactory", None);
    // SAFETY: the argument of the host.
    let status = unsafe { (vendor.release)(factory) };
    call.end(status.is_null());
    status
}
