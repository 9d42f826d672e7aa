//! Stops the device.

use super::{blocks, lifecycle, streams};
use crate::error::{Result, failed};
use crate::provider::library;

/// Waits for all work and stops the device, if it is running.
pub(crate) fn stop() -> Result<()> {
    lifecycle::end(|numbers| {
        let device = library().device;
        let mut outcome = Ok(());
        for number in numbers {
            outcome = outcome.and(device.synchronize_device(*number));
        }
        streams::forget();
        blocks::forget();
        for number in numbers {
            outcome = outcome.and(device.deinit_device(*number));
        }
        outcome.and(device.finalize()).map_err(failed)
    })
}
