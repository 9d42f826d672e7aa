//! Layers between PaddlePaddle and any plugin: `libtenon_paddle_layers.so`.
//!
//! For PaddlePaddle this is a plugin. It loads the real one, which `TENON_PADDLE_PLUGIN` names, puts the layers of
//! `TENON_LAYERS` in front of it, and fills exactly the slots that the real one has, so that PaddlePaddle falls back
//! where it would without it. The real plugin may be of another release than PaddlePaddle: its table is adapted. What
//! it links against or looks up in PaddlePaddle is between the two of them.
//!
//! What lives here: the entry point, and what is handed through. What does not: loading, which is `tenon-host`, and
//! the layers, which are `tenon-layers`.

mod between;

use std::ffi::{c_char, c_void};
use std::ptr::null;

/// The entry point: PaddlePaddle calls it once, when it has opened the library.
///
/// Says nothing if all is well. Otherwise one message goes to the standard error, and nothing is written to
/// `params`, which PaddlePaddle takes for a plugin that is not there.
///
/// # Safety
/// `params` is null, or leads to the host's params, which begin with their size and with the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitPlugin(params: *mut c_void) {
    // SAFETY: the caller's promise.
    match std::panic::catch_unwind(|| unsafe { between::hand_over(params) }) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => eprintln!("tenon: {error}"),
        Err(_) => {
            eprintln!("tenon: the layers could not be put in front of the plugin, by a mistake of ours")
        }
    }
}

/// Tells a loader that [`InitPlugin`] compares both sizes and writes nothing unless both are a release's.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "a symbol of C")]
pub static tenon_checks_both_sizes: u8 = 1;

/// Tells a layers plugin that this library is one, too, so that it does not load it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "a symbol of C")]
pub static tenon_loads_another_plugin: u8 = 1;

/// Names the functions whose slots the real plugin filled with the spec's fallbacks; null before the hand-over.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_fallbacks() -> *const c_char {
    between::fallbacks().map_or(null(), std::ffi::CStr::as_ptr)
}

/// Why the last call failed on the calling thread; null if none has.
///
/// The text stays as it is until another call fails on the thread.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_last_error() -> *const c_char {
    tenon::last_error(|message| message.map_or(null(), std::ffi::CStr::as_ptr))
}
