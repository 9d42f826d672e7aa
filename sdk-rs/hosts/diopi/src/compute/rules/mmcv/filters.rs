//! Rules for image filters and for batch normalization across devices. The semantics are those of MMCV's
//! operators.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

use tenon::device::{Error, Result};
use tenon_operators::attributes::{PsaMaskAttributes, SumAttributes, UpfirdnAttributes};

use crate::compute::rules::shared::{expect_shape, kernel, sum};
use crate::compute::rules::terms;
use crate::compute::{Call, FLOAT, Method, Place, Tensor, wide};

/// Upsamples images with zeros, filters them and downsamples them.
pub(crate) fn upfirdn<'c>(
    call: &'c Call,
    out: Place,
    x: &Tensor<'c>,
    filter: &Tensor<'c>,
    up_x: i64,
    up_y: i64,
    down_x: i64,
    down_y: i64,
    pad_x0: i64,
    pad_x1: i64,
    pad_y0: i64,
    pad_y1: i64,
) -> Result<()> {
    let (method, ty) = (Method::new("upfirdn", FLOAT), x.data_type());
    let (up, down, padding) = ([up_x, up_y], [down_x, down_y], [pad_x0, pad_x1, pad_y0, pad_y1]);
    let mut dims = Vec::new();
    call.run(&method, ty, &mut |device, launch| {
        dims = device.upfirdn_out_shape(
            launch,
            x.elements(),
            filter.elements(),
            &UpfirdnAttributes { up: &up, down: &down, padding: &padding },
        )?;
        Ok(())
    })?;
    let out = call.make(out, ty, &dims)?;
    kernel(call, &out, ty, &[x, filter], &method, &mut |device, launch, out| {
        device.upfirdn(
            launch,
            out,
            x.elements(),
            filter.elements(),
            &UpfirdnAttributes { up: &up, down: &down, padding: &padding },
        )
    })
}

/// Spreads the attention mask of each pixel over the image.
pub(crate) fn psa_mask<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    masks: &Tensor<'_>,
    psa_type: i64,
    height: i64,
    width: i64,
    half_height: i64,
    half_width: i64,
) -> Result<()> {
    let distribute = is_distribution(psa_type)?;
    let method = Method::new("psa_mask", FLOAT);
    kernel(call, out, masks.data_type(), &[masks], &method, &mut |device, launch, out| {
        device.psa_mask(
            launch,
            out,
            masks.elements(),
            &PsaMaskAttributes {
                distribute,
                mask_height: height,
                mask_width: width,
                half_height,
                half_width,
            },
        )
    })
}

/// Computes the gradient of [`psa_mask`].
pub(crate) fn psa_mask_backward<'c>(
    call: &'c Call,
    gradient: &Tensor<'c>,
    upstream: &Tensor<'_>,
    psa_type: i64,
    height: i64,
    width: i64,
    half_height: i64,
    half_width: i64,
) -> Result<()> {
    let distribute = is_distribution(psa_type)?;
    let method = Method::new("psa_mask_grad", FLOAT);
    kernel(call, gradient, upstream.data_type(), &[upstream], &method, &mut |device, launch, out| {
        let upstream = upstream.elements();
        device.psa_mask_grad(
            launch,
            out,
            upstream,
            &PsaMaskAttributes {
                distribute,
                mask_height: height,
                mask_width: width,
                half_height,
                half_width,
            },
        )
    })
}

fn is_distribution(psa_type: i64) -> Result<bool> {
    match psa_type {
        0 | 1 => Ok(psa_type == 1),
        other => Err(Error::invalid(format!("`psa_type` is {other}, neither 0 nor 1"))),
    }
}

const LINEAR: i64 = 1;
const LEAKY: i64 = 3;

