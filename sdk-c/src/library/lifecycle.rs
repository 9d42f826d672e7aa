//! The state of the running library: its plugins and layers, and how often it was started.

use std::ffi::{CStr, CString, OsString};
use std::sync::{Arc, MutexGuard};
use tenon::support::Mutex;

use tenon_loader::{LoadOptions, Plugin};

use crate::Status;
use crate::c_text::c_text;
use crate::error::Failure;
use crate::layers::stack::Layers;
pub(crate) use crate::library::lock::Lifecycle;
use crate::plugins::loaded::LoadedPlugin;
use crate::plugins::table::{self, PluginGuard};

/// The plugin search path and the layers of the library.
const PATH: &str = tenon_loader::PATH_VARIABLE;
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

/// A plugin, manifest or folder that could not be loaded.
pub(crate) struct FailedPlugin {
    pub(crate) path: CString,
    pub(crate) reason: CString,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock()
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

    /// Initialises a plugin, unless it is initialised.
    pub(crate) fn make_ready(&self, plugin: &LoadedPlugin) -> Result<(), Failure> {
        plugin.initialize(self, || with_layers(self, |layers| (layers.of_plugin(plugin), layers.validate())))
    }
}

/// Finds the plugin of a handle, keeps it loaded, and initialises it.
pub(crate) fn hold_ready(handle: usize) -> Result<PluginGuard, Failure> {
    loop {
        let plugin = table::hold(handle)?;
        if plugin.is_ready() {
            return Ok(plugin);
        }
        // The guard is dropped before waiting for the lifecycle lock, whose owner may wait for guards.
        drop(plugin);
        let lifecycle = Lifecycle::begin()?;
        let plugin = table::find(handle)?;
        lifecycle.make_ready(&plugin)?;
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

/// The settings to start the library with; `None`: from the environment variables.
#[derive(Debug, Default)]
pub(crate) struct Start {
    pub(crate) path: Option<OsString>,
    pub(crate) layers: Option<String>,
}

/// Starts the library, which is not running: creates the layers, and loads the plugins.
pub(crate) fn start(lifecycle: &Lifecycle, options: &Start) -> Result<(), Failure> {
    tenon::log_level().map_err(|refusal| Failure::invalid(refusal.to_string()))?;
    let names = match &options.layers {
        Some(names) => names.clone(),
        None => tenon::trusted_variable(LAYERS).unwrap_or_default().to_string_lossy().into_owned(),
    };
    with_layers(lifecycle, |layers| layers.open(&names))?;
    let mut plugins = vec![adopt(lifecycle, Plugin::built_in(c"cpu", tenon_cpu::Cpu::shared().clone()))?];
    let mut failures = Vec::new();
    let paths = options.path.clone().or_else(|| tenon::trusted_variable(PATH)).unwrap_or_default();
    for candidate in tenon_loader::search_in(&paths, &LoadOptions::default()) {
        match candidate.outcome.map_err(Failure::from).and_then(|plugin| adopt(lifecycle, plugin)) {
            Ok(plugin) if plugins.iter().all(|known| known.handle != plugin.handle) => plugins.push(plugin),
            Ok(_) => {}
            Err(failure) => failures.push(Arc::new(FailedPlugin {
                path: c_text(&candidate.path.to_string_lossy()),
                reason: c_text(&failure.to_string()),
            })),
        }
    }
    let mut state = state();
    state.plugins = plugins;
    state.failures = failures;
    state.running = true;
    Ok(())
}

/// Returns all plugins, in order.
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

/// Returns the plugins that could not be loaded at the start.
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

/// Adds a plugin to the table, unless it is already there.
pub(crate) fn adopt(lifecycle: &Lifecycle, plugin: Arc<Plugin>) -> Result<Arc<LoadedPlugin>, Failure> {
    let host = with_layers(lifecycle, |layers| layers.profiled(&plugin));
    table::adopt(plugin, host)
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

/// Returns true if the library is running, and only because of calls other than `tenon_init`.
pub(crate) fn is_unreferenced(_: &Lifecycle) -> bool {
    let state = state();
    state.running && state.references == 0
}

/// Counts a call of `tenon_init`.
pub(crate) fn add_reference(_: &Lifecycle) {
    state().references += 1;
}

/// Counts a call of `tenon_shutdown`. Returns true if it is the last one.
///
/// # Errors
/// If the library is not running.
pub(crate) fn remove_reference(_: &Lifecycle) -> Result<bool, Failure> {
    let mut state = state();
    if !state.running {
        return Err(Failure::new(Status::NOT_INITIALISED, "the library is not initialised".to_owned()));
    }
    state.references = state.references.saturating_sub(1);
    Ok(state.references == 0)
}

/// Marks the library as not running, and takes its plugins and layers.
pub(crate) fn take_all(_: &Lifecycle) -> (Vec<Arc<LoadedPlugin>>, Layers) {
    let mut state = state();
    state.running = false;
    state.references = 0;
    state.failures.clear();
    (std::mem::take(&mut state.plugins), std::mem::replace(&mut state.layers, Layers::NONE))
}
