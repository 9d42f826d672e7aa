//! The operators of the CPU device: the traits of [`tenon::operators`](mod@tenon::operators) on the kernels of `tenon-kernels`.
//!
//! `calls` is generated from `spec/ops`. An operator waits for the work that is queued on its stream, and computes before
//! it returns.

#[rustfmt::skip]
mod calls;
mod host;

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
