//! RMSProp.

use tenon_kernels::optimizer::{Rmsprop as Step, RmspropState};
use tenon_kernels::{bf16, f16};

use super::parameter::{Operand, Parameter, optional_state};
use crate::error::Result;
use crate::kernel::{Call, Output, Registry, Run, Tensor, kernel, register};

/// Registers `rmsprop`.
pub(super) fn register(registry: Registry) -> Result<()> {
    register!(registry, Rmsprop, [f32, f64, f16, bf16]);
    Ok(())
}

kernel! {
    /// Performs one optimisation step.
    struct Rmsprop<'c> = c"rmsprop" {
        inputs: {
            param: Tensor<'c>,
            mean_square: Tensor<'c>,
            grad: Tensor<'c>,
            moment: Tensor<'c>,
            learning_rate: Tensor<'c>,
            mean_grad: Option<Tensor<'c>>,
            master_param: Option<Tensor<'c>>,
        },
        attributes: { epsilon: f32, decay: f32, momentum: f32, centered: bool, multi_precision: bool },
        outputs: {
            param_out: Output<'c>,
            moment_out: Output<'c>,
            mean_square_out: Output<'c>,
            mean_grad_out: Option<Output<'c>>,
            master_param_out: Option<Output<'c>>,
        },
    }
}

impl<P: Parameter> Run<P> for Rmsprop<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let step = Step {
            learning_rate: self.learning_rate.value()?,
            decay: self.decay.into(),
            momentum: self.momentum.into(),
            epsilon: self.epsilon.into(),
        };
        let Self { param, param_out, master_param, master_param_out, multi_precision, .. } = self;
        let operand = Operand { param, param_out, master_param, master_param_out, multi_precision };
        let parameter = operand.open::<P>()?;
        let state = RmspropState {
            mean_square: self.mean_square_out.update::<P::Math>(self.mean_square)?,
            moment: self.moment_out.update(self.moment)?,
            mean_gradient: optional_state("mean_grad", self.centered, self.mean_grad, self.mean_grad_out)?,
        };
        let gradient = self.grad.read::<P>()?;
        call.compute(|| step.step(parameter, state, gradient))
    }
}
