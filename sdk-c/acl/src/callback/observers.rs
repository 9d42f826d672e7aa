//! Observers: functions of the program that are called at initialization and finalization, and when devices
//! or streams change.
//!
//! No lock is held while an observer runs, so it may call any function.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::MutexGuard;
use tenon::support::Mutex;

use crate::api::{
    AclError, DeviceState, DeviceStateCallback, DeviceTaskAbortCallback, FinalizeCallback, InitCallback,
    RegisterCallbackType, Stream, StreamState, StreamStateCallback,
};
use crate::error::{Error, Result, refuse, unknown_value};

/// Functions of the program, in the order of registration, each with the key that identifies it.
struct List<Key, Function>(Mutex<Vec<(Key, Function)>>);

impl<Key, Function> Default for List<Key, Function> {
    fn default() -> Self {
        List(Mutex::default())
    }
}

impl<Key, Function: Copy> List<Key, Function> {
    fn lock(&self) -> MutexGuard<'_, Vec<(Key, Function)>> {
        self.0.lock()
    }

    fn all(&self) -> Vec<Function> {
        self.lock().iter().map(|(_, function)| *function).collect()
    }
}

impl<Function: Copy> List<CString, Function> {
    /// Adds the observer with a name; `None` removes it.
    fn set(&self, name: &CStr, function: Option<Function>) -> Result<()> {
        if name.is_empty() {
            return refuse(AclError::INVALID_PARAM, "`reg_name` is empty");
        }
        let mut known = self.lock();
        let place = known.iter().position(|(other, _)| **other == *name);
        match (place, function) {
            (None, Some(function)) => known.push((name.to_owned(), function)),
            (Some(place), None) => drop(known.remove(place)),
            (Some(_), Some(_)) => {
                return refuse(AclError::RT_PARAM_INVALID, format!("an observer {name:?} already exists"));
            }
            (None, None) => {
                return refuse(AclError::RT_PARAM_INVALID, format!("there is no observer {name:?}"));
            }
        }
        Ok(())
    }
}

impl<Function: Copy> List<RegisterCallbackType, Function> {
    /// Adds the observer of a module of the program.
    fn add(&self, part: RegisterCallbackType, function: Function) -> Result<()> {
        if part.name().is_none() {
            return unknown_value("type", part.0);
        }
        let mut known = self.lock();
        if part != RegisterCallbackType::OTHER && known.iter().any(|(other, _)| *other == part) {
            return refuse(AclError::INTERNAL_ERROR, format!("{part:?} already has a function"));
        }
        known.push((part, function));
        Ok(())
    }

    /// Removes the observer of a module of the program.
    fn remove(&self, part: RegisterCallbackType, predicate: impl Fn(Function) -> bool) -> Result<()> {
        if part.name().is_none() {
            return unknown_value("type", part.0);
        }
        let mut known = self.lock();
        let before = known.len();
        known.retain(|(other, function)| *other != part || !predicate(*function));
        if known.len() == before {
            return refuse(AclError::INTERNAL_ERROR, format!("`cb_func` is not registered for {part:?}"));
        }
        Ok(())
    }
}

/// The registered observers.
#[derive(Default)]
pub(crate) struct Observers {
    initialization: List<RegisterCallbackType, InitCallback>,
    finalization: List<RegisterCallbackType, FinalizeCallback>,
    streams: List<CString, StreamStateCallback>,
    devices: List<CString, DeviceStateCallback>,
    /// Never called, because no function here aborts the work of a device.
    aborts: List<CString, DeviceTaskAbortCallback>,
    /// The content of the configuration file of the last initialization.
    config: Mutex<CString>,
}

impl Observers {
    /// Adds an observer of streams; `None` removes it.
    pub(crate) fn set_for_streams(&self, name: &CStr, function: Option<StreamStateCallback>) -> Result<()> {
        self.streams.set(name, function)
    }

