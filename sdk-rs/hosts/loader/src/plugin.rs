//! A loaded plugin, or a device of this program.

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenon::device::{Device, Function, Layer, Layered, Loaded, Partial, Release, WithFallbacks};
use tenon::reflect::{FallbackInfo, FallbackKind};
use tenon_operators::by_name::Calls;

use crate::error::LoadError;
use crate::load::{self, Answers};
use crate::options::LoadOptions;
use crate::recognition::Recognition;

/// A plugin that can be called. May be used from any thread.
///
/// The library stays open while the plugin or a device made from it is alive.
#[derive(Debug)]
pub struct Plugin {
    name: String,
    path: Option<PathBuf>,
    recognition: Recognition,
    answers: Answers,
    code: Code,
    availability: [Availability; Function::ALL.len()],
}

#[derive(Clone, Debug)]
enum Code {
    Loaded(Arc<Loaded>),
    BuiltIn(Arc<dyn BuiltIn>),
    Altered(Arc<Altered>),
}

/// An implementation that was made from another one; its `Debug` output is only its name.
struct Altered {
    implementation: Arc<dyn Partial>,
    release: Option<Release>,
}

impl std::fmt::Debug for Altered {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Altered")
    }
}

/// A device of this program. Its calls are compiled for its type.
trait BuiltIn: Send + Sync {
    fn partial(&self) -> Arc<dyn Partial>;
    fn device(&self) -> Arc<dyn Device>;
    fn layered(&self, layers: Vec<Arc<dyn Layer>>) -> Arc<dyn Device>;
}

struct DeviceOf<P>(Arc<P>);

impl<P: Partial + 'static> BuiltIn for DeviceOf<P> {
    fn partial(&self) -> Arc<dyn Partial> {
        self.0.clone()
    }

    fn device(&self) -> Arc<dyn Device> {
        Arc::new(WithFallbacks(self.0.clone()))
    }

    fn layered(&self, layers: Vec<Arc<dyn Layer>>) -> Arc<dyn Device> {
        Arc::new(Layered::new(WithFallbacks(self.0.clone()), layers))
    }
}

impl std::fmt::Debug for dyn BuiltIn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("BuiltIn")
    }
}

/// The implementation of a function.
#[derive(Clone, Copy, Debug)]
pub enum Availability {
    /// The plugin implements it.
    Native,
    /// The spec's fallback implements it, and all functions that the fallback calls exist.
    Fallback(&'static FallbackInfo),
    /// The plugin lacks it, and no fallback implements it: there is none, or it only returns an error, or a function
    /// that it calls is missing.
    Unavailable,
}

impl Plugin {
    /// Opens a library, or the library that a manifest names, and detects the release whose table it fills.
    ///
    /// Does not initialise the plugin. If the library is loaded already, returns the same plugin. Opening a
    /// library runs its code, so load only libraries that you trust.
    ///
    /// # Errors
    /// [`LoadError`] describes the failure and how to fix it. A C++ exception from the plugin's entry point ends the
    /// process.
    pub fn load(path: &Path, options: &LoadOptions) -> Result<Arc<Plugin>, LoadError> {
        load::load(path, options)
    }

    /// Makes a plugin of a device of this program. Its type is also its name.
    pub fn built_in<P: Partial + 'static>(device_type: &CStr, device: Arc<P>) -> Arc<Plugin> {
        let answers = Answers {
            version: [0, 1, 1],
            device_type: device_type.to_owned(),
            sub_device_type: None,
            pir_default_passes: 0,
            fallbacks: Vec::new(),
            operators: None,
            open_symbols: Vec::new(),
        };
        let (name, code) =
            (device_type.to_string_lossy().into_owned(), Code::BuiltIn(Arc::new(DeviceOf(device))));
        Arc::new(Self::new(name, None, Recognition::BuiltIn, answers, code))
    }

    pub(crate) fn loaded(
        name: String,
        path: PathBuf,
        recognition: Recognition,
        answers: Answers,
        table: Loaded,
    ) -> Self {
        Self::new(name, Some(path), recognition, answers, Code::Loaded(Arc::new(table)))
    }

    fn new(
        name: String,
        path: Option<PathBuf>,
        recognition: Recognition,
        answers: Answers,
        code: Code,
    ) -> Self {
        let availability = {
            let partial = code.partial();
            Function::ALL.map(|function| availability(&*partial, function))
        };
        Self { name, path, recognition, answers, code, availability }
    }

    /// Returns the name for users: from the options, from the manifest, or the file name without its extension;
    /// for a built-in device, its type.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path of the library; `None` for a built-in device.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the type of its devices, as stated by the plugin.
    pub fn device_type(&self) -> &CStr {
        &self.answers.device_type
    }

    /// Returns the subtype of its devices, if the plugin states one.
    pub fn sub_device_type(&self) -> Option<&CStr> {
        self.answers.sub_device_type.as_deref()
    }