/// Adds a bias to each channel, applies a leaky ReLU or the identity, and multiplies by a factor; or computes
/// a derivative of this.
pub(crate) fn bias_act<'c>(
    call: &'c Call,
    out: Place,
    x: &Tensor<'c>,
    bias: &Tensor<'c>,
    reference: &Tensor<'c>,
    act: i64,
    grad: i64,
    alpha: f32,
    scale: f32,
) -> Result<()> {
    let ty = wide(x.data_type());
    let made = call.make(out, x.data_type(), x.dims())?;
    let mut y = call.to_type(x, ty)?;
    if bias.len() > 0 {
        let channels = x.dims().get(1).copied().unwrap_or(0);
        expect_shape("bias", bias, &[channels])?;
        let mut bias = call.to_type(bias, ty)?;
        for _ in 2..x.rank() {
            bias = bias.unsqueezed(bias.rank())?;
        }
        y = terms::add(call, &y, &bias)?;
    }
    let y = match (act, grad) {
        (LINEAR, 0 | 1) => y,
        // Both functions are piecewise linear, so the second derivative is zero.
        (LINEAR | LEAKY, 2) => terms::scale(call, &y, 0.0, 0.0)?,
        (LEAKY, 0) => leaky(call, &y, &y, alpha)?,
        (LEAKY, 1) => leaky(call, &y, &call.to_type(reference, ty)?, alpha)?,
        _ => return Err(Error::invalid(format!("`act` is {act} and `grad` is {grad}"))),
    };
    call.copy(&made, &terms::scale(call, &y, scale.into(), 0.0)?)
}

/// Multiplies elements by `alpha` where a reference is not positive.
fn leaky<'c>(call: &'c Call, x: &Tensor<'c>, reference: &Tensor<'c>, alpha: f32) -> Result<Tensor<'c>> {
    let is_positive = call.formula(
        &Method::new("greater_than", FLOAT).yields_bool(),
        [reference.into(), 0.0.into()],
        &mut |device, launch, out, [a, b]| device.greater_than(launch, out, a, b),
    )?;
    terms::choose(call, &is_positive, x, &terms::scale(call, x, alpha.into(), 0.0)?)
}

/// Returns a view of one number for each channel that can be broadcast to `[batch, channels, pixels]`.
fn of_channels<'c>(call: &'c Call, numbers: &Tensor<'c>, like: &Tensor<'_>) -> Result<Tensor<'c>> {
    expect_shape("a number for each channel", numbers, &like.dims()[1..2])?;
    call.to_type(numbers, wide(like.data_type()))?.unsqueezed(1)
}

fn expect_batch(x: &Tensor<'_>) -> Result<()> {
    match x.rank() {
        3 => Ok(()),
        _ => Err(Error::invalid(format!("a batch `[N, C, pixels]` is expected, not {:?}", x.dims()))),
    }
}

/// The dimensions of `[batch, channels, pixels]` over which a channel extends.
const OF_CHANNEL: [i64; 2] = [0, 2];

/// Computes the mean of the elements of each channel.
fn channel_means<'c>(call: &'c Call, out: &Tensor<'c>, x: &Tensor<'c>) -> Result<()> {
    kernel(call, out, x.data_type(), &[x], &Method::new("mean", FLOAT), &mut |device, launch, out| {
        device.mean(
            launch,
            out,
            x.elements(),
            &SumAttributes { axis: &OF_CHANNEL, keep_dim: false, reduce_all: false },
        )
    })
}

/// Computes the mean of each channel.
pub(crate) fn batch_mean<'c>(call: &'c Call, mean: &Tensor<'c>, x: &Tensor<'c>) -> Result<()> {
    expect_batch(x)?;
    channel_means(call, mean, &call.to_type(x, wide(x.data_type()))?)
}

/// Computes the mean squared distance of each channel from its mean.
pub(crate) fn batch_variance<'c>(
    call: &'c Call,
    variance: &Tensor<'c>,
    x: &Tensor<'c>,
    mean: &Tensor<'c>,
) -> Result<()> {
    expect_batch(x)?;
    let wide = call.to_type(x, wide(x.data_type()))?;
    let distance = terms::subtract(call, &wide, &of_channels(call, mean, x)?)?;
    channel_means(call, variance, &terms::multiply(call, &distance, &distance)?)
}

