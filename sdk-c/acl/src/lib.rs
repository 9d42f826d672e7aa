//! The ACL runtime on any device.
//!
//! The crate implements the functions of ACL, whose interface `spec/acl` describes. It does not depend on the
//! loading of plugins, which [`Devices`] hides, or on the C symbols, which `libtenon` exports.
//!
//! # Parts
//!
//! - `state`: the state that all functions share: devices, contexts, streams and known memory.
//! - `wait`: deadlines, latches and worker threads. They do not depend on devices or streams.
//! - `device`, `stream`, `event`, `notify`, `callback`, `memory`, `copy`, `virtual_memory`, `data`: the
//!   subsystems. Each owns its tables and takes the shared state as `&State`.
//! - [`Runtime`]: the state together with the subsystems. Functions that concern several subsystems, such as
//!   the reset of a device, are methods of it.
//!
//! The functions of the interface are in the file `functions` of each folder: one `impl` for each group of
//! the spec, with the functions that no group implements in `unsupported`. Dependencies point in one
//! direction: functions → `Runtime` → subsystems → `state` → `wait`.
//!
//! Handles are looked up in tables and never dereferenced (`state::handles`). A device is open while
//! something holds a lease of it (`state::device_state`). A stream submits work to the device at once, unless
//! a latch holds it for something that only the host can bring about; then work waits in the stream's pending
//! queue (`state::stream`).

/// The interface: the trait [`Acl`](api::Acl), the traits of its groups, and its types, generated from
/// `spec/acl`.
#[rustfmt::skip]
pub mod api;
mod callback;
mod copy;
mod data;
mod device;
mod error;
mod event;
mod memory;
mod notify;
mod provider;
mod runtime;
mod state;
mod stream;
mod unsupported;
mod virtual_memory;
mod wait;

pub use error::{Error, Result};
pub use provider::{Devices, OpenDevice};
pub use runtime::Runtime;
