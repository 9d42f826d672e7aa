//! Normalization, and the exponentials that sum to one.

use tenon::device::{DataType, Error, Result};
use tenon_operators::attributes::{
    ArgmaxAttributes, BatchNormAttributes, GroupNormAttributes, SumAttributes,
};
use tenon_operators::{Launch, Operators, TensorMut, TensorRef};

use super::elementwise::scaled;
use super::shapes::axes_of;
use super::{binary, unary};
use crate::kernel::{Call, Compute, Info};

/// The version since which softmax has one dimension. Before, it has all from one on.
const ONE_DIMENSION: i32 = 13;

/// A method of one tensor along a dimension.
type Along = fn(&dyn Operators, Launch, &mut TensorMut<'_>, &TensorRef<'_>, i64) -> Result<()>;

fn along(info: &Info, work: Along) -> Result<Compute> {
    let is_matrix = info.version() < ONE_DIMENSION;
    let axis = info.int("axis").unwrap_or(if is_matrix { 1 } else { -1 });
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let mut out = call.output(0, x.dims())?;
        if out.is_empty() {
            return Ok(());
        }
        let index = x.dimension(axis)?;
        if !is_matrix {
            return call.run(|operators, launch| work(operators, launch, &mut out, &x, index as i64));
        }
        let dims = [x.dims()[..index].iter().product(), x.dims()[index..].iter().product()];
        let matrix = x.reshaped(&dims)?;
        let mut result = out.reshaped(&dims)?;
        call.run(|operators, launch| work(operators, launch, &mut result, &matrix, 1))
    }))
}

/// The exponentials, divided by their sum.
pub(crate) fn softmax(info: &Info) -> Result<Compute> {
    along(info, |operators, launch, out, x, axis| operators.softmax(launch, out, x, axis))
}

/// The logarithm of the softmax.
pub(crate) fn log_softmax(info: &Info) -> Result<Compute> {
    along(info, |operators, launch, out, x, axis| operators.log_softmax(launch, out, x, axis))
}

/// One for the first of the largest elements, and zero for the others.
pub(crate) fn hardmax(info: &Info) -> Result<Compute> {
    let is_matrix = info.version() < ONE_DIMENSION;
    let axis = info.int("axis").unwrap_or(if is_matrix { 1 } else { -1 });
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let mut out = call.output(0, x.dims())?;
        if out.is_empty() {
            return Ok(());
        }
        let index = x.dimension(axis)?;
        let (x, index, mut out) = if is_matrix {
            let dims = [x.dims()[..index].iter().product(), x.dims()[index..].iter().product()];
            (x.reshaped(&dims)?, 1, out.reshaped(&dims)?)
        } else {
            (x, index, out.reborrow())
        };
        let mut dims = x.dims().to_vec();
        let len = std::mem::replace(&mut dims[index], 1);
        let mut largest = call.temporary(DataType::INT64, &dims)?;
        let attributes = ArgmaxAttributes { axis: index as i64, keep_dim: true, flatten: false };
        call.run(|operators, launch| operators.argmax(launch, &mut largest, &x, &attributes))?;
        let places: Vec<i64> = (0..len as i64).collect();
        dims.fill(1);
        dims[index] = len;
        let places = call.upload_integers(&dims, &places)?;
        let chosen = call.compare(&largest.into_input(), &places, binary!(equal))?;
        call.run(|operators, launch| operators.cast(launch, &mut out, &chosen))
    }))
}

/// Normalises over the last dimensions, with a factor and a summand for each element.
pub(crate) fn layer_normalization(info: &Info) -> Result<Compute> {
    let axis = info.int("axis").unwrap_or(-1);
    let epsilon = info.float("epsilon").unwrap_or(1e-5);
    Ok(Box::new(move |call| layer_normalized(call, call.input(0)?, [1, 2], [1, 2], axis, epsilon)))
}

/// Writes the normalised elements of a tensor, and the mean and the reciprocal of the deviation.
pub(crate) fn layer_normalized(
    call: &Call<'_>,
    x: TensorRef<'_>,
    [scale, bias]: [usize; 2],
    [mean_output, deviation_output]: [usize; 2],
    axis: i64,
    epsilon: f64,
) -> Result<()> {
    let begin = x.dimension(axis)?;
    let rows = x.dims()[..begin].iter().product();
    let weight = |index| weights(call, index, &x.dims()[begin..]);
    let (scale, bias) = (weight(scale)?, weight(bias)?);
    let mut out = call.output(0, x.dims())?;
    let mut reduced = x.dims().to_vec();
    reduced[begin..].fill(1);
    let mut mean = call.optional_output(mean_output, &reduced)?;
    let deviation = call.optional_output(deviation_output, &reduced)?;
    if out.is_empty() {
        return Ok(());
    }
    let mut mean = mean.as_mut().map(|mean| mean.reshaped(&[rows])).transpose()?;
    let mut variance = match deviation {
        None => None,
        Some(_) => Some(call.temporary(DataType::FLOAT32, &[rows])?),
    };
    if [mean.as_ref(), variance.as_ref()].into_iter().flatten().any(|_| x.data_type() == DataType::FLOAT64) {
        return Err(Error::unsupported("statistics of double"));
    }
    call.run(|operators, launch| {
        let (scale, bias) = (scale.as_ref(), bias.as_ref());
        operators.layer_norm(
            launch,
            &mut out,
            mean.as_mut(),
            variance.as_mut(),
            &x,
            scale,
            bias,
            epsilon,
            begin as i64,
        )
    })?;
    let (Some(mut deviation), Some(variance)) = (deviation, variance) else { return Ok(()) };
    let mut sum = call.temporary(DataType::FLOAT32, &[rows])?;
    scaled(call, &mut sum, &variance.into_input(), 1.0, epsilon)?;
    let (sum, mut deviation) = (sum.into_input(), deviation.reshaped(&[rows])?);
    call.run(|operators, launch| operators.rsqrt(launch, &mut deviation, &sum))
}

