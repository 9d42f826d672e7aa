//! Write a device once, in Rust, and use it in every framework that Tenon supports.
//!
//! [`device`](mod@device) is the interface: the trait [`device::Device`] and its types, generated from `spec/device`. An
//! implementation with [`plugin`](macro@plugin) on it becomes a plugin:
//!
//! ```no_run
//! use tenon::device::*;
//!
//! #[derive(Default)]
//! struct MyNpu;
//!
//! # struct Driver;
//! #[tenon::plugin(device_type = "my_npu")]
//! impl Device for MyNpu {
//!     fn get_device_count(&self) -> Result<usize> {
//!         Ok(1)
//!     }
//!     // …
//! #   fn get_device_list(&self) -> Result<Vec<usize>> { Ok(vec![0]) }
//! #   fn set_device(&self, _: DeviceId) -> Result<()> { Ok(()) }
//! #   fn get_device(&self) -> Result<DeviceId> { Ok(DeviceId(0)) }
//! #   fn synchronize_device(&self, _: DeviceId) -> Result<()> { Ok(()) }
//! #   fn create_event(&self, _: DeviceId) -> Result<Event> { Ok(Event::NULL) }
//! #   fn record_event(&self, _: DeviceId, _: Stream, _: Event) -> Result<()> { Ok(()) }
//! #   fn synchronize_event(&self, _: DeviceId, _: Event) -> Result<()> { Ok(()) }
//! #   fn destroy_event(&self, _: DeviceId, _: Event) -> Result<()> { Ok(()) }
//! #   fn device_memory_allocate(&self, _: DeviceId, _: usize) -> Result<tenon::DevicePtr> { Ok(tenon::DevicePtr::NULL) }
//! #   fn device_memory_deallocate(&self, _: DeviceId, _: tenon::DevicePtr, _: usize) -> Result<()> { Ok(()) }
//! #   fn memory_copy_h2d(&self, _: DeviceId, _: tenon::DevicePtr, _: &[u8]) -> Result<()> { Ok(()) }
//! #   fn memory_copy_d2h(&self, _: DeviceId, _: &mut [u8], _: tenon::DevicePtr) -> Result<()> { Ok(()) }
//! }
//! ```
//!
//! A function that the implementation leaves out stays null in the table, so that the host's own fallback applies.
//! With `fallbacks = true` the slot is filled with the spec's fallback instead.

// Generated code names this crate `tenon`, also inside the crate.
extern crate self as tenon;

mod data_type;
mod environment;
mod error;
pub mod handle;
mod lent;
mod log;
mod pointer;
pub mod reflect;
mod refusal;
mod strategy;
#[doc(hidden)]
pub mod support;

pub use environment::{BadBytes, parse_bytes, parse_switch, trusted_variable};
pub use error::{Error, Origin, Reason, Refusal, StatusCode, last_error};
pub use lent::Lent;
pub use log::{BadLogLevel, LogLevel, log_info, log_level, write_line};
pub use pointer::{AnyPtr, DevicePtr, HostPtr, UnifiedPtr};
pub use support::{Made, OwnValue, watch_objects};
pub use tenon_macros::{device, object, plugin};

/// The device interface: the trait [`Device`](device::Device), its types, and the table in each release's layout.
///
/// Generated from `spec/device`.
pub mod device;
