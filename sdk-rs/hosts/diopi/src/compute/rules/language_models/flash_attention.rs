//! Rules for attention: sequences of equal length, or concatenated sequences of different lengths.

#![allow(clippy::too_many_arguments, reason = "functions of DIOPI have that many")]

use tenon::device::{DataType, Error, Result};
use tenon_operators::attributes::SumAttributes;

use super::attention::{Attention, Fate, Settings};
use crate::compute::rules::shared::{fill, kernel, sum};
use crate::compute::rules::terms;
use crate::compute::{Call, FLOAT, Generator, Method, Number, Place, Tensor};

/// The numbers of a call.
#[derive(Clone, Copy)]
pub(crate) struct Numbers {
    scale: f64,
    dropout: f64,
    window: [i64; 2],
    /// True if the mask of the kept weights is written.
    shows: bool,
}

/// Collects the numbers of a call.
#[allow(clippy::unnecessary_wraps, reason = "as for other rules")]
pub(crate) fn attention_numbers(
    _: &Call,
    dropout: impl Into<f64>,
    scale: impl Into<f64>,
    is_causal: bool,
    left: i32,
    right: i32,
) -> Result<Numbers> {
    let right = if is_causal { 0 } else { i64::from(right) };
    let (scale, dropout) = (scale.into(), dropout.into());
    Ok(Numbers { scale, dropout, window: [i64::from(left), right], shows: true })
}

/// Returns the numbers, with the choice whether to write the mask of kept weights.
#[allow(clippy::unnecessary_wraps, reason = "as for other rules")]
pub(crate) fn showing(_: &Call, numbers: &Numbers, shows: bool) -> Result<Numbers> {
    Ok(Numbers { shows, ..*numbers })
}

impl Numbers {
    fn with<'a, 'c>(
        self,
        slopes: Option<&'a Tensor<'c>>,
        hidden: Option<&'a Tensor<'c>>,
    ) -> Settings<'a, 'c> {
        let Self { scale, dropout, window, .. } = self;
        Settings { scale, dropout, window, slopes, hidden }
    }
}

/// Applies attention to sequences of equal length.
pub(crate) fn attention<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    lse: &Tensor<'c>,
    kept: Option<&Tensor<'c>>,
    q: &Tensor<'c>,
    k: &Tensor<'c>,
    v: &Tensor<'c>,
    slopes: Option<&Tensor<'c>>,
    generator: Generator,
    numbers: &Numbers,
) -> Result<()> {
    let attention = Attention::new(call, [q, k, v], &numbers.with(slopes, None), 0)?;
    let kept = kept.filter(|_| numbers.shows);
    attention.forward(call, out, Some(lse), Fate::Drawn(generator, kept))
}

/// Computes the gradients of [`attention`].
pub(crate) fn attention_gradient<'c>(
    call: &'c Call,
    of_q: &Tensor<'c>,
    of_k: &Tensor<'c>,
    of_v: &Tensor<'c>,
    out_gradient: &Tensor<'c>,
    q: &Tensor<'c>,
    k: &Tensor<'c>,
    v: &Tensor<'c>,
    slopes: Option<&Tensor<'c>>,
    generator: Generator,
    numbers: &Numbers,
) -> Result<()> {
    let attention = Attention::new(call, [q, k, v], &numbers.with(slopes, None), 0)?;
    attention.backward(call, [of_q, of_k, of_v], out_gradient, Fate::Drawn(generator, None))
}

/// The start of a sequence, and its length.
type Span = (usize, usize);

/// Reads cumulative lengths.
fn spans(call: &Call, cumulative: &Tensor<'_>, total: usize) -> Result<Vec<Span>> {
    let bytes = call.download(&call.to_type(cumulative, DataType::INT64)?)?;
    let ends = bytes.as_chunks::<8>().0.iter().map(|bytes| i64::from_ne_bytes(*bytes));
    spans_of(&ends.collect::<Vec<_>>(), total)
}

