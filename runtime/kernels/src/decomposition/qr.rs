//! QR decompositions by Householder reflections.

use num_traits::{Float as _, Zero as _};

use super::lu::substitute;
use super::matrix::{Matrix, Scalar, given, load, split, store, store_all, with_scalar};
use crate::error::{Result, expect_shape};
use crate::tensor::{View, ViewMut};

/// Computes the QR decomposition: `x = q @ r`, where `q` has orthonormal columns and `r` is upper triangular.
///
/// `r` has as many rows as `q` has columns: those of `x`, or the lesser number of its rows and columns. A `q` without
/// elements is not computed. The signs are those of LAPACK's Householder reflections, whose first element has the
/// opposite sign of the column's first element.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`] and [`Error::Type`].
///
/// [`Error::Rank`]: crate::Error::Rank
/// [`Error::Shape`]: crate::Error::Shape
/// [`Error::Type`]: crate::Error::Type
pub fn qr(q: Option<&mut ViewMut<'_>>, r: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    let (batch, [rows, columns]) = split(x.dims())?;
    let (_, [order, _]) = split(r.dims())?;
    let least = rows.min(columns);
    if order != rows {
        expect_shape(&[batch, &[least, columns]].concat(), r.dims())?;
    }
    expect_shape(&[batch, &[order, columns]].concat(), r.dims())?;
    let q = q.filter(|q| !q.is_empty());
    let q_dims = [batch, &[rows, order]].concat();
    expect_shape(&q_dims, q.as_deref().map_or(&q_dims[..], ViewMut::dims))?;
    with_scalar!(x.dtype(), T => {
        let mut reflections: Vec<_> = load::<T>(x)?.into_iter().map(Reflections::new).collect();
        reflections.iter_mut().for_each(Reflections::eliminate);
        let triangles: Vec<_> = reflections.iter().map(|it| it.rest.part(0..order, 0..columns).upper(0)).collect();
        store_all(r, &triangles)?;
        let Some(q) = q else { return Ok(()) };
        let products: Vec<_> = reflections.iter().map(|it| it.product(order)).collect();
        store(q, products.iter().map(|product| &product.elements[..]))
    })
}

/// A matrix that is being reduced to a triangle; below the diagonal are the reflections that reduce it.
struct Reflections<T> {
    rest: Matrix<T>,
    /// The factor of each reflection `1 - factor * v * adjoint(v)`; the first element of `v` is 1.
    factors: Vec<T>,
}

impl<T: Scalar> Reflections<T> {
    fn new(rest: Matrix<T>) -> Self {
        Self { rest, factors: Vec::new() }
    }

    fn eliminate(&mut self) {
        let (rows, columns) = (self.rest.rows, self.rest.columns);
        for step in 0..rows.min(columns) {
            let first = self.rest.at(step, step);
            let below = (step + 1..rows).map(|row| self.rest.at(row, step).length());
            let rest = below.fold(T::Real::zero(), |sum, value| sum + value * value);
            let imaginary = first - T::of_real(first.real());
            if rest.is_zero() && imaginary.is_zero() {
                self.factors.push(T::zero());
                continue;
            }
            let length = (first.length() * first.length() + rest).sqrt();
            let result = if first.real() < T::Real::zero() { length } else { -length };
            let factor = (T::of_real(result) - first) / T::of_real(result);
            let divisor = first - T::of_real(result);
            for row in step + 1..rows {
                self.rest.elements[row * columns + step] /= divisor;
            }
            self.factors.push(factor);
            let vector: Vec<T> = self.vector(step);
            reflect(&mut self.rest, step, step + 1, &vector, factor.conj());
            self.rest.elements[step * columns + step] = T::of_real(result);
        }
    }

    /// Returns the vector of a reflection from the diagonal on.
    fn vector(&self, step: usize) -> Vec<T> {
        let rest = (step + 1..self.rest.rows).map(|row| self.rest.at(row, step));
        std::iter::once(T::one()).chain(rest).collect()
    }

