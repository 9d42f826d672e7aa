//! Rules for the inference of language models: attention with caches, and token penalties.

#![allow(clippy::too_many_arguments, reason = "functions of DIOPI have that many")]

use tenon::device::{DataType, Error, Result};

use super::attention::{Attention, Fate, Settings};
use crate::compute::rules::matrices::matrix::product_of;
use crate::compute::rules::shared::kernel;
use crate::compute::rules::terms;
use crate::compute::{BOOL, Call, FLOAT, INTEGER, Method, Tensor, wide};

/// Reads integers from the device.
pub fn integers(call: &Call, tensor: &Tensor<'_>) -> Result<Vec<i64>> {
    let bytes = call.download(&call.to_type(tensor, DataType::INT64)?)?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| i64::from_ne_bytes(*bytes)).collect())
}

pub fn index(name: &str, number: i64) -> Result<usize> {
    usize::try_from(number).map_err(|_| Error::invalid(format!("`{name}` has the element {number}")))
}

/// Returns a slice of a dimension, or an error if it is out of range.
pub fn part<'c>(tensor: &Tensor<'c>, dim: usize, start: usize, len: usize) -> Result<Tensor<'c>> {
    match tensor.dims().get(dim) {
        Some(&all) if start <= all && len <= all - start => tensor.sliced(dim, start, len, 1),
        _ => Err(Error::invalid(format!("{len} elements from {start} are not in {:?}", tensor.dims()))),
    }
}

/// Reads the start and the length of each sequence.
fn spans(call: &Call, starts: &Tensor<'_>, lengths: &Tensor<'_>) -> Result<Vec<(usize, usize)>> {
    let (starts, lengths) = (integers(call, starts)?, integers(call, lengths)?);
    let spans = starts.iter().zip(&lengths);
    spans.map(|(&start, &len)| Ok((index("b_start_loc", start)?, index("b_seq_len", len)?))).collect()
}

/// Returns the rows of a tensor at the given indices.
pub fn rows<'c>(call: &'c Call, x: &Tensor<'_>, indices: &Tensor<'_>) -> Result<Tensor<'c>> {
    let dims = [indices.dims(), &x.dims()[1.min(x.rank())..]].concat();
    let out = call.temporary(x.data_type(), &dims)?;
    let method = Method::new("gather", FLOAT | INTEGER | BOOL);
    kernel(call, &out, x.data_type(), &[x], &method, &mut |device, launch, out| {
        device.gather(launch, out, x.elements(), indices.elements(), 0)
    })?;
    Ok(out)
}

/// Reduces the logits of tokens that have already occurred.
pub(crate) fn penalties<'c>(
    call: &'c Call,
    logits: &Tensor<'c>,
    presence: &Tensor<'_>,
    frequency: &Tensor<'_>,
    tokens: &Tensor<'_>,
    counts: &Tensor<'_>,
    bounds: &Tensor<'_>,
) -> Result<()> {
    let bounds = integers(call, bounds)?;
    let sequences = logits.dims().first().copied().unwrap_or(0);
    if logits.rank() != 2 || bounds.len() != sequences + 1 {
        let message = format!("{} bounds are given for logits of {:?}", bounds.len(), logits.dims());
        return Err(Error::invalid(message));
    }
    for sequence in 0..sequences {
        let start = index("p_cumsum_seq_len", bounds[sequence])?;
        let len = index("p_cumsum_seq_len", bounds[sequence + 1] - bounds[sequence])?;
        let (tokens, counts) = (part(tokens, 0, start, len)?, part(counts, 0, start, len)?);
        let row = logits.selected(0, sequence)?;
        let ty = wide(row.data_type());
        let old = call.to_type(&rows(call, &row, &tokens)?, ty)?;
        let frequency = call.to_type(&frequency.selected(0, sequence)?, ty)?;
        let presence = call.to_type(&presence.selected(0, sequence)?, ty)?;
        let often = terms::multiply(call, &call.to_type(&counts, ty)?, &frequency)?;
        let new = terms::subtract(call, &terms::subtract(call, &old, &often)?, &presence)?;
        let new = call.to_type(&new, row.data_type())?;
        let method = Method::new("scatter", FLOAT);
        kernel(call, &row, row.data_type(), &[&row], &method, &mut |device, launch, out| {
            device.scatter(launch, out, row.elements(), tokens.elements(), new.elements(), true)
        })?;
    }
    Ok(())
}

