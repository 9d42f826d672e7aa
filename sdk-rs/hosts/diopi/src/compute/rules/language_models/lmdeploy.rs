//! Rules for LMDeploy: layers of language models, token penalties, and the ends of sequences.
//!
//! The tokens of a session are `[steps, sequences]`.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

use tenon::device::{DataType, Error, Result};
use tenon_operators::attributes::SumAttributes;

use super::inference::{index, integers, part, rows};
use crate::compute::rules::matrices::matrix::product_of;
use crate::compute::rules::shared::{expect_shape, fill, kernel};
use crate::compute::rules::terms;
use crate::compute::{BOOL, Call, FLOAT, INTEGER, Method, Number, Tensor, wide};

/// Applies root-mean-square normalization to each row, and multiplies by factors.
pub(crate) fn root_mean_square<'c>(
    call: &'c Call,
    x: &Tensor<'c>,
    factors: &Tensor<'_>,
    epsilon: f32,
) -> Result<()> {
    let old = call.tensor_like(x)?;
    call.copy(&old, x)?;
    normalize(call, x, &old, factors, epsilon)
}

fn normalize<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    x: &Tensor<'c>,
    factors: &Tensor<'_>,
    epsilon: f32,
) -> Result<()> {
    kernel(
        call,
        out,
        x.data_type(),
        &[x, factors],
        &Method::new("rms_norm", FLOAT),
        &mut |device, launch, out| {
            let (x, factors) = (x.elements(), factors.elements());
            device.rms_norm(launch, out, None, x, Some(factors), None, epsilon.into(), -1)
        },
    )
}

/// Adds the input and a bias to the residual, and normalizes the sum.
pub(crate) fn add_root_mean_square<'c>(
    call: &'c Call,
    x: &Tensor<'c>,
    residual: &Tensor<'c>,
    bias: Option<&Tensor<'c>>,
    factors: &Tensor<'_>,
    epsilon: f32,
) -> Result<()> {
    let ty = wide(x.data_type());
    let mut sum = terms::add(call, &call.to_type(x, ty)?, &call.to_type(residual, ty)?)?;
    if let Some(bias) = bias {
        sum = terms::add(call, &sum, &call.to_type(bias, ty)?)?;
    }
    call.copy(residual, &sum)?;
    normalize(call, x, &call.to_type(&sum, x.data_type())?, factors, epsilon)
}

/// Computes the layer `(silu(x @ gate) * (x @ up)) @ down`. The size of its workspace is 0; if the given size
/// is negative, only the workspace size is computed.
pub(crate) fn silu_layer<'c>(
    call: &'c Call,
    x: &Tensor<'c>,
    _workspace: Option<&Tensor<'_>>,
    gate: &Tensor<'c>,
    down: &Tensor<'c>,
    up: &Tensor<'c>,
    workspace_size: &mut i64,
) -> Result<()> {
    if *workspace_size < 0 {
        *workspace_size = 0;
        return Ok(());
    }
    let ty = wide(x.data_type());
    let [input, gate, down, up] = [x, gate, down, up].map(|tensor| call.to_type(tensor, ty));
    let (input, down) = (input?, down?);
    let gated = terms::silu(call, &product_of(call, &input, &gate?)?)?;
    let inner = terms::multiply(call, &gated, &product_of(call, &input, &up?)?)?;
    let result = product_of(call, &inner, &down)?;
    expect_shape("inoutput", x, result.dims())?;
    call.copy(x, &result)
}

/// Exchanges the first two of three dimensions.
pub(crate) fn transpose_first<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    x: &Tensor<'c>,
    first: i64,
    second: i64,
    third: i64,
) -> Result<()> {
    if !x.dims().iter().map(|&dim| dim as i64).eq([first, second, third]) {
        let message = format!("`input` has the shape {:?}, not {:?}", x.dims(), [first, second, third]);
        return Err(Error::invalid(message));
    }
    let moved = x.permuted(&[1, 0, 2])?;
    expect_shape("output", out, moved.dims())?;
    call.copy(out, &moved)
}