    /// Computes the first columns of the product of all reflections.
    fn product(&self, order: usize) -> Matrix<T> {
        let mut q =
            Matrix::of(self.rest.rows, order, |row, column| if row == column { T::one() } else { T::zero() });
        for (step, &factor) in self.factors.iter().enumerate().rev() {
            // The columns before are zero in these rows.
            reflect(&mut q, step, step, &self.vector(step), factor);
        }
        q
    }
}

/// Multiplies rows of a matrix, from a column on, by a reflection. Walks along rows, which are contiguous.
fn reflect<T: Scalar>(x: &mut Matrix<T>, first: usize, start: usize, vector: &[T], factor: T) {
    if factor.is_zero() || start >= x.columns {
        return;
    }
    let mut dots = vec![T::zero(); x.columns - start];
    for (offset, &value) in vector.iter().enumerate() {
        let (value, row) = (value.conj(), &x.row(first + offset)[start..]);
        for (dot, &element) in dots.iter_mut().zip(row) {
            *dot += value * element;
        }
    }
    dots.iter_mut().for_each(|dot| *dot *= factor);
    let columns = x.columns;
    for (offset, &value) in vector.iter().enumerate() {
        let row = &mut x.elements[(first + offset) * columns + start..][..columns - start];
        for (element, &dot) in row.iter_mut().zip(&dots) {
            *element -= value * dot;
        }
    }
}

/// Computes the gradient of [`qr`].
///
/// # Errors
/// As [`qr`]; [`Error::Attribute`] for a whole `q` of more rows than columns, which has no gradient.
///
/// [`Error::Attribute`]: crate::Error::Attribute
pub fn qr_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    q: &View<'_>,
    r: &View<'_>,
    dq: Option<&View<'_>>,
    dr: Option<&View<'_>>,
) -> Result<()> {
    let (_, [rows, columns]) = split(x.dims())?;
    let (_, [order, _]) = split(r.dims())?;
    if q.is_empty() && !x.is_empty() || order > columns {
        let value = "complete or r".to_owned();
        return Err(crate::Error::Attribute { name: "mode", value });
    }
    with_scalar!(x.dtype(), T => {
        let (xs, qs, rs) = (load::<T>(x)?, load::<T>(q)?, load::<T>(r)?);
        let dqs = given(dq, &qs)?;
        let drs = given(dr, &rs)?;
        let gradient = |number: usize| {
            let [q, r, dq, dr] = [&qs, &rs, &dqs, &drs].map(|list| &list[number]);
            if columns <= rows {
                return tall(q, r, dq, dr);
            }
            // The columns behind the square are `q` times those of `r`.
            let behind = dr.part(0..rows, rows..columns);
            let dq = dq.plus(&xs[number].part(0..rows, rows..columns).times(&behind.adjoint()));
            let first = tall(q, &r.part(0..rows, 0..rows), &dq, &dr.part(0..rows, 0..rows));
            first.beside(&q.times(&behind))
        };
        let gradients: Vec<_> = (0..xs.len()).map(gradient).collect();
        store_all(dx, &gradients)
    })
}

/// Computes the gradient for a matrix of at least as many rows as columns.
fn tall<T: Scalar>(q: &Matrix<T>, r: &Matrix<T>, dq: &Matrix<T>, dr: &Matrix<T>) -> Matrix<T> {
    let inner = r.times(&dr.adjoint()).minus(&dq.adjoint().times(q));
    let below = inner.lower(-1);
    let diagonal =
        inner.by_place(|row, column, value| if row == column { T::of_real(value.real()) } else { T::zero() });
    let symmetric = below.plus(&below.adjoint()).plus(&diagonal);
    let mut solved = dq.plus(&q.times(&symmetric)).adjoint();
    substitute(r, &mut solved, true, false);
    solved.adjoint()
}
