//! Initialisation and shutdown of the library.

pub(crate) mod lifecycle;
pub(crate) mod lock;

use std::ffi::c_char;

use crate::call::export;
use crate::call::sized::{self, WithSize};
use crate::call::text::{optional, path};
use crate::devices::table::DeviceGuard;
use crate::error::Failure;
use crate::library::lifecycle::{Lifecycle, Start};
use crate::{Status, devices, plugins};

/// Options of #tenon_init. [C] Set `size` to `sizeof(tenon_options)`; members that are zero are taken from
/// the environment variables. [Python] Options that are left out are taken from the environment variables.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Size of this struct in bytes.
    pub size: usize,
    /// The plugin search path, as in `TENON_PLUGIN_PATH`: folders, libraries and manifests, separated by
    /// colons. Empty: no plugins are loaded.
    pub plugin_path: *const c_char,
    /// The layers, as in `TENON_LAYERS`: `"validate,trace"`. Empty: none.
    pub layers: *const c_char,
}

// SAFETY: after the size it has only pointers.
unsafe impl WithSize for Options {}

/// Initialises the library: creates the layers, and loads the plugins of the search path.
///
/// Calling it is optional: the first call of any function initialises the library from the environment
/// variables. So each function that needs the library may fail with #TENON_INVALID_ARGUMENT if `TENON_LAYERS`
/// is wrong, and with #TENON_BUSY if it would have to initialise the library from inside a call or a
/// callback. Each call needs its own #tenon_shutdown.
///
/// A plugin that cannot be loaded does not make the call fail: see #tenon_plugin_failures.
///
/// After `fork` a child may only `exec`: it does not have the threads of the devices.
///
/// Functions that open, close, load, initialise or shut down something fail with #TENON_BUSY if they are
/// called from inside another call, such as a layer's function, or from a stream callback. A stream callback
/// must not call any other function that reaches a device either.
///
/// @param[in] options The options; `null`: from the environment variables `TENON_PLUGIN_PATH` and
/// `TENON_LAYERS`.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_ARGUMENT `options` are not valid, or name an unknown layer.
/// @retval TENON_BUSY `options` are given, but the library runs already; or the call is made from inside
/// another call or from a stream callback.
/// @par Threads
///     Any thread, also several at once; the calls run one after the other.
///
/// # Safety
/// `options` is null or can be read; its strings are null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_init(options: *const Options) -> Status {
    export("tenon_init", || {
        // SAFETY: the caller's promise.
        let given = unsafe { sized::read(options) }?;
        let lifecycle = Lifecycle::lock()?;
        let running = lifecycle::is_running();
        match given {
            Some(_) if running => {
                return Err(Failure::busy(
                    "the library is initialised already: pass the options to the first call",
                ));
            }
            _ if running => {}
            given => {
                let start = given.map_or_else(Start::default, |given| {
                    // SAFETY: the caller's promise.
                    let [paths, layers] =
                        [given.plugin_path, given.layers].map(|text| unsafe { optional(text) });
                    Start {
                        path: paths.map(|paths| path(paths).into_os_string()),
                        layers: layers.map(|layers| layers.to_string_lossy().into_owned()),
                    }
                });
                lifecycle::start(&lifecycle, &start)?;
            }
        }
        lifecycle::add_reference(&lifecycle);
        Ok(())
    })
}

/// Shuts the library down, if this is the call for the last #tenon_init.
///
/// Waits for all devices, closes them, calls `finalize` of each plugin, lets the layers report leaks, and
/// closes the plugins' libraries. All handles are invalid afterwards, and a call with one fails. A later
/// call of any function initialises the library again.
///
/// @retval TENON_SUCCESS On success.
/// @retval TENON_NOT_INITIALISED The library does not run.
/// @retval TENON_BUSY The call is made from inside another call, such as a layer's function, or from a stream
/// callback; or calls of other threads do not end within 10 seconds. The library still runs; some devices may
/// be closed.
/// @retval other The status of the first plugin that failed; the library has been shut down nevertheless.
/// @par Threads
///     Any thread, but not a stream callback. Waits for running calls of other threads.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_shutdown() -> Status {
    export("tenon_shutdown", || {
        let lifecycle = Lifecycle::lock()?;
        if lifecycle::remove_reference(&lifecycle)? { stop(&lifecycle) } else { Ok(()) }
    })
}

/// Announces that the process will end without #tenon_shutdown, so that the layers do not report live objects.
///
/// For bindings to languages whose programs cannot release everything before they end, such as a Python
/// program with running threads. Objects stay usable.
///
/// @retval TENON_SUCCESS Always.
/// @par Threads
///     Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_abandon() -> Status {
    export("tenon_abandon", || {
        tenon_layers::validate::abandon();
        Ok(())
    })
}

/// Shuts the library down, unless the program called `tenon_init` or has a device open.
pub(crate) fn end_if_idle() -> Result<(), Failure> {
    let lifecycle = Lifecycle::lock()?;
    let is_idle = lifecycle::is_unreferenced(&lifecycle) && devices::table::handles().is_empty();
    if is_idle { stop(&lifecycle) } else { Ok(()) }
}

/// Shuts everything down and returns the first failure. A plugin's failure does not stop the shutdown; a
/// call that does not return does.
fn stop(lifecycle: &Lifecycle) -> Result<(), Failure> {
    let mut first = Ok(());
    let mut note = |outcome: Result<(), Failure>| {
        if first.is_ok() {
            first = outcome;
        }
    };
    let handles = devices::table::handles();
    for handle in &handles {
        note(devices::wait_for(*handle));
    }
    for handle in handles {
        let ended = devices::end(lifecycle, handle, |_| Ok(()));
        if DeviceGuard::of(handle).is_ok() {
            return ended;
        }
        note(ended);
    }
    plugins::table::withdraw_all(devices::PATIENCE)?;
    let (plugins, layers) = lifecycle::take_all(lifecycle);
    for plugin in &plugins {
        note(plugin.finalize(lifecycle));
    }
    layers.finish();
    first
}