/// Returns the sequences for cumulative lengths, which may start with 0 or with the first length.
fn spans_of(ends: &[i64], total: usize) -> Result<Vec<Span>> {
    let with_start = [&[0], ends].concat();
    let ends = if ends.first() == Some(&0) { ends } else { &with_start };
    let span = |pair: &[i64]| match (usize::try_from(pair[0]), usize::try_from(pair[1])) {
        (Ok(start), Ok(end)) if start <= end && end <= total => Ok((start, end - start)),
        _ => Err(Error::invalid(format!("{ends:?} are not cumulative lengths of {total} tokens"))),
    };
    ends.windows(2).map(span).collect()
}

/// Returns one sequence as a batch.
fn sequence<'c>(tensor: &Tensor<'c>, (start, len): Span) -> Result<Tensor<'c>> {
    tensor.sliced(0, start, len, 1)?.unsqueezed(0)
}

/// Returns the logarithms of one sequence, from `[batch, heads, maximum length]` or `[heads, total length]`.
fn logarithms<'c>(lse: &Tensor<'c>, index: usize, (start, len): Span) -> Result<Tensor<'c>> {
    match lse.rank() {
        3 => lse.selected(0, index)?.sliced(1, 0, len, 1)?.unsqueezed(0),
        2 => lse.sliced(1, start, len, 1)?.unsqueezed(0),
        _ => Err(Error::invalid(format!("`softmax_lse` has the shape {:?}", lse.dims()))),
    }
}

/// Returns the weights of one sequence, from `[batch, heads, maximum length, maximum length of keys]`.
fn weights_of<'c>(weights: &Tensor<'c>, index: usize, queries: usize, keys: usize) -> Result<Tensor<'c>> {
    weights.selected(0, index)?.sliced(1, 0, queries, 1)?.sliced(2, 0, keys, 1)?.unsqueezed(0)
}

/// Applies attention to sequences of different lengths.
pub(crate) fn attention_of_sequences<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    lse: &Tensor<'c>,
    kept: Option<&Tensor<'c>>,
    q: &Tensor<'c>,
    k: &Tensor<'c>,
    v: &Tensor<'c>,
    queries: &Tensor<'_>,
    keys: &Tensor<'_>,
    slopes: Option<&Tensor<'c>>,
    generator: Generator,
    numbers: &Numbers,
) -> Result<()> {
    let settings = numbers.with(slopes, None);
    let (queries, keys) = (spans(call, queries, first(q))?, spans(call, keys, first(k))?);
    for (index, (&query, &key)) in queries.iter().zip(&keys).enumerate() {
        let parts = [&sequence(q, query)?, &sequence(k, key)?, &sequence(v, key)?];
        let attention = Attention::new(call, parts, &settings, index)?;
        let kept = kept.filter(|_| numbers.shows);
        let kept = kept.map(|kept| weights_of(kept, index, query.1, key.1)).transpose()?;
        let lse = logarithms(lse, index, query)?;
        let fate = Fate::Drawn(generator, kept.as_ref());
        attention.forward(call, &sequence(out, query)?, Some(&lse), fate)?;
    }
    Ok(())
}

/// Computes the gradients of [`attention_of_sequences`].
pub(crate) fn attention_of_sequences_gradient<'c>(
    call: &'c Call,
    of_q: &Tensor<'c>,
    of_k: &Tensor<'c>,
    of_v: &Tensor<'c>,
    out_gradient: &Tensor<'c>,
    q: &Tensor<'c>,
    k: &Tensor<'c>,
    v: &Tensor<'c>,
    queries: &Tensor<'_>,
    keys: &Tensor<'_>,
    slopes: Option<&Tensor<'c>>,
    generator: Generator,
    numbers: &Numbers,
) -> Result<()> {
    let settings = numbers.with(slopes, None);
    let (queries, keys) = (spans(call, queries, first(q))?, spans(call, keys, first(k))?);
    for (index, (&query, &key)) in queries.iter().zip(&keys).enumerate() {
        let parts = [&sequence(q, query)?, &sequence(k, key)?, &sequence(v, key)?];
        let attention = Attention::new(call, parts, &settings, index)?;
        let gradients = [&sequence(of_q, query)?, &sequence(of_k, key)?, &sequence(of_v, key)?];
        attention.backward(call, gradients, &sequence(out_gradient, query)?, Fate::Drawn(generator, None))?;
    }
    Ok(())
}

