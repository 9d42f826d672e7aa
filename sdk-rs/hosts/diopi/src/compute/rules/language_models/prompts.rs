//! Rules for attention in the inference of language models: over whole prompts, and over caches in blocks.

#![allow(clippy::too_many_arguments, reason = "functions of DIOPI have that many")]

use tenon::device::{Error, Result};

use super::attention::{Attention, Fate, Settings};
use super::inference::{index, integers, part};
use crate::compute::rules::shared::{expect_shape, fill};
use crate::compute::{Call, Number, Tensor};

/// The number of keys before and after its own position that a query sees: all earlier ones, no later ones.
const CAUSAL: [i64; 2] = [-1, 0];
/// All keys.
const ALL: [i64; 2] = [-1, -1];

/// Applies causal attention to each sequence up to its length. Later rows become 0.
///
/// The tensors have the shape `(N, S, heads * size)`, or the first two dimensions are merged.
pub(crate) fn prompts<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    query: &Tensor<'c>,
    key: &Tensor<'c>,
    value: &Tensor<'c>,
    hidden: Option<&Tensor<'c>>,
    lengths: &[i64],
    greatest: i64,
    heads: i64,
    key_heads: i64,
    size: i64,
) -> Result<()> {
    let greatest = index("max_input_len", greatest)?;
    let of = |name: &str, x: &Tensor<'c>, heads: i64| -> Result<Tensor<'c>> {
        let wanted = [lengths.len(), greatest, index("num_heads", heads)?, index("dim", size)?];
        let x = match x.rank() {
            2 if wanted[1] > 0 && x.dims()[0] == wanted[0].saturating_mul(wanted[1]) => {
                x.divided(0, wanted[1])?
            }
            3 => x.clone(),
            _ => return Err(Error::invalid(format!("`{name}` has the shape {:?}", x.dims()))),
        };
        if x.dims()[2] != wanted[2].saturating_mul(wanted[3]) || x.dims()[2] == 0 {
            let message = format!("`{name}` has {} elements for {heads} heads of {size}", x.dims()[2]);
            return Err(Error::invalid(message));
        }
        let x = x.divided(2, wanted[3])?;
        expect_shape(name, &x, &wanted)?;
        Ok(x)
    };
    let (out, q) = (of("out", out, heads)?, of("query", query, heads)?);
    let (k, v) = (of("key", key, key_heads)?, of("value", value, key_heads)?);
    for (sequence, &len) in lengths.iter().enumerate() {
        let len = index("actual_seq_lengths", len)?;
        let beginning = |x: &Tensor<'c>| part(&part(x, 0, sequence, 1)?, 1, 0, len);
        let hidden = hidden.map(|hidden| mask_of(hidden, sequence, len)).transpose()?;
        let settings = settings(size, CAUSAL, hidden.as_ref());
        let attention =
            Attention::new(call, [&beginning(&q)?, &beginning(&k)?, &beginning(&v)?], &settings, 0)?;
        attention.forward(call, &beginning(&out)?, None, Fate::Given(None))?;
        let rest = part(&part(&out, 0, sequence, 1)?, 1, len, greatest - len)?;
        fill(call, &rest, Number::Integer(0))?;
    }
    Ok(())
}

fn settings<'a, 'c>(size: i64, window: [i64; 2], hidden: Option<&'a Tensor<'c>>) -> Settings<'a, 'c> {
    Settings { scale: 1.0 / (size as f64).sqrt(), dropout: 0.0, window, slopes: None, hidden }
}

/// Returns the mask of a sequence, `[queries, keys]`. All sequences may share one mask.
fn mask_of<'c>(hidden: &Tensor<'c>, sequence: usize, len: usize) -> Result<Tensor<'c>> {
    let mut mask = hidden.clone();
    while mask.rank() > 2 {
        let which = if mask.dims()[0] == 1 { 0 } else { sequence };
        mask = part(&mask, 0, which, 1)?.selected(0, 0)?;
    }
    part(&part(&mask, 0, 0, len)?, 1, 0, len)
}

/// Applies attention of one query of each sequence to the keys and values in its blocks.
///
/// The caches have one row for each token. Token `t` of a sequence is in its block `t / block_size`. Waits
/// for the table.
pub(crate) fn paged<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    query: &Tensor<'c>,
    key: &Tensor<'c>,
    value: &Tensor<'c>,
    hidden: Option<&Tensor<'c>>,
    lengths: &[i64],
    heads: i64,
    key_heads: i64,
    size: i64,
    table: &Tensor<'_>,
    block_size: i64,
) -> Result<()> {
    let (size, block_size) = (index("dim", size)?, index("block_size", block_size)?.max(1));
    let (heads, key_heads) = (index("num_heads", heads)?, index("num_kv_heads", key_heads)?);
    let &[sequences, width] = table.dims() else {
        return Err(Error::invalid(format!("`block_table` has the shape {:?}", table.dims())));
    };
    if sequences != lengths.len() {
        let message = format!("`block_table` has {sequences} rows for {} sequences", lengths.len());
        return Err(Error::invalid(message));
    }
    let blocks = integers(call, table)?;
    let of = |x: &Tensor<'c>, heads: usize| -> Result<Tensor<'c>> {
        call.packed(x)?.reshaped(&[x.len() / heads.saturating_mul(size).max(1), heads, size])
    };
    let (q, k, v) = (of(query, heads)?, of(key, key_heads)?, of(value, key_heads)?);
    if q.dims()[0] != sequences {
        let message = format!("{} queries are given for {sequences} sequences", q.dims()[0]);
        return Err(Error::invalid(message));
    }
    let result = call.tensor_like(&q)?;
    for (sequence, &len) in lengths.iter().enumerate() {
        let len = index("actual_seq_lengths", len)?;
        if len.div_ceil(block_size) > width {
            return Err(Error::invalid(format!("{len} tokens are not in {width} blocks of {block_size}")));
        }
        let own = &blocks[sequence * width..];
        let gathered = |cache: &Tensor<'c>| -> Result<Tensor<'c>> {
            let tokens = call.temporary(cache.data_type(), &[len, key_heads, size])?;
            for (n, &block) in own.iter().take(len.div_ceil(block_size)).enumerate() {
                let (start, first) =
                    (n * block_size, index("block_table", block)?.saturating_mul(block_size));
                let count = block_size.min(len - start);
                call.copy(&part(&tokens, 0, start, count)?, &part(cache, 0, first, count)?)?;
            }
            tokens.unsqueezed(0)
        };
        let (keys, values) = (gathered(&k)?, gathered(&v)?);
        let hidden = hidden.map(|hidden| key_mask(hidden, sequence, len)).transpose()?;
        let settings = settings(size as i64, ALL, hidden.as_ref());
        let query = part(&q, 0, sequence, 1)?.unsqueezed(0)?;
        let attention = Attention::new(call, [&query, &keys, &values], &settings, 0)?;
        let target = part(&result, 0, sequence, 1)?.unsqueezed(0)?;
        attention.forward(call, &target, None, Fate::Given(None))?;
    }
    call.copy(out, &result.reshaped(out.dims())?)
}

/// Returns the mask of the keys of a sequence, `[1, keys]`. All sequences may share one mask.
fn key_mask<'c>(hidden: &Tensor<'c>, sequence: usize, len: usize) -> Result<Tensor<'c>> {
    let mut mask = hidden.clone();
    while mask.rank() > 1 {
        let which = if mask.dims()[0] == 1 { 0 } else { sequence };
        mask = part(&mask, 0, which, 1)?.selected(0, 0)?;
    }
    part(&mask, 0, 0, len)?.unsqueezed(0)
}
