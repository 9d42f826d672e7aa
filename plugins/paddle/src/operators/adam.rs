//! Adam and AdamW.
//!
//! Since 3.0 both take the state of AMSGrad too, in the middle of their arguments.

use tenon::device::Release;
use tenon_kernels::optimizer::{Adam as Step, AdamState, Powers};
use tenon_kernels::{bf16, f16};

use super::parameter::{Operand, Parameter, optional_state};
use crate::error::{Error, Result};
use crate::kernel::{Call, Output, Registry, Run, Scalar, Tensor, kernel, register};

/// Registers `adam` and `adamw`.
pub(super) fn register(registry: Registry) -> Result<()> {
    if registry.release() < Release::V3_0 {
        register!(registry, AdamV2, [f32, f64, f16, bf16]);
        register!(registry, AdamwV2, [f32, f64, f16, bf16]);
    } else {
        register!(registry, Adam, [f32, f64, f16, bf16]);
        register!(registry, Adamw, [f32, f64, f16, bf16]);
    }
    Ok(())
}

/// Declares a form of Adam: the common arguments, the arguments of AdamW and of AMSGrad, and the settings
/// that result from the latter two.
macro_rules! adam {
    (
        $(#[$doc:meta])*
        struct $kernel:ident<$life:lifetime> = $name:literal {
            decay: { $($decay:ident: $decay_type:ty),* } => $decay_of:expr,
            amsgrad: {
                inputs: { $($input:ident: $input_type:ty)? },
                attributes: { $($attribute:ident: $attribute_type:ty)? },
                outputs: { $($output:ident: $output_type:ty)? },
            } => $amsgrad_of:expr,
        }
    ) => {
        kernel! {
            $(#[$doc])*
            struct $kernel<$life> = $name {
                inputs: {
                    param: Tensor<$life>,
                    grad: Tensor<$life>,
                    learning_rate: Tensor<$life>,
                    moment1: Tensor<$life>,
                    moment2: Tensor<$life>,
                    $($input: $input_type,)?
                    beta1_pow: Tensor<$life>,
                    beta2_pow: Tensor<$life>,
                    master_param: Option<Tensor<$life>>,
                    skip_update: Option<Tensor<$life>>,
                },
                attributes: {
                    beta1: Scalar<$life>,
                    beta2: Scalar<$life>,
                    epsilon: Scalar<$life>,
                    $($decay: $decay_type,)*
                    lazy_mode: bool,
                    min_row_size_to_use_multithread: i64,
                    multi_precision: bool,
                    use_global_beta_pow: bool,
                    $($attribute: $attribute_type,)?
                },
                outputs: {
                    param_out: Output<$life>,
                    moment1_out: Output<$life>,
                    moment2_out: Output<$life>,
                    $($output: $output_type,)?
                    beta1_pow_out: Output<$life>,
                    beta2_pow_out: Output<$life>,
                    master_param_out: Option<Output<$life>>,
                },
            }
        }

        impl<P: Parameter> Run<P> for $kernel<'_> {
            fn run(self, call: &Call) -> Result<()> {
                let Self { $($decay,)* $($input,)? $($attribute,)? $($output,)? .. } = self;
                Arguments {
                    operand: Operand {
                        param: self.param,
                        param_out: self.param_out,
                        master_param: self.master_param,
                        master_param_out: self.master_param_out,
                        multi_precision: self.multi_precision,
                    },
                    gradient: self.grad,
                    learning_rate: self.learning_rate,
                    moments: [(self.moment1, self.moment1_out), (self.moment2, self.moment2_out)],
                    powers: [(self.beta1_pow, self.beta1_pow_out), (self.beta2_pow, self.beta2_pow_out)],
                    skip_update: self.skip_update,
                    betas: [self.beta1, self.beta2],
                    epsilon: self.epsilon,
                    global_powers: self.use_global_beta_pow,
                    decay: $decay_of,
                    amsgrad: $amsgrad_of,
                }
                .step::<P>(call)
            }
        }
    };
}

adam! {
    /// One step of Adam.
    struct Adam<'c> = c"adam" {
        decay: {} => Decay::NONE,
        amsgrad: {
            inputs: { moment2_max: Option<Tensor<'c>> },
            attributes: { amsgrad: bool },
            outputs: { moment2_max_out: Option<Output<'c>> },
        } => Amsgrad { wanted: amsgrad, largest: moment2_max, largest_out: moment2_max_out },
    }
}

adam! {
    /// One step of AdamW.
    struct Adamw<'c> = c"adamw" {
        decay: { lr_ratio: f32, coeff: f32, with_decay: bool } => Decay {
            lr_ratio,
            coeff: with_decay.then_some(coeff),
        },
        amsgrad: {
            inputs: { moment2_max: Option<Tensor<'c>> },
            attributes: { amsgrad: bool },
            outputs: { moment2_max_out: Option<Output<'c>> },
        } => Amsgrad { wanted: amsgrad, largest: moment2_max, largest_out: moment2_max_out },
    }
}

adam! {
    /// One step of Adam, before 3.0.
    struct AdamV2<'c> = c"adam" {
        decay: {} => Decay::NONE,
        amsgrad: { inputs: {}, attributes: {}, outputs: {}, } => Amsgrad::default(),
    }
}

adam! {
    /// One step of AdamW, before 3.0.
    struct AdamwV2<'c> = c"adamw" {
        decay: { lr_ratio: f32, coeff: f32, with_decay: bool } => Decay {
            lr_ratio,
            coeff: with_decay.then_some(coeff),
        },
        amsgrad: { inputs: {}, attributes: {}, outputs: {}, } => Amsgrad::default(),
    }
}

/// The arguments of any form of Adam.
struct Arguments<'c> {
    operand: Operand<'c>,
    gradient: Tensor<'c>,
    learning_rate: Tensor<'c>,
    moments: [(Tensor<'c>, Output<'c>); 2],
    powers: [(Tensor<'c>, Output<'c>); 2],
    skip_update: Option<Tensor<'c>>,
    betas: [Scalar<'c>; 2],
    epsilon: Scalar<'c>,
    global_powers: bool,
    decay: Decay,
    amsgrad: Amsgrad<'c>,
}

/// The parameters that AdamW adds.
struct Decay {
    /// The factor of this parameter's learning rate. Paddle's own operator of the CPU does so to the
    /// decay only, but never gets another ratio than 1; this is as on other devices.
    lr_ratio: f32,
    coeff: Option<f32>,
}

impl Decay {
    const NONE: Self = Self { lr_ratio: 1.0, coeff: None };
}

/// The parameters that AMSGrad adds.
#[derive(Default)]
struct Amsgrad<'c> {
    wanted: bool,
    largest: Option<Tensor<'c>>,
    largest_out: Option<Output<'c>>,
}