fn first(tensor: &Tensor<'_>) -> usize {
    tensor.dims().first().copied().unwrap_or(0)
}

/// Converts a tensor from one of the layouts to `[batch, length, heads, size]`.
fn from_layout<'c>(tensor: &Tensor<'c>, layout: &str, heads: i32, size: usize) -> Result<Tensor<'c>> {
    let expected = if matches!(layout, "BSH" | "SBH") { 3 } else { 4 };
    if tensor.rank() != expected || heads <= 0 {
        let message = format!("the shape {:?} is not that of {heads} heads as {layout}", tensor.dims());
        return Err(Error::invalid(message));
    }
    match layout {
        "BSND" => Ok(tensor.clone()),
        "BNSD" => tensor.permuted(&[0, 2, 1, 3]),
        "BSH" => tensor.divided(2, size),
        "SBH" => tensor.permuted(&[1, 0, 2])?.divided(2, size),
        _ => Err(Error::invalid(format!("`input_layout` is \"{layout}\""))),
    }
}

/// Returns the size of a head.
fn size_of(q: &Tensor<'_>, layout: &str, heads: i32) -> usize {
    let last = q.dims().last().copied().unwrap_or(0);
    let heads = usize::try_from(heads).unwrap_or(0).max(1);
    if matches!(layout, "BSH" | "SBH") { last / heads } else { last }
}

/// Applies attention with a mask from the caller, and creates the results that the gradient needs.
pub(crate) fn masked_attention<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    kept: Place,
    maxima: Place,
    sums: Place,
    weights: Place,
    q: &Tensor<'c>,
    k: &Tensor<'c>,
    v: &Tensor<'c>,
    slopes: Option<&Tensor<'c>>,
    hidden: Option<&Tensor<'c>>,
    generator: Generator,
    heads: i32,
    layout: &str,
    numbers: &Numbers,
) -> Result<()> {
    let size = size_of(q, layout, heads);
    let view = |tensor: &Tensor<'c>| from_layout(tensor, layout, heads, size);
    let (q, k, v, out) = (view(q)?, view(k)?, view(v)?, view(out)?);
    let lengths = [q.dims()[1], k.dims()[1]];
    let hidden = hidden.map(|hidden| numbers.whole_mask(call, hidden, lengths)).transpose()?;
    let attention = Attention::new(call, [&q, &k, &v], &numbers.with(slopes, hidden.as_ref()), 0)?;
    let &[batch, length, count, _] = q.dims() else { return Ok(()) };
    let dims = [batch, count, length, k.dims()[1]];
    let results = Results::make(call, [maxima, sums, weights, kept], dims, numbers)?;
    results.write(call, &attention)?;
    attention.forward(call, &out, None, Fate::Drawn(generator, results.kept.as_ref()))
}

/// Computes the gradients of [`masked_attention`].
pub(crate) fn masked_attention_gradient<'c>(
    call: &'c Call,
    of_q: &Tensor<'c>,
    of_k: &Tensor<'c>,
    of_v: &Tensor<'c>,
    out_gradient: &Tensor<'c>,
    q: &Tensor<'c>,
    k: &Tensor<'c>,
    v: &Tensor<'c>,
    slopes: Option<&Tensor<'c>>,
    hidden: Option<&Tensor<'c>>,
    kept: Option<&Tensor<'c>>,
    heads: i32,
    layout: &str,
    numbers: &Numbers,
) -> Result<()> {
    let size = size_of(q, layout, heads);
    let view = |tensor: &Tensor<'c>| from_layout(tensor, layout, heads, size);
    let (q, k, v) = (view(q)?, view(k)?, view(v)?);
    let lengths = [q.dims()[1], k.dims()[1]];
    let hidden = hidden.map(|hidden| numbers.whole_mask(call, hidden, lengths)).transpose()?;
    let attention = Attention::new(call, [&q, &k, &v], &numbers.with(slopes, hidden.as_ref()), 0)?;
    let gradients = [&view(of_q)?, &view(of_k)?, &view(of_v)?];
    attention.backward(call, gradients, &view(out_gradient)?, Fate::Given(kept))
}

