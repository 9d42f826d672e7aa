//! Optional outputs.

use tenon::device::Result;
use tenon_operators::{TensorMut, TensorRef};

use crate::compute::{Call, Output, Tensor};

/// An optional output.
pub(super) struct Optional<'c>(Option<Output<'c>>);

impl<'c> Optional<'c> {
    /// Creates an output with the type of its target, which may share memory with the inputs.
    pub(super) fn new(call: &'c Call, target: Option<&Tensor<'c>>, inputs: &[&Tensor<'_>]) -> Result<Self> {
        target.map(|target| call.output(target, target.data_type(), inputs)).transpose().map(Self)
    }

    /// Returns the elements for the operator.
    pub(super) fn elements(&mut self) -> Option<&mut TensorMut<'c>> {
        self.0.as_mut().map(Output::elements)
    }

    /// Writes the result to the target.
    pub(super) fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Output::finish)
    }
}

/// Returns the elements of an optional input.
pub(super) fn elements<'t, 'c>(tensor: Option<&'t Tensor<'c>>) -> Option<&'t TensorRef<'c>> {
    tensor.map(Tensor::elements)
}

/// Returns the tensors that are present.
pub(super) fn present<'t, 'c, const N: usize>(tensors: [Option<&'t Tensor<'c>>; N]) -> Vec<&'t Tensor<'c>> {
    tensors.into_iter().flatten().collect()
}