impl Arguments<'_> {
    fn step<P: Parameter>(self, call: &Call) -> Result<()> {
        let [beta1, beta2] = self.betas;
        let step = Step {
            learning_rate: self.learning_rate.value::<f64>()? * f64::from(self.decay.lr_ratio),
            beta1: beta1.to_f64()?,
            beta2: beta2.to_f64()?,
            epsilon: self.epsilon.to_f64()?,
            decay: self.decay.coeff.map(f64::from),
        };
        let skip = self.skip_update.map(Tensor::number).transpose()?.is_some_and(|skip| skip.to_bool());
        let parameter = self.operand.open::<P>()?;
        let [(moment1, moment1_out), (moment2, moment2_out)] = self.moments;
        let Amsgrad { wanted, largest, largest_out } = self.amsgrad;
        let state = AdamState {
            moment1: moment1_out.update::<P::Math>(moment1)?,
            moment2: moment2_out.update(moment2)?,
            moment2_max: optional_state("moment2_max", wanted, largest, largest_out)?,
        };
        let powers = self.powers.map(|(power, power_out)| {
            let values: &mut [P::Math] = power_out.update(power)?;
            match values {
                [value] => Ok(value),
                other => {
                    Err(Error::invalid(format!("a power of beta has {} elements, not one", other.len())))
                }
            }
        });
        let [beta1_power, beta2_power] = powers;
        let (beta1_power, beta2_power) = (beta1_power?, beta2_power?);
        if skip {
            return Ok(());
        }
        let gradient = self.gradient.read::<P>()?;
        call.compute(|| {
            let powers = Powers { beta1: *beta1_power, beta2: *beta2_power };
            step.step(parameter, state, powers, gradient)?;
            // Else they are moved on by whoever shares them out.
            if !self.global_powers {
                step.advance(beta1_power, beta2_power);
            }
            Ok(())
        })
    }
}
