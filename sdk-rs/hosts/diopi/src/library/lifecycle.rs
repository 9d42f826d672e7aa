//! Starts the device, and reports whether it is running.

use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU8, Ordering};
use tenon::support::Mutex;

use tenon::device::DeviceId;

use crate::error::{Error, Result, failed};
use crate::provider::library;
use crate::runtime::DiopiError;

/// Not started yet: the first call that needs the device starts it.
const NEW: u8 = 0;
const RUNNING: u8 = 1;
/// Finalised: the host must initialise the library again.
const STOPPED: u8 = 2;

static PHASE: AtomicU8 = AtomicU8::new(NEW);

/// Serialises changes of the phase.
static CHANGES: Mutex<()> = Mutex::new(());

fn changing() -> MutexGuard<'static, ()> {
    CHANGES.lock()
}

/// Starts the device, unless it is running.
pub(crate) fn start() -> Result<()> {
    let _guard = changing();
    if PHASE.load(Ordering::Acquire) == RUNNING {
        return Ok(());
    }
    let device = library().device;
    device.initialize().map_err(failed)?;
    let numbers = numbers()?;
    for number in &numbers {
        device.init_device(*number).map_err(failed)?;
    }
    if let Some(first) = numbers.first() {
        device.set_device(*first).map_err(failed)?;
    }
    PHASE.store(RUNNING, Ordering::Release);
    Ok(())
}

/// Ensures that the device is running. Starts it if the host has not initialised the library.
pub(crate) fn ready() -> Result<()> {
    match PHASE.load(Ordering::Acquire) {
        RUNNING => Ok(()),
        NEW => start(),
        _ => Err(Error::new(DiopiError::NOT_INITED, "the library was finalised")),
    }
}

/// Returns true after the library was finalised, when streams and memory no longer exist.
pub(crate) fn is_stopped() -> bool {
    PHASE.load(Ordering::Acquire) == STOPPED
}

/// Marks the library as finalised, and calls a function with the ids of the devices if the device was
/// running.
pub(super) fn end(stop: impl FnOnce(&[DeviceId]) -> Result<()>) -> Result<()> {
    let _guard = changing();
    if PHASE.load(Ordering::Acquire) != RUNNING {
        return Ok(());
    }
    PHASE.store(STOPPED, Ordering::Release);
    stop(&numbers()?)
}

fn numbers() -> Result<Vec<DeviceId>> {
    let numbers = library().device.get_device_list().map_err(failed)?;
    Ok(numbers.into_iter().filter_map(|number| i32::try_from(number).ok()).map(DeviceId).collect())
}
