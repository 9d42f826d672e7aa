//! Layer, group, instance and root-mean-square normalisation.
//!
//! Each writes `(x - mean) / sqrt(variance + epsilon) * scale + bias`, with the mean and the biased variance
//! of sets of elements, which are computed in `f64`. If absent, the scale is one and the bias is zero. Scale,
//! bias, mean and variance may have a different type than `x`.

use super::plan::{Gradient, Parameters, Plan, Statistics};
use crate::attributes::GroupNormAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::slices::{lend, with_optional_slices};
use crate::tensor::{View, ViewMut};

/// Normalises over the dimensions from `begin_norm_axis` to the last.
///
/// `scale` and `bias` have one element for each element of these dimensions; `mean` and `variance` have one
/// for each element of the other dimensions.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Length`] and [`Error::Type`].
pub fn layer_norm(
    out: &mut ViewMut<'_>,
    mean: Option<&mut ViewMut<'_>>,
    variance: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    scale: Option<&View<'_>>,
    bias: Option<&View<'_>>,
    epsilon: f64,
    begin_norm_axis: i64,
) -> Result<()> {
    let plan = layer(x.dims(), begin_norm_axis)?;
    forward(plan, [Some(out.reborrow()), lend(mean), lend(variance)], x, [scale, bias], epsilon, LAYER)
}

/// Computes the gradients of [`layer_norm`] from its mean and variance.
///
/// # Errors
/// As [`layer_norm`].
pub fn layer_norm_grad(
    dx: Option<&mut ViewMut<'_>>,
    dscale: Option<&mut ViewMut<'_>>,
    dbias: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    scale: Option<&View<'_>>,
    mean: &View<'_>,
    variance: &View<'_>,
    dout: &View<'_>,
    epsilon: f64,
    begin_norm_axis: i64,
) -> Result<()> {
    let plan = layer(x.dims(), begin_norm_axis)?;
    let inputs = [Some(x), Some(dout), scale, Some(mean), Some(variance)];
    backward(plan, [lend(dx), lend(dscale), lend(dbias)], inputs, epsilon, LAYER)
}

/// Divides by the root of the mean square: [`layer_norm`] with a mean of zero.
///
/// `reciprocal` becomes `1 / sqrt(mean(x * x) + epsilon)`.
///
/// # Errors
/// As [`layer_norm`].
pub fn rms_norm(
    out: &mut ViewMut<'_>,
    reciprocal: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    scale: Option<&View<'_>>,
    bias: Option<&View<'_>>,
    epsilon: f64,
    begin_norm_axis: i64,
) -> Result<()> {
    let plan = layer(x.dims(), begin_norm_axis)?;
    forward(plan, [Some(out.reborrow()), None, lend(reciprocal)], x, [scale, bias], epsilon, RMS)
}

/// Computes the gradients of [`rms_norm`] from its reciprocals.
///
/// # Errors
/// As [`layer_norm`].
pub fn rms_norm_grad(
    dx: Option<&mut ViewMut<'_>>,
    dscale: Option<&mut ViewMut<'_>>,
    dbias: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    scale: Option<&View<'_>>,
    reciprocal: &View<'_>,
    dout: &View<'_>,
    begin_norm_axis: i64,
) -> Result<()> {
    let plan = layer(x.dims(), begin_norm_axis)?;
    let inputs = [Some(x), Some(dout), scale, None, Some(reciprocal)];
    backward(plan, [lend(dx), lend(dscale), lend(dbias)], inputs, 0.0, RMS)
}

/// Normalises over groups of channels, for each sample.
///
/// `x` is `[batch, channels, …]`, or `[batch, …, channels]` with the layout `"NHWC"`. `scale` and `bias` have
/// an element for each channel, `mean` and `variance` one for each sample and group.
///
/// # Errors
/// As [`layer_norm`], and [`Error::Attribute`] if the number of channels is not divisible by the number of
/// groups.
pub fn group_norm(
    out: &mut ViewMut<'_>,
    mean: Option<&mut ViewMut<'_>>,
    variance: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    scale: Option<&View<'_>>,
    bias: Option<&View<'_>>,
    with: &GroupNormAttributes<'_>,
) -> Result<()> {
    let GroupNormAttributes { epsilon, groups, data_layout } = *with;
    let plan = group(x.dims(), groups, data_layout)?;
    forward(plan, [Some(out.reborrow()), lend(mean), lend(variance)], x, [scale, bias], epsilon, LAYER)
}

