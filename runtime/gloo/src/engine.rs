//! Finds gloo and loads the shim that calls it.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::io::Write as _;
use std::net::IpAddr;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use tenon::support::Mutex;

use crate::api::{Gloo, NetworkDevice};
use crate::error::{Error, NoEngine, Result};

/// The environment variable with the path of a gloo.
const VARIABLE: &str = "TENON_GLOO";
const SYSTEM: &CStr = c"libgloo.so.0";

/// The shim. It is compiled with the crate, and loaded when the first communicator is made.
static SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libtenon_gloo_shim.so"));

/// gloo, with a device for each address.
pub(crate) struct Engine {
    pub(crate) api: Gloo,
    devices: Mutex<HashMap<IpAddr, NetworkDevice>>,
}

impl Engine {
    /// Returns the engine. It is searched for until it is found: a program may load a library that has gloo later.
    pub(crate) fn get() -> std::result::Result<&'static Self, NoEngine> {
        static ENGINE: OnceLock<Engine> = OnceLock::new();
        static SEARCH: Mutex<()> = Mutex::new(());
        let _searching = SEARCH.lock();
        if let Some(engine) = ENGINE.get() {
            return Ok(engine);
        }
        let api = load_shim()?;
        let origin = find_gloo(&api)?;
        tenon::log_info(format_args!("collectives: gloo of {origin}"));
        Ok(ENGINE.get_or_init(|| Self { api, devices: Mutex::default() }))
    }

    /// Returns the device that uses the interface of an address. It is never destroyed: its thread sleeps unless a group
    /// uses it.
    pub(crate) fn device(&self, address: IpAddr) -> Result<NetworkDevice> {
        let mut devices = self.devices.lock();
        if let Some(device) = devices.get(&address) {
            return Ok(*device);
        }
        let text = CString::new(address.to_string()).unwrap_or_default();
        // SAFETY: the text is NUL-terminated.
        let device = self.check(unsafe { self.api.device_create(text.as_ptr()) })?;
        devices.insert(address, device);
        Ok(device)
    }

    /// Adds gloo's reason to an error. Must be called on the thread of the failed call, before the next one.
    pub(crate) fn check<T>(&self, outcome: crate::api::Result<T>) -> Result<T> {
        outcome.map_err(|error| {
            // SAFETY: the function has no preconditions.
            let text = unsafe { self.api.last_error() }.unwrap_or(std::ptr::null());
            if text.is_null() {
                return Error::Gloo(error.message.to_string());
            }
            // SAFETY: the text is NUL-terminated, and valid until the thread calls another function.
            let text = unsafe { CStr::from_ptr(text) };
            Error::Gloo(text.to_string_lossy().into_owned())
        })
    }
}

/// Loads the shim from memory: a plugin is one file, wherever it lies.
fn load_shim() -> std::result::Result<Gloo, NoEngine> {
    let failed = |error: std::io::Error| NoEngine::Shim(error.to_string());
    // SAFETY: the name is NUL-terminated.
    let file = unsafe { libc::memfd_create(c"tenon_gloo_shim".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(failed(std::io::Error::last_os_error()));
    }
    // SAFETY: the descriptor was just made, and nothing else closes it.
    let mut file = unsafe { std::fs::File::from_raw_fd(file) };
    file.write_all(SHIM).map_err(failed)?;
    let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
    let shim = open(&path, 0).map_err(NoEngine::Shim)?;
    // SAFETY: the shim has these functions with these signatures: both are generated from the same description. It stays
    // loaded.
    Ok(unsafe { Gloo::load(|name| libc::dlsym(shim, name.as_ptr())) })
}

/// Lets the shim use a gloo: of the process, of the variable, or of the system. Returns where it was found.
fn find_gloo(api: &Gloo) -> std::result::Result<String, NoEngine> {
    for name in loaded_libraries() {
        if let Ok(library) = open(&name, libc::RTLD_NOLOAD)
            && take(api, library).is_ok()
        {
            return Ok(name.to_string_lossy().into_owned());
        }
    }
    if let Some(path) = tenon::trusted_variable(VARIABLE).filter(|path| !path.is_empty()) {
        let refused = |reason| NoEngine::Variable { path: PathBuf::from(&path), reason };
        let library = open_path(&path).map_err(refused)?;
        return take(api, library).map(|()| path.to_string_lossy().into_owned()).map_err(refused);
    }
    let library = open(SYSTEM, 0).map_err(|_| NoEngine::Absent)?;
    take(api, library).map_err(NoEngine::System)?;
    Ok("the system".to_owned())
}

fn take(api: &Gloo, library: *mut c_void) -> std::result::Result<(), String> {
    // SAFETY: the handle is one of the dynamic linker, and is never closed.
    unsafe { api.use_library(library) }.map_err(|_| {
        // SAFETY: the function has no preconditions, and its text is NUL-terminated.
        unsafe { api.last_error().ok().filter(|text| !text.is_null()).map(|text| CStr::from_ptr(text)) }
            .map_or_else(String::new, |text| text.to_string_lossy().into_owned())
    })
}

/// Returns the names of the libraries that the process has loaded.
fn loaded_libraries() -> Vec<CString> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, names: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid struct, and `names` is the vector below.
        let (info, names) = unsafe { (&*info, &mut *names.cast::<Vec<CString>>()) };
        if !info.dlpi_name.is_null() {
            // SAFETY: the name is NUL-terminated.
            names.push(unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned());
        }
        0
    }
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: `add` has the right type, and uses `names` only during the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut names).cast()) };
    names.retain(|name| !name.is_empty());
    names
}

fn open_path(path: &OsStr) -> std::result::Result<*mut c_void, String> {
    let path = CString::new(path.as_bytes()).map_err(|_| "a path has no NUL".to_owned())?;
    open(&path, 0)
}

/// Opens a library. Fails with the reason of the dynamic linker.
fn open(name: &CStr, flags: c_int) -> std::result::Result<*mut c_void, String> {
    // SAFETY: the name is NUL-terminated. Initialisers of libraries have no preconditions.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | flags) };
    if !library.is_null() {
        return Ok(library);
    }
    // SAFETY: the text is NUL-terminated, and valid until the thread calls the dynamic linker again.
    let reason = unsafe { libc::dlerror().as_ref().map(|text| CStr::from_ptr(text)) };
    Err(reason.map_or_else(String::new, |text| text.to_string_lossy().into_owned()))
}