/// Reads the rows of a table for the given tokens.
pub(crate) fn look_up<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    tokens: &Tensor<'_>,
    table: &Tensor<'_>,
) -> Result<()> {
    let found = rows(call, table, tokens)?;
    expect_shape("from_tensor", out, found.dims())?;
    call.copy(out, &found)
}

/// Reads the rows of a table for the tokens of a step.
pub(crate) fn look_up_step<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    table: &Tensor<'_>,
    tokens: &Tensor<'c>,
    step: i64,
) -> Result<()> {
    look_up(call, out, &tokens.selected(0, index("step", step)?)?, table)
}

/// Adds a number to the first elements.
pub(crate) fn add_to_first<'c>(call: &'c Call, x: &Tensor<'c>, value: i64, count: i64) -> Result<()> {
    let count = index("size", count)?.min(x.dims().first().copied().unwrap_or(0));
    let first = x.sliced(0, 0, count, 1)?;
    call.copy(&first, &terms::add(call, &first, Number::Integer(value))?)
}

/// Subtracts lengths from the maximum length.
pub(crate) fn padding<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    lengths: &Tensor<'c>,
    greatest: i64,
) -> Result<()> {
    expect_shape("total_padding_count", out, lengths.dims())?;
    call.copy(out, &terms::subtract(call, Number::Integer(greatest), lengths)?)
}

/// Collects the tokens of each sequence without the padding between its context and the generated tokens.
pub(crate) fn collect<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    tokens: &Tensor<'c>,
    lengths: &Tensor<'_>,
    greatest: i64,
    steps: i64,
) -> Result<()> {
    let (greatest, steps) = (index("max_context_len", greatest)?, index("max_gen_step", steps)?);
    for (sequence, length) in integers(call, lengths)?.into_iter().enumerate() {
        let length = index("context_length", length)?;
        let (from, to) = (tokens.selected(1, sequence)?, out.selected(0, sequence)?);
        call.copy(&part(&to, 0, 0, length)?, &part(&from, 0, 0, length)?)?;
        let new = steps.saturating_sub(greatest);
        call.copy(&part(&to, 0, length, new)?, &part(&from, 0, greatest, new)?)?;
    }
    Ok(())
}

/// Reduces the logits of the tokens of each sequence, once for each token: mode 1 subtracts the penalty, mode
/// 2 divides positive logits by it and multiplies others.
pub(crate) fn repetition<'c>(
    call: &'c Call,
    logits: &Tensor<'c>,
    penalties: &Tensor<'c>,
    tokens: &Tensor<'c>,
    lengths: &Tensor<'_>,
    greatest: i64,
    step: i64,
    penalty_type: i64,
) -> Result<()> {
    match penalty_type {
        0 => return Ok(()),
        1 | 2 => {}
        other => return Err(Error::invalid(format!("`penalty_type` is {other}, neither 0, 1 nor 2"))),
    }
    let (greatest, step) = (index("max_input_length", greatest)?, index("step", step)?);
    let ty = wide(logits.data_type());
    let lengths = integers(call, lengths)?;
    for (sequence, length) in lengths.into_iter().enumerate() {
        let (row, own) = (logits.selected(0, sequence)?, tokens.selected(1, sequence)?);
        let penalty = call.to_type(&penalties.selected(0, sequence)?, ty)?;
        let new = step.saturating_sub(greatest);
        let length = index("input_lengths", length)?.min(step);
        // A token that occurs in both parts is changed once, because both parts start from the old logits.
        let old = call.tensor_like(&row)?;
        call.copy(&old, &row)?;
        for (start, len) in [(0, length), (greatest.min(step), new)] {
            let tokens = part(&own, 0, start, len)?;
            let logits = call.to_type(&rows(call, &old, &tokens)?, ty)?;
            let reduced = match penalty_type {
                1 => terms::subtract(call, &logits, &penalty)?,
                _ => {
                    let is_negative = call.formula(
                        &Method::new("less_than", FLOAT).yields_bool(),
                        [(&logits).into(), 0.0.into()],
                        &mut |device, launch, out, [a, b]| device.less_than(launch, out, a, b),
                    )?;
                    let more = terms::multiply(call, &logits, &penalty)?;
                    terms::choose(call, &is_negative, &more, &terms::divide(call, &logits, &penalty)?)?
                }
            };
            let reduced = call.to_type(&reduced, row.data_type())?;
            let method = Method::new("scatter", FLOAT);
            kernel(call, &row, row.data_type(), &[&row], &method, &mut |device, launch, out| {
                device.scatter(launch, out, row.elements(), tokens.elements(), reduced.elements(), true)
            })?;
        }
    }
    Ok(())
}