/// The results that the gradient of attention with a mask needs: `[batch, heads, length]` and `[batch, heads,
/// length, keys]`.
struct Results<'c> {
    maxima: Tensor<'c>,
    sums: Tensor<'c>,
    weights: Tensor<'c>,
    kept: Option<Tensor<'c>>,
}

impl<'c> Results<'c> {
    fn make(call: &'c Call, places: [Place; 4], dims: [usize; 4], numbers: &Numbers) -> Result<Self> {
        let [maxima, sums, weights, kept] = places;
        let kept = (numbers.dropout > 0.0).then(|| call.make(kept, DataType::BOOL, &dims));
        Ok(Self {
            maxima: call.make(maxima, DataType::FLOAT32, &dims[..3])?,
            sums: call.make(sums, DataType::FLOAT32, &dims[..3])?,
            weights: call.make(weights, DataType::FLOAT32, &dims)?,
            kept: kept.transpose()?,
        })
    }

    /// Returns the part of one sequence.
    fn of_sequence(&self, index: usize, queries: usize, keys: usize) -> Result<Self> {
        let rows = |tensor: &Tensor<'c>| logarithms(tensor, index, (0, queries));
        Ok(Self {
            maxima: rows(&self.maxima)?,
            sums: rows(&self.sums)?,
            weights: weights_of(&self.weights, index, queries, keys)?,
            kept: self.kept.as_ref().map(|kept| weights_of(kept, index, queries, keys)).transpose()?,
        })
    }

    fn write(&self, call: &'c Call, attention: &Attention<'c>) -> Result<()> {
        let scores = attention.scores(call)?;
        let ty = scores.data_type();
        if scores.dims()[3] > 0 {
            kernel(call, &self.maxima, ty, &[], &Method::new("max", FLOAT), &mut |device, launch, out| {
                device.max(
                    launch,
                    out,
                    scores.elements(),
                    &SumAttributes { axis: &[-1], keep_dim: false, reduce_all: false },
                )
            })?;
        }
        let shifted = terms::subtract(call, &scores, &self.maxima.unsqueezed(3)?)?;
        let shifted = terms::exp(call, &shifted)?;
        sum(call, &self.sums, &shifted, &[-1])?;
        call.copy(&self.weights, &attention.weights(call, &scores)?)
    }
}

/// The length of the causal mask that hosts pass for all longer sequences.
const COMPRESSED: usize = 2048;

impl Numbers {
    /// Returns the mask for some queries and keys: the given one, or for a mask of [`COMPRESSED`] queries and keys
    /// that is too small, the causal mask that it stands for. It hides the keys after the number of the query.
    fn whole_mask<'c>(
        &self,
        call: &'c Call,
        hidden: &Tensor<'c>,
        [queries, keys]: [usize; 2],
    ) -> Result<Tensor<'c>> {
        let is_compressed = hidden.dims().ends_with(&[COMPRESSED, COMPRESSED])
            && hidden.len() == COMPRESSED * COMPRESSED
            && queries.max(keys) > COMPRESSED
            && self.window[1] == 0;
        if !is_compressed {
            return Ok(hidden.clone());
        }
        let whole = call.temporary(DataType::BOOL, &[queries, keys])?;
        fill(call, &whole, Number::Bool(true))?;
        terms::triangle(call, &whole, 1, false)
    }

    /// Returns the part of a mask for the first queries and keys.
    fn mask_part<'c>(
        &self,
        call: &'c Call,
        hidden: &Tensor<'c>,
        [queries, keys]: [usize; 2],
    ) -> Result<Tensor<'c>> {
        match hidden.rank() {
            0 | 1 => Err(Error::invalid(format!("`attention_mask` has the shape {:?}", hidden.dims()))),
            rank => {
                let whole = self.whole_mask(call, hidden, [queries, keys])?;
                let rank = rank.min(whole.rank());
                whole.sliced(rank - 2, 0, queries, 1)?.sliced(rank - 1, 0, keys, 1)
            }
        }
    }
}

