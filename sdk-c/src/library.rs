//! The lifecycle of the library: it starts with the first call or `tenon_init`, and ends with
//! `tenon_shutdown`.

use std::ffi::{CStr, CString, OsString, c_char};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenon::device::Layer;
use tenon_host::{LoadOptions, Plugin};

use crate::call::export;
use crate::device_table::DeviceGuard;
use crate::error::Failure;
use crate::layers::Layers;
use crate::plugin_table::{self, LoadedPlugin};
use crate::text::{c_text, optional, path};
use crate::thread_state::{self, Inside};
use crate::{Status, device_table, devices};

/// The plugin search path and the layers of the library.
const PATH: &str = tenon_host::PATH_VARIABLE;
const LAYERS: &str = "TENON_LAYERS";

struct State {
    running: bool,
    /// Number of calls of `tenon_init` without a `tenon_shutdown`.
    references: usize,
    plugins: Vec<Arc<LoadedPlugin>>,
    failures: Vec<Arc<FailedPlugin>>,
    layers: Layers,
}

/// Locked briefly, and never during a call of other code.
static STATE: Mutex<State> = Mutex::new(State {
    running: false,
    references: 0,
    plugins: Vec::new(),
    failures: Vec::new(),
    layers: Layers::NONE,
});

/// Held by the thread that opens or closes something.
static LIFECYCLE: Mutex<()> = Mutex::new(());

/// A plugin, manifest or folder that could not be loaded.
pub(crate) struct FailedPlugin {
    pub(crate) path: CString,
    pub(crate) reason: CString,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lifecycle lock. While it is locked, the library runs, and no other thread opens or closes anything.
#[must_use = "another thread may start or stop plugins after this is dropped"]
pub(crate) struct Lifecycle {
    _inside: Inside,
    _lock: MutexGuard<'static, ()>,
}

impl Lifecycle {
    /// Takes the lock, and starts the library from the environment variables if it is not running.
    pub(crate) fn begin() -> Result<Self, Failure> {
        let lifecycle = Self::lock()?;
        if !state().running {
            start(&lifecycle, &Start::default())?;
        }
        Ok(lifecycle)
    }

    fn lock() -> Result<Self, Failure> {
        // A thread inside a call, such as one of a layer, would wait for itself.
        if thread_state::is_inside() {
            return Err(Failure::busy(
                "nothing can be opened or closed from inside another call or a stream callback",
            ));
        }
        let lock = LIFECYCLE.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Lifecycle { _inside: Inside::new(), _lock: lock })
    }
}

/// Starts the library if it is not running.
pub(crate) fn running() -> Result<(), Failure> {
    if state().running { Ok(()) } else { Lifecycle::begin().map(drop) }
}

/// Returns true if the library is running.
pub(crate) fn is_running() -> bool {
    state().running
}

/// Shuts the library down, unless the program called `tenon_init` or has a device open.
pub(crate) fn end_if_idle() -> Result<(), Failure> {
    let lifecycle = Lifecycle::lock()?;
    let is_wanted = {
        let state = state();
        !state.running || state.references > 0
    };
    if is_wanted || !device_table::handles().is_empty() { Ok(()) } else { stop(&lifecycle) }
}

/// The settings to start the library with; `None`: from the environment variables.
#[derive(Debug, Default)]
struct Start {
    path: Option<OsString>,
    layers: Option<String>,
}

fn start(lifecycle: &Lifecycle, options: &Start) -> Result<(), Failure> {
    tenon::log_level().map_err(|refusal| Failure::invalid(refusal.to_string()))?;
    let names = match &options.layers {
        Some(names) => names.clone(),
        None => tenon::trusted_variable(LAYERS).unwrap_or_default().to_string_lossy().into_owned(),
    };
    with_layers(lifecycle, |layers| layers.open(&names))?;
    let mut plugins = vec![plugin_table::adopt(Plugin::builtin())?];
    let mut failures = Vec::new();
    let paths = options.path.clone().or_else(|| tenon::trusted_variable(PATH)).unwrap_or_default();
    for candidate in tenon_host::search_in(&paths, &LoadOptions::default()) {
        match candidate.outcome.map_err(Failure::from).and_then(plugin_table::adopt) {
            Ok(plugin) if plugins.iter().all(|known| known.handle != plugin.handle) => plugins.push(plugin),
            Ok(_) => {}
            Err(failure) => failures.push(Arc::new(FailedPlugin {
                path: c_text(&candidate.path.to_string_lossy()),
                reason: c_text(&failure.message()),
            })),
        }
    }
    let mut state = state();
    state.plugins = plugins;
    state.failures = failures;
    state.running = true;
    Ok(())
}

/// All plugins, in order.
pub(crate) fn plugins() -> Vec<Arc<LoadedPlugin>> {
    state().plugins.clone()
}

/// Returns the first plugin of a device type; without a type, the built-in device.
pub(crate) fn of_type(device_type: Option<&CStr>) -> Result<Arc<LoadedPlugin>, Failure> {
    let plugins = plugins();
    let found = match device_type {
        None => plugins.first(),
        Some(wanted) => plugins.iter().find(|plugin| plugin.host.device_type() == wanted),
    };
    found.cloned().ok_or_else(|| {
        let known: Vec<String> = plugins.iter().map(|plugin| format!("`{}`", plugin.device_type())).collect();
        let wanted = device_type.map_or_else(String::new, |wanted| wanted.to_string_lossy().into_owned());
        let failed = match failures().len() {
            0 => "",
            _ => "; `tenon_plugin_failures` lists the plugins that failed to load",
        };
        Failure::not_found(format!(
            "no plugin has devices of type `{wanted}`, but {}{failed}",
            known.join(", ")
        ))
    })
}

