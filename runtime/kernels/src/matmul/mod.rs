//! Products of matrices and of batches of matrices.
//!
//! `x` has the shape `[batch…, rows, inner]`, or `[batch…, inner, rows]` if it is transposed; `y` has the
//! shape `[batch…, inner, columns]`, or `[batch…, columns, inner]`. The batches are broadcast by NumPy's
//! rules, and the result has the shape `[batch…, rows, columns]`. A vector `x` is one row and a vector `y` is
//! one column, transposed or not; the result has no dimension for it.
//!
//! `float16` and `bfloat16` are accumulated in `f32` and rounded once. Integers wrap.

mod added;
mod dots;
mod einsum;
mod few_rows;
mod flattened;
mod half;
pub(crate) mod matrix;
pub(crate) mod product;
pub(crate) mod sums;

pub use added::{addmm, addmm_grad};
pub use einsum::{einsum, einsum_grad};
pub use flattened::{matmul_with_flatten, matmul_with_flatten_grad};

use crate::elements::accumulate::with_number;
use crate::error::{Error, Result, expect_shape};
use crate::loops::convert::Compute;
use crate::loops::slices::{lend, with_optional_slices, with_slices};
use crate::matmul::matrix::{Matrix, MatrixMut};
use crate::matmul::product::Product;
use crate::tensor::{TensorMeta, View, ViewMut};
use crate::threads;

/// Multiplies matrices: `out = x @ y`.
///
/// The result of two vectors has no dimensions, or one dimension of length one.
///
/// # Errors
/// [`Error::Inner`] if the inner dimensions differ, [`Error::Broadcast`] if the batches do not match,
/// [`Error::Shape`] if
/// the output has a different shape, and [`Error::Type`] if a type is complex.
pub fn matmul(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
    transpose_x: bool,
    transpose_y: bool,
) -> Result<()> {
    let plan = Plan::new(x.dims(), y.dims(), transpose_x, transpose_y)?;
    plan.expect_result(out.dims())?;
    if plan.is_provided_in_half(out, [x, y])? {
        return Ok(());
    }
    with_number!(x.dtype(), T => with_slices::<T, 1, 2>([out.reborrow()], [x, y], |[out], [x, y]| {
        plan.forward(out, x, y);
        Ok(())
    }))
}

/// Computes the shape of the result of [`matmul`].
///
/// # Errors
/// [`Error::Inner`], [`Error::Broadcast`].
pub fn shape(
    x: TensorMeta<'_>,
    y: TensorMeta<'_>,
    transpose_x: bool,
    transpose_y: bool,
) -> Result<Vec<usize>> {
    Plan::new(x.dims(), y.dims(), transpose_x, transpose_y).map(|plan| plan.result)
}

/// Computes the gradients of [`matmul`]: for matrices `dx = dout @ yᵀ` and `dy = xᵀ @ dout`, summed over dimensions
/// that were broadcast.
///
/// # Errors
/// As [`matmul`].
pub fn matmul_grad(
    dx: Option<&mut ViewMut<'_>>,
    dy: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    y: &View<'_>,
    dout: &View<'_>,
    transpose_x: bool,
    transpose_y: bool,
) -> Result<()> {
    let plan = Plan::new(x.dims(), y.dims(), transpose_x, transpose_y)?;
    plan.expect_result(dout.dims())?;
    expect_shape(x.dims(), dx.as_deref().map_or(x.dims(), ViewMut::dims))?;
    expect_shape(y.dims(), dy.as_deref().map_or(y.dims(), ViewMut::dims))?;
    let inputs = [x, y, dout];
    let [dx, dy] = plan.left_over([lend(dx), lend(dy)], inputs)?;
    if dx.is_none() && dy.is_none() {
        return Ok(());
    }
    with_number!(x.dtype(), T => with_optional_slices::<T, 2, 3>([dx, dy], inputs.map(Some), |[dx, dy], inputs| {
        plan.backward(dx, dy, inputs.map(Option::unwrap_or_default));
        Ok(())
    }))
}

/// The pairs of matrices to multiply.
#[derive(Debug)]
struct Plan {
    /// The shape of the result.
    result: Vec<usize>,
    rows: usize,
    inner: usize,
    columns: usize,
    transposed: [bool; 2],
    /// The index of the matrix of each operand, for each matrix of the result.
    pairs: Vec<[usize; 2]>,
}

