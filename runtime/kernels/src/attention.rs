//! Scaled dot-product attention, and its gradient.
//!
//! Queries are `[batch, length, heads, width]`, keys and values `[batch, length of keys, heads of keys,
//! width]`; the width of the values may differ. Each head of the keys serves the same number of adjacent
//! heads of the queries. The result is `[batch, length, heads, width of values]`.
//!
//! Scores are computed for one block of queries at a time, so the memory needed grows only with the number of
//! keys.

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::lines::{largest, sum};
use crate::loops::simd::wide;
use crate::loops::slices::{lend, with_optional_slices};
use crate::matmul::matrix::{Matrix, MatrixMut};
use crate::tensor::{View, ViewMut};

/// The number of queries whose scores are computed at a time.
const BLOCK: usize = 64;

/// Computes `softmax(q @ kᵀ * scale + mask) @ v` for each head.
///
/// `mask` is broadcast to `[batch, heads, length, length of keys]`; a boolean mask keeps the scores where it
/// is true. With `causal`, a query sees no keys after its own position; the last query has the position of
/// the last key. The result of a query that sees no keys is zero. `lse`, `[batch, heads, length]`, becomes
/// the logarithm of the sum of the exponentials of the scores.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Broadcast`], and [`Error::Type`] unless the tensors are
/// floating-point.
pub fn attention(
    out: &mut ViewMut<'_>,
    lse: Option<&mut ViewMut<'_>>,
    q: &View<'_>,
    k: &View<'_>,
    v: &View<'_>,
    mask: Option<&View<'_>>,
    scale: f64,
    causal: bool,
) -> Result<()> {
    let plan = Plan::new(q.dims(), k.dims(), v.dims(), scale, causal)?;
    expect_shape(&plan.result(), out.dims())?;
    let lse_dims = [plan.batch, plan.heads, plan.queries];
    expect_shape(&lse_dims, lse.as_deref().map_or(&lse_dims[..], ViewMut::dims))?;
    with_float!(q.dtype(), T => {
        let mask = Mask::<T>::new(mask, &plan)?;
        let ([q, k, v], rows) = laid_out([q, k, v])?;
        let (outs, inputs) = ([Some(out.reborrow()), lend(lse)], [Some(&q), Some(&k), Some(&v)]);
        with_optional_slices::<T, 2, 3>(outs, inputs, |[out, lse], inputs| {
            let [q, k, v] = parts(inputs.map(Option::unwrap_or_default), rows);
            plan.forward(out.unwrap_or_default(), lse, [q, k, v], &mask);
            Ok(())
        })
    })
}

/// Computes the gradients of [`attention`] with respect to `q`, `k` and `v`; recomputes the scores.
///
/// # Errors
/// As [`attention`].
pub fn attention_grad(
    dq: Option<&mut ViewMut<'_>>,
    dk: Option<&mut ViewMut<'_>>,
    dv: Option<&mut ViewMut<'_>>,
    q: &View<'_>,
    k: &View<'_>,
    v: &View<'_>,
    mask: Option<&View<'_>>,
    dout: &View<'_>,
    scale: f64,
    causal: bool,
) -> Result<()> {
    let plan = Plan::new(q.dims(), k.dims(), v.dims(), scale, causal)?;
    expect_shape(&plan.result(), dout.dims())?;
    let outs = [lend(dq), lend(dk), lend(dv)];
    for (gradient, input) in outs.iter().zip([q, k, v]) {
        expect_shape(input.dims(), gradient.as_ref().map_or(input.dims(), ViewMut::dims))?;
    }
    with_float!(q.dtype(), T => {
        let mask = Mask::<T>::new(mask, &plan)?;
        let ([q, k, v], rows) = laid_out([q, k, v])?;
        let inputs = [Some(&q), Some(&k), Some(&v), Some(dout)];
        with_optional_slices::<T, 3, 4>(outs, inputs, |outs, inputs| {
            let [q, k, v, dout] = inputs.map(Option::unwrap_or_default);
            plan.backward(outs, parts([q, k, v], rows), dout, &mask);
            Ok(())
        })
    })
}

/// The distances between the rows of a tensor of heads, each of which is one after the other.
#[derive(Clone, Copy)]
struct Rows {
    sample: usize,
    /// From a query or a key to the next one.
    next: usize,
    head: usize,
}

