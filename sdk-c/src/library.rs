//! The library as a whole: begun with the first call or by hand, ended by hand.

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

/// Where the library looks for plugins, and which layers there are.
const PATH: &str = tenon_host::PATH_VARIABLE;
const LAYERS: &str = "TENON_LAYERS";

struct State {
    running: bool,
    /// How often it was initialised by hand.
    references: usize,
    plugins: Vec<Arc<LoadedPlugin>>,
    failures: Vec<Arc<FailedPlugin>>,
    layers: Layers,
}

/// Held for moments only, and never while anything else is called.
static STATE: Mutex<State> = Mutex::new(State {
    running: false,
    references: 0,
    plugins: Vec::new(),
    failures: Vec::new(),
    layers: Layers::NONE,
});

/// Held by the one thread that opens or closes something.
static LIFECYCLE: Mutex<()> = Mutex::new(());

/// Something that was to be loaded and was not.
pub(crate) struct FailedPlugin {
    pub(crate) path: CString,
    pub(crate) reason: CString,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While this lives nobody else opens or closes anything, and the library runs.
#[must_use = "another thread may start or stop plugins once this is dropped"]
pub(crate) struct Lifecycle {
    _inside: Inside,
    _lock: MutexGuard<'static, ()>,
}

impl Lifecycle {
    /// Waits for its turn, and begins the library with what the environment says if it does not run.
    pub(crate) fn begin() -> Result<Self, Failure> {
        let lifecycle = Self::lock()?;
        if !state().running {
            start(&lifecycle, &Start::default())?;
        }
        Ok(lifecycle)
    }

    fn lock() -> Result<Self, Failure> {
        // From inside of a call, as a layer makes it, the wait would be one for itself.
        if thread_state::is_inside() {
            return Err(Failure::busy(
                "nothing can be opened or closed from inside of another call, or of a stream's callback",
            ));
        }
        let lock = LIFECYCLE.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Lifecycle { _inside: Inside::new(), _lock: lock })
    }
}

/// Sees that the library runs.
pub(crate) fn running() -> Result<(), Failure> {
    if state().running { Ok(()) } else { Lifecycle::begin().map(drop) }
}

/// Returns true if the library runs.
pub(crate) fn is_running() -> bool {
    state().running
}

/// Ends the library, unless somebody has initialised it by hand or has a device open.
pub(crate) fn end_if_idle() -> Result<(), Failure> {
    let lifecycle = Lifecycle::lock()?;
    let is_wanted = {
        let state = state();
        !state.running || state.references > 0
    };
    if is_wanted || !device_table::handles().is_empty() { Ok(()) } else { stop(&lifecycle) }
}

/// What the library begins with; `None`: what the environment says.
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

/// The first plugin of a device type; without a type the built-in device.
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
            _ => "; `tenon_plugin_failures` tells what could not be loaded",
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

/// Puts a plugin at the end of the list, unless it is there.
pub(crate) fn list(_: &Lifecycle, plugin: Arc<LoadedPlugin>) {
    let mut state = state();
    if state.plugins.iter().all(|known| known.handle != plugin.handle) {
        state.plugins.push(plugin);
    }
}

/// Takes a plugin off the list.
pub(crate) fn unlist(_: &Lifecycle, handle: usize) {
    state().plugins.retain(|plugin| plugin.handle != handle);
}

/// Takes the layers out, so that the state is not held while they work.
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

/// The layers of a plugin, outermost first, and whether one of them validates; from now on they stay as they are.
pub(crate) fn layers_for(lifecycle: &Lifecycle, plugin: &LoadedPlugin) -> (Vec<Arc<dyn Layer>>, bool) {
    with_layers(lifecycle, |layers| (layers.of_plugin(plugin), layers.validate()))
}

/// Lets the layers forget a plugin that is unloaded.
pub(crate) fn forget_in_layers(lifecycle: &Lifecycle, plugin: &LoadedPlugin) {
    with_layers(lifecycle, |layers| layers.forget(plugin));
}

/// Changes which layers there are, before the first use.
pub(crate) fn change_layers(change: impl FnOnce(&mut Layers) -> Result<(), Failure>) -> Result<(), Failure> {
    let lifecycle = Lifecycle::begin()?;
    with_layers(&lifecycle, change)
}

