//! Attention of some queries: the operator, or separate steps if weights are dropped.

use tenon::device::{DataType, Error, Result};
use tenon_operators::attributes::{DropoutAttributes, SumAttributes};

use crate::compute::rules::elementwise::creation;
use crate::compute::rules::matrices::matrix::{product_of, summed};
use crate::compute::rules::shared::{fill, kernel};
use crate::compute::rules::terms;
use crate::compute::{Call, FLOAT, Generator, Method, Number, Tensor, wide};

/// The options of a call, which apply to all sequences.
#[derive(Clone, Copy)]
pub struct Settings<'a, 'c> {
    pub scale: f64,
    /// The probability with which a weight becomes 0.
    pub dropout: f64,
    /// The number of keys before and after its own position that a query sees; negative means all. The last
    /// query has the position of the last key.
    pub window: [i64; 2],
    /// The slopes of a linear bias: one for each head, or one for each head of each sequence.
    pub slopes: Option<&'a Tensor<'c>>,
    /// The mask of the weights that are 0.
    pub hidden: Option<&'a Tensor<'c>>,
}

/// The attention of queries, `[batch, length, heads, size]`, to keys and values with the same number of heads
/// or fewer.
pub struct Attention<'c> {
    q: Tensor<'c>,
    k: Tensor<'c>,
    v: Tensor<'c>,
    scale: f64,
    dropout: f64,
    is_causal: bool,
    seen: Option<Tensor<'c>>,
    bias: Option<Tensor<'c>>,
}

/// The source of the dropout mask.
#[derive(Clone, Copy)]
pub enum Fate<'a, 'c> {
    /// It is drawn, and written to the tensor if given.
    Drawn(Generator, Option<&'a Tensor<'c>>),
    /// It was drawn before.
    Given(Option<&'a Tensor<'c>>),
}

