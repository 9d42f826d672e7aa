//! Matrix decompositions, and solutions of triangular systems of equations.
//!
//! The last two dimensions are the matrices, and the dimensions before them are the batch. Half precision is
//! computed in float32.

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{lend, store_integers, with_optional_slices, with_slices};
use crate::tensor::{View, ViewMut};

/// Computes the Cholesky factor: the triangular matrix whose product with its own transpose is the input.
///
/// Reads only the triangle of `x` that `upper` selects. `info` has one element for each matrix: 0, or the
/// order of the first leading minor that is not positive definite. In that case the rest of the triangle is
/// zero.
///
/// # Errors
/// [`Error::Rank`] and [`Error::Shape`] unless the matrices are square, and [`Error::Type`].
pub fn cholesky(out: &mut ViewMut<'_>, info: &mut ViewMut<'_>, x: &View<'_>, upper: bool) -> Result<()> {
    let (batch, [n, columns]) = split(x.dims())?;
    expect_shape(&[n, n], &[n, columns])?;
    expect_shape(x.dims(), out.dims())?;
    crate::expect_length("info", batch.iter().product(), info.len())?;
    let mut failed = vec![0; info.len()];
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            let matrices = out.chunks_exact_mut((n * n).max(1)).zip(x.chunks_exact((n * n).max(1)));
            for ((out, x), failed) in matrices.zip(&mut failed) {
                *failed = factor(out, x, n, upper);
            }
            Ok(())
        })
    })?;
    store_integers(info, &failed)
}

/// Computes a Cholesky factor, and returns the order of the first leading minor that is not positive
/// definite, or 0.
fn factor<T: Float>(out: &mut [T], x: &[T], n: usize, upper: bool) -> i64 {
    let at = |row: usize, column: usize| if upper { column * n + row } else { row * n + column };
    out.fill(T::ZERO);
    for j in 0..n {
        let mut square = x[at(j, j)];
        for k in 0..j {
            square -= out[at(j, k)] * out[at(j, k)];
        }
        // NaN is not positive either.
        if square.partial_cmp(&T::ZERO) != Some(std::cmp::Ordering::Greater) {
            return j as i64 + 1;
        }
        let root = square.sqrt();
        out[at(j, j)] = root;
        for i in j + 1..n {
            let mut value = x[at(i, j)];
            for k in 0..j {
                value -= out[at(i, k)] * out[at(j, k)];
            }
            out[at(i, j)] = value / root;
        }
    }
    0
}

/// Solves `a @ out = b`, or `transposed(a) @ out = b`, for triangular `a`. Batches are broadcast.
///
/// Reads only the triangle of `a` that `upper` selects, and its diagonal only if it is not assumed to be 1.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Broadcast`] and [`Error::Type`].
pub fn triangular_solve(
    out: &mut ViewMut<'_>,
    a: &View<'_>,
    b: &View<'_>,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
) -> Result<()> {
    let (_, [n, columns]) = split(a.dims())?;
    let (_, [rows, count]) = split(b.dims())?;
    expect_shape(&[n, n], &[rows, columns])?;
    let (batch, matrix) = split(out.dims())?;
    expect_shape(&[n, count], &matrix)?;
    let a = a.clone().expand(&[batch, &[n, n]].concat())?;
    let b = b.clone().expand(out.dims())?;
    if out.is_empty() {
        return Ok(());
    }
    with_float!(b.dtype(), T => {
        with_slices::<T, 1, 2>([out.reborrow()], [&a, &b], |[out], [a, b]| {
            let systems = out.chunks_exact_mut(n * count).zip(b.chunks_exact(n * count));
            for ((out, b), a) in systems.zip(a.chunks_exact(n * n)) {
                out.copy_from_slice(b);
                let triangle = Triangle { elements: a, n, upper, transpose, unitriangular };
                triangle.solve(out, count);
            }
            Ok(())
        })
    })
}

struct Triangle<'a, T> {
    elements: &'a [T],
    n: usize,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
}

impl<T: Float> Triangle<'_, T> {
    /// Replaces the right-hand sides by the solutions, starting at the row with a single unknown.
    fn solve(&self, x: &mut [T], count: usize) {
        let n = self.n;
        for step in 0..n {
            let is_upper = self.upper != self.transpose;
            let row = if is_upper { n - 1 - step } else { step };
            let known = if is_upper { row + 1..n } else { 0..row };
            for other in known {
                let factor = self.at(row, other);
                for column in 0..count {
                    let value = x[other * count + column];
                    x[row * count + column] -= factor * value;
                }
            }
            if !self.unitriangular {
                let divisor = self.at(row, row);
                x[row * count..][..count].iter_mut().for_each(|value| *value = *value / divisor);
            }
        }
    }

    fn at(&self, row: usize, column: usize) -> T {
        let (row, column) = if self.transpose { (column, row) } else { (row, column) };
        self.elements[row * self.n + column]
    }
}