/// How the library begins. [C] Set `size` to `sizeof(tenon_options)`; what is left zero is taken from the environment.
/// [Python] What is left out is taken from the environment.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Size of this struct in bytes.
    pub size: usize,
    /// Where to look for plugins, as in `TENON_PLUGIN_PATH`: folders, libraries and manifests, with colons between them.
    /// Empty: nowhere.
    pub plugin_path: *const c_char,
    /// Which layers there are, as in `TENON_LAYERS`: `"validate,trace"`. Empty: none.
    pub layers: *const c_char,
}

/// What has a size in front, so that a struct of another release is refused and not misread.
///
/// # Safety
/// A value can be read as bytes of any kind, and begins with its size.
pub(crate) unsafe trait WithSize: Copy {}
// SAFETY: pointers only, behind the size.
unsafe impl WithSize for Options {}
// SAFETY: pointers and a flag behind the size. That the flag is 0 or 1 is the caller's promise.
unsafe impl WithSize for crate::plugins::PluginLoadOptions {}
// SAFETY: pointers and functions that may be null behind the size.
unsafe impl WithSize for crate::layers::CustomLayer {}

/// Reads options of the caller's.
///
/// # Safety
/// `options` is null, or can be read as far as its size says.
pub(crate) unsafe fn options<T: WithSize>(options: *const T) -> Result<Option<T>, Failure> {
    if options.is_null() {
        return Ok(None);
    }
    if !options.is_aligned() {
        return Err(Failure::invalid("the options are not aligned"));
    }
    // SAFETY: the size is in front, and can be read by the caller's promise.
    let size = unsafe { options.cast::<usize>().read() };
    if size != size_of::<T>() {
        let known = size_of::<T>();
        return Err(Failure::invalid(format!(
            "the options state a size of {size} bytes, where this library knows {known}: set `size` to their `sizeof`"
        )));
    }
    // SAFETY: readable up to its size by the caller's promise.
    Ok(Some(unsafe { options.read() }))
}

/// Begins the library: opens the layers, and loads the plugins that are found.
///
/// It need not be called: whatever comes first begins the library with what the environment says. So each function that
/// needs the library to run may fail with #TENON_INVALID_ARGUMENT for a `TENON_LAYERS` that is wrong, and #TENON_BUSY if
/// it would begin the library from inside of a call or a callback. Each call asks for a #tenon_shutdown of its own.
///
/// Plugins that could not be loaded are no failure: see #tenon_plugin_failures.
///
/// After `fork` a child may only `exec`: the threads of devices do not come along.
///
/// What opens, closes, loads, begins or ends something is refused with #TENON_BUSY from inside of another call, as from
/// a layer, and from a callback of a stream. A callback must not call anything else that reaches a device either.
///
/// @param[in] options How it begins; `null`: as the environment says, `TENON_PLUGIN_PATH` and `TENON_LAYERS`.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_ARGUMENT `options` are not what they should be, or there is no such layer.
/// @retval TENON_BUSY It runs already, and `options` are given, which are too late; or the call comes from inside of
///     another one, or from a callback of a stream.
/// @par Threads
///     Any thread, also several at once; they wait for each other.
///
/// # Safety
/// `options` are null, or can be read, with texts that are null or texts.
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

/// Ends the library, when it is called for the last #tenon_init.
///
/// Waits for all devices, closes what is open, calls `finalize` of each plugin, lets the layers finish, which is when
/// they report what was leaked, and closes the plugins' libraries. Every handle leads nowhere afterwards, and is safe to
/// use in that it is an error. A later call begins the library anew.
///
/// @retval TENON_SUCCESS On success.
/// @retval TENON_NOT_INITIALISED The library does not run.
/// @retval TENON_BUSY The call comes from inside of another one, as from a layer, or from a stream's callback; or calls
///     of other threads do not end within 10 seconds. The library still runs; devices may be closed.
/// @retval other What the first plugin that failed has answered; the library has ended nevertheless.
/// @par Threads
///     Any thread, but not a callback of a stream. Calls of other threads that are under way are waited for.
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

/// Ends everything, whatever the plugins answer; returns the first failure. Only calls that do not end keep it running.
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
