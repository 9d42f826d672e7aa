//! Rules that draw random numbers. Each draw advances the generator by the number of random numbers.

use crate::compute::rules::scaled;
use tenon::device::{Error, Result};
use tenon_operators::attributes::{DropoutAttributes, UniformAttributes};
use tenon_operators::{Launch, Operators, TensorMut};

use crate::compute::rules::layout;
use crate::compute::rules::shared::{choose, expect_shape, fill, kernel};
use crate::compute::{Call, DataType, FLOAT, Generator, INTEGER, Method, Number, Tensor};

/// The call of an operator that writes random numbers, with their seed and their offset.
type Drawing<'w> = dyn FnMut(&dyn Operators, Launch, &mut TensorMut<'_>, i64, i64) -> Result<()> + 'w;

/// Calls an operator that writes random numbers of the given type.
fn drawn<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    ty: DataType,
    method: &Method,
    generator: Generator,
    work: &mut Drawing<'_>,
) -> Result<()> {
    let (seed, offset) = call.draw(generator, out.len())?;
    kernel(call, out, ty, &[], method, &mut |device, launch, out| work(device, launch, out, seed, offset))
}

/// Sets random elements to 0, and scales the others. In inference, the result is the input.
pub(crate) fn dropout<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    mask: &Tensor<'c>,
    input: &Tensor<'c>,
    p: f64,
    train: bool,
    generator: Generator,
) -> Result<()> {
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::invalid(format!("the probability is {p}")));
    }
    if !train {
        fill(call, mask, Number::Integer(1))?;
        return layout::copy(call, out, input);
    }
    if mask.dims() != input.dims() {
        return dropout_by_mask(call, out, mask, input, p, generator);
    }
    let (seed, offset) = call.draw(generator, input.len())?;
    let mut result = call.output(out, input.data_type(), &[input])?;
    let mut kept = call.output(mask, mask.data_type(), &[input])?;
    call.run(&Method::new("dropout", FLOAT), input.data_type(), &mut |device, launch| {
        let (out, kept) = (result.elements(), Some(kept.elements()));
        device.dropout(
            launch,
            out,
            kept,
            input.elements(),
            &DropoutAttributes { p, is_test: false, mode: "upscale_in_train", axis: &[] },
            seed,
            offset,
        )
    })?;
    result.finish()?;
    kept.finish()
}

/// Drops whole slices of the input: the elements that share an element of the mask.
fn dropout_by_mask<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    mask: &Tensor<'c>,
    input: &Tensor<'c>,
    p: f64,
    generator: Generator,
) -> Result<()> {
    bernoulli_number(call, mask, 1.0 - p, generator)?;
    let factor = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
    let scaled = scaled(call, input, Number::Float(factor))?;
    let zero = call.scalar(Number::Integer(0), input.data_type())?;
    choose(call, out, mask, &scaled, &zero)
}

/// Draws integers from a range whose end is exclusive.
///
/// Without an end, the range is that of the integers that the type represents exactly, as in PyTorch.
pub(crate) fn integers<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    from: i64,
    to: Option<i64>,
    generator: Generator,
) -> Result<()> {
    let to = to.unwrap_or(match out.data_type() {
        DataType::BOOL => 2,
        DataType::UINT8 => 1 << 8,
        DataType::INT8 => 1 << 7,
        DataType::INT16 => 1 << 15,
        DataType::INT32 => 1 << 31,
        DataType::BFLOAT16 => (1 << 8) + 1,
        DataType::FLOAT16 => (1 << 11) + 1,
        DataType::FLOAT32 => (1 << 24) + 1,
        DataType::FLOAT64 => (1 << 53) + 1,
        _ => i64::MAX,
    });
    if from >= to {
        return Err(Error::invalid(format!("there are no integers from {from} to {to}")));
    }
    let ty = if out.data_type() == DataType::BOOL { DataType::UINT8 } else { out.data_type() };
    let method = Method::new("randint", FLOAT | INTEGER);
    drawn(call, out, ty, &method, generator, &mut |device, launch, out, seed, offset| {
        device.randint(launch, out, from, to, seed, offset)
    })
}

