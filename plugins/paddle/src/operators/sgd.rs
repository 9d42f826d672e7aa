//! Gradient descent.

use tenon_kernels::optimizer::Sgd as Step;
use tenon_kernels::{bf16, f16};

use super::parameter::{Operand, Parameter};
use crate::error::Result;
use crate::kernel::{Call, Output, Registry, Run, Tensor, kernel, register};

/// Registers `sgd`.
pub(super) fn register(registry: Registry) -> Result<()> {
    register!(registry, Sgd, [f32, f64, f16, bf16]);
    Ok(())
}

kernel! {
    /// Performs one optimisation step.
    struct Sgd<'c> = c"sgd" {
        inputs: {
            param: Tensor<'c>,
            learning_rate: Tensor<'c>,
            grad: Tensor<'c>,
            master_param: Option<Tensor<'c>>,
        },
        attributes: { multi_precision: bool },
        outputs: { param_out: Output<'c>, master_param_out: Option<Output<'c>> },
    }
}

impl<P: Parameter> Run<P> for Sgd<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { param, learning_rate, grad, master_param, multi_precision, param_out, master_param_out } =
            self;
        let step = Step { learning_rate: learning_rate.value()? };
        let operand = Operand { param, param_out, master_param, master_param_out, multi_precision };
        let parameter = operand.open::<P>()?;
        let gradient = grad.read::<P>()?;
        call.compute(|| step.step(parameter, gradient))
    }
}
