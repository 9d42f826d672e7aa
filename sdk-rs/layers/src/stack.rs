//! The layers that a program has chosen.

use std::collections::HashMap;
use std::sync::Arc;
use tenon::support::Mutex;

use tenon::device::{Layer, Partial};

use crate::capture::{self, Capture, CaptureError};
use crate::profile::Profile;
use crate::setting::BadSetting;
use crate::trace::{self, Trace, TraceError};
use crate::validate::{self, Checker, Leak, Validate};

/// The names of the layers, the outermost first.
pub const NAMES: [&str; 4] = ["trace", "validate", "capture", "profile"];

/// Layers that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no such layer.
    #[error("there is no layer `{name}`{} TENON_LAYERS takes {}", did_you_mean(.nearest), NAMES.join(", "))]
    UnknownLayer {
        /// The name.
        name: String,
        /// The name that is most like it.
        nearest: Option<&'static str>,
    },
    /// A variable of the environment cannot be used.
    #[error(transparent)]
    Setting(#[from] BadSetting),
    /// The file of the trace cannot be made.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The file of the capture cannot be made.
    #[error(transparent)]
    Capture(#[from] CaptureError),
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(|| ";".to_owned(), |name| format!("; did you mean `{name}`?"))
}

/// The layers of a process, for all of its plugins.
#[derive(Default)]
pub struct Stack {
    checker: Option<Arc<Checker>>,
    trace: Option<Trace>,
    capture: Option<Capture>,
    profile: Option<Profile>,
    plugins: Mutex<HashMap<String, Layers>>,
}

/// The layers of one plugin.
#[derive(Clone)]
struct Layers {
    all: Vec<Arc<dyn Layer>>,
    validate: Option<Arc<Validate>>,
}

/// Creates the layers of a list such as `validate,trace`, in any order, with options from the environment.
///
/// The trace is always outermost: it also shows the calls that validation refused, and its times include validation. The
/// capture has only the calls that the plugin sees. The profile is innermost. An empty list makes no layers.
///
/// # Errors
/// If a name is not one of [`NAMES`], a variable cannot be used, or the file of the trace cannot be made.
pub fn open(names: &str) -> Result<Stack, OpenError> {
    let mut wanted = [false; NAMES.len()];
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let Some(known) = NAMES.iter().position(|known| *known == name) else {
            let nearest = NAMES.into_iter().find(|known| strsim::damerau_levenshtein(known, name) < 4);
            return Err(OpenError::UnknownLayer { name: name.to_owned(), nearest });
        };
        wanted[known] = true;
    }
    let checker = if wanted[1] { Some(Checker::new(validate::Options::from_env()?)) } else { None };
    let trace = if wanted[0] { Some(Trace::start(trace::Options::from_env()?)?) } else { None };
    let profile = wanted[3].then(Profile::from_env).transpose()?;
    let capture = wanted[2].then(|| Capture::start(&capture::Options::from_env())).transpose()?;
    Ok(Stack { profile, capture, ..Stack::new(trace, checker) })
}

impl Stack {
    /// Creates layers with explicit options.
    pub fn new(trace: Option<Trace>, checker: Option<Arc<Checker>>) -> Self {
        Self { checker, trace, capture: None, profile: None, plugins: Mutex::default() }
    }

    /// Returns true if there are no layers, so that plugins can be called directly.
    pub fn is_empty(&self) -> bool {
        self.checker.is_none() && self.trace.is_none() && self.capture.is_none() && self.profile.is_none()
    }

    /// Returns the profile that devices appear to have, if the layer `profile` is on. Apply it to a plugin before the layers
    /// of [`for_plugin`](Self::for_plugin).
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// Returns the layers of a plugin, the outermost first; the same ones each time.
    ///
    /// A plugin is identified by its name, which must be unique. `partial` is the plugin without fallbacks: some layers only
    /// use what a plugin has itself.
    pub fn for_plugin<P: Partial + ?Sized>(&self, plugin: &str, partial: &P) -> Vec<Arc<dyn Layer>> {
        let mut plugins = self.plugins.lock();
        let layers = plugins.entry(plugin.to_owned()).or_insert_with(|| {
            let trace = self.trace.as_ref().map(|trace| trace.layer(plugin, partial) as Arc<dyn Layer>);
            let validate = self.checker.as_ref().map(|checker| checker.layer(plugin, partial));
            validate.iter().for_each(Validate::report_at_exit);
            let inner = validate.clone().map(|layer| layer as Arc<dyn Layer>);
            let capture = self.capture.as_ref().map(|capture| capture.layer(plugin) as Arc<dyn Layer>);
            Layers { all: trace.into_iter().chain(inner).chain(capture).collect(), validate }
        });
        layers.all.clone()
    }

    /// Removes a plugin that is unloaded. Reports its live objects as leaks.
    pub fn forget(&self, plugin: &str) -> Vec<Leak> {
        let forgotten = self.plugins.lock().remove(plugin);
        forgotten.and_then(|layers| layers.validate).map(|validate| validate.finish()).unwrap_or_default()
    }

    /// Returns the counts of validation, if it is on.
    pub fn checker(&self) -> Option<&Arc<Checker>> {
        self.checker.as_ref()
    }

    /// Reports leaks, and ends the trace and the capture. Calls afterwards are still validated.
    pub fn finish(&self) -> Vec<Leak> {
        let layers: Vec<Layers> = self.plugins.lock().values().cloned().collect();
        let leaks =
            layers.iter().filter_map(|layers| layers.validate.as_ref()).flat_map(|layer| layer.finish());
        let leaks = leaks.collect();
        if let Some(trace) = &self.trace {
            trace.finish();
        }
        if let Some(capture) = &self.capture {
            capture.finish();
        }
        leaks
    }
}
