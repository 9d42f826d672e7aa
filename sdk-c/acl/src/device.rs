//! Devices: setting and resetting, waiting, what is known of them, and who may reach whom.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use crate::api::AclError;
use crate::context::Context;
use crate::error::{Error, Result, refuse};
use crate::home::Home;
use crate::runtime::Runtime;
use crate::{wait, workers};

impl Runtime {
    /// Begins, or counts.
    pub(crate) fn initialise(&self, config: Option<&CStr>) -> Result<()> {
        if let Some(path) = config.filter(|path| !path.is_empty()) {
            let file = std::fs::File::open(OsStr::from_bytes(path.to_bytes()));
            if let Err(error) = file {
                let message = format!("`config_path` is {path:?}, which cannot be read: {error}");
                return refuse(AclError::INVALID_FILE, message);
            }
        }
        self.device_count()?;
        let mut count = self.initialised.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        match *count {
            1 => Ok(()),
            count => refuse(
                AclError::REPEAT_INITIALIZE,
                format!("the library is initialised already; it is now counted {count} times"),
            ),
        }
    }

    /// Ends what `initialise` has begun: one count, or all of them. Says how many are left.
    pub(crate) fn finalise(&self, all: bool) -> Result<u64> {
        let left = {
            let mut count = self.initialised.lock().unwrap_or_else(PoisonError::into_inner);
            if *count == 0 {
                return refuse(
                    AclError::REPEAT_FINALIZE,
                    "the library is not initialised, or was finalised already",
                );
            }
            *count = if all { 0 } else { *count - 1 };
            *count
        };
        if left == 0 {
            let told = self.observers.tell_end();
            self.end_work();
            // Memory goes when nothing is left that could use it.
            workers::rest();
            self.release();
            self.devices.ended();
            told?;
        }
        Ok(left)
    }

    /// Gives back what is left. Work that no device knows of yet is thrown away, since it may wait for what never comes;
    /// host memory stays, since the program may hold pointers into it.
    pub(crate) fn release(&self) {
        for home in self.homes() {
            self.release_device(&home);
        }
        self.release_virtual_memory();
    }

    fn end_work(&self) {
        for home in self.homes() {
            self.end_work_of(&home);
        }
    }

    /// Makes a device the current one of the thread, and counts.
    pub(crate) fn set_device(&self, device: i32) -> Result<()> {
        if self.device_count()? == 0 {
            return refuse(AclError::RT_NO_DEVICE, "there are no devices");
        }
        let home = self.home(device.into())?;
        let known = {
            let mut state = home.state();
            let known = state.primary.clone();
            state.references += usize::from(known.is_some());
            known
        };
        let primary = match known {
            Some(primary) => primary,
            None => self.first_context(&home)?,
        };
        self.make_current(&primary);
        Ok(())
    }

    /// The default context of a device that had none, counted once; another thread may be quicker.
    fn first_context(&self, home: &Arc<Home>) -> Result<Arc<Context>> {
        let made = self.new_context(home, true)?;
        let primary = {
            let mut state = home.state();
            state.references += 1;
            state.primary.get_or_insert_with(|| made.clone()).clone()
        };
        self.tell_of_default_stream(&made);
        if !Arc::ptr_eq(&primary, &made) {
            self.contexts.remove(made.handle);
            self.end_context(&made);
        }
        Ok(primary)
    }

    /// Takes one from the count of a device, and gives the device back if it was the last.
    pub(crate) fn reset_device(&self, device: i32) -> Result<()> {
        let home = self.home(device.into())?;
        loop {
            let primary = {
                let mut state = home.state();
                match (state.references, state.primary.clone()) {
                    (0, _) | (_, None) => return Err(not_set(&home)),
                    (1, Some(primary)) => primary,
                    _ => {
                        state.references -= 1;
                        return Ok(());
                    }
                }
            };
            // While nothing is held, since callbacks that are waited for may set the device.
            let done = self.finish_context(&primary);
            let taken = {
                let mut state = home.state();
                if state.references == 1 { state.take_primary() } else { None }
            };
            if let Some(primary) = taken {
                self.end_primary(&home, &primary);
                return done;
            }
        }
    }

    /// Gives a device back, whatever the count and whatever is on it.
    pub(crate) fn reset_device_force(&self, device: i32) -> Result<()> {
        let home = self.home(device.into())?;
        if home.state().references == 0 {
            return Err(not_set(&home));
        }
        self.release_device(&home);
        Ok(())
    }

    fn release_device(&self, home: &Arc<Home>) {
        // Looked up first: another thread may set the device again and allocate, while this one is still here.
        let memory = self.memory.of(home);
        self.end_work_of(home);
        self.free_all(memory);
    }

