//! The operators that Paddle has no way round.
//!
//! Whatever a device has no operator for, Paddle computes on the CPU, on copies. That is right, except where an
//! operator changes its arguments in place: in a static graph the copies are changed and forgotten. So here are
//! the operators that change parameters and statistics, and those without which nothing of that kind works. The
//! rest would be a matter of speed.

mod adam;
mod batch_norm;
mod concat;
mod full;
mod identity;
mod layout;
mod memcpy;
mod momentum;
mod parameter;
mod rmsprop;
mod sgd;

use std::ffi::CStr;

use crate::error::Result;
use crate::host::Host;
use crate::kernel::Registry;

/// Registers the operators of a host's release for a device type.
///
/// # Errors
/// One line about what could not be registered.
pub(crate) fn register(host: &'static Host, device_type: &'static CStr) -> Result<(), String> {
    let registry = Registry::new(host, device_type);
    [
        layout::register,
        memcpy::register,
        full::register,
        identity::register,
        concat::register,
        batch_norm::register,
        sgd::register,
        momentum::register,
        adam::register,
        rmsprop::register,
    ]
    .into_iter()
    .try_for_each(|register| register(registry))
    .map_err(|error| format!("the operators could not be registered: {}", error.message))
}