/// Applies attention with a mask from the caller to sequences of different lengths. The results for the
/// gradient are zero after the end of a shorter sequence.
pub(crate) fn masked_attention_of_sequences<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    kept: Place,
    maxima: Place,
    sums: Place,
    weights: Place,
    q: &Tensor<'c>,
    k: &Tensor<'c>,
    v: &Tensor<'c>,
    queries: &[i64],
    keys: &[i64],
    slopes: Option<&Tensor<'c>>,
    hidden: Option<&Tensor<'c>>,
    generator: Generator,
    numbers: &Numbers,
) -> Result<()> {
    let (queries, keys) = (spans_of(queries, first(q))?, spans_of(keys, first(k))?);
    let greatest = |spans: &[Span]| spans.iter().map(|(_, len)| *len).max().unwrap_or(0);
    let heads = q.dims().get(1).copied().unwrap_or(0);
    let dims = [queries.len(), heads, greatest(&queries), greatest(&keys)];
    let results = Results::make(call, [maxima, sums, weights, kept], dims, numbers)?;
    let made = [&results.maxima, &results.sums, &results.weights];
    for tensor in made.into_iter().chain(&results.kept) {
        fill(call, tensor, Number::Integer(0))?;
    }
    for (index, (&query, &key)) in queries.iter().zip(&keys).enumerate() {
        let hidden = hidden.map(|hidden| numbers.mask_part(call, hidden, [query.1, key.1])).transpose()?;
        let parts = [&sequence(q, query)?, &sequence(k, key)?, &sequence(v, key)?];
        let attention = Attention::new(call, parts, &numbers.with(slopes, hidden.as_ref()), index)?;
        let results = results.of_sequence(index, query.1, key.1)?;
        results.write(call, &attention)?;
        let fate = Fate::Drawn(generator, results.kept.as_ref());
        attention.forward(call, &sequence(out, query)?, None, fate)?;
    }
    Ok(())
}

/// Computes the gradients of [`masked_attention_of_sequences`].
pub(crate) fn masked_attention_of_sequences_gradient<'c>(
    call: &'c Call,
    of_q: &Tensor<'c>,
    of_k: &Tensor<'c>,
    of_v: &Tensor<'c>,
    out_gradient: &Tensor<'c>,
    q: &Tensor<'c>,
    k: &Tensor<'c>,
    v: &Tensor<'c>,
    queries: &[i64],
    keys: &[i64],
    slopes: Option<&Tensor<'c>>,
    hidden: Option<&Tensor<'c>>,
    kept: Option<&Tensor<'c>>,
    numbers: &Numbers,
) -> Result<()> {
    let (queries, keys) = (spans_of(queries, first(q))?, spans_of(keys, first(k))?);
    for (index, (&query, &key)) in queries.iter().zip(&keys).enumerate() {
        let hidden = hidden.map(|hidden| numbers.mask_part(call, hidden, [query.1, key.1])).transpose()?;
        let kept = kept.map(|kept| weights_of(kept, index, query.1, key.1)).transpose()?;
        let parts = [&sequence(q, query)?, &sequence(k, key)?, &sequence(v, key)?];
        let attention = Attention::new(call, parts, &numbers.with(slopes, hidden.as_ref()), index)?;
        let gradients = [&sequence(of_q, query)?, &sequence(of_k, key)?, &sequence(of_v, key)?];
        attention.backward(call, gradients, &sequence(out_gradient, query)?, Fate::Given(kept.as_ref()))?;
    }
    Ok(())
}