    /// Ends all that a device has, up to its memory.
    fn end_work_of(&self, home: &Arc<Home>) {
        let primary = home.state().take_primary();
        let others = self.contexts_of(home).into_iter().filter(|context| !context.is_primary);
        for context in primary.into_iter().chain(others) {
            self.end_and_forget(&context);
        }
        self.destroy_events_of(home);
        self.destroy_notifies_of(home);
    }

    fn end_primary(&self, home: &Arc<Home>, primary: &Context) {
        self.end_and_forget(primary);
        // Looked up first, as above.
        let memory = self.memory.of(home);
        // Memory belongs to the device and not to a context: it stays while the program still has one there.
        if self.contexts_of(home).is_empty() {
            self.free_all(memory);
        }
    }

    fn end_and_forget(&self, context: &Context) {
        if self.contexts.remove(context.handle).is_some() {
            self.make_uncurrent(context.handle);
            self.end_context(context);
        }
    }

    fn contexts_of(&self, home: &Arc<Home>) -> Vec<Arc<Context>> {
        let mut contexts = self.contexts.all();
        contexts.retain(|context| Arc::ptr_eq(&context.lease.home, home));
        contexts
    }

    /// The device of the current context.
    pub(crate) fn current_device(&self) -> Result<Arc<Home>> {
        Ok(self.context()?.lease.home.clone())
    }

    /// Waits for the current device.
    pub(crate) fn synchronize_device(&self, timeout: i32) -> Result<()> {
        let until = wait::deadline(timeout)?;
        if self.finish_device(&self.current_device()?, until)? {
            return Ok(());
        }
        refuse(AclError::RT_STREAM_SYNC_TIMEOUT, format!("the device was not done within {timeout} ms"))
    }

    /// Waits for all work of a device; false if the time is up before.
    pub(crate) fn finish_device(&self, home: &Arc<Home>, until: Option<Instant>) -> Result<bool> {
        let mut done = Ok(true);
        for stream in self.streams.all() {
            if stream.unit.ordinal != home.ordinal {
                continue;
            }
            match stream.synchronize(until) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => done = done.and(Err(error)),
            }
        }
        done
    }

    /// Whether a program may copy between two devices.
    pub(crate) fn expect_peers(&self, one: u32, other: u32) -> Result<()> {
        if one == other {
            return Ok(());
        }
        let reaches =
            |from: u32, to: u32| self.home(from.into()).is_ok_and(|home| home.state().peers.contains(&to));
        if reaches(one, other) || reaches(other, one) {
            return Ok(());
        }
        refuse(
            AclError::RT_FEATURE_NOT_SUPPORT,
            format!(
                "devices {one} and {other} may not reach each other; call `aclrtDeviceEnablePeerAccess` first"
            ),
        )
    }

    /// Another device than the current one, beside the current one.
    fn peer(&self, peer: i32) -> Result<(Arc<Home>, Arc<Home>)> {
        let own = self.current_device()?;
        let other = self.home(peer.into())?;
        if own.ordinal == other.ordinal {
            return refuse(
                AclError::RT_INVALID_DEVICEID,
                format!("`peer_device_id` is {peer}, which is the current device"),
            );
        }
        Ok((own, other))
    }

    /// Lets the current device reach another.
    pub(crate) fn enable_peer(&self, peer: i32, flags: u32) -> Result<()> {
        if flags != 0 {
            return refuse(AclError::INVALID_PARAM, format!("`flags` is {flags}; it is reserved and 0"));
        }
        let (own, other) = self.peer(peer)?;
        own.state().peers.insert(other.ordinal);
        Ok(())
    }

    /// Takes that back.
    pub(crate) fn disable_peer(&self, peer: i32) -> Result<()> {
        let (own, other) = self.peer(peer)?;
        if own.state().peers.remove(&other.ordinal) {
            return Ok(());
        }
        refuse(
            AclError::RT_PARAM_INVALID,
            format!("device {} was not allowed to reach device {peer}", own.ordinal),
        )
    }

    /// Whether it is allowed.
    pub(crate) fn is_peer_enabled(&self, device: i32, peer: i32) -> Result<bool> {
        let (own, other) = (self.home(device.into())?, self.home(peer.into())?);
        Ok(own.state().peers.contains(&other.ordinal))
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.release();
    }
}

#[cold]
fn not_set(home: &Home) -> Error {
    Error::new(
        AclError::RT_CONTEXT_RELEASE_ERROR,
        format!("device {} is not set, or was reset as often as it was set", home.ordinal),
    )
}
