//! Rules for batch normalization, including its separate steps for several devices.

use tenon::device::{Error, Result};
use tenon_operators::attributes::{BatchNormAttributes, BatchNormGradAttributes, SumAttributes};

use super::write_deviations;
use crate::compute::rules::elementwise::filled::zero;
use crate::compute::rules::optional::{Optional, elements, present};
use crate::compute::rules::shared::sum;
use crate::compute::rules::terms::{add, divide, multiply, scale, subtract};
use crate::compute::{Call, DataType, FLOAT, INTEGER, Method, Number, Tensor, wide};

fn channels(input: &Tensor<'_>) -> Result<usize> {
    let channels = input.dims().get(1).copied();
    channels.ok_or_else(|| Error::invalid(format!("the shape {:?} has no channels", input.dims())))
}

/// Returns a view of one number for each channel that can be broadcast to the input.
fn by_channel<'c>(numbers: &Tensor<'c>, rank: usize) -> Result<Tensor<'c>> {
    (2..rank).try_fold(numbers.clone(), |view, dim| view.unsqueezed(dim - 1))
}

/// Computes the sum of each channel.
fn sums<'c>(call: &'c Call, tensor: &Tensor<'_>) -> Result<Tensor<'c>> {
    let axes: Vec<i64> = (0..tensor.rank() as i64).filter(|&dim| dim != 1).collect();
    let target = call.temporary(tensor.data_type(), &[channels(tensor)?])?;
    sum(call, &target, tensor, &axes)?;
    Ok(target)
}

/// The statistics of a batch.
struct Statistics<'c> {
    mean: Tensor<'c>,
    variance: Tensor<'c>,
}

/// Normalizes with the running statistics, or with those of the batch, which it then returns.
fn normalize<'c>(
    call: &'c Call,
    out: &Tensor<'_>,
    saved: [Option<&Tensor<'_>>; 2],
    input: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    bias: Option<&Tensor<'_>>,
    running: Option<[&Tensor<'_>; 2]>,
    eps: f64,
) -> Result<Statistics<'c>> {
    let (ty, len) = (wide(input.data_type()), channels(input)?);
    let batch = Statistics { mean: call.temporary(ty, &[len])?, variance: call.temporary(ty, &[len])? };
    let zeros = call.temporary(ty, &[len])?;
    zero(call, &zeros)?;
    // The operator leaves a single sample unchanged; its mean is the sample, and its variance 0.
    let is_single = running.is_none() && input.len() == len;
    if is_single {
        call.copy(&batch.mean, &call.packed(input)?.reshaped(&[len])?)?;
        call.copy(&batch.variance, &zeros)?;
    }
    let [mean, variance] = match running {
        Some(running) => running,
        None if is_single => [&batch.mean, &batch.variance],
        None => [&zeros, &zeros],
    };
    let inputs = present([Some(input), weight, bias, Some(mean), Some(variance)]);
    let mut values = call.output(out, input.data_type(), &inputs)?;
    let [mut saved_mean, mut saved_deviation] =
        [Optional::new(call, saved[0], &inputs)?, Optional::new(call, saved[1], &inputs)?];
    let written = (running.is_none() && !is_single).then_some(&batch);
    let mut batch_mean = Optional::new(call, written.map(|batch| &batch.mean), &[])?;
    let mut batch_variance = Optional::new(call, written.map(|batch| &batch.variance), &[])?;
    call.run(&Method::new("batch_norm", FLOAT), input.data_type(), &mut |device, launch| {
        device.batch_norm(
            launch,
            values.elements(),
            batch_mean.elements(),
            batch_variance.elements(),
            saved_mean.elements(),
            saved_deviation.elements(),
            input.elements(),
            mean.elements(),
            variance.elements(),
            elements(weight),
            elements(bias),
            &BatchNormAttributes {
                momentum: 0.0,
                epsilon: eps,
                data_layout: "NCHW",
                use_running_statistics: written.is_none(),
            },
        )
    })?;
    [
        values.finish(),
        batch_mean.finish(),
        batch_variance.finish(),
        saved_mean.finish(),
        saved_deviation.finish(),
    ]
    .into_iter()
    .collect::<Result<()>>()?;
    Ok(batch)
}

/// Updates running statistics with new ones, weighted by the momentum.
fn follow(
    call: &Call,
    running: Option<&Tensor<'_>>,
    new: &Tensor<'_>,
    share: f64,
    factor: f64,
) -> Result<()> {
    let Some(running) = running else { return Ok(()) };
    let (kept, new) = (scale(call, running, 1.0 - share, 0.0)?, scale(call, new, share * factor, 0.0)?);
    call.write(
        &Method::new("add", FLOAT),
        running,
        [(&kept).into(), (&new).into()],
        &mut |device, launch, out, [a, b]| device.add(launch, out, a, b),
    )
}

