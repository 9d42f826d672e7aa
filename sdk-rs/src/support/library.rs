//! Libraries of the process: the one that contains an address, those that are loaded, and others.

use std::ffi::{CStr, CString, OsStr, OsString, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::ptr::without_provenance;

/// A library of the process, or the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryOf {
    /// The path, as it was loaded.
    name: CString,
    /// The address that it was loaded at.
    base: usize,
}

impl LibraryOf {
    /// Finds the library, or the program, that this crate is linked into.
    pub fn this_code() -> Option<Self> {
        LibraryOf::address((Self::this_code as *const c_void).addr())
    }

    /// Finds the library that contains an address.
    pub fn address(address: usize) -> Option<Self> {
        let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: any address may be asked for, and the place can be written.
        let is_found = unsafe { libc::dladdr(without_provenance(address), found.as_mut_ptr()) } != 0;
        // SAFETY: zero is a value of all members, and the function may have written others.
        let found = unsafe { found.assume_init() };
        if !is_found || found.dli_fname.is_null() {
            return None;
        }
        // SAFETY: the loader keeps the name while the library is loaded, which contains code that runs.
        let name = unsafe { CStr::from_ptr(found.dli_fname) }.to_owned();
        Some(LibraryOf { name, base: found.dli_fbase.addr() })
    }

    /// Returns the path, as it was loaded.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.name.to_bytes()))
    }

    /// Returns the address that it was loaded at.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Returns the folder that it was loaded from, and the folder of the file if that was a link.
    pub fn folders(&self) -> Vec<PathBuf> {
        let file = self.path().canonicalize().ok();
        let paths = [Some(self.path()), file.as_deref()].into_iter().flatten();
        paths.filter_map(Path::parent).map(Path::to_owned).collect()
    }

    /// Keeps it loaded until the process ends. Returns false if it cannot be opened again, like a program, which stays
    /// loaded by itself.
    pub fn stay_loaded(&self) -> bool {
        let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
        // SAFETY: the library is loaded, so that no initialiser runs.
        let handle = unsafe { libc::dlopen(self.name.as_ptr(), flags) };
        !handle.is_null()
    }
}

/// Loads a library, with the symbols that it needs and without giving its own to others. It stays loaded until the handle
/// is closed. `flags` are added, such as `RTLD_NOLOAD`.
///
/// # Errors
/// If it cannot be loaded: the reason of the dynamic linker.
pub fn open_library(name: &OsStr, flags: c_int) -> Result<*mut c_void, String> {
    let name = CString::new(name.as_bytes()).map_err(|_| "a path has no NUL".to_owned())?;
    // SAFETY: the name is NUL-terminated. Initialisers of libraries have no preconditions.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | flags) };
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: the text is NUL-terminated, and valid until the thread calls the dynamic linker again.
    let reason = unsafe { libc::dlerror().as_ref().map(|text| CStr::from_ptr(text)) };
    Err(reason.map_or_else(String::new, |text| text.to_string_lossy().into_owned()))
}

/// Returns the paths of the libraries that the process has loaded, as they were loaded, in the order of loading.
pub fn loaded_libraries() -> Vec<PathBuf> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, paths: *mut c_void) -> c_int {
        // SAFETY: the linker passes a live description with a name that ends with NUL, and `paths` is the vector below.
        let (name, paths) =
            unsafe { (CStr::from_ptr((*info).dlpi_name), &mut *paths.cast::<Vec<PathBuf>>()) };
        // The program itself has no name.
        if !name.is_empty() {
            paths.push(PathBuf::from(OsString::from_vec(name.to_bytes().to_vec())));
        }
        0
    }
    let mut paths = Vec::<PathBuf>::new();
    // SAFETY: the function is called during this call only, with the vector.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut paths).cast()) };
    paths
}

#[cfg(test)]
mod tests {
    use std::ffi::{OsStr, c_void};

    use super::{LibraryOf, loaded_libraries, open_library};

    #[test]
    fn libraries_of_the_process_can_be_opened_again() {
        let names = loaded_libraries();
        let c = names.iter().find(|path| path.to_string_lossy().contains("libc.so")).expect("it is loaded");
        assert!(open_library(c.as_os_str(), libc::RTLD_NOLOAD).is_ok());
        let reason = open_library(OsStr::new("/absent/library.so"), 0).unwrap_err();
        assert!(reason.starts_with("/absent/library.so: "), "{reason}");
        assert_eq!(open_library(OsStr::new("a\0b"), 0).unwrap_err(), "a path has no NUL");
    }

    #[test]
    fn address_is_in_the_library_that_defines_it() {
        let own = LibraryOf::this_code().expect("it is loaded");
        let program = std::env::current_exe().expect("there is a program");
        assert_eq!(own.path().file_name(), program.file_name());
        assert!(own.folders().contains(&program.parent().expect("it has a folder").to_owned()), "{own:?}");
        let other =
            LibraryOf::address((libc::strlen as *const c_void).addr()).expect("the C library is loaded");
        assert_ne!(own.base(), other.base());
        assert!(other.stay_loaded());
    }

    #[test]
    fn address_of_no_library_is_not_found() {
        assert_eq!(LibraryOf::address(8), None);
    }
}
