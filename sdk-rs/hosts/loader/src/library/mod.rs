//! A shared library, and the symbols that a plugin exports.

mod data;
mod foreign;
mod symbols;
mod unresolved;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null;

use libloading::os::unix::{self, RTLD_LAZY, RTLD_LOCAL, RTLD_NOW};
use tenon::device::{Function, LastError};
use tenon::support::{LibraryOf, guard};
use tenon_operators::by_name::{Calls, Export};

use crate::error::LoadError;
use crate::negotiate::Entry;
use crate::paddle;

pub use data::{LibraryData, LimitedFile, library_data};
pub use foreign::foreign_kind;
pub use symbols::exports;

const ENTRY: &str = "InitPlugin";

/// Functions of libraries for other frameworks, and what these libraries are.
const OTHERS: [(&CStr, &str); 2] = [
    (
        c"CreateEpFactories",
        "; it is a provider of ONNX Runtime, which `tenon check LIBRARY --onnxruntime PYTHON` tests",
    ),
    (c"diopiGetVendorName", "; it is a library of operators for DIOPI"),
];

/// Returns names separated by spaces.
type Names = unsafe extern "C-unwind" fn() -> *const c_char;

/// Returns a table that lives as long as the library, or null.
type Extension = unsafe extern "C-unwind" fn() -> *const c_void;

/// The time at which the functions that a library imports are resolved. Imported data is always resolved when the
/// library is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// When the library is opened: a missing function is an error.
    #[default]
    AtOnce,
    /// Like [`AtOnce`](Self::AtOnce), except that functions of PaddlePaddle may stay unresolved. Calling an
    /// unresolved function ends the process. A plugin that registers kernels in C++ may call such functions while it
    /// is opened, so use this only in processes that may end abruptly.
    LaterForHost,
    /// When they are called. Calling a missing function ends the process.
    Later,
}

/// An open library, closed on drop.
#[derive(Debug)]
pub(crate) struct Library {
    library: unix::Library,
    /// The path, for messages.
    name: String,
    /// PaddlePaddle functions that stayed unresolved.
    open: Vec<String>,
}

impl Library {
    pub(crate) fn open(path: &Path, binding: Binding) -> Result<Self, LoadError> {
        match binding {
            Binding::AtOnce => Self::open_with(path, RTLD_NOW),
            Binding::Later => Self::open_with(path, RTLD_LAZY),
            Binding::LaterForHost => match Self::open_with(path, RTLD_NOW) {
                Err(LoadError::Open { reason, .. }) if reason.contains("undefined symbol: ") => {
                    Self::open_for_host(path)
                }
                outcome => outcome,
            },
        }
    }

    fn open_with(path: &Path, when: c_int) -> Result<Self, LoadError> {
        // SAFETY: opening a library runs its initialisers; the caller of `Plugin::load` trusts them.
        let opened = guard(Some(&path.to_string_lossy()), "dlopen", || unsafe {
            unix::Library::open(Some(path), when | RTLD_LOCAL)
        });
        let name = path.to_string_lossy().into_owned();
        opened.map(|library| Library { library, name, open: Vec::new() }).map_err(|error| {
            let reason = reason(path, &error);
            let mut help = unresolved::help(&reason, when == RTLD_LAZY, paddle::is_loaded());
            if help.is_empty() {
                help = foreign::help(path);
            }
            LoadError::Open { path: path.into(), reason, help }
        })
    }

    /// Opens a library whose only unresolved symbols are functions of PaddlePaddle.
    fn open_for_host(path: &Path) -> Result<Self, LoadError> {
        let mut library = Self::open_with(path, RTLD_LAZY)?;
        let mut missing = symbols::undefined(path)?;
        missing.retain(|symbol| !library.resolves(symbol));
        if let Some(symbol) = missing.iter().find(|symbol| !symbols::is_paddles(symbol)) {
            let reason = format!("undefined symbol: {symbol}");
            let help = unresolved::help(&reason, false, paddle::is_loaded());
            return Err(LoadError::Open { path: path.into(), reason, help });
        }
        library.open = missing;
        Ok(library)
    }

    /// Takes the names of the PaddlePaddle functions that stayed unresolved. Calling one ends the process.
    pub(crate) fn take_open(&mut self) -> Vec<String> {
        std::mem::take(&mut self.open)
    }

