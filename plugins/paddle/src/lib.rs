//! The plugin for PaddlePaddle: `libtenon_paddle.so`, one file for every release from 2.6 to 3.3.
//!
//! The crate contains the entry point that Paddle calls. The device is `tenon-cpu`, its operators are `tenon-cpu-operators`,
//! and `tenon-paddle-operators` registers them.

mod name;

use std::ffi::{CString, c_char, c_void};
use std::ptr::null;
use std::sync::OnceLock;

use tenon::LogLevel;
use tenon::device::ffi::TenonDeviceExtension;
use tenon::device::{Plugin as _, hand_over};
use tenon::support::{refuse, write_line};

use cpu_operators::CpuOperators;
use tenon_paddle_operators::{Loaded, Memory};

/// The device that the plugin gives to Paddle.
type Backend = tenon_cpu::Cpu;

/// The number of devices in Paddle where `TENON_CPU_DEVICES` is not set.
///
/// With more than one, `paddle.utils.run_check()` trains on all of them, which needs collectives across processes.
const DEVICES_IN_PADDLE: usize = 1;

// The name where no variable sets another one.
tenon::__manifest!("CustomCPU", Backend);

/// Initializes the plugin. Paddle calls this entry point once, after it has opened the library.
///
/// Says nothing if all is well. Otherwise one line goes to the standard error, and nothing is written to
/// `params`, which Paddle takes for a plugin that is not there. With `TENON_STRICT=1` the process ends instead.
///
/// # Safety
/// `params` is null, or leads to Paddle's `CustomRuntimeParams` with its own sizes in it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn InitPlugin(params: *mut c_void) {
    let device_type = match name::device_type() {
        Ok(name) => name,
        Err(refusal) => return refuse(format_args!("{refusal}")),
    };
    let computing = match cpu_operators::use_onednn() {
        Ok(computing) => computing,
        Err(refusal) => return refuse(format_args!("{refusal}")),
    };
    if let Err(refusal) = tenon_paddle_operators::check_environment() {
        return refuse(format_args!("{refusal}"));
    }
    // SAFETY: the caller's promise.
    let release = match unsafe { hand_over::<Backend>(params, device_type) } {
        Ok(release) => release,
        Err(reason) => return refuse(format_args!("{reason}")),
    };
    // SAFETY: the memory of the CPU device is host memory.
    let registered = unsafe {
        tenon_paddle_operators::register_with::<Backend>(
            &CpuOperators,
            Memory::OfTheHost,
            release,
            device_type,
        )
    };
    if registered == Ok(Loaded::ByPaddle) {
        cpu_operators::compute_on_streams();
    }
    if registered != Ok(Loaded::ByAnother) {
        Backend::instance().set_default_devices(DEVICES_IN_PADDLE);
    }
    if let Err(reason) = registered {
        return refuse(format_args!("{reason}"));
    }
    if tenon::log_level() == Ok(LogLevel::Info) {
        write_line(format_args!("{}: {computing}", device_type.to_string_lossy()));
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

/// Returns the message of the last call of the device that failed on the calling thread; null if none has.
///
/// The text stays as it is until another call fails on the thread.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_last_error() -> *const c_char {
    tenon::last_error(|message| message.map_or(null(), std::ffi::CStr::as_ptr))
}

#[cfg(test)]
mod tests;
