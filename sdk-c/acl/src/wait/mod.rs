//! Waiting on the host: deadlines, polling, latches, and worker threads for jobs that must not block their caller.
//!
//! This folder does not depend on devices or streams.

pub(crate) mod latch;
pub(crate) mod workers;

use std::time::{Duration, Instant};

use crate::api::AclError;
use crate::error::{Result, refuse};

/// Returns when a wait of `timeout` milliseconds ends; `None` for -1, an endless wait.
///
/// # Errors
/// If the number is neither -1 nor positive.
pub(crate) fn deadline(timeout: i32) -> Result<Option<Instant>> {
    match timeout {
        -1 => Ok(None),
        1.. => Ok(Some(Instant::now() + Duration::from_millis(u64::from(timeout.unsigned_abs())))),
        _ => refuse(
            AclError::INVALID_PARAM,
            format!("`timeout` is {timeout}; it must be -1, or a number of milliseconds above 0"),
        ),
    }
}

/// Polls with growing pauses until `ask` returns true or the deadline passes; returns the last result.
pub(crate) fn poll(until: Instant, mut ask: impl FnMut() -> Result<bool>) -> Result<bool> {
    const SHORTEST: Duration = Duration::from_micros(10);
    const LONGEST: Duration = Duration::from_millis(1);
    let mut pause = SHORTEST;
    loop {
        if ask()? {
            return Ok(true);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST);
    }
}
