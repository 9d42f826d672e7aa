//! Waits with an end: how long, and how to ask again and again without burning a core.

use std::time::{Duration, Instant};

use crate::api::AclError;
use crate::error::{Result, refuse};

/// When a wait of so many milliseconds ends; `None`: never.
///
/// # Errors
/// When the number is neither -1 nor positive.
pub(crate) fn deadline(timeout: i32) -> Result<Option<Instant>> {
    match timeout {
        -1 => Ok(None),
        1.. => Ok(Some(Instant::now() + Duration::from_millis(u64::from(timeout.unsigned_abs())))),
        _ => refuse(
            AclError::INVALID_PARAM,
            format!("`timeout` is {timeout}; it is -1, or a number of milliseconds above 0"),
        ),
    }
}

/// Asks until the answer is yes, or until the time is up.
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
