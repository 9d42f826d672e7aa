//! Observers: functions of the program that are told of the beginning and the end, and of devices and streams.
//!
//! No lock is held while one of them runs, so that they may call whatever they like.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::api::{
    AclError, DeviceState, DeviceStateCallback, DeviceTaskAbortCallback, FinalizeCallback, InitCallback,
    RegisterCallbackType, Stream, StreamState, StreamStateCallback,
};
use crate::error::{Error, Result, refuse};
use crate::info::no_such;
use crate::runtime::Runtime;

/// Functions of the program in the order in which they were registered, each with what it is known by.
struct List<Key, Function>(Mutex<Vec<(Key, Function)>>);

impl<Key, Function> Default for List<Key, Function> {
    fn default() -> Self {
        List(Mutex::default())
    }
}

impl<Key, Function: Copy> List<Key, Function> {
    fn lock(&self) -> MutexGuard<'_, Vec<(Key, Function)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> Vec<Function> {
        self.lock().iter().map(|(_, function)| *function).collect()
    }
}

impl<Function: Copy> List<CString, Function> {
    /// Adds the observer of a name, or takes it away.
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
                return refuse(AclError::RT_PARAM_INVALID, format!("there is an observer {name:?} already"));
            }
            (None, None) => {
                return refuse(AclError::RT_PARAM_INVALID, format!("there is no observer {name:?}"));
            }
        }
        Ok(())
    }
}

impl<Function: Copy> List<RegisterCallbackType, Function> {
    /// Adds the observer of a part of the program.
    fn add(&self, part: RegisterCallbackType, function: Function) -> Result<()> {
        if part.name().is_none() {
            return no_such("type", part.0);
        }
        let mut known = self.lock();
        if part != RegisterCallbackType::OTHER && known.iter().any(|(other, _)| *other == part) {
            return refuse(AclError::INTERNAL_ERROR, format!("{part:?} has a function already"));
        }
        known.push((part, function));
        Ok(())
    }

    /// Takes a function of a part of the program away.
    fn remove(&self, part: RegisterCallbackType, is_it: impl Fn(Function) -> bool) -> Result<()> {
        if part.name().is_none() {
            return no_such("type", part.0);
        }
        let mut known = self.lock();
        let before = known.len();
        known.retain(|(other, function)| *other != part || !is_it(*function));
        if known.len() == before {
            return refuse(AclError::INTERNAL_ERROR, format!("`cb_func` is not registered for {part:?}"));
        }
        Ok(())
    }
}

/// Who is told of what.
#[derive(Default)]
pub(crate) struct Observers {
    begin: List<RegisterCallbackType, InitCallback>,
    end: List<RegisterCallbackType, FinalizeCallback>,
    streams: List<CString, StreamStateCallback>,
    devices: List<CString, DeviceStateCallback>,
    /// Nobody here throws the work of a device away, so nobody calls them.
    aborts: List<CString, DeviceTaskAbortCallback>,
    /// What is in the configuration that the library was initialised with.
    config: Mutex<CString>,
}

impl Observers {
    /// Adds an observer of streams, or takes it away.
    pub(crate) fn set_for_streams(&self, name: &CStr, function: Option<StreamStateCallback>) -> Result<()> {
        self.streams.set(name, function)
    }

    /// Adds an observer of devices, or takes it away.
    pub(crate) fn set_for_devices(&self, name: &CStr, function: Option<DeviceStateCallback>) -> Result<()> {
        self.devices.set(name, function)
    }

    /// Adds an observer of what never happens, or takes it away.
    pub(crate) fn set_for_aborts(
        &self,
        name: &CStr,
        function: Option<DeviceTaskAbortCallback>,
    ) -> Result<()> {
        self.aborts.set(name, function)
    }

    /// Adds an observer of the end.
    pub(crate) fn add_to_end(&self, part: RegisterCallbackType, function: FinalizeCallback) -> Result<()> {
        self.end.add(part, function)
    }