/// Normalizes each channel.
pub(crate) fn batch_norm(
    call: &Call,
    out: &Tensor<'_>,
    save_mean: &Tensor<'_>,
    save_invstd: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    bias: Option<&Tensor<'_>>,
    running_mean: Option<&Tensor<'_>>,
    running_var: Option<&Tensor<'_>>,
    training: bool,
    momentum: f64,
    eps: f64,
) -> Result<()> {
    let len = channels(input)?;
    // PyTorch saves statistics only in training, so hosts may pass empty tensors otherwise.
    let saved = [save_mean, save_invstd].map(|saved| (training || saved.len() == len).then_some(saved));
    if !training {
        let running = [given(running_mean)?, given(running_var)?];
        return normalize(call, out, saved, input, weight, bias, Some(running), eps).map(|_| ());
    }
    let batch = normalize(call, out, saved, input, weight, bias, None, eps)?;
    let samples = input.len() as f64 / len.max(1) as f64;
    follow(call, running_mean, &batch.mean, momentum, 1.0)?;
    follow(call, running_var, &batch.variance, momentum, samples / (samples - 1.0))
}

fn given<'t, 'c>(running: Option<&'t Tensor<'c>>) -> Result<&'t Tensor<'c>> {
    running.ok_or_else(|| {
        Error::invalid("the running statistics are null, which are needed outside of training")
    })
}

/// Computes the gradients of [`batch_norm`].
pub(crate) fn batch_norm_backward(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_weight: &Tensor<'_>,
    grad_bias: &Tensor<'_>,
    grad_output: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    running_mean: Option<&Tensor<'_>>,
    running_var: Option<&Tensor<'_>>,
    save_mean: &Tensor<'_>,
    save_invstd: &Tensor<'_>,
    training: bool,
    eps: f64,
) -> Result<()> {
    let (mean, deviation) = if training {
        (save_mean.clone(), save_invstd.clone())
    } else {
        let variance = given(running_var)?;
        let deviation = call.temporary(wide(variance.data_type()), variance.dims())?;
        write_deviations(call, &deviation, variance, eps)?;
        (given(running_mean)?.clone(), deviation)
    };
    let grad_output = call.to_type(grad_output, input.data_type())?;
    let inputs = present([Some(&grad_output), Some(input), weight, Some(&mean), Some(&deviation)]);
    let mut dx = Optional::new(call, Some(grad_input), &inputs)?;
    let mut dscale = Optional::new(call, Some(grad_weight), &inputs)?;
    let mut dbias = Optional::new(call, Some(grad_bias), &inputs)?;
    call.run(&Method::new("batch_norm_grad", FLOAT), input.data_type(), &mut |device, launch| {
        device.batch_norm_grad(
            launch,
            dx.elements(),
            dscale.elements(),
            dbias.elements(),
            input.elements(),
            elements(weight),
            mean.elements(),
            deviation.elements(),
            grad_output.elements(),
            &BatchNormGradAttributes {
                data_layout: "NCHW",
                is_test: false,
                use_global_stats: !training,
                trainable_statistics: false,
            },
        )
    })?;
    dx.finish()?;
    dscale.finish()?;
    dbias.finish()
}

/// Computes the statistics of the channels.
pub(crate) fn statistics(
    call: &Call,
    mean: &Tensor<'_>,
    invstd: &Tensor<'_>,
    input: &Tensor<'_>,
    eps: f64,
) -> Result<()> {
    let batch = normalize(call, &call.tensor_like(input)?, [None; 2], input, None, None, None, eps)?;
    call.copy(mean, &batch.mean)?;
    write_deviations(call, invstd, &batch.variance, eps)
}

/// Combines the statistics of several devices, given in the rows of `means` and `deviations`.
///
/// The combined variance is the mean of the variances plus the squared distances of the means, weighted by
/// the counts.
pub(crate) fn gathered_statistics(
    call: &Call,
    mean: &Tensor<'_>,
    invstd: &Tensor<'_>,
    means: &Tensor<'_>,
    deviations: &Tensor<'_>,
    running_mean: Option<&Tensor<'_>>,
    running_var: Option<&Tensor<'_>>,
    momentum: f32,
    eps: f32,
    counts: &Tensor<'_>,
) -> Result<()> {
    let ty = wide(means.data_type());
    let (means, deviations) = (call.to_type(means, ty)?, call.to_type(deviations, ty)?);
    let counts = call.to_type(counts, ty)?.unsqueezed(1)?;
    let total = total(call, &counts)?;
    let mean_of_all = divide(call, &rows(call, &multiply(call, &means, &counts)?)?, &total)?;
    let one = call.scalar(Number::Float(1.0), ty)?;
    let variances = divide(call, &one, &multiply(call, &deviations, &deviations)?)?;
    let variances = scale(call, &variances, 1.0, -f64::from(eps))?;
    let distances = subtract(call, &means, &mean_of_all)?;
    let squares = add(call, &variances, &multiply(call, &distances, &distances)?)?;
    let squares = rows(call, &multiply(call, &squares, &counts)?)?;
    call.copy(mean, &mean_of_all)?;
    write_deviations(call, invstd, &divide(call, &squares, &total)?, eps.into())?;
    follow(call, running_mean, &mean_of_all, momentum.into(), 1.0)?;
    let unbiased = divide(call, &squares, &scale(call, &total, 1.0, -1.0)?)?;
    follow(call, running_var, &unbiased, momentum.into(), 1.0)
}