/// Normalizes each channel, and updates the running mean and variance.
pub(crate) fn batch_output<'c>(
    call: &'c Call,
    running_mean: &Tensor<'c>,
    running_var: &Tensor<'c>,
    norm: &Tensor<'c>,
    std: &Tensor<'c>,
    out: &Tensor<'c>,
    x: &Tensor<'c>,
    mean: &Tensor<'c>,
    var: &Tensor<'c>,
    weight: &Tensor<'c>,
    bias: &Tensor<'c>,
    eps: f32,
    momentum: f32,
    group_size: i64,
) -> Result<()> {
    expect_batch(x)?;
    let deviation = terms::sqrt(call, &terms::scale(call, var, 1.0, eps.into())?)?;
    let distance =
        terms::subtract(call, &call.to_type(x, wide(x.data_type()))?, &of_channels(call, mean, x)?)?;
    let normal = terms::divide(call, &distance, &of_channels(call, &deviation, x)?)?;
    let scaled = match weight.len() {
        0 => normal.clone(),
        _ => {
            let product = terms::multiply(call, &normal, &of_channels(call, weight, x)?)?;
            terms::add(call, &product, &of_channels(call, bias, x)?)?
        }
    };
    call.copy(norm, &normal)?;
    call.copy(std, &deviation)?;
    call.copy(out, &scaled)?;
    let count = (x.dims()[0] * x.dims()[2]) as f64 * group_size as f64;
    // The unbiased variance.
    let correction = if count > 1.0 { count / (count - 1.0) } else { 1.0 };
    for (running, new, factor) in [(running_mean, mean, 1.0), (running_var, var, correction)] {
        if running.len() > 0 {
            let momentum = f64::from(momentum);
            let old = terms::scale(call, running, 1.0 - momentum, 0.0)?;
            call.copy(running, &terms::add_scaled(call, &old, new, momentum * factor)?)?;
        }
    }
    Ok(())
}

/// Computes the gradients of the weight and the bias.
pub(crate) fn batch_param_gradients<'c>(
    call: &'c Call,
    weight: &Tensor<'c>,
    bias: &Tensor<'c>,
    upstream: &Tensor<'c>,
    norm: &Tensor<'c>,
) -> Result<()> {
    expect_batch(upstream)?;
    let ty = wide(upstream.data_type());
    let (upstream, norm) = (call.to_type(upstream, ty)?, call.to_type(norm, ty)?);
    sum(call, weight, &terms::multiply(call, &upstream, &norm)?, &OF_CHANNEL)?;
    sum(call, bias, &upstream, &OF_CHANNEL)
}

/// Computes the gradient of the input from the gradients of the weight and the bias.
pub(crate) fn batch_data_gradient<'c>(
    call: &'c Call,
    gradient: &Tensor<'c>,
    upstream: &Tensor<'c>,
    weight: &Tensor<'c>,
    of_weight: &Tensor<'c>,
    of_bias: &Tensor<'c>,
    norm: &Tensor<'c>,
    std: &Tensor<'c>,
) -> Result<()> {
    expect_batch(upstream)?;
    let ty = wide(upstream.data_type());
    let channels = |numbers: &Tensor<'c>| of_channels(call, numbers, upstream);
    let wide = call.to_type(upstream, ty)?;
    let along = terms::multiply(call, &call.to_type(norm, ty)?, &channels(of_weight)?)?;
    let common = terms::add(call, &along, &channels(of_bias)?)?;
    let count = (upstream.dims()[0] * upstream.dims()[2]) as f64;
    let rest = terms::add_scaled(call, &wide, &common, -1.0 / count)?;
    let scaled = terms::multiply(call, &rest, &channels(weight)?)?;
    call.copy(gradient, &terms::divide(call, &scaled, &channels(std)?)?)
}