/// Computes the gradients of [`group_norm`] from its mean and variance.
///
/// # Errors
/// As [`group_norm`].
pub fn group_norm_grad(
    dx: Option<&mut ViewMut<'_>>,
    dscale: Option<&mut ViewMut<'_>>,
    dbias: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    scale: Option<&View<'_>>,
    mean: &View<'_>,
    variance: &View<'_>,
    dout: &View<'_>,
    with: &GroupNormAttributes<'_>,
) -> Result<()> {
    let GroupNormAttributes { epsilon, groups, data_layout } = *with;
    let plan = group(x.dims(), groups, data_layout)?;
    let inputs = [Some(x), Some(dout), scale, Some(mean), Some(variance)];
    backward(plan, [lend(dx), lend(dscale), lend(dbias)], inputs, epsilon, LAYER)
}

/// Normalises each channel of each sample. `x` is `[batch, channels, …]`.
///
/// `saved_variance` becomes the reciprocal deviation, `1 / sqrt(variance + epsilon)`, as in PaddlePaddle.
///
/// # Errors
/// As [`layer_norm`].
pub fn instance_norm(
    out: &mut ViewMut<'_>,
    saved_mean: Option<&mut ViewMut<'_>>,
    saved_variance: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    scale: Option<&View<'_>>,
    bias: Option<&View<'_>>,
    epsilon: f64,
) -> Result<()> {
    let plan = group(x.dims(), x.dims().get(1).map_or(1, |&channels| channels as i64), "NCHW")?;
    let outs = [Some(out.reborrow()), lend(saved_mean), lend(saved_variance)];
    forward(plan, outs, x, [scale, bias], epsilon, INSTANCE)
}

/// Computes the gradients of [`instance_norm`] from its mean and reciprocal deviation.
///
/// # Errors
/// As [`layer_norm`].
pub fn instance_norm_grad(
    dx: Option<&mut ViewMut<'_>>,
    dscale: Option<&mut ViewMut<'_>>,
    dbias: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    scale: Option<&View<'_>>,
    saved_mean: &View<'_>,
    saved_variance: &View<'_>,
    dout: &View<'_>,
) -> Result<()> {
    let plan = group(x.dims(), x.dims().get(1).map_or(1, |&channels| channels as i64), "NCHW")?;
    let inputs = [Some(x), Some(dout), scale, Some(saved_mean), Some(saved_variance)];
    backward(plan, [lend(dx), lend(dscale), lend(dbias)], inputs, 0.0, INSTANCE)
}

/// The kind of statistics of an operator.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// True if the mean is subtracted.
    centred: bool,
    /// True if the second statistic is the reciprocal deviation instead of the variance.
    reciprocal: bool,
}

const LAYER: Kind = Kind { centred: true, reciprocal: false };
const INSTANCE: Kind = Kind { centred: true, reciprocal: true };
const RMS: Kind = Kind { centred: false, reciprocal: true };

fn layer(dims: &[usize], axis: i64) -> Result<Plan> {
    let rank = dims.len();
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    let axis = usize::try_from(from_start).ok().filter(|&axis| axis <= rank);
    let axis = axis.ok_or(Error::Axis { axis: from_start.unsigned_abs() as usize, rank })?;
    Ok(Plan {
        blocks: dims[..axis].iter().product(),
        outer: 1,
        middle: 1,
        run: dims[axis..].iter().product(),
        set_per_middle: false,
        parameters: Parameters::AlongRuns,
    })
}

fn group(dims: &[usize], groups: i64, layout: &str) -> Result<Plan> {
    let refused = || Error::Attribute { name: "groups", value: groups.to_string() };
    let (batch, channels, inner, last) = super::channels(dims, layout)?;
    let groups =
        usize::try_from(groups).ok().filter(|&groups| groups > 0 || channels == 0).ok_or_else(refused)?;
    if !channels.is_multiple_of(groups.max(1)) {
        return Err(refused());
    }
    let own = channels / groups.max(1);
    Ok(if last {
        Plan {
            blocks: batch,
            outer: inner,
            middle: groups,
            run: own,
            set_per_middle: true,
            parameters: Parameters::AlongRuns,
        }
    } else {
        Plan {
            blocks: batch * groups,
            outer: 1,
            middle: own,
            run: inner,
            set_per_middle: false,
            parameters: Parameters::OfMiddle { groups },
        }
    })
}

