//! Devices: setting and resetting, contexts, information, settings and peer access.
//!
//! Also the initialization and finalization of the library, because finalization resets every device.

mod context_creation;
mod functions;
pub(crate) mod health;
pub(crate) mod info;
pub(crate) mod peers;
mod process;
mod set_reset;
pub(crate) mod settings;