/// Computes the QR decomposition: `x = q @ r`, where `q` has orthonormal columns and `r` is upper triangular.
///
/// `r` has as many rows as `q` has columns: those of `x`, or the lesser number of its rows and columns. The
/// signs are those of LAPACK's Householder reflections, whose first element has the opposite sign of the
/// column's first element.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`] and [`Error::Type`].
pub fn qr(q: Option<&mut ViewMut<'_>>, r: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    let (batch, [rows, columns]) = split(x.dims())?;
    let (_, [order, _]) = split(r.dims())?;
    let least = rows.min(columns);
    if order != rows {
        expect_shape(&[batch, &[least, columns]].concat(), r.dims())?;
    }
    expect_shape(&[batch, &[order, columns]].concat(), r.dims())?;
    let q_dims = [batch, &[rows, order]].concat();
    expect_shape(&q_dims, q.as_deref().map_or(&q_dims[..], ViewMut::dims))?;
    let count: usize = batch.iter().product();
    with_float!(x.dtype(), T => {
        with_optional_slices::<T, 2, 1>([lend(q), Some(r.reborrow())], [Some(x)], |[q, r], [x]| {
            let (mut q, r, x) = (q, r.unwrap_or_default(), x.unwrap_or_default());
            for number in 0..count {
                let part = |len: usize| number * len..(number + 1) * len;
                let mut reflections = Reflections::new(&x[part(rows * columns)], rows, columns);
                reflections.eliminate();
                reflections.triangle(&mut r[part(order * columns)]);
                if let Some(q) = q.as_deref_mut() {
                    reflections.product(&mut q[part(rows * order)], order);
                }
            }
            Ok(())
        })
    })
}

/// A matrix that is being reduced to a triangle; below the diagonal are the reflections that reduce it.
struct Reflections<T> {
    elements: Vec<T>,
    rows: usize,
    columns: usize,
    /// The factor of each reflection `1 - factor * v * transposed(v)`; the first element of `v` is 1.
    factors: Vec<T>,
}

impl<T: Float> Reflections<T> {
    fn new(x: &[T], rows: usize, columns: usize) -> Self {
        Self { elements: x.to_vec(), rows, columns, factors: Vec::new() }
    }

    fn eliminate(&mut self) {
        let columns = self.columns;
        for step in 0..self.rows.min(columns) {
            let first = self.elements[step * columns + step];
            let mut rest = T::ZERO;
            for row in step + 1..self.rows {
                rest += self.elements[row * columns + step] * self.elements[row * columns + step];
            }
            if rest == T::ZERO {
                self.factors.push(T::ZERO);
                continue;
            }
            let norm = (first * first + rest).sqrt();
            let result = if first < T::ZERO { norm } else { T::ZERO - norm };
            let factor = (result - first) / result;
            for row in step + 1..self.rows {
                let place = row * columns + step;
                self.elements[place] = self.elements[place] / (first - result);
            }
            self.factors.push(factor);
            for column in step + 1..columns {
                let mut dot = self.elements[step * columns + column];
                for row in step + 1..self.rows {
                    dot += self.elements[row * columns + step] * self.elements[row * columns + column];
                }
                self.elements[step * columns + column] -= factor * dot;
                for row in step + 1..self.rows {
                    let change = factor * dot * self.elements[row * columns + step];
                    self.elements[row * columns + column] -= change;
                }
            }
            self.elements[step * columns + step] = result;
        }
    }

    fn triangle(&self, r: &mut [T]) {
        for (place, value) in r.iter_mut().enumerate() {
            let (row, column) = (place / self.columns, place % self.columns);
            *value = if row <= column { self.elements[place] } else { T::ZERO };
        }
    }

    /// Computes the first columns of the product of all reflections.
    fn product(&self, q: &mut [T], order: usize) {
        q.fill(T::ZERO);
        for place in 0..order {
            q[place * order + place] = T::ONE;
        }
        for (step, &factor) in self.factors.iter().enumerate().rev() {
            for column in 0..order {
                let mut dot = q[step * order + column];
                for row in step + 1..self.rows {
                    dot += self.elements[row * self.columns + step] * q[row * order + column];
                }
                q[step * order + column] -= factor * dot;
                for row in step + 1..self.rows {
                    q[row * order + column] -= factor * dot * self.elements[row * self.columns + step];
                }
            }
        }
    }
}

/// Splits a shape into the shape of the batch and the shape of the matrices.
fn split(dims: &[usize]) -> Result<(&[usize], [usize; 2])> {
    dims.split_last_chunk()
        .map(|(batch, matrix)| (batch, *matrix))
        .ok_or(Error::Rank { dims: dims.len(), strides: 2 })
}