/// Sums the rows of a matrix.
fn rows<'c>(call: &'c Call, matrix: &Tensor<'_>) -> Result<Tensor<'c>> {
    let target = call.temporary(matrix.data_type(), &matrix.dims()[1..])?;
    sum(call, &target, matrix, &[0])?;
    Ok(target)
}

/// Sums all elements. The elements are integers that may have been converted.
fn total<'c>(call: &'c Call, counts: &Tensor<'_>) -> Result<Tensor<'c>> {
    let target = call.temporary(counts.data_type(), &[])?;
    let mut out = call.output(&target, counts.data_type(), &[])?;
    call.run(&Method::new("sum", FLOAT | INTEGER), counts.data_type(), &mut |device, launch| {
        device.sum(
            launch,
            out.elements(),
            counts.elements(),
            &SumAttributes { axis: &[], keep_dim: false, reduce_all: true },
        )
    })?;
    out.finish()?;
    Ok(target)
}

/// Normalizes with given statistics.
pub(crate) fn normalized(
    call: &Call,
    out: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    bias: Option<&Tensor<'_>>,
    mean: &Tensor<'_>,
    invstd: &Tensor<'_>,
) -> Result<()> {
    let (rank, ty) = (input.rank(), wide(input.data_type()));
    let centred = subtract(call, &call.to_type(input, ty)?, &by_channel(mean, rank)?)?;
    let mut values = multiply(call, &centred, &by_channel(invstd, rank)?)?;
    if let Some(weight) = weight {
        values = multiply(call, &values, &by_channel(weight, rank)?)?;
    }
    if let Some(bias) = bias {
        values = add(call, &values, &by_channel(bias, rank)?)?;
    }
    call.copy(out, &values)
}

/// Computes the sums of the gradient across several devices.
pub(crate) fn backward_sums(
    call: &Call,
    sum_dy: Option<&Tensor<'_>>,
    sum_dy_xmu: Option<&Tensor<'_>>,
    grad_weight: Option<&Tensor<'_>>,
    grad_bias: Option<&Tensor<'_>>,
    grad_out: &Tensor<'_>,
    input: &Tensor<'_>,
    mean: &Tensor<'_>,
    invstd: &Tensor<'_>,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> Result<()> {
    let (rank, ty) = (input.rank(), wide(input.data_type()));
    let grad_out = call.to_type(grad_out, ty)?;
    let centred = subtract(call, &call.to_type(input, ty)?, &by_channel(mean, rank)?)?;
    let gradients = sums(call, &grad_out)?;
    let products = sums(call, &multiply(call, &grad_out, &centred)?)?;
    let of_weight = multiply(call, &products, invstd)?;
    let results = [
        (sum_dy, input_g, &gradients),
        (sum_dy_xmu, input_g, &products),
        (grad_weight, weight_g, &of_weight),
        (grad_bias, bias_g, &gradients),
    ];
    for (target, is_wanted, values) in results {
        if let (Some(target), true) = (target, is_wanted) {
            call.copy(target, values)?;
        }
    }
    Ok(())
}

/// Computes the gradient from the sums of all devices, with the number n of elements of a channel: `(dy -
/// sum(dy) / n - (x - mean) * invstd^2 * sum(dy * (x - mean)) / n) * invstd * weight`.
pub(crate) fn backward_from_sums(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_out: &Tensor<'_>,
    input: &Tensor<'_>,
    mean: &Tensor<'_>,
    invstd: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    sum_dy: &Tensor<'_>,
    sum_dy_xmu: &Tensor<'_>,
    counts: &Tensor<'_>,
) -> Result<()> {
    let (rank, ty) = (input.rank(), wide(input.data_type()));
    let total = call.to_type(&total(call, &call.to_type(counts, DataType::FLOAT64)?)?, ty)?;
    let invstd = call.to_type(invstd, ty)?;
    let squares = multiply(call, &invstd, &invstd)?;
    let slope = divide(call, &multiply(call, sum_dy_xmu, &squares)?, &total)?;
    let factor = match weight {
        Some(weight) => multiply(call, &invstd, weight)?,
        None => invstd,
    };
    let shift = divide(call, &call.to_type(sum_dy, ty)?, &total)?;
    let centred = subtract(call, &call.to_type(input, ty)?, &by_channel(mean, rank)?)?;
    let rest = subtract(call, &call.to_type(grad_out, ty)?, &by_channel(&shift, rank)?)?;
    let rest = subtract(call, &rest, &multiply(call, &centred, &by_channel(&slope, rank)?)?)?;
    call.copy(grad_input, &multiply(call, &rest, &by_channel(&factor, rank)?)?)
}