    /// Returns true if the symbol is found in the library, its dependencies, or the libraries that were loaded
    /// globally.
    fn resolves(&self, symbol: &str) -> bool {
        let Ok(symbol) = CString::new(symbol) else { return false };
        // SAFETY: looks up a name and calls nothing.
        self.find(&symbol).is_some() || !unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) }.is_null()
    }

    /// Returns the address of a symbol in the library or one of its dependencies.
    fn find(&self, symbol: &CStr) -> Option<*mut c_void> {
        // SAFETY: the address is only returned; callers convert it to the symbol's type.
        let found = unsafe { self.library.get::<*mut c_void>(symbol.to_bytes_with_nul()) };
        found.ok().map(|found| found.into_raw()).filter(|address| !address.is_null())
    }

    /// Finds a symbol as [`find`](Self::find) does, but only in the library that exports the entry point: it describes
    /// that library.
    fn find_beside(&self, entry: Entry, symbol: &CStr) -> Option<*mut c_void> {
        let base = |address: *const c_void| LibraryOf::address(address.addr()).map(|library| library.base());
        let beside = base(entry as *const c_void);
        self.find(symbol).filter(|address| beside.is_some() && base(*address) == beside)
    }

    /// Calls a function of the library.
    fn call<T>(&self, function: &'static str, call: impl FnOnce() -> T) -> T {
        guard(Some(&self.name), function, call)
    }

    pub(crate) fn entry(&self, path: &Path) -> Result<Entry, LoadError> {
        let found = self.find(c"InitPlugin").ok_or_else(|| {
            let other = OTHERS.iter().find(|(symbol, _)| self.find(symbol).is_some());
            let help = other.map_or("", |(_, help)| help);
            LoadError::NoEntry { path: path.into(), symbol: ENTRY, help }
        })?;
        // SAFETY: a library that exports this name is a plugin, and its entry point has this signature.
        Ok(unsafe { std::mem::transmute::<*mut c_void, Entry>(found) })
    }

    /// Returns true if the plugin promises to compare both sizes.
    pub(crate) fn promises(&self, entry: Entry) -> bool {
        self.find_beside(entry, c"tenon_checks_both_sizes").is_some()
    }

    /// Returns the functions whose slots the plugin filled with the spec's fallbacks, if it reports them.
    pub(crate) fn fallbacks(&self, entry: Entry) -> Vec<Function> {
        let Some(found) = self.find_beside(entry, c"tenon_fallbacks") else { return Vec::new() };
        // SAFETY: a plugin that exports this name gives it this signature.
        let names =
            self.call("tenon_fallbacks", || unsafe { std::mem::transmute::<*mut c_void, Names>(found)() });
        if names.is_null() {
            return Vec::new();
        }
        // SAFETY: the function returns null or a string that lives as long as the library.
        let names = unsafe { CStr::from_ptr(names) }.to_string_lossy();
        // A newer plugin may have functions that are not known here.
        names.split_ascii_whitespace().filter_map(Function::of_name).collect()
    }

    /// Returns the plugin's extension table: functions that the host's table has no slot for. Null if it has none.
    ///
    /// Call it after the entry point, because the result may depend on that call.
    pub(crate) fn extension(&self, entry: Entry) -> *const c_void {
        let Some(found) = self.find_beside(entry, c"tenon_device_extension") else { return null() };
        // SAFETY: a plugin that exports this name gives it this signature.
        self.call("tenon_device_extension", || unsafe {
            std::mem::transmute::<*mut c_void, Extension>(found)()
        })
    }

    /// Returns the functions that call the plugin's operators, if it exports them.
    pub(crate) fn operators(&self, entry: Entry) -> Option<Calls> {
        let found = self.find_beside(entry, c"tenon_operator_calls")?;
        // SAFETY: a plugin that exports this name gives it this signature.
        let calls = self
            .call("tenon_operator_calls", || unsafe { std::mem::transmute::<*mut c_void, Export>(found)() });
        // SAFETY: null, or a struct that lives as long as the library and begins with its size.
        let size = unsafe { calls.cast::<usize>().as_ref() }?;
        // SAFETY: the struct has all members by its size.
        (*size >= size_of::<Calls>()).then(|| unsafe { *calls })
    }

    pub(crate) fn last_error(&self, entry: Entry) -> Option<LastError> {
        let found = self.find_beside(entry, c"tenon_last_error")?;
        // SAFETY: a plugin that exports this name gives it this signature.
        Some(unsafe { std::mem::transmute::<*mut c_void, LastError>(found) })
    }
}

/// Returns the dynamic linker's message without the path, which our message already contains.
pub(crate) fn reason(path: &Path, error: &libloading::Error) -> String {
    let said = error.to_string();
    let reason = said.strip_prefix(&*path.to_string_lossy()).unwrap_or(&said);
    reason.trim_start_matches([':', ' ']).to_owned()
}