/// Returns an input that has a number for each element of some dimensions, which it may lack before.
fn weights<'c>(call: &'c Call<'_>, index: usize, dims: &[usize]) -> Result<Option<TensorRef<'c>>> {
    let Some(weights) = call.optional(index)? else { return Ok(None) };
    let whole = call.contiguous(&weights.expanded(dims)?)?;
    whole.reshaped(&[dims.iter().product()]).map(Some)
}

/// Divides by the root of the mean square over the last dimensions, with a factor for each element.
pub(crate) fn rms_normalization(info: &Info) -> Result<Compute> {
    let axis = info.int("axis").unwrap_or(-1);
    let epsilon = info.float("epsilon").unwrap_or(1e-5);
    Ok(Box::new(move |call| rms_normalized(call, &call.input(0)?, 1, axis, epsilon)))
}

/// Normalises by the root of the mean square, with a scale that is an input, and writes the first output.
pub(super) fn rms_normalized(
    call: &Call<'_>,
    x: &TensorRef<'_>,
    scale: usize,
    axis: i64,
    epsilon: f64,
) -> Result<()> {
    let begin = x.dimension(axis)?;
    let scale = weights(call, scale, &x.dims()[begin..])?;
    let mut out = call.output(0, x.dims())?;
    if out.is_empty() {
        return Ok(());
    }
    let scale = scale.map(|scale| call.cast(&scale, x.data_type())).transpose()?;
    let normalise = |out: &mut TensorMut<'_>| {
        call.run(|operators, launch| {
            operators.rms_norm(launch, out, None, x, scale.as_ref(), None, epsilon, begin as i64)
        })
    };
    if out.data_type() == x.data_type() {
        return normalise(&mut out);
    }
    let mut result = call.temporary(x.data_type(), x.dims())?;
    normalise(&mut result)?;
    let result = result.into_input();
    call.run(|operators, launch| operators.cast(launch, &mut out, &result))
}

/// Normalises each channel of each example.
pub(crate) fn instance_normalization(info: &Info) -> Result<Compute> {
    let epsilon = info.float("epsilon").unwrap_or(1e-5);
    Ok(Box::new(move |call| {
        let (x, scale, bias) = (call.input(0)?, call.input(1)?, call.input(2)?);
        let mut out = call.output(0, x.dims())?;
        call.run(|operators, launch| {
            operators.instance_norm(launch, &mut out, None, None, &x, Some(&scale), Some(&bias), epsilon)
        })
    }))
}

/// Normalises groups of channels.
pub(crate) fn group_normalization(info: &Info) -> Result<Compute> {
    let epsilon = info.float("epsilon").unwrap_or(1e-5);
    let groups = info.int("num_groups").unwrap_or(1);
    Ok(Box::new(move |call| {
        let (x, scale, bias) = (call.input(0)?, call.input(1)?, call.input(2)?);
        let mut out = call.output(0, x.dims())?;
        let attributes = GroupNormAttributes { epsilon, groups, data_layout: "NCHW" };
        call.run(|operators, launch| {
            operators.group_norm(launch, &mut out, None, None, &x, Some(&scale), Some(&bias), &attributes)
        })
    }))
}

/// Normalises each channel by running statistics.
pub(crate) fn batch_normalization(info: &Info) -> Result<Compute> {
    let epsilon = info.float("epsilon").unwrap_or(1e-5);
    if info.flag("training_mode") || info.outputs() > 1 || info.int("spatial") == Some(0) {
        return info.refuse("normalization by the statistics of a batch");
    }
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let [scale, bias, mean, variance] = [1, 2, 3, 4].map(|index| call.input(index));
        // Statistics and factors are float for tensors of half precision.
        let wide = match x.data_type() {
            DataType::FLOAT64 => DataType::FLOAT64,
            _ => DataType::FLOAT32,
        };
        let [scale, bias, mean, variance] =
            [scale?, bias?, mean?, variance?].map(|tensor| call.cast(&tensor, wide));
        let (scale, bias, mean, variance) = (scale?, bias?, mean?, variance?);
        let mut out = call.output(0, x.dims())?;
        if out.is_empty() {
            return Ok(());
        }
        let attributes =
            BatchNormAttributes { momentum: 0.9, epsilon, data_layout: "NCHW", use_running_statistics: true };
        call.run(|operators, launch| {
            operators.batch_norm(
                launch,
                &mut out,
                None,
                None,
                None,
                None,
                &x,
                &mean,
                &variance,
                Some(&scale),
                Some(&bias),
                &attributes,
            )
        })
    }))
}

