//! The table of loaded plugins, and the guards that keep them loaded.

use std::ffi::{CString, c_char};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tenon::device::{Device, Function, Layer};
use tenon_host::{Availability, Plugin};

use crate::call_counts::CallCounts;
use crate::error::Failure;
use crate::handles::{HandleKind, Handles};
use crate::lifecycle::{self, Lifecycle};
use crate::text::c_text;
use crate::thread_state::{self, Inside};
use crate::{Status, device_table};

static PLUGINS: Handles<LoadedPlugin> = Handles::new(HandleKind::Plugin);

/// A loaded plugin.
pub(crate) struct LoadedPlugin {
    pub(crate) handle: usize,
    pub(crate) host: Arc<Plugin>,
    pub(crate) calls: Arc<CallCounts>,
    /// A name that is unique among the plugins.
    key: String,
    pub(crate) texts: Texts,
    ready: AtomicBool,
    /// Number of guards of the plugin.
    guards: AtomicUsize,
    stack: OnceLock<Stack>,
}

/// The device of a plugin with its layers and fallbacks.
struct Stack {
    device: Arc<dyn Device>,
    layers: Vec<Arc<dyn Layer>>,
    /// True if one of the layers validates.
    is_validated: bool,
}

/// The strings of a plugin, for C.
pub(crate) struct Texts {
    name: CString,
    pub(crate) path: Option<CString>,
    device_type: CString,
    pub(crate) sub_device_type: Option<CString>,
    pub(crate) release: Option<CString>,
    pub(crate) recognition: CString,
}

impl Texts {
    fn new(host: &Plugin) -> Self {
        Texts {
            name: c_text(host.name()),
            path: host.path().map(|path| c_text(&path.to_string_lossy())),
            device_type: host.device_type().to_owned(),
            sub_device_type: host.sub_device_type().map(ToOwned::to_owned),
            release: host.release().map(|release| c_text(release.name())),
            recognition: c_text(&host.recognised_by().to_string()),
        }
    }
}

impl LoadedPlugin {
    pub(crate) fn name(&self) -> &str {
        self.host.name()
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn device_type(&self) -> std::borrow::Cow<'_, str> {
        self.host.device_type().to_string_lossy()
    }

    pub(crate) fn c_name(&self) -> *const c_char {
        self.texts.name.as_ptr()
    }

    pub(crate) fn c_device_type(&self) -> *const c_char {
        self.texts.device_type.as_ptr()
    }

    /// Returns true if neither the plugin nor a fallback has a function.
    pub(crate) fn lacks(&self, function: Function) -> bool {
        matches!(self.host.availability(function), Availability::Unavailable)
    }

    /// Returns true for the built-in device.
    pub(crate) fn is_built_in(&self) -> bool {
        self.host.path().is_none()
    }

    /// Returns true if the errors of a function come from the built-in device itself, which has no table.
    pub(crate) fn speaks_by_itself(&self, function: Option<Function>) -> bool {
        self.is_built_in()
            && function.is_none_or(|of| matches!(self.host.availability(of), Availability::Native))
    }

