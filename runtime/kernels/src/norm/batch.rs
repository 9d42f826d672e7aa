//! Batch normalisation of tensors: channels are normalised over all samples.
//!
//! `x` is `[batch, channels, …]`, or `[batch, …, channels]` with a layout whose name ends in `C`. All other
//! tensors have an element for each channel.

use super::operators::{expect_lengths, narrow, reciprocal_deviations};
use super::plan::{Gradient, Parameters, Plan, Statistics};
use crate::attributes::{BatchNormAttributes, BatchNormGradAttributes};
use crate::elements::accumulate::with_float;
use crate::error::{Result, expect_length, expect_shape};
use crate::loops::slices::{lend, with_optional_slices};
use crate::numeric::Numeric;
use crate::tensor::{View, ViewMut};

/// Normalises each channel by the mean and the variance of its samples, or by `mean` and `variance` with
/// `use_global_stats`.
///
/// `mean_out` and `variance_out` become `running * momentum + batch * (1 - momentum)`, or stay unchanged with
/// `use_global_stats`; they may share memory with `mean` and `variance`. `saved_mean` and `saved_variance`
/// become the values that the gradient needs: the mean and the reciprocal deviation that normalised `x`. A
/// single sample has no variance: in that case `x` and the running statistics stay unchanged, as in
/// PaddlePaddle.
///
/// # Errors
/// [`Error::Rank`](crate::Error::Rank), [`Error::Attribute`](crate::Error::Attribute),
/// [`Error::Shape`](crate::Error::Shape), [`Error::Length`](crate::Error::Length) and
/// [`Error::Type`](crate::Error::Type).
pub fn batch_norm(
    out: &mut ViewMut<'_>,
    mean_out: Option<&mut ViewMut<'_>>,
    variance_out: Option<&mut ViewMut<'_>>,
    saved_mean: Option<&mut ViewMut<'_>>,
    saved_variance: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    mean: &View<'_>,
    variance: &View<'_>,
    scale: Option<&View<'_>>,
    bias: Option<&View<'_>>,
    with: &BatchNormAttributes<'_>,
) -> Result<()> {
    let BatchNormAttributes { momentum, epsilon, data_layout, use_running_statistics: use_global_stats } =
        *with;
    let plan = plan(x.dims(), data_layout)?;
    expect_shape(x.dims(), out.dims())?;
    let parameters = [scale.map(View::len), bias.map(View::len)];
    expect_lengths(plan, parameters, [Some(mean.len()), Some(variance.len())])?;
    let outs =
        [Some(out.reborrow()), lend(mean_out), lend(variance_out), lend(saved_mean), lend(saved_variance)];
    for out in outs[1..].iter().flatten() {
        expect_length("statistics", plan.sets(), out.len())?;
    }
    let inputs = [Some(x), Some(mean), Some(variance), scale, bias];
    with_float!(x.dtype(), T => with_optional_slices::<T, 5, 5>(outs, inputs, |outs, [x, mean, variance, scale, bias]| {
        let [out, mean_out, variance_out, saved_mean, saved_variance] = outs;
        let [x, running_mean, running_variance] = [x, mean, variance].map(Option::unwrap_or_default);
        if !use_global_stats && plan.samples() <= 1 {
            for (target, running) in [(mean_out, running_mean), (variance_out, running_variance)] {
                target.into_iter().for_each(|target| target.copy_from_slice(running));
            }
            [saved_mean, saved_variance].into_iter().flatten().for_each(|saved| saved.fill(0.0));
            out.unwrap_or_default().copy_from_slice(x);
            return Ok(());
        }
        let (mean, variance): (Vec<T>, Vec<T>) = if use_global_stats { (running_mean.to_vec(), running_variance.to_vec()) } else {
            let [mean, variance] = plan.statistics(x, true);
            (narrow(&mean), narrow(&variance))
        };
        let (keep, take) = (T::of(momentum), T::of(1.0 - momentum));
        for (target, running, batch) in
            [(mean_out, running_mean, &mean), (variance_out, running_variance, &variance)]
        {
            for (target, (&running, &batch)) in target.into_iter().flatten().zip(running.iter().zip(batch)) {
                *target = if use_global_stats { running } else { running * keep + batch * take };
            }
        }
        let deviation = reciprocal_deviations(&variance, epsilon);
        for (target, values) in [(saved_mean, &mean), (saved_variance, &deviation)] {
            if let Some(target) = target {
                target.copy_from_slice(values);
            }
        }
        let statistics = Statistics { mean: Some(&mean), reciprocal_deviation: &deviation };
        plan.apply(out.unwrap_or_default(), x, statistics, scale, bias);
        Ok(())
    }))
}

/// Computes the gradients of [`batch_norm`] from the mean and the reciprocal deviation that normalised `x`.
///
/// The statistics do not depend on `x` if `use_global_stats` is true, or if `is_test` is true and
/// `trainable_statistics` is false.
///
/// # Errors
/// As [`batch_norm`].
pub fn batch_norm_grad(
    dx: Option<&mut ViewMut<'_>>,
    dscale: Option<&mut ViewMut<'_>>,
    dbias: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    scale: Option<&View<'_>>,
    saved_mean: &View<'_>,
    saved_variance: &View<'_>,
    dout: &View<'_>,
    with: &BatchNormGradAttributes<'_>,
) -> Result<()> {
    let BatchNormGradAttributes { data_layout, is_test, use_global_stats, trainable_statistics } = *with;
    let use_global_stats = use_global_stats || is_test && !trainable_statistics;
    let plan = plan(x.dims(), data_layout)?;
    expect_shape(x.dims(), dout.dims())?;
    expect_shape(x.dims(), dx.as_deref().map_or(x.dims(), ViewMut::dims))?;
    let statistics = [Some(saved_mean.len()), Some(saved_variance.len())];
    expect_lengths(plan, [scale.map(View::len), dscale.as_deref().map(ViewMut::len)], statistics)?;
    expect_lengths(plan, [dbias.as_deref().map(ViewMut::len), None], [None; 2])?;
    let inputs = [Some(x), scale, Some(saved_mean), Some(saved_variance), Some(dout)];
    let outs = [lend(dx), lend(dscale), lend(dbias)];
    with_float!(x.dtype(), T => with_optional_slices::<T, 3, 5>(outs, inputs, |[dx, dscale, dbias], [x, scale, mean, deviation, dout]| {
        let [x, deviation, dout] = [x, deviation, dout].map(Option::unwrap_or_default);
        let statistics = Statistics { mean, reciprocal_deviation: deviation };
        let gradient = Gradient { x: dx, scale: dscale, bias: dbias };
        plan.gradient(gradient, x, dout, statistics, scale, use_global_stats);
        Ok(())
    }))
}

fn plan(dims: &[usize], layout: &str) -> Result<Plan> {
    let (batch, channels, inner, last) = super::channels(dims, layout)?;
    let (outer, run) = if last { (batch * inner, 1) } else { (batch, inner) };
    let parameters = Parameters::OfMiddle { groups: 1 };
    Ok(Plan { blocks: 1, outer, middle: channels, run, set_per_middle: true, parameters })
}
