//! Powers of matrices, and products of several.

use super::lu::Lu;
use super::matrix::{Matrix, Scalar, load, square, store, store_all, with_scalar};
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::owned;
use crate::tensor::{View, ViewMut};

/// Computes powers of matrices; a negative one is a power of the inverse.
///
/// # Errors
/// [`Error::Singular`], [`Error::Rank`], [`Error::Shape`] and [`Error::Type`].
pub fn matrix_power(out: &mut ViewMut<'_>, x: &View<'_>, n: i64) -> Result<()> {
    square(x.dims())?;
    with_scalar!(x.dtype(), T => {
        let powers: Result<Vec<_>> =
            load::<T>(x)?.into_iter().map(|x| Ok(power(&base(x, n)?, n.unsigned_abs()))).collect();
        store_all(out, &powers?)
    })
}

/// Returns the matrix that is multiplied with itself: the inverse for a negative power.
fn base<T: Scalar>(x: Matrix<T>, n: i64) -> Result<Matrix<T>> {
    if n >= 0 {
        return Ok(x);
    }
    let identity = Matrix::identity(x.rows);
    let lu = Lu::new(x, true);
    if lu.failed == 0 { Ok(lu.solve(identity)) } else { Err(Error::Singular { step: lu.failed }) }
}

fn power<T: Scalar>(x: &Matrix<T>, mut n: u64) -> Matrix<T> {
    let (mut result, mut square) = (None::<Matrix<T>>, x.clone());
    while n > 0 {
        if n % 2 == 1 {
            result = Some(result.map_or_else(|| square.clone(), |result| result.times(&square)));
        }
        n /= 2;
        if n > 0 {
            square = square.times(&square);
        }
    }
    result.unwrap_or_else(|| Matrix::identity(x.rows))
}

/// Computes the gradient of [`matrix_power`].
///
/// # Errors
/// As [`matrix_power`].
pub fn matrix_power_grad(dx: &mut ViewMut<'_>, x: &View<'_>, dout: &View<'_>, n: i64) -> Result<()> {
    square(x.dims())?;
    with_scalar!(x.dtype(), T => {
        let gradient = |(x, dout): (Matrix<T>, &Matrix<T>)| {
            let base = base(x, n)?;
            let adjoint = base.adjoint();
            let steps = n.unsigned_abs();
            // Horner's scheme of the sum of `adjoint^i · dout · adjoint^(steps - 1 - i)`.
            let mut sum = if steps == 0 { Matrix::zeros(base.rows, base.rows) } else { dout.clone() };
            let mut right = dout.clone();
            for _ in 1..steps {
                right = right.times(&adjoint);
                sum = adjoint.times(&sum).plus(&right);
            }
            Ok(if n < 0 { adjoint.times(&sum).times(&adjoint).negated() } else { sum })
        };
        let gradients: Result<Vec<_>> = load::<T>(x)?.into_iter().zip(&load::<T>(dout)?).map(gradient).collect();
        store_all(dx, &gradients?)
    })
}

/// Reads factors as matrices: a first vector is a row, and a last one a column.
fn chain<T: Scalar>(x: &[View<'_>]) -> Result<Vec<Matrix<T>>> {
    let last = x.len().saturating_sub(1);
    let matrix = |(place, x): (usize, &View<'_>)| {
        let elements = owned::<T>(x)?;
        Ok(match *x.dims() {
            [len] if place == 0 => Matrix::new(1, len, elements),
            [len] if place == last => Matrix::new(len, 1, elements),
            [rows, columns] => Matrix::new(rows, columns, elements),
            _ => return Err(Error::Rank { dims: x.dims().len(), strides: 2 }),
        })
    };
    let matrices: Vec<Matrix<T>> = x.iter().enumerate().map(matrix).collect::<Result<_>>()?;
    for pair in matrices.windows(2) {
        expect_shape(&[pair[0].columns], &[pair[1].rows])?;
    }
    Ok(matrices)
}

/// Multiplies matrices in the order that needs the fewest multiplications.
fn product<T: Scalar>(matrices: &[Matrix<T>]) -> Matrix<T> {
    let n = matrices.len();
    // For each part of the chain, the cost and the place of the last product.
    let mut best = vec![vec![(0_u128, 0); n]; n];
    for len in 1..n {
        for first in 0..n - len {
            let last = first + len;
            let cost = |cut: usize| {
                let sizes = [matrices[first].rows, matrices[cut].columns, matrices[last].columns];
                let own: u128 = sizes.iter().map(|&size| size as u128).product();
                best[first][cut].0 + best[cut + 1][last].0 + own
            };
            let cheapest = (first..last).map(|cut| (cost(cut), cut)).min();
            best[first][last] = cheapest.unwrap_or_default();
        }
    }
    fn join<T: Scalar>(
        matrices: &[Matrix<T>],
        best: &[Vec<(u128, usize)>],
        first: usize,
        last: usize,
    ) -> Matrix<T> {
        if first == last {
            return matrices[first].clone();
        }
        let cut = best[first][last].1;
        join(matrices, best, first, cut).times(&join(matrices, best, cut + 1, last))
    }
    join(matrices, &best, 0, n - 1)
}

/// Multiplies matrices. The first and the last one may be vectors.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Missing`] and [`Error::Type`].
pub fn multi_dot(out: &mut ViewMut<'_>, x: &[View<'_>]) -> Result<()> {
    let first = x.first().ok_or(Error::Missing { missing: "x", because: "out" })?;
    with_scalar!(first.dtype(), T => {
        let product = product(&chain::<T>(x)?);
        store(out, [&product.elements[..]])
    })
}

/// Computes the gradients of [`multi_dot`].
///
/// # Errors
/// As [`multi_dot`].
pub fn multi_dot_grad(gradients: &mut [Option<ViewMut<'_>>], x: &[View<'_>], dout: &View<'_>) -> Result<()> {
    crate::expect_length("gradients", x.len(), gradients.len())?;
    with_scalar!(dout.dtype(), T => {
        let matrices = chain::<T>(x)?;
        let (Some(first), Some(last)) = (matrices.first(), matrices.last()) else { return Ok(()) };
        let dout = Matrix::new(first.rows, last.columns, owned::<T>(dout)?);
        for (place, gradient) in gradients.iter_mut().enumerate() {
            let Some(gradient) = gradient else { continue };
            let adjoints = |part: &[Matrix<T>]| -> Vec<Matrix<T>> { part.iter().rev().map(Matrix::adjoint).collect() };
            let mut factors = adjoints(&matrices[..place]);
            factors.push(dout.clone());
            factors.extend(adjoints(&matrices[place + 1..]));
            store(gradient, [&product(&factors).elements[..]])?;
        }
        Ok(())
    })
}
