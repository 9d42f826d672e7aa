//! The CPU presented as one or more accelerators: asynchronous streams, events, budgeted
//! device memory, graphs and a profiler.
//!
//! Here lives the device itself, behind plain Rust calls on [`Cpu`]. No C types, no operators
//! and nothing of any framework may live here.
//!
//! ```
//! # #[cfg(not(loom))] {
//! use tenon_cpu::Cpu;
//!
//! let cpu = Cpu::new();
//! let stream = cpu.create_stream(0)?;
//! let ptr = cpu.device_memory_allocate(0, 5)?;
//! cpu.memory_copy_h2d(0, ptr, b"tenon")?;
//! cpu.async_device_memory_set(0, stream, ptr, b'T', 1)?;
//! cpu.synchronize_stream(0, stream)?;
//! let mut back = [0; 5];
//! cpu.memory_copy_d2h(0, &mut back, ptr)?;
//! assert_eq!(&back, b"Tenon");
//! cpu.device_memory_deallocate(0, ptr, 5)?;
//! cpu.shutdown()?;
//! # }
//! # Ok::<(), tenon_cpu::Error>(())
//! ```
//!
//! # The rules that hold everywhere
//!
//! * Every method takes `&self` and may be called from any thread.
//! * The first call initialises the device; after [`Cpu::shutdown`] every call answers
//!   [`Error::ShutDown`] until [`Cpu::initialize`] is called again.
//! * Handles and device pointers are looked up, never dereferenced on trust.
//! * Sizes are bytes, times are nanoseconds since the Unix epoch on a monotonic clock.
//! * Calls that wait ([`Cpu::synchronize_stream`] and its kind, the copies without a stream)
//!   answer [`Error::BlockingInCallback`] when they are made from inside work of a stream.

mod clock;
mod config;
mod cpu;
#[cfg(not(loom))]
mod device;
mod error;
mod executor;
mod graph;
mod handle;
mod memory;
mod profiler;
mod slab;
mod sync;

pub use config::Config;
pub use cpu::{Cpu, Library};
pub use error::{Error, ErrorKind, Result};
pub use executor::work::{CopyKind, INLINE_BYTES, TaskResult};
pub use graph::{CaptureInfo, NodeInfo, NodeParameters};
pub use handle::HandleKind;
pub use memory::{HostStats, MemoryStats, PointerInfo, Space};
pub use profiler::{Activity, Trace, TraceRecord};

/// The stream core by itself, for the model checker only.
#[allow(missing_docs)]
#[cfg(loom)]
#[doc(hidden)]
pub mod model;

#[doc(hidden)]
pub mod tuning;