/// Computes a reduction of a tensor, whose dimensions stay with the length one.
fn reduced<'c>(
    call: &'c Call<'_>,
    x: &TensorRef<'_>,
    axes: &[i64],
    work: fn(&dyn Operators, Launch, &mut TensorMut<'_>, &TensorRef<'_>, &SumAttributes<'_>) -> Result<()>,
) -> Result<TensorRef<'c>> {
    let mut dims = x.dims().to_vec();
    for axis in axes_of(axes, dims.len())? {
        dims[axis] = 1;
    }
    let mut out = call.temporary(x.data_type(), &dims)?;
    let attributes = SumAttributes { axis: axes, keep_dim: true, reduce_all: false };
    call.run(|operators, launch| work(operators, launch, &mut out, x, &attributes))?;
    Ok(out.into_input())
}

/// Divides by the norm along a dimension. Where it is zero, the result is zero.
pub(crate) fn lp_normalization(info: &Info) -> Result<Compute> {
    let axis = info.int("axis").unwrap_or(-1);
    let is_absolute = info.int("p").unwrap_or(2) == 1;
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let mut out = call.output(0, x.dims())?;
        if out.is_empty() {
            return Ok(());
        }
        let parts = call.unary(&x, |operators, launch, out, x| {
            if is_absolute { operators.abs(launch, out, x) } else { operators.square(launch, out, x) }
        })?;
        let sum = reduced(call, &parts, &[x.dimension(axis)? as i64], |operators, launch, out, x, with| {
            operators.sum(launch, out, x, with)
        })?;
        let norm = if is_absolute { sum } else { call.unary(&sum, unary!(sqrt))? };
        let zero = call.filled(x.data_type(), &[], 0.0)?;
        let is_zero = call.compare(&norm, &zero, binary!(equal))?;
        let quotient = call.binary(&x, &norm, binary!(divide))?;
        call.run(|operators, launch| operators.select(launch, &mut out, &is_zero, &zero, &quotient))
    }))
}

/// Subtracts the mean over dimensions, and divides by the deviation.
pub(crate) fn mean_variance_normalization(info: &Info) -> Result<Compute> {
    let axes = info.ints("axes").unwrap_or_else(|| vec![0, 2, 3]);
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let mut out = call.output(0, x.dims())?;
        if out.is_empty() {
            return Ok(());
        }
        let mean_of = |x: &TensorRef<'_>| {
            reduced(call, x, &axes, |operators, launch, out, x, with| operators.mean(launch, out, x, with))
        };
        let average = mean_of(&x)?;
        let centred = call.binary(&x, &average, binary!(subtract))?;
        let squares = call.unary(&centred, unary!(square))?;
        let variance = mean_of(&squares)?;
        let deviation = call.unary(&variance, unary!(sqrt))?;
        let mut divisor = call.temporary(x.data_type(), deviation.dims())?;
        scaled(call, &mut divisor, &deviation, 1.0, 1e-9)?;
        let divisor = divisor.into_input();
        call.run(|operators, launch| operators.divide(launch, &mut out, &centred, &divisor))
    }))
}

/// Divides by a power of the squares of neighbouring channels.
pub(crate) fn local_response(info: &Info) -> Result<Compute> {
    let (alpha, beta) = (info.float("alpha").unwrap_or(1e-4), info.float("beta").unwrap_or(0.75));
    let bias = info.float("bias").unwrap_or(1.0);
    let size = usize::try_from(info.int("size").unwrap_or(1)).unwrap_or(1).max(1);
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let mut out = call.output(0, x.dims())?;
        let Some(&channels) = x.dims().get(1) else { return Err(Error::invalid("there are no channels")) };
        if out.is_empty() {
            return Ok(());
        }
        let squares = call.unary(&x, unary!(square))?;
        let (before, behind) = ((size - 1) / 2, size / 2);
        let mut sum = call.temporary(x.data_type(), x.dims())?;
        call.write(&mut sum, &squares)?;
        for distance in 1..=before.max(behind) {
            if distance >= channels {
                break;
            }
            let mut add = |from: usize, to: usize| {
                let part = squares.sliced(1, from, channels - distance, 1)?;
                let mut target = sum.sliced(1, to, channels - distance, 1)?;
                let present = target.as_input();
                call.run(|operators, launch| operators.add(launch, &mut target, &present, &part))
            };
            if distance <= before {
                add(0, distance)?;
            }
            if distance <= behind {
                add(distance, 0)?;
            }
        }
        let mut base = call.temporary(x.data_type(), x.dims())?;
        scaled(call, &mut base, &sum.into_input(), alpha / size as f64, bias)?;
        let base = base.into_input();
        let divisor = call.unary(&base, |operators, launch, out, x| operators.pow(launch, out, x, beta))?;
        call.run(|operators, launch| operators.divide(launch, &mut out, &x, &divisor))
    }))
}
