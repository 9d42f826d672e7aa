//! The plugin for PaddlePaddle: `libtenon_paddle.so`, one file for every release from 2.6 to 3.3.
//!
//! The crate contains the entry point that Paddle calls, and the operators that Paddle requires, each as a thin
//! wrapper of a function of `tenon-kernels`. The device is `tenon-cpu`.
//!
//! * `host` finds the functions that the running Paddle exports, and raises Paddle's exceptions.
//! * `kernel` is the framework: an operator is declared once, with its arguments, and gets both of the entry
//!   points that Paddle requires.
//! * `operators` has the operators.
//!
//! # Errors
//!
//! Paddle's functions throw C++ exceptions, which pass through the frames of an operator and run its
//! destructors; so nothing here catches an exception from a call to Paddle. An operator's own errors, and
//! panics in its arithmetic, become Paddle's exception, and so a `ValueError` or `RuntimeError` in Python.

#[rustfmt::skip]
mod bindings;
mod device;
mod error;
mod host;
mod kernel;
mod name;
mod operators;

use std::ffi::{CString, c_char, c_void};
use std::io::Write as _;
use std::ptr::null;
use std::sync::OnceLock;

use tenon::device::ffi::TenonDeviceExtension;
use tenon::device::{Plugin as _, hand_over};

use device::Backend;

/// The number of devices in Paddle where `TENON_CPU_DEVICES` is not set.
///
/// With more than one, `paddle.utils.run_check()` trains on all of them, which needs collectives across processes.
const DEVICES_IN_PADDLE: usize = 1;

/// The entry point: Paddle calls it once, when it has opened the library.
///
/// Says nothing if all is well. Otherwise one line goes to the standard error, and nothing is written to
/// `params`, which Paddle takes for a plugin that is not there.
///
/// # Safety
/// `params` is null, or leads to Paddle's `CustomRuntimeParams` with its own sizes in it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn InitPlugin(params: *mut c_void) {
    let device_type = match name::device_type() {
        Ok(name) => name,
        Err(refusal) => return complain(&refusal),
    };
    // SAFETY: the caller's promise.
    let release = match unsafe { hand_over::<Backend>(params, device_type) } {
        Ok(release) => release,
        Err(reason) => return complain(&reason),
    };
    let host = host::Host::find(release);
    if !matches!(host, Ok(None)) {
        Backend::instance().set_default_devices(DEVICES_IN_PADDLE);
    }
    match host {
        Ok(Some(host)) => {
            if let Err(reason) = operators::register(host, device_type) {
                complain(&reason);
            }
        }
        // Not Paddle, but another host of the same table, which has no operators to register.
        Ok(None) => {}
        Err(reason) => complain(&reason),
    }
}

/// Tells a loader that [`InitPlugin`] compares both sizes and writes nothing unless both are a release's.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "a symbol of C")]
pub static tenon_checks_both_sizes: u8 = 1;

/// Names the functions whose slots hold the spec's fallbacks, separated by spaces.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_fallbacks() -> *const c_char {
    static NAMES: OnceLock<CString> = OnceLock::new();
    NAMES.get_or_init(tenon::device::filled_by_fallbacks::<Backend>).as_ptr()
}

/// Returns the functions of the device that Paddle's table has no slot for; null if the table could not be made.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_device_extension() -> *const TenonDeviceExtension {
    static TABLE: OnceLock<usize> = OnceLock::new();
    tenon::support::own(&TABLE, tenon::device::extension::<Backend>)
}

/// Why the last call of the device failed on the calling thread; null if none has.
///
/// The text stays as it is until another call fails on the thread.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_last_error() -> *const c_char {
    tenon::last_error(|message| message.map_or(null(), std::ffi::CStr::as_ptr))
}

fn complain(reason: &dyn std::fmt::Display) {
    // A closed standard error must not make the call fail, and `eprintln!` would panic.
    let _ = writeln!(std::io::stderr(), "tenon: {reason}");
}

#[cfg(test)]
mod tests;
