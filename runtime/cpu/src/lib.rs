//! The CPU presented as one or more accelerators: asynchronous streams, events, budgeted
//! device memory, graphs and a profiler.
//!
//! [`Cpu`] implements [`tenon::device::Device`]. Its own methods add what the table of functions cannot express: closures
//! as kernels and callbacks, times of events, nodes of graphs, and traces. The crate contains no C types, no operators, and
//! no code for a certain framework.
//!
//! ```
//! # #[cfg(not(loom))] {
//! use tenon::device::{Device, DeviceId};
//! use tenon_cpu::Cpu;
//!
//! let cpu = Cpu::new();
//! let stream = cpu.create_stream(DeviceId(0))?;
//! let ptr = cpu.device_memory_allocate(DeviceId(0), 5)?;
//! cpu.memory_copy_h2d(DeviceId(0), ptr, b"tenon")?;
//! cpu.async_memory_fill(DeviceId(0), stream, ptr, b"T", 1)?;
//! cpu.synchronize_stream(DeviceId(0), stream)?;
//! let mut back = [0; 5];
//! cpu.memory_copy_d2h(DeviceId(0), &mut back, ptr)?;
//! assert_eq!(&back, b"Tenon");
//! cpu.device_memory_deallocate(DeviceId(0), ptr, 5)?;
//! cpu.shutdown()?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rules for every call
//!
//! * Every method takes `&self` and may be called from any thread. Errors of the trait's functions
//!   carry the message of an [`Error`].
//! * The first call initialises the device; after [`Cpu::shutdown`] every call returns
//!   [`Error::ShutDown`] until [`Cpu::initialize`] is called again.
//! * Handles and device pointers are looked up before they are used.
//! * Sizes are bytes, times are nanoseconds since the Unix epoch on a monotonic clock.
//! * Calls that wait (`synchronize_…`, and the copies without a stream) return
//!   [`Error::BlockingInCallback`] when they are made from inside work of a stream.

mod chrome;
mod clock;
mod config;
mod cpu;
mod error;
mod executor;
mod graph;
mod handle;
mod memory;
mod profiler;
mod sync;

pub use config::Config;
pub use cpu::Cpu;
pub use error::{Error, ErrorKind, Result};
pub use executor::work::INLINE_BYTES;
pub use executor::work::task::TaskResult;
pub use graph::{CaptureInfo, NodeInfo};
pub use handle::HandleKind;
pub use memory::CopyKind;
pub use memory::{HostStats, MemoryStats, PointerInfo, Space};
pub use profiler::{Activity, Trace, TraceRecord};

/// The stream core by itself, for the model checker only.
#[allow(missing_docs)]
#[cfg(loom)]
#[doc(hidden)]
pub mod model;

#[doc(hidden)]
pub mod tuning;
