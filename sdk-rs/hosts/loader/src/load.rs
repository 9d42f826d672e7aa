//! Loads a plugin from a path: opens the library, negotiates the table, and checks for required functions.

use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::sync::{Arc, Weak};
use tenon::support::Mutex;

use tenon::device::{Function, Loaded};
use tenon::reflect::Need;
use tenon_operators::by_name::Calls;

use crate::elf;
use crate::error::{LONGEST_NAME, LoadError};
use crate::exit;
use crate::library::Library;
use crate::manifest::Manifest;
use crate::negotiate::{self, Memory, Question};
use crate::options::LoadOptions;
use crate::plugin::Plugin;

/// The library and the memory that it filled, kept while anything may call the plugin.
struct Kept {
    // Closed first: destructors of the library may read the table.
    library: Library,
    memory: Memory,
}

/// The loaded plugins, by the address of their entry point.
///
/// Opening a library twice gives the same library, and its entry point must not be called again.
static LOADED: Mutex<Vec<(usize, Weak<Plugin>)>> = Mutex::new(Vec::new());

pub(crate) fn load(path: &Path, options: &LoadOptions) -> Result<Arc<Plugin>, LoadError> {
    // The dynamic linker would search the system's folders for a name without a slash.
    let path = &std::path::absolute(path).map_err(|source| LoadError::of_file(path, source.into()))?;
    let metadata = path.metadata().map_err(|source| LoadError::of_file(path, source.into()))?;
    if !metadata.is_file() {
        return Err(LoadError::NotAFile { path: path.clone() });
    }
    if path.extension().is_some_and(|extension| extension == "json") {
        let manifest = Manifest::read(path)?;
        return load(&manifest.library, &manifest.options(options));
    }
    elf::check_length(path)?;
    exit::watch();
    let mut library = Library::open(path, options.binding)?;
    let entry = library.entry(path)?;
    let mut loaded = LOADED.lock();
    loaded.retain(|(_, plugin)| plugin.strong_count() > 0);
    let address = entry as usize;
    let known = loaded.iter().find(|(known, _)| *known == address).and_then(|(_, plugin)| plugin.upgrade());
    if let Some(plugin) = known {
        return same(path, plugin, options);
    }
    let promised = library.promises(entry);
    let last_error = library.last_error(entry);
    let open_symbols = library.take_open();
    let mut kept = Kept { library, memory: Memory::new() };
    let question = Question { path, declared: options.release, preferred: options.preferred, promised };
    // SAFETY: the entry point belongs to the library, which is closed before the memory is freed.
    let (release, recognition) = unsafe { negotiate::negotiate(entry, &question, &mut kept.memory)? };
    let mut answers = Answers::read(path, &kept.memory)?;
    answers.open_symbols = open_symbols;
    answers.fallbacks = kept.library.fallbacks(entry);
    answers.operators = kept.library.operators(entry);
    let extension = kept.library.extension(entry);
    // SAFETY: the memory was filled as a table of that release, and `Kept` keeps the library and its extension table.
    let table =
        unsafe { Loaded::from_table(release, kept.memory.table(), last_error).with_extension(extension) };
    check_functions(path, &table)?;
    let name = options.name.clone().unwrap_or_else(|| {
        path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    });
    let table = table.named(&format!("{name} ({})", path.display()));
    let plugin =
        Arc::new(Plugin::loaded(name, path.clone(), recognition, answers, table.keeping(Arc::new(kept))));
    loaded.push((address, Arc::downgrade(&plugin)));
    Ok(plugin)
}

/// Returns the existing plugin of a library that is already loaded.
fn same(path: &Path, plugin: Arc<Plugin>, options: &LoadOptions) -> Result<Arc<Plugin>, LoadError> {
    match (options.release, plugin.release()) {
        (Some(declared), Some(loaded)) if declared != loaded => {
            Err(LoadError::LoadedOtherwise { path: path.into(), loaded, declared })
        }
        _ => Ok(plugin),
    }
}

/// The statements of a plugin in the params and through its exports.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    pub(crate) version: [usize; 3],
    pub(crate) device_type: CString,
    pub(crate) sub_device_type: Option<CString>,
    /// An address that is never dereferenced here.
    pub(crate) pir_default_passes: usize,
    /// The functions whose slots hold the spec's fallbacks.
    pub(crate) fallbacks: Vec<Function>,
    /// The functions that call the operators.
    pub(crate) operators: Option<Calls>,
    /// Functions of PaddlePaddle that stayed unresolved.
    pub(crate) open_symbols: Vec<String>,
}

impl Answers {
    fn read(path: &Path, memory: &Memory) -> Result<Self, LoadError> {
        // SAFETY: a plugin that accepted the offer set these to its own strings, or left them null.
        let [device_type, sub_device_type] =
            [memory.device_type(), memory.sub_device_type()].map(|pointer| unsafe { text(pointer) });
        let path = || path.into();
        let device_type =
            device_type.ok_or_else(|| LoadError::NoDeviceType { path: path(), empty: false })?;
        if device_type.is_empty() {
            return Err(LoadError::NoDeviceType { path: path(), empty: true });
        }
        let shown = device_type.to_string_lossy();
        if shown.len() > LONGEST_NAME || shown.chars().any(char::is_control) {
            let device_type = shown.chars().take(LONGEST_NAME).collect();
            return Err(LoadError::BadDeviceType { path: path(), device_type });
        }
        let version = memory.version();
        if !is_taken(version) {
            return Err(LoadError::Version { path: path(), version });
        }
        let pir_default_passes = memory.pir_default_passes().expose_provenance();
        Ok(Answers {
            version,
            device_type,
            sub_device_type,
            pir_default_passes,
            fallbacks: Vec::new(),
            operators: None,
            open_symbols: Vec::new(),
        })
    }
}

/// # Safety
/// `pointer` is null or points to a NUL-terminated string.
unsafe fn text(pointer: *const c_char) -> Option<CString> {
    // SAFETY: not null, and NUL-terminated by the caller's promise.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_owned())
}

/// Returns true if hosts accept a plugin of this version. This is PaddlePaddle's formula, which lets 0.0.101 pass.
fn is_taken([major, minor, patch]: [usize; 3]) -> bool {
    major.saturating_mul(10_000).saturating_add(minor.saturating_mul(100)).saturating_add(patch) >= 101
}

fn check_functions(path: &Path, table: &Loaded) -> Result<(), LoadError> {
    let functions: Vec<Function> = Function::ALL
        .into_iter()
        .filter(|function| function.info().need == Need::Load && !table.has(*function))
        .collect();
    if functions.is_empty() {
        Ok(())
    } else {
        Err(LoadError::MissingRequired { path: path.into(), functions })
    }
}
