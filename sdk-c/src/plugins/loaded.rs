//! A loaded plugin: its device with layers and fallbacks, its strings, and the number of its guards.

use std::ffi::{CString, c_char};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tenon::device::{Device, Function, Layer};
use tenon_loader::{Availability, Plugin};
use tenon_operators::by_name::Calls;

use crate::Status;
use crate::c_text::c_text;
use crate::call::counts::CallCounts;
use crate::call::thread_state;
use crate::error::Failure;
use crate::library::lock::Lifecycle;
use crate::operators::composed::ComposedOperators;

/// A loaded plugin.
pub(crate) struct LoadedPlugin {
    pub(crate) handle: usize,
    /// The plugin as it was loaded.
    pub(crate) origin: Arc<Plugin>,
    /// The plugin as programs see it: the same, or with the properties of a profile.
    pub(crate) host: Arc<Plugin>,
    pub(crate) calls: Arc<CallCounts>,
    /// A name that is unique among the plugins.
    key: String,
    pub(crate) texts: Texts,
    ready: AtomicBool,
    /// Number of guards of the plugin.
    guards: AtomicUsize,
    stack: OnceLock<Stack>,
    /// Its operators, and those that are composed of them.
    composed: OnceLock<ComposedOperators>,
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
    pub(crate) fn new(handle: usize, key: String, origin: Arc<Plugin>, host: Arc<Plugin>) -> Self {
        LoadedPlugin {
            handle,
            key,
            texts: Texts::new(&host),
            origin,
            host,
            calls: CallCounts::new(),
            ready: AtomicBool::new(false),
            guards: AtomicUsize::new(0),
            stack: OnceLock::new(),
            composed: OnceLock::new(),
        }
    }

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

    /// Returns true if `initialize` was called and succeeded.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Returns its operators and those that are composed of them. They are found once.
    pub(crate) fn composed_operators(&self, calls: Calls) -> &ComposedOperators {
        self.composed.get_or_init(|| ComposedOperators::new(calls, self.name()))
    }

    /// Calls `initialize`, unless it was called. The first time, `layers` returns the layers of the plugin, outermost
    /// first, and whether one of them validates.
    pub(crate) fn initialize(
        &self,
        _: &Lifecycle,
        layers: impl FnOnce() -> (Vec<Arc<dyn Layer>>, bool),
    ) -> Result<(), Failure> {
        if !self.is_ready() {
            let stack = self.stack.get_or_init(|| {
                let (layers, is_validated) = layers();
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

    /// Counts a guard of the plugin.
    pub(crate) fn add_guard(&self) {
        self.guards.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts the end of a guard of the plugin.
    pub(crate) fn remove_guard(&self) {
        self.guards.fetch_sub(1, Ordering::AcqRel);
    }

    /// Returns true if a guard keeps the plugin loaded.
    pub(crate) fn has_guards(&self) -> bool {
        self.guards.load(Ordering::Acquire) > 0
    }
}
