//! Finds libtenon: the one in the process, the one beside this library, or the one on the search path.

use std::ffi::{CStr, c_char, c_void};
use std::mem;
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use tenon::support::LibraryOf;

/// The soname of libtenon.
const SONAME: &str = "libtenon.so.0";
/// The name in the Python package.
const IN_PACKAGE: &str = "libtenon.so";

/// `tenon_acl_function`: returns the address of a function by its name.
type Lookup = unsafe extern "C" fn(*const c_char) -> *const c_void;

/// Returns the address of a function of libtenon, or the reason why there is none.
pub(crate) fn function(name: &CStr) -> Result<*const c_void, String> {
    static LOOKUP: OnceLock<Result<Lookup, String>> = OnceLock::new();
    let lookup = LOOKUP.get_or_init(load).as_ref()?;
    // SAFETY: the name is NUL-terminated.
    let address = unsafe { lookup(name.as_ptr()) };
    if !address.is_null() {
        Ok(address)
    } else {
        Err(format!(
            "the loaded {SONAME} has no function `{}`: it is an older version",
            name.to_string_lossy()
        ))
    }
}

fn load() -> Result<Lookup, String> {
    let library = open()?;
    // SAFETY: the function has this type in all versions of libtenon.
    let lookup = unsafe { library.get::<Lookup>(b"tenon_acl_function\0") };
    let lookup = lookup.map(|symbol| *symbol).map_err(|error| format!("{SONAME}: {error}"))?;
    // Stays loaded until the process ends, as its functions are called until then.
    mem::forget(library);
    Ok(lookup)
}

fn open() -> Result<Library, String> {
    // A program that links libtenon, or Python, has loaded it: a second one would be a second set of devices.
    // SAFETY: nothing is loaded, so no initialisers run.
    if let Ok(loaded) = unsafe { Library::open(Some(SONAME), RTLD_NOW | libc::RTLD_NOLOAD) } {
        return Ok(loaded);
    }
    let folders = LibraryOf::this_code().map(|library| library.folders()).unwrap_or_default();
    let beside = folders.into_iter().flat_map(|folder| [SONAME, IN_PACKAGE].map(|name| folder.join(name)));
    let path = beside.into_iter().find(|path| path.exists()).unwrap_or_else(|| PathBuf::from(SONAME));
    // SAFETY: the initialisers of libtenon have no preconditions.
    unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }
        .map_err(|error| format!("cannot load libtenon, which belongs beside this library: {error}"))
}
