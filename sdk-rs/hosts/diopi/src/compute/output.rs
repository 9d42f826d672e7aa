//! Tensors that an operator writes.

use tenon::device::{DataType, Result};
use tenon_operators::TensorMut;

use super::call::Call;
use super::tensor::Tensor;

/// The output of an operator: a tensor of the host, or a temporary tensor that is copied to it.
#[derive(Debug)]
pub(crate) struct Output<'c> {
    call: &'c Call,
    elements: TensorMut<'c>,
    /// The temporary tensor, and the tensor that it is copied to.
    copied: Option<(Tensor<'c>, Tensor<'c>)>,
}

impl<'c> Output<'c> {
    /// Creates an output with the given type for a target. It is temporary if the target has a different type
    /// or shares memory with an input.
    pub(super) fn new(
        call: &'c Call,
        target: &Tensor<'c>,
        ty: DataType,
        inputs: &[&Tensor<'_>],
        in_place: bool,
    ) -> Result<Self> {
        let elements = target.as_output()?;
        let conflicts = |input: &&Tensor<'_>| {
            let input = input.elements();
            elements.shares_memory(input) && !(in_place && elements.is_same(input))
        };
        if target.data_type() == ty && !inputs.iter().any(conflicts) {
            return Ok(Self { call, elements, copied: None });
        }
        let temporary = call.temporary(ty, target.dims())?;
        Ok(Self { call, elements: temporary.as_output()?, copied: Some((temporary, target.clone())) })
    }

    /// Returns the elements for the operator.
    pub(crate) fn elements(&mut self) -> &mut TensorMut<'c> {
        &mut self.elements
    }

    /// Copies a temporary tensor to the target.
    pub(crate) fn finish(self) -> Result<()> {
        match &self.copied {
            None => Ok(()),
            Some((temporary, target)) => self.call.copy(target, temporary),
        }
    }
}
