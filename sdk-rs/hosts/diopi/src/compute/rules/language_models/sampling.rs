//! Rules for the settings of LMDeploy's sampling.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

use tenon::device::{DataType, Error, Result};

use super::inference::integers;
use crate::compute::rules::shared::{expect_shape, fill};
use crate::compute::{Call, Number, Tensor};

/// The number of tokens that a sequence may choose from.
const MOST: i64 = 1024;

/// The number of tokens from which a sequence chooses the next one, and their share of the probability.
struct Choice {
    count: i64,
    share: f32,
}

/// Reads the settings of each sequence from the lists that have a size, or else takes the common ones. A sequence
/// without any setting chooses the best token.
fn choices(
    call: &Call,
    counts: &Tensor<'_>,
    shares: &Tensor<'_>,
    batch_size: i64,
    (count, counts_size): (i64, i64),
    (share, shares_size): (f32, i64),
) -> Result<Vec<Choice>> {
    let sequences = usize::try_from(batch_size);
    let sequences = sequences.map_err(|_| Error::invalid(format!("`batch_size` is {batch_size}")))?;
    expect_shape("top_ks", counts, &[sequences])?;
    expect_shape("top_ps", shares, &[sequences])?;
    let counts = if counts_size > 0 { integers(call, counts)? } else { vec![count; sequences] };
    let shares = if shares_size > 0 {
        let bytes = call.download(&call.to_type(shares, DataType::FLOAT32)?)?;
        bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
    } else {
        vec![share; sequences]
    };
    if let Some(count) = counts.iter().find(|&&count| count < 0) {
        return Err(Error::invalid(format!("`top_k` is {count}")));
    }
    let choice = |(count, share): (i64, f32)| {
        if count == 0 && share == 0.0 { Choice { count: 1, share } } else { Choice { count, share } }
    };
    Ok(counts.into_iter().zip(shares).map(choice).collect())
}

/// Writes the settings of each sequence, and whether the sampling leaves it out.
fn store(
    call: &Call,
    counts: &Tensor<'_>,
    shares: &Tensor<'_>,
    skipped: &Tensor<'_>,
    choices: &[Choice],
    is_skipped: impl Fn(&Choice) -> bool,
) -> Result<()> {
    expect_shape("skip_decode", skipped, &[choices.len()])?;
    let upload = |target: &Tensor<'_>, ty, bytes: Vec<u8>| {
        call.copy(target, &call.upload(ty, &[choices.len()], &bytes)?)
    };
    let of_counts = choices.iter().flat_map(|choice| choice.count.to_ne_bytes()).collect();
    upload(counts, DataType::INT64, of_counts)?;
    let of_shares = choices.iter().flat_map(|choice| choice.share.clamp(0.0, 1.0).to_ne_bytes()).collect();
    upload(shares, DataType::FLOAT32, of_shares)?;
    upload(skipped, DataType::BOOL, choices.iter().map(|choice| u8::from(is_skipped(choice))).collect())
}

/// Prepares the sampling from the best tokens.
pub(crate) fn prepare_best(
    call: &Call,
    counts: &Tensor<'_>,
    shares: &Tensor<'_>,
    skipped: &Tensor<'_>,
    batch_size: i64,
    count: i64,
    counts_size: i64,
    share: f32,
    shares_size: i64,
) -> Result<()> {
    let mut choices = choices(call, counts, shares, batch_size, (count, counts_size), (share, shares_size))?;
    for choice in &mut choices {
        if choice.count > 0 && choice.share == 0.0 {
            choice.share = 1.0;
        }
        choice.count = choice.count.min(MOST);
    }
    store(call, counts, shares, skipped, &choices, |choice| choice.count == 0)
}

/// Prepares the sampling from the most probable tokens.
pub(crate) fn prepare_probable(
    call: &Call,
    counts: &Tensor<'_>,
    shares: &Tensor<'_>,
    skipped: &Tensor<'_>,
    first_shares: &Tensor<'_>,
    decays: &Tensor<'_>,
    least_shares: &Tensor<'_>,
    resetting_tokens: &Tensor<'_>,
    batch_size: i64,
    count: i64,
    counts_size: i64,
    share: f32,
    shares_size: i64,
    decay: f32,
    least_share: f32,
    resetting_token: i64,
) -> Result<()> {
    let choices = choices(call, counts, shares, batch_size, (count, counts_size), (share, shares_size))?;
    let buffers = [
        ("initial_top_p_buf", first_shares),
        ("top_p_decay_buf", decays),
        ("top_p_min_buf", least_shares),
        ("top_p_reset_ids_buf", resetting_tokens),
    ];
    for (name, buffer) in buffers {
        expect_shape(name, buffer, &[choices.len()])?;
    }
    store(call, counts, shares, skipped, &choices, |choice| choice.count > 0)?;
    call.copy(first_shares, shares)?;
    let within = |value: f32, otherwise: f32| {
        Number::Float(if value > 0.0 && value <= 1.0 { value } else { otherwise }.into())
    };
    fill(call, decays, within(decay, 1.0))?;
    fill(call, least_shares, within(least_share, 0.5))?;
    fill(call, resetting_tokens, Number::Integer(resetting_token))
}