    /// Takes an observer of the beginning away.
    pub(crate) fn remove_from_begin(&self, part: RegisterCallbackType, function: InitCallback) -> Result<()> {
        let address = |known: InitCallback| known.as_raw().map(|function| function as usize);
        self.begin.remove(part, |known| address(known) == address(function))
    }

    /// Takes an observer of the end away.
    pub(crate) fn remove_from_end(
        &self,
        part: RegisterCallbackType,
        function: FinalizeCallback,
    ) -> Result<()> {
        let address = |known: FinalizeCallback| known.as_raw().map(|function| function as usize);
        self.end.remove(part, |known| address(known) == address(function))
    }

    /// Tells the observers of streams.
    pub(crate) fn tell_stream(&self, stream: usize, state: StreamState) {
        for function in self.streams.all() {
            function.call(Stream::from_addr(stream), state);
        }
    }

    /// Tells all observers of the end. What they answer is told behind the last of them.
    pub(crate) fn tell_end(&self) -> Result<()> {
        let mut told = Ok(());
        for function in self.end.all() {
            let Some(raw) = function.as_raw() else { continue };
            // SAFETY: whoever registered it promised that it may be called with its context.
            let answer = unsafe { raw(function.context().as_ptr()) };
            told = told.and(agreed(answer, "the end"));
        }
        told
    }

    fn tell_begin(&self, function: InitCallback) -> Result<()> {
        let config = self.config.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(raw) = function.as_raw() else { return Ok(()) };
        let length = config.as_bytes().len();
        // SAFETY: as above; the text lives until the function has returned.
        let answer = unsafe { raw(config.as_ptr(), length, function.context().as_ptr()) };
        agreed(answer, "the beginning")
    }
}

fn agreed(answer: AclError, what: &str) -> Result<()> {
    if answer == AclError::SUCCESS {
        return Ok(());
    }
    Err(Error::new(answer, format!("a function of the program that is told of {what} answered {answer:?}")))
}

/// What is in a file, up to a zero byte.
fn text_of(path: Option<&CStr>) -> CString {
    let path = path.filter(|path| !path.is_empty());
    let content = path.and_then(|path| std::fs::read(OsStr::from_bytes(path.to_bytes())).ok());
    let mut content = content.unwrap_or_default();
    content.truncate(content.iter().position(|byte| *byte == 0).unwrap_or(content.len()));
    CString::new(content).unwrap_or_default()
}

impl Runtime {
    /// Begins, and tells so.
    pub(crate) fn begin(&self, config: Option<&CStr>) -> Result<()> {
        self.initialise(config)?;
        *self.observers.config.lock().unwrap_or_else(PoisonError::into_inner) = text_of(config);
        let told = self.observers.begin.all().into_iter();
        let told = told.map(|function| self.observers.tell_begin(function)).find(Result::is_err);
        if told.is_some() {
            let mut count = self.initialised.lock().unwrap_or_else(PoisonError::into_inner);
            *count = count.saturating_sub(1);
        }
        told.unwrap_or(Ok(()))
    }

    /// Adds an observer of the beginning, which is told at once if that is over.
    pub(crate) fn add_to_begin(&self, part: RegisterCallbackType, function: InitCallback) -> Result<()> {
        self.observers.begin.add(part, function)?;
        let count = *self.initialised.lock().unwrap_or_else(PoisonError::into_inner);
        if count > 0 {
            // There is no call any more that could answer with it.
            let _ = self.observers.tell_begin(function);
        }
        Ok(())
    }

    /// Does something with a device, and tells so before and, if it was done, behind.
    pub(crate) fn observed(
        &self,
        device: i32,
        [before, behind]: [DeviceState; 2],
        body: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let tell = |state: DeviceState| {
            for function in self.observers.devices.all() {
                function.call(device, state);
            }
        };
        if self.home(device.into()).is_ok() {
            tell(before);
        }
        body()?;
        tell(behind);
        Ok(())
    }
}
