//! The ACL runtime on any device.
//!
//! The crate implements the functions of ACL, whose interface is described in `spec/acl`. It depends neither on how
//! plugins are loaded, which [`Devices`] hides, nor on the C symbols, which `libtenon` exports.
//!
//! # Parts
//!
//! - `state`: the state that all functions share: devices, contexts, streams and known memory.
//! - `wait`: deadlines, latches and worker threads. They do not depend on devices or streams.
//! - `shared`: memory that other processes can map. It does not depend on them either.
//! - `device`, `stream`, `event`, `notify`, `callback`, `memory`, `copy`, `virtual_memory`, `data`: the
//!   subsystems. Each owns its tables and takes the shared state as `&State`.
//! - [`Runtime`]: the state and the subsystems. Functions that concern several subsystems, such as resetting a
//!   device, are its methods.
//!
//! The functions of the interface are in the file `functions` of each folder: one `impl` for each group of the spec.
//! Functions that the spec refuses have no method: the library answers them. Dependencies have one direction: functions → `Runtime` →
//! subsystems → `state` → `wait` and `shared`.
//!
//! Handles are looked up in tables and never dereferenced (`state::handles`). A device is open while a lease of it
//! exists (`state::device_state`). A stream submits work to the device at once, unless a latch holds the stream
//! because it waits for an action of the host. In that case work stays in the stream's pending queue
//! (`state::stream`).

/// The interface: the trait [`Acl`](api::Acl), the traits of its groups, and its types, generated from
/// `spec/acl`.
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
mod shared;
mod state;
mod stream;
mod virtual_memory;
mod wait;

pub use error::{Error, Result};
pub use provider::{Devices, OpenDevice};
pub use runtime::Runtime;
