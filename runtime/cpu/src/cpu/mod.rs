//! The calls: each checks its arguments, and then calls the part that does the work.
//!
//! The only state here is that of the device: not started, running, or shut down.

mod axpby;
mod collectives;
mod copies;
mod core;
mod device;
mod graphs;
mod libraries;
mod memory;
mod profiling;
mod streams;

use crate::config::{Config, DEFAULT_DEVICES};
use crate::error::{Error, Result};
use crate::executor::context;
use crate::executor::parallel::Split;
use crate::executor::pool::Pool;
use core::Core;
use std::cell::Cell;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, MutexGuard, OnceLock};
use tenon::device::DeviceId;
use tenon::support::Mutex;

thread_local! {
    // No destructor, see `context`.
    static CURRENT: Cell<DeviceId> = const { Cell::new(DeviceId(0)) };
}

/// Not initialised yet: the next call initialises the device.
const FRESH: u8 = 0;
const RUNNING: u8 = 1;
/// Shut down, or about to be: no call starts it but `initialize`.
const DOWN: u8 = 2;

/// The CPU as a set of devices, numbered from zero.
///
/// May live in a `static`. Dropping it shuts it down.
pub struct Cpu {
    given: Option<Config>,
    /// The number of devices, if neither the configuration nor the environment sets it.
    default_devices: AtomicUsize,
    /// Created by the first initialisation and kept during shutdowns, so that handles from before a shutdown are
    /// recognised as stale.
    core: OnceLock<Core>,
    phase: AtomicU8,
    pool: Mutex<Option<Pool>>,
}

impl Default for Cpu {
    /// Creates a device like [`Cpu::new`].
    fn default() -> Self {
        Self::new()
    }
}

impl Cpu {
    /// Returns the device that all parts of a program share.
    pub fn shared() -> &'static Arc<Self> {
        static SHARED: LazyLock<Arc<Cpu>> = LazyLock::new(|| Arc::new(Cpu::new()));
        &SHARED
    }

    /// Creates a device that reads its configuration from the environment when it is initialised.
    #[must_use]
    pub const fn new() -> Self {
        Self::build(None)
    }

    /// Creates a device with a configuration.
    #[must_use]
    pub const fn with_config(config: Config) -> Self {
        Self::build(Some(config))
    }

    const fn build(given: Option<Config>) -> Self {
        Self {
            given,
            default_devices: AtomicUsize::new(DEFAULT_DEVICES),
            core: OnceLock::new(),
            phase: AtomicU8::new(FRESH),
            pool: Mutex::new(None),
        }
    }

    /// Sets the number of devices for a device without a given configuration where `TENON_CPU_DEVICES` is not set,
    /// from 1 to 64. Has no effect after the first initialisation.
    pub fn set_default_devices(&self, devices: usize) {
        self.default_devices.store(devices, Ordering::Relaxed);
    }

    /// Starts the threads, after [`Cpu::shutdown`] as well. Does nothing if they are running.
    ///
    /// The first call fixes the configuration; a later one does not read the environment again.
    ///
    /// # Errors
    /// [`Error::Config`] for an unusable environment variable, [`Error::Threads`] if the system
    /// refuses a thread. A later call may succeed.
    pub fn initialize(&self) -> Result<()> {
        let mut pool = self.lock_pool();
        self.start(&mut pool)
    }

    fn start(&self, pool: &mut Option<Pool>) -> Result<()> {
        if pool.is_some() {
            return Ok(());
        }
        let core = match self.core.get() {
            Some(core) => core,
            None => {
                let devices = self.default_devices.load(Ordering::Relaxed);
                let config = self.given.clone().map_or_else(|| Config::from_env_or(devices), Ok)?;
                self.core.get_or_init(|| Core::new(config))
            }
        };
        *pool = Some(Pool::start(&core.shared, core.config.threads)?);
        self.phase.store(RUNNING, Ordering::Release);
        Ok(())
    }

    /// Finishes all queued work, joins every thread, destroys every handle and frees all memory.
    /// From then on every call but [`Cpu::initialize`] answers [`Error::ShutDown`].
    ///
    /// Waits for callbacks, so a callback that never returns blocks it for ever. Does nothing if the
    /// device is not running. Captures in progress are dropped.
    ///
    /// # Errors
    /// [`Error::BlockingInCallback`] from inside stream work. [`Error::TaskFailed`] if stream work failed and no call
    /// has returned the failure; the device is shut down then.
    pub fn shutdown(&self) -> Result<()> {
        refuse_inside_work("shutdown")?;
        let mut pool = self.lock_pool();
        let Some(core) = self.core.get() else {
            return Ok(());
        };
        if pool.is_none() {
            return Ok(());
        }
        self.phase.store(DOWN, Ordering::Release);
        core.finish_all();
        *pool = None;
        let failure = core.take_failure();
        core.clear();
        failure.map_or(Ok(()), Err)
    }

    /// Returns the number of devices.
    ///
    /// # Errors
    /// As [`Cpu::initialize`]; [`Error::ShutDown`].
    pub fn device_count(&self) -> Result<usize> {
        Ok(self.core()?.devices.len())
    }

    /// Returns an error if there is no such device.
    fn expect_device(&self, device: DeviceId) -> Result<()> {
        self.core()?.device(device).map(drop)
    }

    /// Returns the configuration in use.
    ///
    /// # Errors
    /// As [`Cpu::initialize`]; [`Error::ShutDown`].
    pub fn config(&self) -> Result<&Config> {
        Ok(&self.core()?.config)
    }

    /// Calls a function once with each number below `parts`, on the calling thread and on threads of the device that are idle
    /// now. Returns when all calls have returned. The function must not panic, nor wait for work of a stream.
    ///
    /// With the caller, no more threads take part than the configuration has. A device that is shut down has no threads.
    pub fn share(&self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        match self.core() {
            Ok(core) => Split::run(parts, core.config.threads - 1, &core.shared.ready, work),
            Err(_) => (0..parts).for_each(work),
        }
    }

    /// Returns the running device, started if this is the first call.
    fn core(&self) -> Result<&Core> {
        if self.phase.load(Ordering::Acquire) != RUNNING {
            self.start_if_fresh()?;
        }
        self.core.get().ok_or(Error::ShutDown)
    }

    #[cold]
    fn start_if_fresh(&self) -> Result<()> {
        // Read before the lock is taken: work that a shutdown waits for must not wait for the shutdown's lock.
        if self.phase.load(Ordering::Acquire) == DOWN {
            return Err(Error::ShutDown);
        }
        let mut pool = self.lock_pool();
        match self.phase.load(Ordering::Acquire) {
            DOWN => Err(Error::ShutDown),
            _ => self.start(&mut pool),
        }
    }

    fn lock_pool(&self) -> MutexGuard<'_, Option<Pool>> {
        self.pool.lock()
    }
}

impl Drop for Cpu {
    fn drop(&mut self) {
        if let Err(Error::BlockingInCallback { .. }) = self.shutdown() {
            // The last owner is a callback of this device, and its thread cannot join itself.
            // The threads hold references to all that they use, and stay idle.
            std::mem::forget(self.lock_pool().take());
        }
    }
}

/// Refuses a call that waits if the current thread runs work of a stream: it would wait for itself.
fn refuse_inside_work(call: &'static str) -> Result<()> {
    if context::is_inside() { Err(Error::BlockingInCallback { call }) } else { Ok(()) }
}