impl<'c> Attention<'c> {
    pub fn new(
        call: &'c Call,
        [q, k, v]: [&Tensor<'c>; 3],
        settings: &Settings<'_, 'c>,
        sequence: usize,
    ) -> Result<Self> {
        let (&[_, queries, heads, _], &[_, keys, key_heads, _]) = (q.dims(), k.dims()) else {
            let message = format!("queries and keys have the shapes {:?} and {:?}", q.dims(), k.dims());
            return Err(Error::invalid(message));
        };
        if key_heads == 0 || !heads.is_multiple_of(key_heads) || v.rank() != 4 {
            return Err(Error::invalid(format!("{heads} heads cannot share {key_heads} heads of keys")));
        }
        if !(0.0..1.0).contains(&settings.dropout) {
            return Err(Error::invalid(format!("the probability of a dropout is {}", settings.dropout)));
        }
        let is_causal = settings.window[0] < 0 && settings.window[1] == 0;
        let is_plain = settings.dropout == 0.0 && settings.slopes.is_none() && settings.hidden.is_none();
        let mut seen = None;
        if !(is_causal && is_plain) {
            seen = window(call, [queries, keys], settings.window)?;
        }
        if let Some(hidden) = settings.hidden {
            let shown = terms::not(call, hidden)?;
            seen = Some(match seen {
                Some(seen) => terms::choose(call, &seen, &shown, Number::Bool(false))?,
                None => shown,
            });
        }
        let slopes = settings.slopes.map(|slopes| bias(call, slopes, [queries, keys], sequence));
        Ok(Self {
            q: q.clone(),
            k: k.clone(),
            v: v.clone(),
            scale: settings.scale,
            dropout: settings.dropout,
            is_causal: is_causal && is_plain,
            seen,
            bias: slopes.transpose()?,
        })
    }

    /// Computes the result, and the logarithms of the sums of exponentials, `[batch, heads, length]`.
    pub fn forward(
        &self,
        call: &'c Call,
        out: &Tensor<'c>,
        lse: Option<&Tensor<'c>>,
        fate: Fate<'_, 'c>,
    ) -> Result<()> {
        if self.dropout > 0.0 {
            return self.forward_with_dropout(call, out, lse, fate);
        }
        if let Fate::Drawn(_, Some(kept)) = fate {
            fill(call, kept, Number::Bool(true))?;
        }
        let mask = self.mask(call)?;
        let inputs = [&self.q, &self.k, &self.v];
        let mut sums = lse.map(|lse| call.output(lse, lse.data_type(), &inputs)).transpose()?;
        let method = Method::new("attention", FLOAT);
        kernel(call, out, self.q.data_type(), &inputs, &method, &mut |device, launch, out| {
            let [q, k, v] = inputs.map(Tensor::elements);
            let sums = sums.as_mut().map(|sums| sums.elements());
            let mask = mask.as_ref().map(Tensor::elements);
            device.attention(launch, out, sums, q, k, v, mask, self.scale, self.is_causal)
        })?;
        sums.map_or(Ok(()), |sums| sums.finish())
    }

    /// Computes the gradients of queries, keys and values.
    pub fn backward(
        &self,
        call: &'c Call,
        gradients: [&Tensor<'c>; 3],
        out_gradient: &Tensor<'c>,
        fate: Fate<'_, 'c>,
    ) -> Result<()> {
        if self.dropout > 0.0 {
            return self.backward_with_dropout(call, gradients, out_gradient, fate);
        }
        let mask = self.mask(call)?;
        let inputs = [&self.q, &self.k, &self.v, out_gradient];
        let [of_q, of_k, of_v] = gradients;
        let ty = self.q.data_type();
        let mut of_k = call.output(of_k, ty, &inputs)?;
        let mut of_v = call.output(of_v, ty, &inputs)?;
        kernel(
            call,
            of_q,
            ty,
            &inputs,
            &Method::new("attention_grad", FLOAT),
            &mut |device, launch, of_q| {
                let [q, k, v, dout] = inputs.map(Tensor::elements);
                let (of_k, of_v) = (Some(of_k.elements()), Some(of_v.elements()));
                let mask = mask.as_ref().map(Tensor::elements);
                device.attention_grad(
                    launch,
                    Some(of_q),
                    of_k,
                    of_v,
                    q,
                    k,
                    v,
                    mask,
                    dout,
                    self.scale,
                    self.is_causal,
                )
            },
        )?;
        of_k.finish()?;
        of_v.finish()
    }

    fn mask(&self, call: &'c Call) -> Result<Option<Tensor<'c>>> {
        Ok(match (&self.seen, &self.bias) {
            (Some(seen), Some(bias)) => Some(terms::choose(call, seen, bias, f64::NEG_INFINITY)?),
            (seen, bias) => seen.clone().or_else(|| bias.clone()),
        })
    }

    /// Computes the scores, `[batch, heads, length, keys]`.
    pub fn scores(&self, call: &'c Call) -> Result<Tensor<'c>> {
        let heads = self.q.dims()[2];
        let (q, k) = (by_head(call, &self.q, heads)?, by_head(call, &self.k, heads)?);
        let mut scores = terms::scale(call, &product_of(call, &q, &k.transposed(2, 3)?)?, self.scale, 0.0)?;
        if let Some(bias) = &self.bias {
            scores = terms::add(call, &scores, bias)?;
        }
        match &self.seen {
            // A finite number, so that a query that sees no keys does not produce NaN.
            Some(seen) => terms::choose(call, seen, &scores, -1e30),
            None => Ok(scores),
        }
    }

    /// Computes the softmax function of the scores.
    pub fn weights(&self, call: &'c Call, scores: &Tensor<'c>) -> Result<Tensor<'c>> {
        let weights = call.tensor_like(scores)?;
        let method = Method::new("softmax", FLOAT);
        kernel(call, &weights, scores.data_type(), &[], &method, &mut |device, launch, out| {
            device.softmax(launch, out, scores.elements(), -1)
        })?;
        match &self.seen {
            Some(seen) => terms::multiply(call, &weights, seen),
            None => Ok(weights),
        }
    }

    fn forward_with_dropout(
        &self,
        call: &'c Call,
        out: &Tensor<'c>,
        lse: Option<&Tensor<'c>>,
        fate: Fate<'_, 'c>,
    ) -> Result<()> {
        let scores = self.scores(call)?;
        if let Some(lse) = lse {
            kernel(
                call,
                lse,
                scores.data_type(),
                &[],
                &Method::new("logsumexp", FLOAT),
                &mut |device, launch, out| {
                    device.logsumexp(
                        launch,
                        out,
                        scores.elements(),
                        &SumAttributes { axis: &[-1], keep_dim: false, reduce_all: false },
                    )
                },
            )?;
        }
        let weights = self.weights(call, &scores)?;
        let kept = self.kept(call, &weights, fate)?;
        let weights = self.with_dropout(call, &weights, &kept)?;
        let values = by_head(call, &self.v, self.q.dims()[2])?;
        call.copy(out, &product_of(call, &weights, &values)?.permuted(&BY_HEAD)?)
    }

    fn backward_with_dropout(
        &self,
        call: &'c Call,
        [of_q, of_k, of_v]: [&Tensor<'c>; 3],
        out_gradient: &Tensor<'c>,
        fate: Fate<'_, 'c>,
    ) -> Result<()> {
        let heads = self.q.dims()[2];
        let weights = self.weights(call, &self.scores(call)?)?;
        let kept = self.kept(call, &weights, fate)?;
        let dropped = self.with_dropout(call, &weights, &kept)?;
        let out_gradient = by_head(call, out_gradient, heads)?;
        let [q, k, v] = [&self.q, &self.k, &self.v].map(|tensor| by_head(call, tensor, heads));
        let (q, k, v) = (q?, k?, v?);
        let of_dropped = product_of(call, &out_gradient, &v.transposed(2, 3)?)?;
        let of_weights = self.with_dropout(call, &of_dropped, &kept)?;
        let of_scores = call.tensor_like(&weights)?;
        let method = Method::new("softmax_grad", FLOAT);
        kernel(call, &of_scores, weights.data_type(), &[], &method, &mut |device, launch, out| {
            device.softmax_grad(launch, out, weights.elements(), of_weights.elements(), -1)
        })?;
        let of_scores = terms::scale(call, &of_scores, self.scale, 0.0)?;
        add_up(call, of_q, &product_of(call, &of_scores, &k)?)?;
        add_up(call, of_k, &product_of(call, &of_scores.transposed(2, 3)?, &q)?)?;
        add_up(call, of_v, &product_of(call, &dropped.transposed(2, 3)?, &out_gradient)?)
    }

    /// Computes which weights are kept.
    fn kept(&self, call: &'c Call, weights: &Tensor<'c>, fate: Fate<'_, 'c>) -> Result<Tensor<'c>> {
        let (generator, place) = match fate {
            Fate::Drawn(generator, place) => (generator, place),
            Fate::Given(Some(kept)) => return Ok(kept.clone()),
            Fate::Given(None) => return Err(Error::invalid("`dropout_mask` is null")),
        };
        let (seed, offset) = call.draw(generator, weights.len())?;
        let kept = call.temporary(DataType::UINT8, weights.dims())?;
        let unused = call.tensor_like(weights)?;
        let mut mask = call.output(&kept, DataType::UINT8, &[])?;
        kernel(
            call,
            &unused,
            weights.data_type(),
            &[],
            &Method::new("dropout", FLOAT),
            &mut |device, launch, out| {
                let mask = Some(mask.elements());
                let mode = "upscale_in_train";
                device.dropout(
                    launch,
                    out,
                    mask,
                    weights.elements(),
                    &DropoutAttributes { p: self.dropout, is_test: false, mode, axis: &[] },
                    seed,
                    offset,
                )
            },
        )?;
        mask.finish()?;
        if let Some(place) = place {
            call.copy(place, &kept)?;
        }
        Ok(kept)
    }

    fn with_dropout(&self, call: &'c Call, x: &Tensor<'c>, kept: &Tensor<'c>) -> Result<Tensor<'c>> {
        let kept = terms::choose(call, kept, x, 0.0)?;
        terms::scale(call, &kept, 1.0 / (1.0 - self.dropout), 0.0)
    }
}

const BY_HEAD: [usize; 4] = [0, 2, 1, 3];

/// Returns `[batch, heads, length, size]`. Each head is repeated to reach the requested number of heads.
fn by_head<'c>(call: &'c Call, x: &Tensor<'c>, heads: usize) -> Result<Tensor<'c>> {
    let x = call.to_type(&x.permuted(&BY_HEAD)?, wide(x.data_type()))?;
    let &[batch, own, length, size] = x.dims() else { return Ok(x) };
    if own == heads {
        return Ok(x);
    }
    let repeated = x.unsqueezed(2)?.expanded(&[batch, own, heads / own, length, size])?;
    call.packed(&repeated)?.reshaped(&[batch, heads, length, size])
}

/// Writes a gradient by head: the sum of the gradients of the heads that share it.
fn add_up<'c>(call: &'c Call, out: &Tensor<'c>, x: &Tensor<'c>) -> Result<()> {
    let out = out.permuted(&BY_HEAD)?;
    let (&[batch, own, length, size], heads) = (out.dims(), x.dims()[1]) else { return Ok(()) };
    let grouped = call.packed(x)?.reshaped(&[batch, own, heads / own.max(1), length, size])?;
    summed(call, Some(&out.unsqueezed(2)?), &grouped)
}

/// Returns which keys queries see in a window.
fn window<'c>(
    call: &'c Call,
    [queries, keys]: [usize; 2],
    [left, right]: [i64; 2],
) -> Result<Option<Tensor<'c>>> {
    if left < 0 && right < 0 {
        return Ok(None);
    }
    let mut seen = call.temporary(DataType::BOOL, &[queries, keys])?;
    fill(call, &seen, Number::Bool(true))?;
    let shift = keys as i64 - queries as i64;
    if right >= 0 {
        seen = terms::triangle(call, &seen, right.saturating_add(shift), true)?;
    }
    if left >= 0 {
        seen = terms::triangle(call, &seen, shift.saturating_sub(left), false)?;
    }
    Ok(Some(seen))
}

/// Returns the linear bias `-slope * |distance|` (Press et al., 2022: "Train Short, Test Long").
fn bias<'c>(
    call: &'c Call,
    slopes: &Tensor<'c>,
    [queries, keys]: [usize; 2],
    sequence: usize,
) -> Result<Tensor<'c>> {
    let slopes = match slopes.rank() {
        1 => slopes.clone(),
        2 if slopes.dims()[0] > 1 => slopes.selected(0, sequence)?,
        2 => slopes.selected(0, 0)?,
        _ => return Err(Error::invalid(format!("`alibi_slopes` has the shape {:?}", slopes.dims()))),
    };
    let count = |start: i64, len: usize| -> Result<Tensor<'c>> {
        let numbers = call.temporary(DataType::FLOAT32, &[len])?;
        let [start, end] = [start, start + len as i64].map(|number| Number::Float(number as f64));
        creation::arange(call, &numbers, start, end, Number::Float(1.0))?;
        Ok(numbers)
    };
    let places = count(keys as i64 - queries as i64, queries)?.unsqueezed(1)?;
    let distances = terms::abs(call, &terms::subtract(call, &places, &count(0, keys)?)?)?;
    let slopes = terms::scale(call, &slopes, -1.0, 0.0)?.unsqueezed(1)?.unsqueezed(2)?;
    terms::multiply(call, &slopes, &distances)
}