impl Rows {
    /// Returns the distances in a contiguous tensor, `[batch, length, heads, width]`.
    fn contiguous(length: usize, heads: usize, width: usize) -> Self {
        Self { sample: length * heads * width, next: heads * width, head: width }
    }
}

/// Returns views that are contiguous where a tensor is, or where it is with its heads before its length, as in caches. So
/// these are not copied.
fn laid_out<'v, const N: usize>(views: [&View<'v>; N]) -> Result<([View<'v>; N], [Rows; N])> {
    let mut rows = [Rows::contiguous(0, 0, 0); N];
    let mut found = views.map(Clone::clone);
    for (view, rows) in found.iter_mut().zip(&mut rows) {
        let &[_, length, heads, width] = view.dims() else {
            return Err(Error::Rank { dims: view.dims().len(), strides: 4 });
        };
        *rows = Rows::contiguous(length, heads, width);
        let turned = view.clone().permute(&[0, 2, 1, 3])?;
        if !view.is_contiguous() && turned.is_contiguous() {
            *view = turned;
            *rows = Rows { sample: length * heads * width, next: width, head: length * width };
        }
    }
    Ok((found, rows))
}

/// The elements of queries, keys or values.
#[derive(Clone, Copy)]
struct Part<'a, T> {
    data: &'a [T],
    rows: Rows,
}

/// Joins elements with the distances between their rows.
fn parts<'a, T, const N: usize>(slices: [&'a [T]; N], rows: [Rows; N]) -> [Part<'a, T>; N] {
    std::array::from_fn(|index| Part { data: slices[index], rows: rows[index] })
}

struct Plan {
    batch: usize,
    heads: usize,
    key_heads: usize,
    queries: usize,
    keys: usize,
    width: usize,
    value_width: usize,
    scale: f64,
    causal: bool,
}

/// The mask that is added to the scores.
struct Mask<T> {
    values: Vec<T>,
    /// The strides along the batch, the heads, the queries and the keys.
    strides: [usize; 4],
}

impl<T: Float> Mask<T> {
    fn new(mask: Option<&View<'_>>, plan: &Plan) -> Result<Self> {
        let Some(mask) = mask else { return Ok(Self { values: vec![T::ZERO], strides: [0; 4] }) };
        mask.broadcast_strides(&[plan.batch, plan.heads, plan.queries, plan.keys])?;
        let mut values: Vec<T> = T::load(mask)?;
        if mask.dtype() == crate::DType::Bool {
            let score = |kept: T| if kept == T::ZERO { T::of(f64::NEG_INFINITY) } else { T::ZERO };
            values.iter_mut().for_each(|value| *value = score(*value));
        }
        let (mut strides, mut next) = ([0; 4], 1);
        for (stride, &dim) in strides.iter_mut().rev().zip(mask.dims().iter().rev()) {
            *stride = if dim == 1 { 0 } else { next };
            next *= dim;
        }
        Ok(Self { values, strides })
    }
}

/// A range of queries of one head.
#[derive(Clone, Copy)]
struct Block {
    sample: usize,
    head: usize,
    first: usize,
    len: usize,
}

impl Plan {
    fn new(q: &[usize], k: &[usize], v: &[usize], scale: f64, causal: bool) -> Result<Self> {
        let &[batch, queries, heads, width] = q else {
            return Err(Error::Rank { dims: q.len(), strides: 4 });
        };
        let &[_, keys, key_heads, _] = k else { return Err(Error::Rank { dims: k.len(), strides: 4 }) };
        let &[.., value_width] = v else { return Err(Error::Rank { dims: v.len(), strides: 4 }) };
        expect_shape(&[batch, keys, key_heads, width], k)?;
        expect_shape(&[batch, keys, key_heads, value_width], v)?;
        if heads != 0 && (key_heads == 0 || !heads.is_multiple_of(key_heads)) {
            return Err(Error::Broadcast { from: k.to_vec(), to: q.to_vec() });
        }
        Ok(Self { batch, heads, key_heads, queries, keys, width, value_width, scale, causal })
    }

    fn result(&self) -> [usize; 4] {
        [self.batch, self.queries, self.heads, self.value_width]
    }

    fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        let (heads, queries) = (self.heads, self.queries);
        let parts = (0..self.batch).flat_map(move |sample| (0..heads).map(move |head| (sample, head)));
        parts.flat_map(move |(sample, head)| {
            (0..queries).step_by(BLOCK).map(move |first| Block {
                sample,
                head,
                first,
                len: BLOCK.min(queries - first),
            })
        })
    }

    /// Returns the distances between the rows of a contiguous tensor with a row for each query.
    fn query_rows(&self, width: usize) -> Rows {
        Rows::contiguous(self.queries, self.heads, width)
    }

    /// Returns the start of the block's rows in a tensor with a row for each query.
    fn first_query(block: Block, rows: Rows) -> usize {
        block.sample * rows.sample + block.first * rows.next + block.head * rows.head
    }

    /// Returns the start of the rows of all keys of the block's head.
    fn first_key(&self, block: Block, rows: Rows) -> usize {
        let head = block.head / (self.heads / self.key_heads);
        block.sample * rows.sample + head * rows.head
    }

    fn of_queries<'a, T>(part: Part<'a, T>, block: Block, width: usize) -> Matrix<'a, T> {
        let data = part.data.get(Self::first_query(block, part.rows)..).unwrap_or_default();
        Matrix::with_rows_apart(data, block.len, width, part.rows.next)
    }

    fn of_keys<'a, T>(&self, part: Part<'a, T>, block: Block, width: usize) -> Matrix<'a, T> {
        let data = part.data.get(self.first_key(block, part.rows)..).unwrap_or_default();
        Matrix::with_rows_apart(data, self.keys, width, part.rows.next)
    }

    fn of_keys_mut<'a, T>(&self, data: &'a mut [T], block: Block, width: usize) -> MatrixMut<'a, T> {
        let rows = Rows::contiguous(self.keys, self.key_heads, width);
        let data = data.get_mut(self.first_key(block, rows)..).unwrap_or_default();
        MatrixMut::with_rows_apart(data, self.keys, width, rows.next)
    }

    fn of_queries_mut<'a, T>(&self, data: &'a mut [T], block: Block, width: usize) -> MatrixMut<'a, T> {
        let rows = self.query_rows(width);
        let data = data.get_mut(Self::first_query(block, rows)..).unwrap_or_default();
        MatrixMut::with_rows_apart(data, block.len, width, rows.next)
    }

    /// Computes the softmax of the scores of a block, and calls `visit` with the logarithm of each row's sum.
    fn weights<T: Float>(
        &self,
        weights: &mut [T],
        [q, k]: [Part<'_, T>; 2],
        mask: &Mask<T>,
        block: Block,
        mut visit: impl FnMut(usize, T),
    ) {
        let (q, k) = (Self::of_queries(q, block, self.width), self.of_keys(k, block, self.width));
        T::multiply(MatrixMut::new(weights, block.len, self.keys), q, k.transposed(), false);
        let (scale, hidden) = (T::of(self.scale), T::of(f64::NEG_INFINITY));
        for (number, row) in weights.chunks_exact_mut(self.keys.max(1)).enumerate() {
            let query = block.first + number;
            let index = [block.sample, block.head, query, 0];
            let start: usize = index.iter().zip(mask.strides).map(|(index, stride)| index * stride).sum();
            let seen =
                if self.causal { (query + 1 + self.keys).saturating_sub(self.queries) } else { self.keys };
            let (scores, others) = row.split_at_mut(seen);
            others.fill(hidden);
            shift(scores, scale, &mask.values[start..], mask.strides[3]);
            let top = largest(row);
            if top == hidden {
                row.fill(T::ZERO);
                visit(query, hidden);
                continue;
            }
            let total = normalise(row, top);
            visit(query, top + total.log());
        }
    }

    fn forward<T: Float>(
        &self,
        out: &mut [T],
        mut lse: Option<&mut [T]>,
        [q, k, v]: [Part<'_, T>; 3],
        mask: &Mask<T>,
    ) {
        let mut weights = vec![T::ZERO; BLOCK * self.keys];
        if let Some(lse) = lse.as_deref_mut() {
            lse.fill(T::of(f64::NEG_INFINITY));
        }
        for block in self.blocks() {
            let weights = &mut weights[..block.len * self.keys];
            self.weights(weights, [q, k], mask, block, |query, value| {
                if let Some(lse) = lse.as_deref_mut() {
                    lse[(block.sample * self.heads + block.head) * self.queries + query] = value;
                }
            });
            let weights = Matrix::new(weights, block.len, self.keys);
            let v = self.of_keys(v, block, self.value_width);
            T::multiply(self.of_queries_mut(out, block, self.value_width), weights, v, false);
        }
    }

    fn backward<T: Float>(
        &self,
        outs: [Option<&mut [T]>; 3],
        [q, k, v]: [Part<'_, T>; 3],
        dout: &[T],
        mask: &Mask<T>,
    ) {
        let dout = Part { data: dout, rows: self.query_rows(self.value_width) };
        let [mut dq, mut dk, mut dv] = outs;
        for gradient in [dk.as_deref_mut(), dv.as_deref_mut()].into_iter().flatten() {
            gradient.fill(T::ZERO);
        }
        let [mut weights, mut scores] = [0; 2].map(|_| vec![T::ZERO; BLOCK * self.keys]);
        for block in self.blocks() {
            let (weights, scores) =
                (&mut weights[..block.len * self.keys], &mut scores[..block.len * self.keys]);
            self.weights(weights, [q, k], mask, block, |_, _| {});
            let dout = Self::of_queries(dout, block, self.value_width);
            if let Some(dv) = dv.as_deref_mut() {
                let weights = Matrix::new(weights, block.len, self.keys).transposed();
                T::multiply(self.of_keys_mut(dv, block, self.value_width), weights, dout, true);
            }
            let v = self.of_keys(v, block, self.value_width).transposed();
            T::multiply(MatrixMut::new(scores, block.len, self.keys), dout, v, false);
            let scale = T::of(self.scale);
            let rows = weights.chunks_exact(self.keys.max(1));
            for (scores, weights) in scores.chunks_exact_mut(self.keys.max(1)).zip(rows) {
                let dot = sum(
                    [scores, weights],
                    #[inline(always)]
                    |[score, weight]| score * weight,
                );
                wide(
                    #[inline(always)]
                    || {
                        for (score, &weight) in scores.iter_mut().zip(weights) {
                            *score = weight * (*score - dot) * scale;
                        }
                    },
                );
            }
            let scores = Matrix::new(scores, block.len, self.keys);
            if let Some(dq) = dq.as_deref_mut() {
                let k = self.of_keys(k, block, self.width);
                T::multiply(self.of_queries_mut(dq, block, self.width), scores, k, false);
            }
            if let Some(dk) = dk.as_deref_mut() {
                let q = Self::of_queries(q, block, self.width);
                T::multiply(self.of_keys_mut(dk, block, self.width), scores.transposed(), q, true);
            }
        }
    }
}

/// Scales the scores and adds an element of the mask to each. The elements of the mask are `stride` apart.
fn shift<T: Float>(scores: &mut [T], scale: T, mask: &[T], stride: usize) {
    let mask = match stride {
        // One mask element for all scores: the case of an absent mask.
        0 => &mask[..1],
        1 => &mask[..scores.len()],
        _ => {
            let pairs = scores.iter_mut().zip(mask.iter().step_by(stride));
            return pairs.for_each(|(score, &shift)| *score = *score * scale + shift);
        }
    };
    wide(
        #[inline(always)]
        || match *mask {
            [shift] => {
                for score in scores.iter_mut() {
                    *score = *score * scale + shift;
                }
            }
            _ => {
                for (score, &shift) in scores.iter_mut().zip(mask) {
                    *score = *score * scale + shift;
                }
            }
        },
    );
}

/// Replaces scores by their softmax, given the largest score. Returns the sum of the exponentials.
fn normalise<T: Float>(scores: &mut [T], top: T) -> T {
    wide(
        #[inline(always)]
        || {
            for score in scores.iter_mut() {
                *score = (*score - top).exp();
            }
        },
    );
    let total = sum(
        [scores],
        #[inline(always)]
        |[power]| power,
    );
    let factor = total.recip();
    wide(
        #[inline(always)]
        || {
            for score in scores.iter_mut() {
                *score *= factor;
            }
        },
    );
    total
}