    /// Calls `initialize`, once.
    pub(crate) fn ready_in(&self, lifecycle: &Lifecycle) -> Result<(), Failure> {
        if !self.ready.load(Ordering::Acquire) {
            let stack = self.stack.get_or_init(|| {
                let (layers, is_validated) = lifecycle::layers_for(lifecycle, self);
                let device =
                    if layers.is_empty() { self.host.device() } else { self.host.layered(layers.clone()) };
                Stack { device, layers, is_validated }
            });
            let begun = stack.device.initialize();
            thread_state::forget_selected_device(self.handle);
            begun?;
            self.ready.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Calls `finalize`, if `initialize` was called.
    pub(crate) fn finalize(&self, _: &Lifecycle) -> Result<(), Failure> {
        if self.ready.swap(false, Ordering::AcqRel) {
            self.stack()?.device.finalize()?;
        }
        Ok(())
    }

    /// Returns the device with layers and fallbacks. Fails if the plugin is not initialised.
    pub(crate) fn device(&self) -> Result<Arc<dyn Device>, Failure> {
        Ok(self.stack()?.device.clone())
    }

    /// Returns the device with `layer` added as the innermost layer.
    pub(crate) fn device_through(&self, layer: Arc<dyn Layer>) -> Result<Arc<dyn Device>, Failure> {
        let layers = self.stack()?.layers.iter().cloned().chain([layer]);
        Ok(self.host.layered(layers.collect()))
    }

    /// Returns the device with `layer` added as the outermost layer.
    pub(crate) fn device_behind(&self, layer: Arc<dyn Layer>) -> Result<Arc<dyn Device>, Failure> {
        let layers = [layer].into_iter().chain(self.stack()?.layers.iter().cloned());
        Ok(self.host.layered(layers.collect()))
    }

    /// Returns true if a layer validates the calls to the plugin.
    pub(crate) fn is_validated(&self) -> Result<bool, Failure> {
        Ok(self.stack()?.is_validated)
    }

    fn stack(&self) -> Result<&Stack, Failure> {
        self.stack
            .get()
            .ok_or_else(|| Failure::new(Status::NOT_INITIALISED, "the plugin is not initialised".to_owned()))
    }

    /// Returns the number of its open devices.
    pub(crate) fn open_devices(&self) -> usize {
        device_table::count_of_plugin(self.handle)
    }
}

/// Keeps a plugin loaded, and marks the thread as inside a call.
#[must_use = "the plugin may be unloaded once this is dropped"]
pub(crate) struct PluginGuard {
    plugin: Arc<LoadedPlugin>,
    _inside: Inside,
}

impl Deref for PluginGuard {
    type Target = Arc<LoadedPlugin>;

    fn deref(&self) -> &Arc<LoadedPlugin> {
        &self.plugin
    }
}

impl Drop for PluginGuard {
    fn drop(&mut self) {
        self.plugin.guards.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Finds the plugin of a handle, and keeps it loaded.
pub(crate) fn hold(handle: usize) -> Result<PluginGuard, Failure> {
    PLUGINS.with(handle, |plugin| {
        plugin.guards.fetch_add(1, Ordering::AcqRel);
        PluginGuard { plugin: plugin.clone(), _inside: Inside::new() }
    })
}

/// Finds the plugin of a handle, keeps it loaded, and initialises it.
pub(crate) fn hold_ready(handle: usize) -> Result<PluginGuard, Failure> {
    loop {
        let plugin = hold(handle)?;
        if plugin.ready.load(Ordering::Acquire) {
            return Ok(plugin);
        }
        // The guard is dropped before waiting for the lifecycle lock, whose owner may wait for guards.
        drop(plugin);
        let lifecycle = Lifecycle::begin()?;
        PLUGINS.get(handle)?.ready_in(&lifecycle)?;
    }
}

/// Adds a plugin to the table, unless it is already there.
pub(crate) fn adopt(host: Arc<Plugin>) -> Result<Arc<LoadedPlugin>, Failure> {
    let known = PLUGINS.table.all();
    if let Some(known) = known.iter().find(|known| Arc::ptr_eq(&known.host, &host)) {
        return Ok(known.clone());
    }
    let taken = |key: &str| known.iter().any(|known| known.key == key);
    let key = (1..)
        .map(|number| if number == 1 { host.name().to_owned() } else { format!("{}#{number}", host.name()) })
        .find(|key| !taken(key))
        .unwrap_or_default();
    let (_, plugin) = PLUGINS.insert_with(|handle| LoadedPlugin {
        handle,
        key,
        texts: Texts::new(&host),
        host,
        calls: CallCounts::new(),
        ready: AtomicBool::new(false),
        guards: AtomicUsize::new(0),
        stack: OnceLock::new(),
    })?;
    Ok(plugin)
}

/// Removes the handles of all plugins, after all calls to them have returned. Removes none if a call does
/// not return in time.
pub(crate) fn withdraw_all(patience: Duration) -> Result<(), Failure> {
    let begun = Instant::now();
    let idle = |plugin: &LoadedPlugin| match plugin.guards.load(Ordering::Acquire) {
        0 => Ok(()),
        _ => Err(Failure::busy(format!("a call to the plugin {} does not return", plugin.name()))),
    };
    loop {
        match PLUGINS.table.remove_all_if(idle) {
            Err(_) if begun.elapsed() <= patience => std::thread::sleep(Duration::from_micros(50)),
            outcome => return outcome.map(drop),
        }
    }
}

/// Removes the handle of a plugin, if it is not in use.
pub(crate) fn withdraw(handle: usize) -> Result<Arc<LoadedPlugin>, Failure> {
    PLUGINS.remove_if(handle, |plugin| match plugin.open_devices() {
        0 if plugin.guards.load(Ordering::Acquire) == 0 => Ok(()),
        0 => Err(Failure::busy("another thread is inside a call to the plugin")),
        1 => Err(Failure::busy("a device of the plugin is open")),
        open => Err(Failure::busy(format!("{open} devices of the plugin are open"))),
    })
}