/// The plugins that could not be loaded at the start.
pub(crate) fn failures() -> Vec<Arc<FailedPlugin>> {
    state().failures.clone()
}

/// Appends a plugin to the list, unless it is already listed.
pub(crate) fn list(_: &Lifecycle, plugin: Arc<LoadedPlugin>) {
    let mut state = state();
    if state.plugins.iter().all(|known| known.handle != plugin.handle) {
        state.plugins.push(plugin);
    }
}

/// Removes a plugin from the list.
pub(crate) fn unlist(_: &Lifecycle, handle: usize) {
    state().plugins.retain(|plugin| plugin.handle != handle);
}

/// Moves the layers out of the state, so that the state is not locked while `work` runs.
fn with_layers<R>(_: &Lifecycle, work: impl FnOnce(&mut Layers) -> R) -> R {
    struct Out(Layers);
    impl Drop for Out {
        fn drop(&mut self) {
            std::mem::swap(&mut state().layers, &mut self.0);
        }
    }
    let mut out = Out(std::mem::replace(&mut state().layers, Layers::NONE));
    work(&mut out.0)
}

/// Returns the layers of a plugin, outermost first, and whether one of them validates. After this the
/// layers cannot be changed.
pub(crate) fn layers_for(lifecycle: &Lifecycle, plugin: &LoadedPlugin) -> (Vec<Arc<dyn Layer>>, bool) {
    with_layers(lifecycle, |layers| (layers.of_plugin(plugin), layers.validate()))
}

/// Removes an unloaded plugin from the layers.
pub(crate) fn forget_in_layers(lifecycle: &Lifecycle, plugin: &LoadedPlugin) {
    with_layers(lifecycle, |layers| layers.forget(plugin));
}

/// Changes the layers, before a plugin is used.
pub(crate) fn change_layers(change: impl FnOnce(&mut Layers) -> Result<(), Failure>) -> Result<(), Failure> {
    let lifecycle = Lifecycle::begin()?;
    with_layers(&lifecycle, change)
}

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

/// A struct whose first member is its size, so that a struct of another release is rejected instead of
/// misread.
///
/// # Safety
/// Every value can be read from the caller's bytes, and begins with its size.
pub(crate) unsafe trait WithSize: Copy {}
// SAFETY: after the size it has only pointers.
unsafe impl WithSize for Options {}
// SAFETY: after the size it has pointers and a flag, which is 0 or 1 by the caller's promise.
unsafe impl WithSize for crate::plugins::PluginLoadOptions {}
// SAFETY: after the size it has pointers and functions that may be null.
unsafe impl WithSize for crate::layers::CustomLayer {}

/// Reads the caller's options.
///
/// # Safety
/// `options` is null, or as many bytes as its size states can be read.
pub(crate) unsafe fn options<T: WithSize>(options: *const T) -> Result<Option<T>, Failure> {
    if options.is_null() {
        return Ok(None);
    }
    if !options.is_aligned() {
        return Err(Failure::invalid("the options are not aligned"));
    }
    // SAFETY: the size is the first member, and can be read by the caller's promise.
    let size = unsafe { options.cast::<usize>().read() };
    if size != size_of::<T>() {
        let known = size_of::<T>();
        return Err(Failure::invalid(format!(
            "the options state a size of {size} bytes, but this library expects {known}: set `size` to their `sizeof`"
        )));
    }
    // SAFETY: its size is correct, and so many bytes can be read by the caller's promise.
    Ok(Some(unsafe { options.read() }))
}

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
        let given = unsafe { self::options(options) }?;
        let lifecycle = Lifecycle::lock()?;
        let running = state().running;
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
                self::start(&lifecycle, &start)?;
            }
        }
        state().references += 1;
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
        {
            let mut state = state();
            if !state.running {
                return Err(Failure::new(
                    Status::NOT_INITIALISED,
                    "the library is not initialised".to_owned(),
                ));
            }
            state.references = state.references.saturating_sub(1);
            if state.references > 0 {
                return Ok(());
            }
        }
        stop(&lifecycle)
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

/// Shuts everything down and returns the first failure. A plugin's failure does not stop the shutdown; a
/// call that does not return does.
fn stop(lifecycle: &Lifecycle) -> Result<(), Failure> {
    let mut first = Ok(());
    let mut note = |outcome: Result<(), Failure>| {
        if first.is_ok() {
            first = outcome;
        }
    };
    let handles = device_table::handles();
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
    plugin_table::withdraw_all(devices::PATIENCE)?;
    let (plugins, layers) = {
        let mut state = state();
        state.running = false;
        state.references = 0;
        state.failures.clear();
        (std::mem::take(&mut state.plugins), std::mem::replace(&mut state.layers, Layers::NONE))
    };
    for plugin in &plugins {
        note(plugin.finalize(lifecycle));
    }
    layers.finish();
    first
}