    /// Returns the interface version that the plugin states: major, minor, patch.
    pub fn version(&self) -> [usize; 3] {
        self.answers.version
    }

    /// Returns the passes that PaddlePaddle should run for this plugin, a `std::vector<std::string>*`; null if the
    /// plugin asks for none.
    pub fn pir_default_passes(&self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.answers.pir_default_passes)
    }

    /// Returns the release whose table it filled; `None` for a built-in device, which has no table.
    pub fn release(&self) -> Option<Release> {
        match &self.code {
            Code::Loaded(table) => Some(table.release()),
            Code::BuiltIn(_) => None,
            Code::Altered(altered) => altered.release,
        }
    }

    /// Returns the way in which the release was detected.
    pub fn recognised_by(&self) -> &Recognition {
        &self.recognition
    }

    /// Returns the functions of the plugin itself, without fallbacks.
    pub fn partial(&self) -> Arc<dyn Partial> {
        self.code.partial()
    }

    /// Returns the plugin with another implementation, which `alter` makes from that of the plugin.
    #[must_use]
    pub fn altered(&self, alter: impl FnOnce(Arc<dyn Partial>) -> Arc<dyn Partial>) -> Plugin {
        let code = Altered { implementation: alter(self.partial()), release: self.release() };
        Self::new(
            self.name.clone(),
            self.path.clone(),
            self.recognition.clone(),
            self.answers.clone(),
            Code::Altered(Arc::new(code)),
        )
    }

    /// Returns the table, for code that makes calls as the ABI defines them; `None` for a built-in device and for
    /// altered plugins, which have no table.
    pub fn table(&self) -> Option<&Loaded> {
        match &self.code {
            Code::Loaded(table) => Some(table),
            Code::BuiltIn(_) | Code::Altered(_) => None,
        }
    }

    /// Returns the plugin, with the spec's fallbacks for the functions that it lacks.
    pub fn device(&self) -> Arc<dyn Device> {
        match &self.code {
            Code::Loaded(table) => Arc::new(WithFallbacks(table.clone())),
            Code::BuiltIn(device) => device.device(),
            Code::Altered(altered) => Arc::new(WithFallbacks(altered.implementation.clone())),
        }
    }

    /// Returns the plugin with the spec's fallbacks, wrapped in layers. The first layer is the outermost.
    ///
    /// # Panics
    /// If there are more layers than [`Layered::MOST`].
    pub fn layered(&self, layers: Vec<Arc<dyn Layer>>) -> Arc<dyn Device> {
        match &self.code {
            Code::Loaded(table) => Arc::new(Layered::new(WithFallbacks(table.clone()), layers)),
            Code::BuiltIn(device) => device.layered(layers),
            Code::Altered(altered) => {
                Arc::new(Layered::new(WithFallbacks(altered.implementation.clone()), layers))
            }
        }
    }

    /// Returns the functions that call the plugin's operators by name; `None` if it does not export them.
    pub fn operators(&self) -> Option<Calls> {
        self.answers.operators
    }

    /// Returns true for a device of this program that was not altered.
    pub fn is_built_in(&self) -> bool {
        matches!(self.code, Code::BuiltIn(_))
    }

    /// Returns the functions of PaddlePaddle that stayed unresolved because of
    /// [`Binding::LaterForHost`](crate::Binding::LaterForHost).
    pub fn open_symbols(&self) -> &[String] {
        &self.answers.open_symbols
    }

    /// Returns true if the plugin filled the function's slot with the spec's fallback instead of an implementation of
    /// its own.
    ///
    /// A plugin reports these functions through the export `tenon_fallbacks`, which returns their names separated by
    /// spaces.
    pub fn is_filled_by_fallback(&self, function: Function) -> bool {
        self.answers.fallbacks.contains(&function)
    }

    /// Returns the implementation of a function, as determined when the plugin was loaded.
    pub fn availability(&self, function: Function) -> Availability {
        self.availability[function as usize]
    }

    /// Returns the implementation of each function, in the order of the spec.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = (Function, Availability)> {
        Function::ALL.into_iter().zip(self.availability)
    }
}

impl Code {
    fn partial(&self) -> Arc<dyn Partial> {
        match self {
            Code::Loaded(table) => table.clone(),
            Code::BuiltIn(device) => device.partial(),
            Code::Altered(altered) => altered.implementation.clone(),
        }
    }
}

/// Terminates because the checker rejects cycles of fallbacks.
fn availability(plugin: &dyn Partial, function: Function) -> Availability {
    if plugin.provides(function) {
        return Availability::Native;
    }
    let works = |name: &&str| {
        Function::of_name(name)
            .is_some_and(|called| !matches!(availability(plugin, called), Availability::Unavailable))
    };
    match &function.info().fallback {
        Some(fallback) if fallback.kind != FallbackKind::Refuse && fallback.calls.iter().all(works) => {
            Availability::Fallback(fallback)
        }
        _ => Availability::Unavailable,
    }
}
