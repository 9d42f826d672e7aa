//! The operators of the CPU device: implements the traits of [`tenon_operators`](mod@tenon_operators) with
//! the kernels of `tenon-kernels`.
//!
//! `calls` makes each method from its line in the list of the spec. By default, an operator waits for its stream and computes before its
//! call returns. With [`compute_on_streams`] it runs on the stream while the host continues.

mod calls;
mod host;
pub mod onednn;
mod provider;
mod queue;
mod threads;

use tenon::device::DataType;
use tenon_operators::Operators;

pub use provider::{Computing, use_onednn};
pub use tenon_kernels::threads::Threads;
pub use threads::{use_device_threads, use_threads};

/// The operators of the CPU device.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuOperators;

/// Lets operators run on their streams after their calls have returned. Applies to all later calls.
///
/// Use this for hosts that read, write and free memory only in stream order, as PaddlePaddle does. Operators
/// still compute before they return if they are short and the stream is idle, or if the device has only one
/// thread. The shape of an output is computed immediately, after waiting for the elements that it depends on.
/// The next synchronisation of the stream reports the error of an operator that failed after its call had
/// returned.
pub fn compute_on_streams() {
    queue::enable();
}

/// Lets operators compute at once, for all calls from now on, and does not use their streams.
///
/// This is for callers that order the calls themselves: the memory is host memory that nothing else uses during a call.
pub fn ignore_streams() {
    queue::ignore_streams();
}

impl Operators for CpuOperators {
    /// Returns true: every operator has a kernel for every element type that the spec lists.
    fn provides(&self, _: &str, _: DataType) -> bool {
        true
    }
}
