//! The functions of the ACL runtime, on the devices of this library.
//!
//! `tenon-acl` implements the functions. Its devices come from the registry that the `tenon_…` functions use. So a
//! plugin is loaded once, and layers see the calls of both interfaces.

/// The functions of `spec/acl`. `libascendcl.so` exports them.
///
/// cbindgen:ignore
#[allow(non_snake_case, reason = "the names are those of C")]
mod functions;
/// cbindgen:ignore
mod lookup;

use std::ffi::{CStr, CString, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use tenon::support::Mutex;

use tenon::device::{self, Device, DeviceId};
use tenon_acl::{Devices, OpenDevice, Runtime, api};

use crate::call::enter;
use crate::devices::{close, device_count, open_of};
use crate::error::Failure;
use crate::library;
use crate::library::lifecycle::hold_ready;
use crate::library::lifecycle::{self, Lifecycle};
use crate::plugins::loaded::LoadedPlugin;

/// The variable that names the device type that programs see. If it is not set, programs see the devices of the first
/// plugin, or the built-in device.
const DEVICE: &str = "TENON_ACL_DEVICE";

/// True if a call of this interface initialised the library. Only then may this interface shut it down.
static BEGAN: AtomicBool = AtomicBool::new(false);

/// Handle of the plugin whose device was opened first; 0 before that, and after a shutdown.
static CHOSEN: AtomicUsize = AtomicUsize::new(0);

/// The variable with the numbers of the devices that programs see, such as `0,2`. Programs number them from 0.
const VISIBLE: &str = "ASCEND_RT_VISIBLE_DEVICES";

/// Returns the numbers of the visible devices of a plugin; without a list, of all. As on Ascend, a list has ascending
/// numbers with single commas, ends before the first number that is not a device, and shows at least one device.
///
/// # Errors
/// If the list is another one.
fn visible(listed: Option<&str>, count: u32) -> Result<Vec<u32>, String> {
    let Some(listed) = listed else { return Ok((0..count).collect()) };
    let wrong = |problem: &str| {
        Err(format!(
            "{VISIBLE} is `{}`, {problem}: expected ascending numbers with single commas, such as `0,2`",
            listed.escape_debug()
        ))
    };
    let mut numbers: Vec<u32> = Vec::new();
    for entry in listed.split(',') {
        if entry.is_empty() || !entry.bytes().all(|byte| byte.is_ascii_digit()) {
            return wrong("which is not a list of numbers");
        }
        // A number that is too large for the type is not a device either.
        let Some(number) = entry.parse().ok().filter(|number| *number < count) else { break };
        if numbers.last().is_some_and(|last| *last >= number) {
            return wrong("whose numbers do not ascend");
        }
        numbers.push(number);
    }
    if numbers.is_empty() { wrong(&format!("which names none of the {count} devices")) } else { Ok(numbers) }
}

/// The devices of one plugin.
struct OfLibrary;

impl OfLibrary {
    /// Returns the plugin whose devices programs see.
    ///
    /// Once one of its devices has been opened, the plugin stays the same until the ACL runtime or the
    /// library is shut down.
    fn plugin() -> Result<Arc<LoadedPlugin>, Failure> {
        if !lifecycle::is_running() {
            lifecycle::running()?;
            BEGAN.store(true, Ordering::Release);
        }
        let chosen = CHOSEN.load(Ordering::Acquire);
        if chosen != 0
            && let Some(plugin) = lifecycle::plugins().into_iter().find(|plugin| plugin.handle == chosen)
        {
            return Ok(plugin);
        }
        match std::env::var_os(DEVICE).filter(|name| !name.is_empty()) {
            Some(name) => {
                let name = CString::new(name.into_encoded_bytes()).unwrap_or_default();
                lifecycle::of_type(Some(&name))
            }
            None => lifecycle::plugins().into_iter().nth(1).map_or_else(|| lifecycle::of_type(None), Ok),
        }
    }
}

impl OfLibrary {
    /// Returns the list of visible devices, if there is one.
    fn listed() -> Option<String> {
        std::env::var_os(VISIBLE).map(|listed| listed.to_string_lossy().into_owned())
    }

    /// Returns the plugin's number of a device that programs see.
    fn number(plugin: &Arc<LoadedPlugin>, ordinal: u32) -> Result<u32, Failure> {
        let Some(listed) = Self::listed() else { return Ok(ordinal) };
        let plugin = hold_ready(plugin.handle)?;
        let count = u32::try_from(device_count(&plugin)?).unwrap_or(u32::MAX);
        // A device that is not visible becomes one that does not exist, which opening refuses.
        let numbers = visible(Some(&listed), count).map_err(device::Error::invalid)?;
        Ok(numbers.get(ordinal as usize).copied().unwrap_or(u32::MAX))
    }
}

impl Devices for OfLibrary {
    fn count(&self) -> device::Result<u32> {
        let count = || {
            let plugin = hold_ready(Self::plugin()?.handle)?;
            device_count(&plugin)
        };
        let count = count().map_err(as_device).map(|count| u32::try_from(count).unwrap_or(u32::MAX))?;
        let numbers = visible(Self::listed().as_deref(), count).map_err(device::Error::invalid)?;
        Ok(u32::try_from(numbers.len()).unwrap_or(count))
    }

    fn open(&self, ordinal: u32) -> device::Result<Arc<dyn OpenDevice>> {
        let open = || {
            let plugin = Self::plugin()?;
            let ordinal = Self::number(&plugin, ordinal)?;
            let lifecycle = Lifecycle::begin()?;
            let handle = open_of(&lifecycle, &plugin, i32::try_from(ordinal).unwrap_or(i32::MAX))?;
            CHOSEN.store(plugin.handle, Ordering::Release);
            Ok(handle)
        };
        let handle = open().map_err(as_device)?;
        Ok(Arc::new(Opened { handle, is_open: Mutex::new(true) }))
    }

    fn ended(&self) {
        CHOSEN.store(0, Ordering::Release);
        // A program that uses only this interface makes no other call that lets the layers report. If the program
        // also uses the library directly, the library keeps running.
        if BEGAN.swap(false, Ordering::AcqRel) {
            let _ = library::end_if_idle();
        }
    }

    fn device_type(&self) -> String {
        match Self::plugin() {
            Ok(plugin) if plugin.host.path().is_some() => plugin.device_type().into_owned(),
            _ => "CPU".to_owned(),
        }
    }

    fn memory_is_host(&self) -> bool {
        Self::plugin().is_ok_and(|plugin| plugin.host.path().is_none())
    }
}

/// A device that this interface has opened.
struct Opened {
    handle: usize,
    is_open: Mutex<bool>,
}

impl OpenDevice for Opened {
    fn call(&self, body: &mut dyn FnMut(&dyn Device, DeviceId) -> device::Result<()>) -> device::Result<()> {
        // Fails if `tenon_shutdown` closed the device.
        let device = enter(self.handle).map_err(as_device)?;
        body(device.device(), device.id)
    }

    fn close(&self) {
        let was_open = std::mem::replace(&mut *self.is_open.lock(), false);
        if was_open {
            // A drop cannot return the error.
            let _ = close(self.handle);
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.close();
    }
}

/// Converts a failure of the library to an error of a device.
fn as_device(failure: Failure) -> device::Error {
    match failure {
        Failure::Device(error) => error,
        other => device::Error::new(other.status().to_device(), other.to_string()),
    }
}

/// Returns the address of a function by its name in C; null if there is none.
pub fn address(name: &CStr) -> *const c_void {
    name.to_str().map_or(std::ptr::null(), functions::address)
}

/// Returns the runtime on the devices of this library. The process has exactly one.
fn instance() -> &'static Runtime {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new(Arc::new(OfLibrary)));
    &RUNTIME
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn visible_devices_are_those_of_an_ascending_list() {
        for (listed, numbers) in [
            (None, &[0, 1, 2][..]),
            (Some("0,2"), &[0, 2]),
            (Some("1"), &[1]),
            (Some("1,7"), &[1]),
            (Some("0,4294967296,1"), &[0]),
        ] {
            assert_eq!(visible(listed, 3).as_deref(), Ok(numbers), "{listed:?}");
        }
    }

    #[test]
    fn other_lists_are_refused() {
        for listed in [
            "", " ", "2,0", "0,0", "-1", "7", "3,0", "0,,1", "0,1,", ",0", " 0", "0, 1", "0 ,1", "0\t", "a",
            "0x1", "+1", "all",
        ] {
            let error = visible(Some(listed), 3).unwrap_err();
            assert!(
                error.contains("expected ascending numbers") && error.contains(super::VISIBLE),
                "{error}"
            );
        }
        assert!(visible(Some("0"), 0).is_err());
    }
}