/// Checks the lengths of the parameters and statistics that are present.
pub(super) fn expect_lengths(
    plan: Plan,
    parameters: [Option<usize>; 2],
    sets: [Option<usize>; 2],
) -> Result<()> {
    for (what, len) in ["scale", "bias"].into_iter().zip(parameters) {
        expect_length(what, plan.parameter_count(), len.unwrap_or(plan.parameter_count()))?;
    }
    for (what, len) in ["mean", "variance"].into_iter().zip(sets) {
        expect_length(what, plan.sets(), len.unwrap_or(plan.sets()))?;
    }
    Ok(())
}

fn forward(
    plan: Plan,
    outs: [Option<ViewMut<'_>>; 3],
    x: &View<'_>,
    parameters: [Option<&View<'_>>; 2],
    epsilon: f64,
    kind: Kind,
) -> Result<()> {
    let len_of = |out: &Option<ViewMut<'_>>| out.as_ref().map(ViewMut::len);
    expect_shape(x.dims(), outs[0].as_ref().map_or(x.dims(), ViewMut::dims))?;
    let statistics = [len_of(&outs[1]), len_of(&outs[2])];
    expect_lengths(plan, parameters.map(|values| values.map(View::len)), statistics)?;
    let inputs = [Some(x), parameters[0], parameters[1]];
    with_float!(x.dtype(), T => with_optional_slices::<T, 3, 3>(outs, inputs, |[out, mean_out, variance_out], [x, scale, bias]| {
        let (out, x) = (out.unwrap_or_default(), x.unwrap_or_default());
        let [mean, variance] = plan.statistics(x, kind.centred);
        let deviation: Vec<f64> = variance.iter().map(|variance| (variance + epsilon).sqrt().recip()).collect();
        let second = if kind.reciprocal { &deviation } else { &variance };
        for (target, values) in [(mean_out, &mean), (variance_out, second)] {
            if let Some(target) = target {
                target.copy_from_slice(&narrow(values));
            }
        }
        let (mean, deviation) = (narrow(&mean), narrow(&deviation));
        let statistics = Statistics { mean: Some(&mean), reciprocal_deviation: &deviation };
        plan.apply(out, x, statistics, scale, bias);
        Ok(())
    }))
}

fn backward(
    plan: Plan,
    outs: [Option<ViewMut<'_>>; 3],
    inputs: [Option<&View<'_>>; 5],
    epsilon: f64,
    kind: Kind,
) -> Result<()> {
    let [Some(x), Some(dout), scale, mean, Some(variance)] = inputs else {
        return Err(Error::Missing { missing: "variance", because: "the gradient" });
    };
    expect_shape(x.dims(), dout.dims())?;
    expect_shape(x.dims(), outs[0].as_ref().map_or(x.dims(), ViewMut::dims))?;
    let len_of = |out: &Option<ViewMut<'_>>| out.as_ref().map(ViewMut::len);
    expect_lengths(
        plan,
        [scale.map(View::len), len_of(&outs[2])],
        [mean.map(View::len), Some(variance.len())],
    )?;
    expect_lengths(plan, [len_of(&outs[1]), None], [None; 2])?;
    with_float!(x.dtype(), T => with_optional_slices::<T, 3, 5>(outs, inputs, |[dx, dscale, dbias], [x, dout, scale, mean, variance]| {
        let [x, dout, variance] = [x, dout, variance].map(Option::unwrap_or_default);
        let deviation = if kind.reciprocal { variance.to_vec() } else { reciprocal_deviations(variance, epsilon) };
        let statistics = Statistics { mean, reciprocal_deviation: &deviation };
        plan.gradient(Gradient { x: dx, scale: dscale, bias: dbias }, x, dout, statistics, scale, false);
        Ok(())
    }))
}

pub(super) fn narrow<T: Float>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&value| T::of(value)).collect()
}

pub(super) fn reciprocal_deviations<T: Float>(variances: &[T], epsilon: f64) -> Vec<T> {
    variances.iter().map(|&variance| T::of((variance.into() + epsilon).sqrt().recip())).collect()
}