/// Adds a bias to logits, and divides them by temperatures. Logits past the vocabulary become the lowest
/// number.
pub(crate) fn temperature<'c>(
    call: &'c Call,
    logits: &Tensor<'c>,
    bias: Option<&Tensor<'c>>,
    temperatures: &Tensor<'c>,
    vocabulary: i64,
) -> Result<()> {
    let &[sequences, padded] = logits.dims() else {
        return Err(Error::invalid(format!("`logits` has the shape {:?}", logits.dims())));
    };
    expect_shape("temperatures", temperatures, &[sequences])?;
    let vocabulary = index("vocab_size", vocabulary)?;
    let ty = wide(logits.data_type());
    let known = part(logits, 1, 0, vocabulary)?;
    let mut sum = call.to_type(&known, ty)?;
    if let Some(bias) = bias {
        sum = terms::add(call, &sum, &call.to_type(&part(bias, 0, 0, vocabulary)?, ty)?)?;
    }
    let divisors = terms::scale(call, &call.to_type(temperatures, ty)?, 1.0, 1e-6)?;
    call.copy(&known, &terms::divide(call, &sum, &divisors.unsqueezed(1)?)?)?;
    let lowest = match logits.data_type() {
        DataType::FLOAT64 => f64::MIN,
        DataType::FLOAT16 => -65504.0,
        DataType::BFLOAT16 => f64::from(-f32::from_bits(0x7f7f_0000)),
        _ => f32::MIN.into(),
    };
    fill(call, &part(logits, 1, vocabulary, padded - vocabulary)?, Number::Float(lowest))
}

/// Marks sequences that have reached their maximum length as finished, and counts the finished ones.
pub(crate) fn ends_by_length<'c>(
    call: &'c Call,
    finished: &Tensor<'c>,
    should_stop: &Tensor<'c>,
    count: &Tensor<'c>,
    limits: &Tensor<'c>,
    step: i64,
) -> Result<()> {
    expect_shape("sequence_limit_length", limits, finished.dims())?;
    let ends = call.formula(
        &Method::new("less_equal", INTEGER).yields_bool(),
        [limits.into(), Number::Integer(step).into()],
        &mut |device, launch, out, [a, b]| device.less_equal(launch, out, a, b),
    )?;
    let ended = call.formula(
        &Method::new("logical_or", BOOL).yields_bool(),
        [finished.into(), (&ends).into()],
        &mut |device, launch, out, [a, b]| device.logical_or(launch, out, a, b),
    )?;
    call.copy(finished, &ended)?;
    let numbers = call.to_type(&ended, DataType::INT64)?;
    let total = call.temporary(DataType::INT64, &[])?;
    kernel(
        call,
        &total,
        DataType::INT64,
        &[&numbers],
        &Method::new("sum", INTEGER),
        &mut |device, launch, out| {
            device.sum(
                launch,
                out,
                numbers.elements(),
                &SumAttributes { axis: &[], keep_dim: false, reduce_all: true },
            )
        },
    )?;
    call.copy(count, &total)?;
    let all = call.temporary(DataType::BOOL, &[])?;
    kernel(call, &all, DataType::BOOL, &[&ended], &Method::new("all", BOOL), &mut |device, launch, out| {
        device.all(
            launch,
            out,
            ended.elements(),
            &SumAttributes { axis: &[], keep_dim: false, reduce_all: true },
        )
    })?;
    call.copy(should_stop, &all)
}

