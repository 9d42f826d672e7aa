//! The operators of the CPU device: the traits of [`tenon::operators`](mod@tenon::operators) on the kernels of `tenon-kernels`.
//!
//! `calls` is generated from `spec/ops`. Kernels run on the streams of the device, and the host goes on: see `queue`. An
//! operator that may refuse elements of its inputs waits for its stream and computes before it returns.

#[rustfmt::skip]
mod calls;
mod host;
mod queue;

use tenon::device::DataType;
use tenon::operators::Operators;

/// The operators of the CPU device.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuOperators;

impl Operators for CpuOperators {
    /// Every operator has a kernel, for every type of elements that the spec lists.
    fn provides(&self, _: &str, _: DataType) -> bool {
        true
    }
}
