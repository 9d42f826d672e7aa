//! The operators of the CPU device: the traits of [`tenon::operators`](mod@tenon::operators) on the kernels of `tenon-kernels`.
//!
//! `calls` is generated from `spec/ops`. An operator waits for its stream and computes before its call returns, or runs on
//! the stream while the host continues: see [`compute_on_streams`].

#[rustfmt::skip]
mod calls;
mod host;
mod provider;
mod queue;

use tenon::device::DataType;
use tenon::operators::Operators;

pub use provider::{Computing, use_onednn};

/// The operators of the CPU device.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuOperators;

/// Lets operators run on their streams after their calls have returned, for all calls from now on.
///
/// This is for hosts that read, write and free memory only in the order of the stream, as PaddlePaddle does. Operators still
/// compute before they return if they are short and the stream is idle, and if the device has one thread. The shape of an
/// output is computed at once, after waiting for the elements that it depends on. The next synchronisation of the stream
/// reports the error of an operator that failed after its call had returned.
pub fn compute_on_streams() {
    queue::enable();
}

impl Operators for CpuOperators {
    /// Returns true: every operator has a kernel, for every type of elements that the spec lists.
    fn provides(&self, _: &str, _: DataType) -> bool {
        true
    }
}