/// The tokens of words, in the host's format.
struct Words {
    tokens: Vec<i64>,
    /// The end position of each word; a negative number ends the list.
    ends: Vec<i64>,
}

impl Words {
    /// Reads the words of each sequence, `[2, length]`: the tokens of all words, then the end position of
    /// each word.
    fn read(call: &Call, words: &Tensor<'_>, sequences: usize) -> Result<Vec<Self>> {
        let len = words.dims().last().copied().unwrap_or(0);
        let shared = words.rank() == 2;
        let expected = if shared { vec![2, len] } else { vec![sequences, 2, len] };
        expect_shape("the list of words", words, &expected)?;
        let numbers = integers(call, words)?;
        let start = |sequence: usize| if shared { 0 } else { sequence * 2 * len };
        let list = |sequence: usize| Self {
            tokens: numbers[start(sequence)..][..len].to_vec(),
            ends: numbers[start(sequence) + len..][..len].to_vec(),
        };
        Ok((0..sequences).map(list).collect())
    }

    /// Returns the tokens of each word.
    fn all(&self) -> impl Iterator<Item = &[i64]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let spans = starts.zip(&self.ends).take_while(|(_, end)| **end >= 0);
        spans.filter_map(|(start, &end)| {
            let span = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
            self.tokens.get(span).filter(|word| !word.is_empty())
        })
    }
}

/// Reads the tokens of each sequence before a step.
fn histories(
    call: &Call,
    tokens: &Tensor<'_>,
    first: i64,
    sequences: usize,
    steps: i64,
) -> Result<Vec<Vec<i64>>> {
    let (first, steps) = (index("id_offset", first)?, index("step", steps)?);
    let own = part(&part(tokens, 0, 0, steps)?, 1, first, sequences)?;
    let numbers = integers(call, &own)?;
    Ok((0..sequences).map(|n| (0..steps).map(|step| numbers[step * sequences + n]).collect()).collect())
}

/// Marks sequences that end with a stop word at a step as finished.
pub(crate) fn ends_by_words<'c>(
    call: &'c Call,
    finished: &Tensor<'c>,
    tokens: &Tensor<'_>,
    words: &Tensor<'_>,
    first: i64,
    step: i64,
) -> Result<()> {
    let sequences = finished.len();
    let words = Words::read(call, words, sequences)?;
    let histories = histories(call, tokens, first, sequences, step.saturating_add(1))?;
    for (sequence, (words, history)) in words.iter().zip(&histories).enumerate() {
        if words.all().any(|word| history.ends_with(word)) {
            fill(call, &finished.selected(0, sequence)?, Number::Bool(true))?;
        }
    }
    Ok(())
}

/// Sets the logit of the last token of each bad word to minus infinity, for sequences that end with the
/// tokens before it.
pub(crate) fn ban_words<'c>(
    call: &'c Call,
    logits: &Tensor<'c>,
    tokens: &Tensor<'_>,
    words: &Tensor<'_>,
    first: i64,
    vocabulary: i64,
    step: i64,
) -> Result<()> {
    let sequences = logits.dims().first().copied().unwrap_or(0);
    let words = Words::read(call, words, sequences)?;
    let histories = histories(call, tokens, first, sequences, step)?;
    for (sequence, (words, history)) in words.iter().zip(&histories).enumerate() {
        for word in words.all() {
            let Some((&last, before)) = word.split_last() else { continue };
            if history.ends_with(before) && (1..vocabulary).contains(&last) {
                let logit = logits.selected(0, sequence)?.selected(0, index("bad_words", last)?)?;
                fill(call, &logit, Number::Float(f64::NEG_INFINITY))?;
            }
        }
    }
    Ok(())
}
