//! Finds gloo and loads the shim that calls it.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, c_void};
use std::io::Write as _;
use std::net::IpAddr;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::path::PathBuf;
use std::sync::OnceLock;

use tenon::support::{Mutex, loaded_libraries, open_library};

use crate::api::{Gloo, NetworkDevice};
use crate::error::{Error, NoEngine, Result};

/// The environment variable with the path of a gloo.
const VARIABLE: &str = "TENON_GLOO";
const SYSTEM: &str = "libgloo.so.0";

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
        let device = as_batch(|| self.check(unsafe { self.api.device_create(text.as_ptr()) }))?;
        devices.insert(address, device);
        Ok(device)
    }

    /// Adds gloo's reason to an error. Must be called on the thread of the failed call, before the next one.
    pub(crate) fn check<T>(&self, outcome: crate::api::Result<T>) -> Result<T> {
        outcome.map_err(|_| Error::Gloo(last_error(&self.api)))
    }
}

/// Calls `body`, whose threads inherit the policy by which they do not interrupt other threads when they wake up.
///
/// gloo's thread asks for events again and again while another thread holds the lock of a connection. If it has interrupted
/// that thread on the same processor, it does so for all of its slice of time, which is some milliseconds.
fn as_batch<R>(body: impl FnOnce() -> R) -> R {
    let change = |policy| {
        // SAFETY: zeros are valid, and the thread is this one.
        unsafe {
            let parameters: libc::sched_param = std::mem::zeroed();
            libc::sched_setscheduler(0, policy, &raw const parameters)
        }
    };
    // SAFETY: asks about this thread.
    let before = unsafe { libc::sched_getscheduler(0) };
    // Another policy than the usual one is the program's own choice.
    let is_changed = before == libc::SCHED_OTHER && change(libc::SCHED_BATCH) == 0;
    let made = body();
    if is_changed {
        change(before);
    }
    made
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
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let shim = open_library(OsStr::new(&path), 0).map_err(NoEngine::Shim)?;
    // SAFETY: the shim has these functions with these signatures: both are generated from the same description. It stays
    // loaded.
    Ok(unsafe { Gloo::load(|name| libc::dlsym(shim, name.as_ptr())) })
}

/// Lets the shim use a gloo: of the process, of the variable, or of the system. Returns where it was found.
fn find_gloo(api: &Gloo) -> std::result::Result<String, NoEngine> {
    for path in loaded_libraries() {
        if let Ok(library) = open_library(path.as_os_str(), libc::RTLD_NOLOAD)
            && take(api, library).is_ok()
        {
            return Ok(path.display().to_string());
        }
    }
    if let Some(path) = tenon::trusted_variable(VARIABLE).filter(|path| !path.is_empty()) {
        let refused = |reason| NoEngine::Variable { path: PathBuf::from(&path), reason };
        let library = open_library(&path, 0).map_err(refused)?;
        return take(api, library).map(|()| path.to_string_lossy().into_owned()).map_err(refused);
    }
    let library = open_library(OsStr::new(SYSTEM), 0).map_err(|_| NoEngine::Absent)?;
    take(api, library).map_err(NoEngine::System)?;
    Ok("the system".to_owned())
}

fn take(api: &Gloo, library: *mut c_void) -> std::result::Result<(), String> {
    // SAFETY: the handle is one of the dynamic linker, and is never closed.
    unsafe { api.use_library(library) }.map_err(|_| last_error(api))
}

/// Returns the reason of the thread's last error.
fn last_error(api: &Gloo) -> String {
    // SAFETY: the function has no preconditions.
    let text = unsafe { api.last_error() }.ok().filter(|text| !text.is_null());
    // SAFETY: the text is NUL-terminated, and valid until the thread calls another function.
    text.map_or_else(String::new, |text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
