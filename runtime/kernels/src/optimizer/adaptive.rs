//! The Adam and AdamW optimizers.

use super::operand::{Output, all, expect_lists, keep, masters, nth, put, shorts, skips, state};
use crate::attributes::{AdamAttributes, AdamwAttributes, FusedAdamAttributes, MergedAdamAttributes};
use crate::elements::accumulate::with_float;
use crate::elements::float::Float as _;
use crate::error::Result;
use crate::loops::slices::{lend, scalar};
use crate::loops::tiles::update;
use crate::tensor::{View, ViewMut};

/// The tensors of a step.
struct Step<'a> {
    param: (ViewMut<'a>, &'a View<'a>),
    moment1: (ViewMut<'a>, &'a View<'a>),
    moment2: (ViewMut<'a>, &'a View<'a>),
    moment2_max: (Output<'a>, Option<&'a View<'a>>),
    powers: [(ViewMut<'a>, &'a View<'a>); 2],
    master: (Output<'a>, Option<&'a View<'a>>),
    grad: &'a View<'a>,
}

/// Updates a parameter by Adam (Kingma and Ba, 2015).
///
/// `moment1 = beta1 * moment1 + (1 - beta1) * grad`, `moment2 = beta2 * moment2 + (1 - beta2) * grad²`, and
/// `param -= learning_rate * (moment1 / (1 - beta1_pow)) / (sqrt(moment2 / (1 - beta2_pow)) + epsilon)`. With
/// `amsgrad` (Reddi et al., 2018) the largest second moment so far, `moment2_max`, replaces `moment2` under
/// the square root. A subnormal `moment1` becomes zero.
///
/// The learning rate and the powers have one element; all other tensors have the same shape. `beta1_pow` and
/// `beta2_pow` are the betas raised to the number of the step, counted from 1. Their outputs are the powers
/// for the next step; with `use_global_beta_pow` they are not written. With `multi_precision`, the step
/// updates the master parameter, and the parameter is a copy of it. If `skip_update` is true, the outputs are
/// copies of the inputs. Outputs may share the memory of their inputs.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape), [`Error::Type`](crate::Error::Type) unless the parameter is floating-point,
/// [`Error::Missing`](crate::Error::Missing), [`Error::Length`](crate::Error::Length).
pub fn adam(
    param_out: &mut ViewMut<'_>,
    moment1_out: &mut ViewMut<'_>,
    moment2_out: &mut ViewMut<'_>,
    moment2_max_out: Option<&mut ViewMut<'_>>,
    beta1_pow_out: Option<&mut ViewMut<'_>>,
    beta2_pow_out: Option<&mut ViewMut<'_>>,
    master_param_out: Option<&mut ViewMut<'_>>,
    param: &View<'_>,
    grad: &View<'_>,
    learning_rate: &View<'_>,
    moment1: &View<'_>,
    moment2: &View<'_>,
    moment2_max: Option<&View<'_>>,
    beta1_pow: &View<'_>,
    beta2_pow: &View<'_>,
    master_param: Option<&View<'_>>,
    skip_update: Option<&View<'_>>,
    with: &AdamAttributes,
) -> Result<()> {
    let AdamAttributes { beta1, beta2, epsilon, multi_precision, use_global_beta_pow, amsgrad } = *with;
    adamw(
        param_out,
        moment1_out,
        moment2_out,
        moment2_max_out,
        beta1_pow_out,
        beta2_pow_out,
        master_param_out,
        param,
        grad,
        learning_rate,
        moment1,
        moment2,
        moment2_max,
        beta1_pow,
        beta2_pow,
        master_param,
        skip_update,
        &AdamwAttributes {
            beta1,
            beta2,
            epsilon,
            lr_ratio: 1.0,
            coeff: 0.0,
            with_decay: false,
            multi_precision,
            use_global_beta_pow,
            amsgrad,
        },
    )
}

/// Updates a parameter by AdamW. This is [`adam`] with the learning rate `learning_rate * lr_ratio`; with
/// `with_decay`, the parameter first shrinks by the factor `1 - learning_rate * lr_ratio * coeff`.
///
/// # Errors
/// As [`adam`].
pub fn adamw(
    param_out: &mut ViewMut<'_>,
    moment1_out: &mut ViewMut<'_>,
    moment2_out: &mut ViewMut<'_>,
    moment2_max_out: Option<&mut ViewMut<'_>>,
    beta1_pow_out: Option<&mut ViewMut<'_>>,
    beta2_pow_out: Option<&mut ViewMut<'_>>,
    master_param_out: Option<&mut ViewMut<'_>>,
    param: &View<'_>,
    grad: &View<'_>,
    learning_rate: &View<'_>,
    moment1: &View<'_>,
    moment2: &View<'_>,
    moment2_max: Option<&View<'_>>,
    beta1_pow: &View<'_>,
    beta2_pow: &View<'_>,
    master_param: Option<&View<'_>>,
    skip_update: Option<&View<'_>>,
    with: &AdamwAttributes,
) -> Result<()> {
    let AdamwAttributes {
        beta1,
        beta2,
        epsilon,
        lr_ratio,
        coeff,
        with_decay,
        multi_precision,
        use_global_beta_pow,
        amsgrad,
    } = *with;
    if skips(skip_update)? {
        return keep([
            (Some(param_out.reborrow()), Some(param)),
            (Some(moment1_out.reborrow()), Some(moment1)),
            (Some(moment2_out.reborrow()), Some(moment2)),
            (lend(moment2_max_out), moment2_max.filter(|_| amsgrad)),
            (lend(beta1_pow_out), Some(beta1_pow).filter(|_| !use_global_beta_pow)),
            (lend(beta2_pow_out), Some(beta2_pow).filter(|_| !use_global_beta_pow)),
            (lend(master_param_out), master_param.filter(|_| multi_precision)),
        ]);
    }
    let rate = scalar("learning_rate", learning_rate)? * lr_ratio;
    let (largest, largest_out) = state(amsgrad, "amsgrad", "moment2_max", moment2_max, moment2_max_out)?;
    let (source, master_out) = masters(param, grad, master_param, master_param_out, multi_precision)?;
    let powers = [scalar("beta1_pow", beta1_pow)?, scalar("beta2_pow", beta2_pow)?];
    let outs = [
        Some(param_out.reborrow()),
        Some(moment1_out.reborrow()),
        Some(moment2_out.reborrow()),
        largest_out,
        master_out,
    ];
    let inputs = [Some(source), Some(grad), Some(moment1), Some(moment2), largest];
    with_float!(param.dtype(), T => {
        let [rate, beta1, beta2, epsilon, coeff] =
            [rate, beta1, beta2, epsilon, coeff].map(|value| value as T);
        let [rest1, rest2] = powers.map(|power| 1.0 - power as T);
        // The bias corrections of the moments are folded into the rate and epsilon.
        let (pull, root) = (rate * coeff, rest2.sqrt());
        let (rate, epsilon) = (rate * (root / rest1), epsilon * root);
        update::<T, 5, 5>(outs, inputs, #[inline(always)] move |[param, grad, moment1, moment2, largest]| {
            let moment1 = (beta1 * moment1 + (1.0 - beta1) * grad).normal_or_zero();
            let moment2 = beta2 * moment2 + (1.0 - beta2) * grad * grad;
            let largest = if amsgrad { largest } else { T::NEG_INFINITY };
            let largest = if largest > moment2 { largest } else { moment2 };
            // Zero times an infinite parameter would be NaN.
            let param = if with_decay { param - pull * param } else { param };
            let param = param - rate * (moment1 / (largest.sqrt() + epsilon));
            [param, moment1, moment2, largest, param]
        })
    })?;
    if !use_global_beta_pow {
        for (out, value) in
            [(lend(beta1_pow_out), powers[0] * beta1), (lend(beta2_pow_out), powers[1] * beta2)]
        {
            if let Some(mut out) = out {
                put(&mut out, value)?;
            }
        }
    }
    Ok(())
}

/// Updates several parameters by [`adam`]; they may share one learning rate.
///
/// # Errors
/// As [`adam`], and [`Error::Length`](crate::Error::Length) if lists have different lengths.
pub fn merged_adam(
    param_out: &mut [Option<ViewMut<'_>>],
    moment1_out: &mut [Option<ViewMut<'_>>],
    moment2_out: &mut [Option<ViewMut<'_>>],
    moment2_max_out: &mut [Option<ViewMut<'_>>],
    beta1_pow_out: &mut [Option<ViewMut<'_>>],
    beta2_pow_out: &mut [Option<ViewMut<'_>>],
    master_param_out: &mut [Option<ViewMut<'_>>],
    param: &[View<'_>],
    grad: &[View<'_>],
    learning_rate: &[View<'_>],
    moment1: &[View<'_>],
    moment2: &[View<'_>],
    moment2_max: Option<&[View<'_>]>,
    beta1_pow: &[View<'_>],
    beta2_pow: &[View<'_>],
    master_param: Option<&[View<'_>]>,
    with: &MergedAdamAttributes,
) -> Result<()> {
    let MergedAdamAttributes { beta1, beta2, epsilon, multi_precision, use_global_beta_pow, amsgrad } = *with;
    let outs = Lists {
        param: all("param_out", param_out)?,
        moment1: all("moment1_out", moment1_out)?,
        moment2: all("moment2_out", moment2_out)?,
        moment2_max: shorts(moment2_max_out),
        powers: [all("beta1_pow_out", beta1_pow_out)?, all("beta2_pow_out", beta2_pow_out)?],
        master: shorts(master_param_out),
    };
    if learning_rate.len() != 1 {
        expect_lists(param.len(), [("learning_rate", learning_rate.len())])?;
    }
    let with = Settings { beta1, beta2, epsilon, decay: None };
    let powers = [beta1_pow, beta2_pow];
    each(outs, param, grad, [moment1, moment2], moment2_max, powers, master_param, |n, step| {
        let learning_rate = &learning_rate[n % learning_rate.len()];
        step.run(learning_rate, None, with, [multi_precision, use_global_beta_pow, amsgrad])
    })
}

/// Updates several parameters with one learning rate by [`adam`], or by [`adamw`] with `weight_decay`.
///
/// # Errors
/// As [`merged_adam`].
pub fn fused_adam(
    param_out: &mut [Option<ViewMut<'_>>],
    moment1_out: &mut [Option<ViewMut<'_>>],
    moment2_out: &mut [Option<ViewMut<'_>>],
    moment2_max_out: &mut [Option<ViewMut<'_>>],
    beta1_pow_out: &mut [Option<ViewMut<'_>>],
    beta2_pow_out: &mut [Option<ViewMut<'_>>],
    master_param_out: &mut [Option<ViewMut<'_>>],
    param: &[View<'_>],
    grad: &[View<'_>],
    learning_rate: &View<'_>,
    moment1: &[View<'_>],
    moment2: &[View<'_>],
    moment2_max: Option<&[View<'_>]>,
    beta1_pow: &[View<'_>],
    beta2_pow: &[View<'_>],
    master_param: Option<&[View<'_>]>,
    skip_update: Option<&View<'_>>,
    with: &FusedAdamAttributes,
) -> Result<()> {
    let FusedAdamAttributes {
        beta1,
        beta2,
        epsilon,
        weight_decay,
        use_adamw,
        multi_precision,
        use_global_beta_pow,
        amsgrad,
    } = *with;
    let outs = Lists {
        param: all("param_out", param_out)?,
        moment1: all("moment1_out", moment1_out)?,
        moment2: all("moment2_out", moment2_out)?,
        moment2_max: shorts(moment2_max_out),
        powers: [all("beta1_pow_out", beta1_pow_out)?, all("beta2_pow_out", beta2_pow_out)?],
        master: shorts(master_param_out),
    };
    let decay = use_adamw.then_some(weight_decay);
    let with = Settings { beta1, beta2, epsilon, decay };
    let powers = [beta1_pow, beta2_pow];
    each(outs, param, grad, [moment1, moment2], moment2_max, powers, master_param, |_, step| {
        step.run(learning_rate, skip_update, with, [multi_precision, use_global_beta_pow, amsgrad])
    })
}

/// The attributes of a step.
#[derive(Clone, Copy)]
struct Settings {
    beta1: f64,
    beta2: f64,
    epsilon: f64,
    /// AdamW's decay coefficient.
    decay: Option<f64>,
}

/// Lists of outputs.
struct Lists<'a> {
    param: Vec<ViewMut<'a>>,
    moment1: Vec<ViewMut<'a>>,
    moment2: Vec<ViewMut<'a>>,
    moment2_max: Vec<Output<'a>>,
    powers: [Vec<ViewMut<'a>>; 2],
    master: Vec<Output<'a>>,
}

/// Calls a function with the tensors of each parameter.
fn each(
    mut outs: Lists<'_>,
    param: &[View<'_>],
    grad: &[View<'_>],
    moments: [&[View<'_>]; 2],
    moment2_max: Option<&[View<'_>]>,
    powers: [&[View<'_>]; 2],
    master_param: Option<&[View<'_>]>,
    step: impl Fn(usize, Step<'_>) -> Result<()>,
) -> Result<()> {
    let lengths = [
        ("param_out", outs.param.len()),
        ("moment1_out", outs.moment1.len()),
        ("moment2_out", outs.moment2.len()),
        ("beta1_pow_out", outs.powers[0].len()),
        ("beta2_pow_out", outs.powers[1].len()),
        ("grad", grad.len()),
        ("moment1", moments[0].len()),
        ("moment2", moments[1].len()),
        ("beta1_pow", powers[0].len()),
        ("beta2_pow", powers[1].len()),
    ];
    expect_lists(param.len(), lengths)?;
    for n in 0..param.len() {
        let [power1, power2] = &mut outs.powers;
        step(
            n,
            Step {
                param: (outs.param[n].reborrow(), &param[n]),
                moment1: (outs.moment1[n].reborrow(), &moments[0][n]),
                moment2: (outs.moment2[n].reborrow(), &moments[1][n]),
                moment2_max: (at(&mut outs.moment2_max, n), nth(moment2_max, n)),
                powers: [(power1[n].reborrow(), &powers[0][n]), (power2[n].reborrow(), &powers[1][n])],
                master: (at(&mut outs.master, n), nth(master_param, n)),
                grad: &grad[n],
            },
        )?;
    }
    Ok(())
}

/// Returns an output of a list, or `None` if it was not requested.
fn at<'a>(list: &'a mut [Output<'_>], n: usize) -> Output<'a> {
    list.get_mut(n)?.as_mut().map(ViewMut::reborrow)
}

impl Step<'_> {
    /// Updates one parameter. The flags are those of the master parameter, global powers and AMSGrad.
    fn run(
        mut self,
        learning_rate: &View<'_>,
        skip_update: Option<&View<'_>>,
        with: Settings,
        [multi_precision, use_global_beta_pow, amsgrad]: [bool; 3],
    ) -> Result<()> {
        let [(mut power1_out, power1), (mut power2_out, power2)] = self.powers;
        adamw(
            &mut self.param.0,
            &mut self.moment1.0,
            &mut self.moment2.0,
            self.moment2_max.0.as_mut(),
            Some(&mut power1_out),
            Some(&mut power2_out),
            self.master.0.as_mut(),
            self.param.1,
            self.grad,
            learning_rate,
            self.moment1.1,
            self.moment2.1,
            self.moment2_max.1,
            power1,
            power2,
            self.master.1,
            skip_update,
            &AdamwAttributes {
                beta1: with.beta1,
                beta2: with.beta2,
                epsilon: with.epsilon,
                lr_ratio: 1.0,
                coeff: with.decay.unwrap_or(0.0),
                with_decay: with.decay.is_some(),
                multi_precision,
                use_global_beta_pow,
                amsgrad,
            },
        )
    }
}
