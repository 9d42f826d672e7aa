//! Layers between PaddlePaddle and any plugin: `libtenon_paddle_layers.so`.
//!
//! PaddlePaddle loads this library as a plugin. The library loads the real plugin, which `TENON_PADDLE_PLUGIN` names,
//! puts the layers of `TENON_LAYERS` in front of it, and fills exactly the slots that the real plugin fills. So
//! PaddlePaddle uses the same fallbacks as without layers. The real plugin may be built for another release than
//! PaddlePaddle: its table is adapted. Symbols of PaddlePaddle that it links against or looks up are not affected.
//!
//! The crate contains the entry point. `tenon-loader` loads the plugin, and `tenon-layers` has the layers.

mod between;

use std::ffi::{c_char, c_void};
use std::ptr::null;

use tenon::device::ffi::TenonDeviceExtension;

/// Initializes the plugin. PaddlePaddle calls this entry point once, after it has opened the library.
///
/// On failure, it prints one message to standard error and writes nothing to `params`. PaddlePaddle then treats the
/// plugin as absent.
///
/// # Safety
/// `params` is null, or points to the params of the host, which begin with their size and the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitPlugin(params: *mut c_void) {
    // SAFETY: the caller's promise.
    match std::panic::catch_unwind(|| unsafe { between::hand_over(params) }) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => eprintln!("tenon: {error}"),
        Err(_) => {
            eprintln!(
                "tenon: the layers could not be put in front of the plugin because of an internal error"
            )
        }
    }
}

/// Marks for loaders that [`InitPlugin`] checks both sizes, and writes nothing unless both belong to a release.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "a symbol of C")]
pub static tenon_checks_both_sizes: u8 = 1;

/// Marks this library as a layers plugin, so that another layers plugin does not load it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "a symbol of C")]
pub static tenon_loads_another_plugin: u8 = 1;

/// Returns the names of the functions whose slots the real plugin filled with fallbacks of the spec; null before
/// `InitPlugin`.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_fallbacks() -> *const c_char {
    between::fallbacks().map_or(null(), std::ffi::CStr::as_ptr)
}

/// Returns the functions that the table of PaddlePaddle has no slot for, as far as the real plugin has them.
///
/// Null if the table could not be made. To be called after `InitPlugin`.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_device_extension() -> *const TenonDeviceExtension {
    between::extension()
}

/// Returns the message of the last failed call on the calling thread; null if no call failed.
///
/// The text is valid until another call fails on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_last_error() -> *const c_char {
    tenon::last_error(|message| message.map_or(null(), std::ffi::CStr::as_ptr))
}
