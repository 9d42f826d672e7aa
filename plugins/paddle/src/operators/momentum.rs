//! Gradient descent with momentum.

use tenon_kernels::optimizer::{Decay, Momentum as Step};
use tenon_kernels::{bf16, f16};

use super::parameter::{Operand, Parameter};
use crate::error::{Error, Result};
use crate::kernel::{Call, Output, Registry, Run, Tensor, kernel, register};

/// Registers `momentum`.
pub(super) fn register(registry: Registry) -> Result<()> {
    register!(registry, Momentum, [f32, f64, f16, bf16]);
    Ok(())
}

kernel! {
    /// Performs one optimisation step.
    struct Momentum<'c> = c"momentum" {
        inputs: {
            param: Tensor<'c>,
            grad: Tensor<'c>,
            velocity: Tensor<'c>,
            learning_rate: Tensor<'c>,
            master_param: Option<Tensor<'c>>,
        },
        attributes: {
            mu: f32,
            use_nesterov: bool,
            regularization_method: &'c str,
            regularization_coeff: f32,
            multi_precision: bool,
            rescale_grad: f32,
        },
        outputs: {
            param_out: Output<'c>,
            velocity_out: Output<'c>,
            master_param_out: Option<Output<'c>>,
        },
    }
}

impl<P: Parameter> Run<P> for Momentum<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let step = Step {
            learning_rate: self.learning_rate.value()?,
            momentum: self.mu.into(),
            nesterov: self.use_nesterov,
            decay: decay(self.regularization_method, self.regularization_coeff)?,
            // Paddle's CPU operator omits it; its operators for other devices do not.
            rescale: self.rescale_grad.into(),
        };
        let Self { param, param_out, master_param, master_param_out, multi_precision, .. } = self;
        let operand = Operand { param, param_out, master_param, master_param_out, multi_precision };
        let parameter = operand.open::<P>()?;
        let velocity = self.velocity_out.update::<P::Math>(self.velocity)?;
        let gradient = self.grad.read::<P>()?;
        call.compute(|| step.step(parameter, velocity, gradient))
    }
}

fn decay(method: &str, weight: f32) -> Result<Decay> {
    match method {
        "" => Ok(Decay::None),
        "l2_decay" => Ok(Decay::L2(weight.into())),
        other => Err(Error::unimplemented(format!("`regularization_method` is {other}, not l2_decay"))),
    }
}