/// Reduces the logits of tokens that have already occurred, after dividing positive logits and multiplying
/// the others. The tokens are positions in the concatenated logits, and each has its own penalties.
pub(crate) fn token_penalties<'c>(
    call: &'c Call,
    logits: &Tensor<'c>,
    presence: &Tensor<'c>,
    frequency: &Tensor<'c>,
    repetition: &Tensor<'c>,
    tokens: &Tensor<'_>,
    counts: &Tensor<'c>,
) -> Result<()> {
    let all = call.packed(logits)?.reshaped(&[logits.len()])?;
    let ty = wide(logits.data_type());
    let old = call.to_type(&rows(call, &all, tokens)?, ty)?;
    let [presence, frequency, repetition, counts] =
        [presence, frequency, repetition, counts].map(|tensor| call.to_type(tensor, ty));
    let (repetition, frequency) = (repetition?, frequency?);
    let is_positive = call.formula(
        &Method::new("greater_than", FLOAT).yields_bool(),
        [(&old).into(), 0.0.into()],
        &mut |device, launch, out, [a, b]| device.greater_than(launch, out, a, b),
    )?;
    let (less, more) = (terms::divide(call, &old, &repetition)?, terms::multiply(call, &old, &repetition)?);
    let repeated = terms::choose(call, &is_positive, &less, &more)?;
    let often = terms::multiply(call, &counts?, &frequency)?;
    let new = terms::subtract(call, &terms::subtract(call, &repeated, &often)?, &presence?)?;
    let new = call.to_type(&new, logits.data_type())?;
    let changed = call.tensor_like(&all)?;
    let method = Method::new("scatter", FLOAT);
    kernel(call, &changed, all.data_type(), &[&all], &method, &mut |device, launch, out| {
        device.scatter(launch, out, all.elements(), tokens.elements(), new.elements(), true)
    })?;
    call.copy(logits, &changed.reshaped(logits.dims())?)
}

/// Returns the rows of the cache for a sequence: the last ones of its row in the table.
fn places<'c>(table: &Tensor<'c>, sequence: usize, len: usize, greatest: i32) -> Result<Tensor<'c>> {
    let greatest = index("max_input_len", greatest.into())?;
    let start = greatest.checked_sub(len);
    let start = start.ok_or_else(|| Error::invalid(format!("a length of {len} exceeds `max_input_len`")))?;
    if table.rank() != 2 {
        return Err(Error::invalid(format!("`b_loc` has the shape {:?}", table.dims())));
    }
    part(&table.selected(0, sequence)?, 0, start, len)
}

/// Computes the products of the query of each sequence with its cached keys.
pub(crate) fn token_scores<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    q: &Tensor<'c>,
    k: &Tensor<'_>,
    table: &Tensor<'c>,
    starts: &Tensor<'_>,
    lengths: &Tensor<'_>,
    greatest: i32,
) -> Result<()> {
    let &[_, _, size] = q.dims() else {
        return Err(Error::invalid(format!("`q` has the shape {:?}", q.dims())));
    };
    let scale = 1.0 / (size as f64).sqrt();
    for (sequence, (start, len)) in spans(call, starts, lengths)?.into_iter().enumerate() {
        let keys = rows(call, k, &places(table, sequence, len, greatest)?)?;
        let query = call.to_type(&q.selected(0, sequence)?.unsqueezed(1)?, wide(q.data_type()))?;
        let keys = call.to_type(&keys.permuted(&[1, 2, 0])?, wide(q.data_type()))?;
        let scores = terms::scale(call, &product_of(call, &query, &keys)?, scale, 0.0)?;
        call.copy(&part(out, 1, start, len)?.unsqueezed(1)?, &scores)?;
    }
    Ok(())
}

/// Computes the softmax of scores, and its products with the cached values.
pub(crate) fn token_values<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    scores: &Tensor<'c>,
    v: &Tensor<'_>,
    table: &Tensor<'c>,
    starts: &Tensor<'_>,
    lengths: &Tensor<'_>,
    greatest: i32,
) -> Result<()> {
    for (sequence, (start, len)) in spans(call, starts, lengths)?.into_iter().enumerate() {
        let values = rows(call, v, &places(table, sequence, len, greatest)?)?;
        let ty = wide(v.data_type());
        let values = call.to_type(&values.permuted(&[1, 0, 2])?, ty)?;
        let scores = call.to_type(&part(scores, 1, start, len)?.unsqueezed(1)?, ty)?;
        let weights = call.tensor_like(&scores)?;
        kernel(call, &weights, ty, &[], &Method::new("softmax", FLOAT), &mut |device, launch, out| {
            device.softmax(launch, out, scores.elements(), -1)
        })?;
        let result = product_of(call, &weights, &values)?;
        call.copy(&out.selected(0, sequence)?.unsqueezed(1)?, &result)?;
    }
    Ok(())
}

/// Applies causal attention to concatenated sequences.
pub(crate) fn context_attention<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    q: &Tensor<'c>,
    k: &Tensor<'c>,
    v: &Tensor<'c>,
    starts: &Tensor<'_>,
    lengths: &Tensor<'_>,
) -> Result<()> {
    let size = q.dims().last().copied().unwrap_or(1);
    let scale = 1.0 / (size as f64).sqrt();
    let settings = Settings { scale, dropout: 0.0, window: [-1, 0], slopes: None, hidden: None };
    for (start, len) in spans(call, starts, lengths)? {
        let sequence = |tensor: &Tensor<'c>| part(tensor, 0, start, len)?.unsqueezed(0);
        let attention = Attention::new(call, [&sequence(q)?, &sequence(k)?, &sequence(v)?], &settings, 0)?;
        attention.forward(call, &sequence(out)?, None, Fate::Given(None))?;
    }
    Ok(())
}