impl Plan {
    fn new(x: &[usize], y: &[usize], transpose_x: bool, transpose_y: bool) -> Result<Self> {
        let refused = || Error::Broadcast { from: y.to_vec(), to: x.to_vec() };
        let (x_batch, x_matrix) = split(x, [1, 0], transpose_x).ok_or_else(refused)?;
        let (y_batch, y_matrix) = split(y, [0, 1], transpose_y).ok_or_else(refused)?;
        let ([rows, inner], [y_inner, columns]) = (x_matrix, y_matrix);
        if inner != y_inner {
            return Err(Error::Inner { x: [rows, inner], y: [y_inner, columns] });
        }
        let rank = x_batch.len().max(y_batch.len());
        let dim = |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |n| dims[n]);
        let mut batch = Vec::with_capacity(rank);
        for axis in 0..rank {
            batch.push(match [dim(x_batch, axis), dim(y_batch, axis)] {
                [x, y] if x == y || y == 1 => x,
                [1, y] => y,
                _ => return Err(refused()),
            });
        }
        let vectors = [x.len() == 1, y.len() == 1];
        let matrix = [rows, columns].into_iter().zip(vectors).filter(|(_, vector)| !vector);
        let mut plan = Self {
            result: batch.iter().copied().chain(matrix.map(|(dim, _)| dim)).collect(),
            rows,
            inner,
            columns,
            transposed: [transpose_x && x.len() > 1, transpose_y && y.len() > 1],
            pairs: vec![[0; 2]],
        };
        for (axis, len) in batch.into_iter().enumerate() {
            let (x, y) = (dim(x_batch, axis), dim(y_batch, axis));
            let along = |at: usize, dim: usize, index: usize| at * dim + if dim == 1 { 0 } else { index };
            let pairs = plan.pairs.iter();
            plan.pairs =
                pairs.flat_map(|&[a, b]| (0..len).map(move |n| [along(a, x, n), along(b, y, n)])).collect();
        }
        // One product of large matrices is faster than many of small ones.
        if !plan.transposed[0] && y_batch.iter().product::<usize>() == 1 {
            plan.rows *= plan.pairs.len();
            plan.pairs = vec![[0; 2]];
        }
        Ok(plan)
    }

    fn expect_result(&self, dims: &[usize]) -> Result<()> {
        // Two vectors: some frameworks give a scalar a dimension, others do not.
        if self.result.is_empty() && dims == [1] {
            return Ok(());
        }
        expect_shape(&self.result, dims)
    }

    /// Returns the range of the left operand's elements that belong to a matrix.
    fn left(&self, number: usize) -> std::ops::Range<usize> {
        let len = self.rows * self.inner;
        number * len..(number + 1) * len
    }

    fn right(&self, number: usize) -> std::ops::Range<usize> {
        let len = self.inner * self.columns;
        number * len..(number + 1) * len
    }

    fn product(&self, number: usize) -> std::ops::Range<usize> {
        let len = self.rows * self.columns;
        number * len..(number + 1) * len
    }

    /// Returns the shape of an operand as stored in memory.
    fn stored(&self, operand: usize) -> [usize; 2] {
        let [rows, columns] = [[self.rows, self.inner], [self.inner, self.columns]][operand];
        if self.transposed[operand] { [columns, rows] } else { [rows, columns] }
    }

    fn operand<'a, T>(&self, data: &'a [T], operand: usize) -> Matrix<'a, T> {
        let [rows, columns] = self.stored(operand);
        Matrix::new(data, rows, columns).transposed_if(self.transposed[operand])
    }

    fn gradient<'a, T>(&self, data: &'a mut [T], operand: usize) -> MatrixMut<'a, T> {
        let [rows, columns] = self.stored(operand);
        MatrixMut::new(data, rows, columns).transposed_if(self.transposed[operand])
    }

    fn forward<T: Compute + Product>(&self, out: &mut [T], x: &[T], y: &[T]) {
        let multiply = |out: &mut [T], [left, right]: [usize; 2]| {
            let out = MatrixMut::new(out, self.rows, self.columns);
            let (x, y) = (self.operand(&x[self.left(left)], 0), self.operand(&y[self.right(right)], 1));
            T::multiply(out, x, y, false);
        };
        let len = self.rows * self.columns;
        let operations = self.pairs.len() * len * self.inner;
        if threads::count(operations) > self.pairs.len() {
            // Each product is split instead.
            let products = self.pairs.iter().enumerate();
            return products.for_each(|(number, pair)| multiply(&mut out[self.product(number)], *pair));
        }
        threads::split(operations, out, len, |start, out| {
            let pairs = &self.pairs[start.checked_div(len).unwrap_or(0)..];
            out.chunks_exact_mut(len.max(1)).zip(pairs).for_each(|(out, pair)| multiply(out, *pair));
        });
    }

    fn backward<T: Compute + Product>(
        &self,
        mut dx: Option<&mut [T]>,
        mut dy: Option<&mut [T]>,
        [x, y, dout]: [&[T]; 3],
    ) {
        for gradient in [dx.as_deref_mut(), dy.as_deref_mut()].into_iter().flatten() {
            gradient.fill(T::of(0.0));
        }
        for (number, &[left, right]) in self.pairs.iter().enumerate() {
            let dout = Matrix::new(&dout[self.product(number)], self.rows, self.columns);
            if let Some(dx) = dx.as_deref_mut() {
                let y = self.operand(&y[self.right(right)], 1).transposed();
                T::multiply(self.gradient(&mut dx[self.left(left)], 0), dout, y, true);
            }
            if let Some(dy) = dy.as_deref_mut() {
                let x = self.operand(&x[self.left(left)], 0).transposed();
                T::multiply(self.gradient(&mut dy[self.right(right)], 1), x, dout, true);
            }
        }
    }
}

/// Splits the shape of an operand into the batch and the matrix to multiply; `None` for a shape without
/// dimensions.
///
/// A vector becomes a matrix with a dimension of length one where `vector` is one.
fn split(dims: &[usize], vector: [usize; 2], transpose: bool) -> Option<(&[usize], [usize; 2])> {
    match *dims {
        [] => None,
        [len] => Some((&[], if vector[0] == 1 { [1, len] } else { [len, 1] })),
        [ref batch @ .., rows, columns] => {
            Some((batch, if transpose { [columns, rows] } else { [rows, columns] }))
        }
    }
}
