//! A plugin that is loaded, or the device that is always there.

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tenon::device::{Device, Function, Layer, Layered, Loaded, Partial, Release, WithFallbacks};
use tenon::reflect::{FallbackInfo, FallbackKind};
use tenon_cpu::Cpu;

use crate::error::LoadError;
use crate::load::{self, Answers};
use crate::options::LoadOptions;
use crate::recognition::Recognition;

/// A plugin that can be called. May be used from any thread.
///
/// The library behind it stays open as long as this lives, or any of the devices made from it.
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
    BuiltIn(Arc<BuiltIn>),
}

/// The CPU device, shown by its name alone.
struct BuiltIn(Arc<Cpu>);

impl std::fmt::Debug for BuiltIn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Cpu")
    }
}

/// The implementation of a function.
#[derive(Clone, Copy, Debug)]
pub enum Availability {
    /// The plugin has it.
    Native,
    /// The spec's fallback implements it, and all functions that it calls exist.
    Fallback(&'static FallbackInfo),
    /// The plugin lacks it, and there is no fallback, or the fallback only refuses or lacks a function
    /// itself.
    Unavailable,
}

impl Plugin {
    /// Opens a library, or the library that a manifest names, and detects the release whose table it fills.
    ///
    /// Does not initialise the plugin. If the library is loaded already, returns the same plugin. Opening a
    /// library runs its code, so load only libraries that you trust.
    ///
    /// # Errors
    /// [`LoadError`] says what is wrong and what to do. A C++ exception out of the plugin's entry point ends the
    /// process.
    pub fn load(path: &Path, options: &LoadOptions) -> Result<Arc<Plugin>, LoadError> {
        load::load(path, options)
    }

    /// The CPU device, of the type `cpu`. There is one in the process.
    pub fn builtin() -> Arc<Plugin> {
        static BUILT_IN: OnceLock<Arc<Plugin>> = OnceLock::new();
        let make = || {
            let answers = Answers {
                version: [0, 1, 1],
                device_type: c"cpu".to_owned(),
                sub_device_type: None,
                pir_default_passes: 0,
                fallbacks: Vec::new(),
                open_symbols: Vec::new(),
            };
            let code = Code::BuiltIn(Arc::new(BuiltIn(Arc::new(Cpu::new()))));
            Arc::new(Self::new("cpu".to_owned(), None, Recognition::BuiltIn, answers, code))
        };
        BUILT_IN.get_or_init(make).clone()
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

    /// The name for users: the name from the options, from the manifest, or of the file without its ending;
    /// `cpu` for the built-in device.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The library; `None` for the built-in device.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The type of its devices, as the plugin states it.
    pub fn device_type(&self) -> &CStr {
        &self.answers.device_type
    }

    /// The finer type of its devices, if the plugin states one.
    pub fn sub_device_type(&self) -> Option<&CStr> {
        self.answers.sub_device_type.as_deref()
    }

    /// The version of the interface that the plugin states: major, minor, patch.
    pub fn version(&self) -> [usize; 3] {
        self.answers.version
    }

    /// The passes that the plugin asks PaddlePaddle to run, a `std::vector<std::string>*` there; null if it asks
    /// for none.
    pub fn pir_default_passes(&self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.answers.pir_default_passes)
    }

    /// The release whose table it filled; `None` for the built-in device, which has no table.
    pub fn release(&self) -> Option<Release> {
        match &self.code {
            Code::Loaded(table) => Some(table.release()),
            Code::BuiltIn(_) => None,
        }
    }

    /// The evidence for its release.
    pub fn recognised_by(&self) -> &Recognition {
        &self.recognition
    }

    /// The plugin itself, without fallbacks.
    pub fn partial(&self) -> Arc<dyn Partial> {
        self.code.partial()
    }

    /// Its table, for those who call it as the ABI does; `None` for the built-in device, which has none.
    pub fn table(&self) -> Option<&Loaded> {
        match &self.code {
            Code::Loaded(table) => Some(table),
            Code::BuiltIn(_) => None,
        }
    }

    /// The plugin with the spec's fallbacks for the functions that it lacks.
    pub fn device(&self) -> Arc<dyn Device> {
        match &self.code {
            Code::Loaded(table) => Arc::new(WithFallbacks(table.clone())),
            Code::BuiltIn(cpu) => Arc::new(WithFallbacks(cpu.0.clone())),
        }
    }

    /// The plugin with the spec's fallbacks and with layers around both, the first one outermost.
    ///
    /// # Panics
    /// If there are more layers than [`Layered::MOST`].
    pub fn layered(&self, layers: Vec<Arc<dyn Layer>>) -> Arc<dyn Device> {
        match &self.code {
            Code::Loaded(table) => Arc::new(Layered::new(WithFallbacks(table.clone()), layers)),
            Code::BuiltIn(cpu) => Arc::new(Layered::new(WithFallbacks(cpu.0.clone()), layers)),
        }
    }

    /// Functions of PaddlePaddle that the plugin expects and that were not found, where
    /// [`Binding::LaterForHost`](crate::Binding::LaterForHost) let them stay open.
    pub fn open_symbols(&self) -> &[String] {
        &self.answers.open_symbols
    }

    /// Returns true if the plugin filled the slot of a function with the spec's fallback, so that its author did not write it.
    ///
    /// A plugin reports them by exporting `tenon_fallbacks`, a function that returns the names, separated by spaces.
    pub fn is_filled_by_fallback(&self, function: Function) -> bool {
        self.answers.fallbacks.contains(&function)
    }

    /// Returns the implementation of a function; settled when the plugin was loaded.
    pub fn availability(&self, function: Function) -> Availability {
        self.availability[function as usize]
    }

    /// The implementation of each function, in the order of the spec.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = (Function, Availability)> {
        Function::ALL.into_iter().zip(self.availability)
    }
}

impl Code {
    fn partial(&self) -> Arc<dyn Partial> {
        match self {
            Code::Loaded(table) => table.clone(),
            Code::BuiltIn(cpu) => cpu.0.clone(),
        }
    }
}

/// The spec has no cycle of fallbacks, so this ends.
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
