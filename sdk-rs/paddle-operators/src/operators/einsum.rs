//! Sums of products in Einstein's notation.
//!
//! The gradient gets the tensors of `inner_cache` and no operands. PaddlePaddle sets no shape for them.

use crate::error::Result;
use crate::kernel::{Any, Call, FLOATS, Output, Registry, Run, Tensor, kernel, outputs};

/// Registers `einsum`.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_any::<Einsum<'static>>(&["einsum", "expand"], &[FLOATS])
}

kernel! {
    /// Sums products, and copies the operands for the gradient: a program may change them before it.
    struct Einsum<'c> = c"einsum" {
        inputs: { operands: Vec<Tensor<'c>> },
        attributes: { equation: &'c str },
        outputs: {
            out: Output<'c>,
            inner_cache: Vec<Option<Output<'c>>>,
            xshape: Vec<Option<Output<'c>>>,
        },
    }
}

impl Run<Any> for Einsum<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let operands = self.operands.into_iter().map(Tensor::view).collect::<Result<Vec<_>>>()?;
        for (saved, operand) in self.inner_cache.into_iter().zip(&operands) {
            let Some(saved) = saved else { continue };
            saved.reshape(operand.dims())?;
            let mut saved = saved.view(outputs::like(operand))?;
            call.run(|device, launch| device.expand(launch, &mut saved, operand))?;
        }
        let mut out = self.out.view(outputs::like_first(operands.iter())?)?;
        call.run(|device, launch| device.einsum(launch, &mut out, &operands, self.equation))
    }
}
