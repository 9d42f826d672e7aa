//! Shared by the tests and benchmarks of this workspace: stub devices, programs, layouts of headers, named pipes, and the list of skipped tests.

pub mod layout;
mod left_out;
mod pipe;
mod processor;
mod program;
#[cfg(feature = "stub-device")]
mod stub_device;

pub use left_out::{has_gloo, leave_out};
pub use pipe::make_pipe;
pub use processor::{processor_time, processor_time_of_children};
pub use program::install;
#[cfg(feature = "stub-device")]
pub use stub_device::RequiredFunctions;