    /// Adds an observer of devices; `None` removes it.
    pub(crate) fn set_for_devices(&self, name: &CStr, function: Option<DeviceStateCallback>) -> Result<()> {
        self.devices.set(name, function)
    }

    /// Adds an observer of aborts, which never happen; `None` removes it.
    pub(crate) fn set_for_aborts(
        &self,
        name: &CStr,
        function: Option<DeviceTaskAbortCallback>,
    ) -> Result<()> {
        self.aborts.set(name, function)
    }

    /// Adds an observer of the finalization.
    pub(crate) fn add_for_finalization(
        &self,
        part: RegisterCallbackType,
        function: FinalizeCallback,
    ) -> Result<()> {
        self.finalization.add(part, function)
    }

    /// Removes an observer of the initialization.
    pub(crate) fn remove_for_initialization(
        &self,
        part: RegisterCallbackType,
        function: InitCallback,
    ) -> Result<()> {
        let address = |known: InitCallback| known.as_raw().map(|function| function as usize);
        self.initialization.remove(part, |known| address(known) == address(function))
    }

    /// Removes an observer of the finalization.
    pub(crate) fn remove_for_finalization(
        &self,
        part: RegisterCallbackType,
        function: FinalizeCallback,
    ) -> Result<()> {
        let address = |known: FinalizeCallback| known.as_raw().map(|function| function as usize);
        self.finalization.remove(part, |known| address(known) == address(function))
    }

    /// Adds an observer of the initialization.
    pub(crate) fn add_for_initialization(
        &self,
        part: RegisterCallbackType,
        function: InitCallback,
    ) -> Result<()> {
        self.initialization.add(part, function)
    }

    /// Reads the configuration file, and notifies the observers of the initialization until one of them fails.
    pub(crate) fn notify_initialized(&self, config: Option<&CStr>) -> Result<()> {
        *self.config.lock() = text_of(config);
        self.initialization.all().into_iter().try_for_each(|function| self.call_for_initialization(function))
    }

    /// Notifies the observers of devices.
    pub(crate) fn notify_device(&self, device: i32, state: DeviceState) {
        for function in self.devices.all() {
            function.call(device, state);
        }
    }

    /// Notifies the observers of streams.
    pub(crate) fn notify_stream(&self, stream: usize, state: StreamState) {
        for function in self.streams.all() {
            function.call(Stream::from_addr(stream), state);
        }
    }

    /// Notifies all observers of the finalization, and returns the first error.
    pub(crate) fn notify_finalized(&self) -> Result<()> {
        let mut notified = Ok(());
        for function in self.finalization.all() {
            let Some(raw) = function.as_raw() else { continue };
            // SAFETY: by registering the function, the program promised that it can be called with this context.
            let answer = unsafe { raw(function.context().as_ptr()) };
            notified = notified.and(expect_success(answer, "the finalization"));
        }
        notified
    }

    /// Calls an observer of the initialization.
    pub(crate) fn call_for_initialization(&self, function: InitCallback) -> Result<()> {
        let config = self.config.lock().clone();
        let Some(raw) = function.as_raw() else { return Ok(()) };
        let length = config.as_bytes().len();
        // SAFETY: as above; the string outlives the call.
        let answer = unsafe { raw(config.as_ptr(), length, function.context().as_ptr()) };
        expect_success(answer, "the initialization")
    }
}

fn expect_success(answer: AclError, what: &str) -> Result<()> {
    if answer == AclError::SUCCESS {
        return Ok(());
    }
    Err(Error::new(answer, format!("the observer of {what} returned {answer:?}")))
}

/// Returns the content of a file up to its first NUL.
fn text_of(path: Option<&CStr>) -> CString {
    let path = path.filter(|path| !path.is_empty());
    let content = path.and_then(|path| std::fs::read(OsStr::from_bytes(path.to_bytes())).ok());
    let mut content = content.unwrap_or_default();
    content.truncate(content.iter().position(|byte| *byte == 0).unwrap_or(content.len()));
    CString::new(content).unwrap_or_default()
}
