//! Initialization and finalization of the library: counting, and releasing everything at the end.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt as _;

use crate::api::{AclError, InitCallback, RegisterCallbackType};
use crate::error::{Result, refuse};
use crate::runtime::Runtime;
use crate::wait::workers;

impl Runtime {
    /// Initializes the library, and calls the observers of the initialization.
    pub(crate) fn initialize(&self, config: Option<&CStr>) -> Result<()> {
        self.count_initialization(config)?;
        let notified = self.observers.notify_initialized(config);
        if notified.is_err() {
            let mut count = self.initialized.lock();
            *count = count.saturating_sub(1);
        }
        notified
    }

    fn count_initialization(&self, config: Option<&CStr>) -> Result<()> {
        if let Some(path) = config.filter(|path| !path.is_empty()) {
            let file = std::fs::File::open(OsStr::from_bytes(path.to_bytes()));
            if let Err(error) = file {
                let message = format!("`config_path` is {path:?}, which cannot be read: {error}");
                return refuse(AclError::INVALID_FILE, message);
            }
        }
        self.state.device_count()?;
        let mut count = self.initialized.lock();
        *count += 1;
        match *count {
            1 => Ok(()),
            count => refuse(
                AclError::REPEAT_INITIALIZE,
                format!("the library is already initialised; the count is now {count}"),
            ),
        }
    }

    /// Adds an observer of the initialization. Calls it at once if the library is already initialized.
    pub(crate) fn observe_initialization(
        &self,
        part: RegisterCallbackType,
        function: InitCallback,
    ) -> Result<()> {
        self.observers.add_for_initialization(part, function)?;
        let count = *self.initialized.lock();
        if count > 0 {
            // There is no call that could return the observer's error.
            let _ = self.observers.call_for_initialization(function);
        }
        Ok(())
    }

    /// Undoes one or all initializations, and releases everything with the last one. Returns how many are left.
    pub(crate) fn finalize_count(&self, all: bool) -> Result<u64> {
        let left = {
            let mut count = self.initialized.lock();
            if *count == 0 {
                return refuse(
                    AclError::REPEAT_FINALIZE,
                    "the library is not initialised, or was already finalised",
                );
            }
            *count = if all { 0 } else { *count - 1 };
            *count
        };
        if left == 0 {
            let notified = self.observers.notify_finalized();
            for device in self.state.known_devices() {
                self.end_work_of(&device);
            }
            // Memory may only be freed when no worker can use it any more.
            workers::stop();
            self.release();
            self.state.provider.ended();
            notified?;
        }
        Ok(left)
    }

    /// Releases all devices and virtual memory. Pending work is dropped, since it may wait for an event that never
    /// comes. Host memory stays allocated, since the program may have pointers to it.
    fn release(&self) {
        for device in self.state.known_devices() {
            self.release_device(&device);
        }
        self.shared_memory.release_all(&self.state);
        self.virtual_memory.release_all(&self.state);
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.release();
    }
}