/// Draws from a uniform distribution.
pub(crate) fn uniform<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    from: f64,
    to: f64,
    generator: Generator,
) -> Result<()> {
    if from > to {
        return Err(Error::invalid(format!("there are no numbers from {from} to {to}")));
    }
    let method = Method::new("uniform", FLOAT);
    drawn(call, out, out.data_type(), &method, generator, &mut |device, launch, out, seed, offset| {
        device.uniform(
            launch,
            out,
            &UniformAttributes { min: from, max: to, diag_num: 0, diag_step: 0, diag_val: 0.0 },
            seed,
            offset,
        )
    })
}

/// Draws 1 with the probabilities in a tensor, otherwise 0.
pub(crate) fn bernoulli<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    generator: Generator,
) -> Result<()> {
    let (seed, offset) = call.draw(generator, out.len())?;
    let input = input.expanded(out.dims())?;
    kernel(
        call,
        out,
        input.data_type(),
        &[&input],
        &Method::new("bernoulli", FLOAT),
        &mut |device, launch, out| device.bernoulli(launch, out, input.elements(), seed, offset),
    )
}

/// Draws 1 with the given probability, otherwise 0.
pub(crate) fn bernoulli_number<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    p: f64,
    generator: Generator,
) -> Result<()> {
    bernoulli(call, out, &call.scalar(Number::Float(p), DataType::FLOAT32)?, generator)
}

/// Draws from a normal distribution.
pub(crate) fn normal<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    mean: f64,
    std: f64,
    generator: Generator,
) -> Result<()> {
    if std < 0.0 {
        return Err(Error::invalid(format!("the standard deviation is {std}")));
    }
    let method = Method::new("gaussian", FLOAT);
    drawn(call, out, out.data_type(), &method, generator, &mut |device, launch, out, seed, offset| {
        device.gaussian(launch, out, mean, std, seed, offset)
    })
}

/// Draws from normal distributions whose means and standard deviations are tensors.
pub(crate) fn normal_of_tensors<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    mean: &Tensor<'c>,
    std: &Tensor<'c>,
    generator: Generator,
) -> Result<()> {
    let standard = call.tensor_like(out)?;
    normal(call, &standard, 0.0, 1.0, generator)?;
    let distances = call.formula(
        &Method::new("multiply", FLOAT),
        [(&standard).into(), std.into()],
        &mut |device, launch, out, [a, b]| device.multiply(launch, out, a, b),
    )?;
    call.write(
        &Method::new("add", FLOAT),
        out,
        [mean.into(), (&distances).into()],
        &mut |device, launch, out, [a, b]| device.add(launch, out, a, b),
    )
}

/// Draws from normal distributions whose means are a tensor.
pub(crate) fn normal_of_means<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    mean: &Tensor<'c>,
    std: f64,
    generator: Generator,
) -> Result<()> {
    let std = call.scalar(Number::Float(std), out.data_type())?;
    normal_of_tensors(call, out, mean, &std, generator)
}

/// Draws from normal distributions whose standard deviations are a tensor.
pub(crate) fn normal_of_deviations<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    mean: f64,
    std: &Tensor<'c>,
    generator: Generator,
) -> Result<()> {
    let mean = call.scalar(Number::Float(mean), out.data_type())?;
    normal_of_tensors(call, out, &mean, std, generator)
}

/// Draws a random permutation of the integers from 0 (inclusive) to a number (exclusive).
pub(crate) fn permutation<'c>(call: &'c Call, out: &Tensor<'c>, n: i64, generator: Generator) -> Result<()> {
    expect_shape("out", out, &[usize::try_from(n).unwrap_or(usize::MAX)])?;
    let method = Method::new("randperm", FLOAT | INTEGER);
    drawn(call, out, out.data_type(), &method, generator, &mut |device, launch, out, seed, offset| {
        device.randperm(launch, out, seed, offset)
    })
}

/// Draws indices with the probabilities given by the weights of a row.
pub(crate) fn multinomial<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    count: i64,
    replacement: bool,
    generator: Generator,
) -> Result<()> {
    if out.dims().last().map(|&len| len as i64) != Some(count) {
        let message = format!("the result has the shape {:?} for {count} samples", out.dims());
        return Err(Error::invalid(message));
    }
    let (seed, offset) = call.draw(generator, if replacement { out.len() } else { input.len() })?;
    let method = Method::new("multinomial", FLOAT);
    kernel(call, out, DataType::INT64, &[input], &method, &mut |device, launch, out| {
        device.multinomial(launch, out, input.elements(), replacement, seed, offset)
    })
}
