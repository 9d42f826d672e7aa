//! Cholesky factors, and systems of equations with triangles.

use crate::attributes::TriangularSolveAttributes;
use num_traits::{Float as _, One as _, Zero as _};

use super::lu::substitute;
use super::matrix::{
    Matrix, Scalar, common, load, load_as, split, square, store_all, store_sums, with_scalar,
};
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::store_integers;
use crate::tensor::{View, ViewMut};

/// Computes the Cholesky factor: the triangular matrix whose product with its own adjoint is the input.
///
/// Reads only the triangle of `x` that `upper` selects. `info` has one element for each matrix: 0, or the
/// order of the first leading minor that is not positive definite. In that case the rest of the triangle is
/// zero.
///
/// # Errors
/// [`Error::Rank`] and [`Error::Shape`] unless the matrices are square, and [`Error::Type`]. Without `info`,
/// [`Error::Indefinite`].
pub fn cholesky(
    out: &mut ViewMut<'_>,
    info: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    upper: bool,
) -> Result<()> {
    square(x.dims())?;
    expect_shape(x.dims(), out.dims())?;
    with_scalar!(x.dtype(), T => {
        let (factors, failed): (Vec<_>, Vec<_>) = load::<T>(x)?.iter().map(|x| factor(x, upper)).unzip();
        match info {
            Some(info) => {
                crate::expect_length("info", failed.len(), info.len())?;
                store_integers(info, &failed)?;
            }
            None => {
                if let Some((matrix, &order)) = failed.iter().enumerate().find(|&(_, &order)| order != 0) {
                    return Err(Error::Indefinite { matrix, order: order as usize });
                }
            }
        }
        store_all(out, &factors)
    })
}

/// Computes a Cholesky factor, and returns the order of the first leading minor that is not positive
/// definite, or 0.
fn factor<T: Scalar>(x: &Matrix<T>, upper: bool) -> (Matrix<T>, i64) {
    let n = x.rows;
    let mut out = Matrix::<T>::zeros(n, n);
    let mut failed = 0;
    for j in 0..n {
        for i in j..n {
            let given = if upper { x.at(j, i).conj() } else { x.at(i, j) };
            let pairs = out.row(i)[..j].iter().zip(&out.row(j)[..j]);
            let value = pairs.fold(given, |value, (&left, &right)| value - left * right.conj());
            if i == j {
                // NaN is not positive either.
                if value.real().partial_cmp(&T::Real::zero()) != Some(std::cmp::Ordering::Greater) {
                    failed = j as i64 + 1;
                    break;
                }
                out.elements[j * n + j] = T::of_real(value.real().sqrt());
            } else {
                out.elements[i * n + j] = value / out.at(j, j);
            }
        }
        if failed != 0 {
            break;
        }
    }
    (if upper { out.adjoint() } else { out }, failed)
}

/// Computes the gradient of [`cholesky`] (Murray, 2016: "Differentiation of the Cholesky decomposition").
///
/// # Errors
/// As [`cholesky`].
pub fn cholesky_grad(dx: &mut ViewMut<'_>, out: &View<'_>, dout: &View<'_>, upper: bool) -> Result<()> {
    square(out.dims())?;
    with_scalar!(out.dtype(), T => {
        let gradient = |(out, dout): (&Matrix<T>, &Matrix<T>)| {
            let (l, dl) = if upper { (out.adjoint(), dout.adjoint()) } else { (out.clone(), dout.clone()) };
            let inner = l.adjoint().times(&dl.lower(0));
            let below = inner.lower(-1);
            let both = inner.lower(0).plus(&below.adjoint()).map(|value| value / (T::one() + T::one()));
            // Divides by the adjoint of `l` on the left, and by `l` on the right.
            let mut left = both;
            substitute(&l.adjoint(), &mut left, true, false);
            let mut right = left.adjoint();
            substitute(&l.adjoint(), &mut right, true, false);
            right.adjoint()
        };
        let gradients: Vec<_> = load::<T>(out)?.iter().zip(&load::<T>(dout)?).map(gradient).collect();
        store_all(dx, &gradients)
    })
}

/// Solves `a @ out = x`, where `y` is the Cholesky factor of `a`. Batches are broadcast.
///
/// # Errors
/// As [`triangular_solve`].
pub fn cholesky_solve(out: &mut ViewMut<'_>, x: &View<'_>, y: &View<'_>, upper: bool) -> Result<()> {
    let (own, n) = square(y.dims())?;
    let (others, [rows, _]) = split(x.dims())?;
    expect_shape(&[n], &[rows])?;
    let batch = common(own, others)?;
    with_scalar!(x.dtype(), T => {
        let pairs = load_as::<T>(x, &batch)?.into_iter().zip(load_as::<T>(y, &batch)?);
        store_all(out, &pairs.map(|(x, y)| solved(&y, x, upper)).collect::<Vec<_>>())
    })
}

fn solved<T: Scalar>(factor: &Matrix<T>, mut x: Matrix<T>, upper: bool) -> Matrix<T> {
    let (lower, above) =
        if upper { (factor.adjoint(), factor.clone()) } else { (factor.clone(), factor.adjoint()) };
    substitute(&lower, &mut x, false, false);
    substitute(&above, &mut x, true, false);
    x
}

/// Computes the gradients of [`cholesky_solve`].
///
/// # Errors
/// As [`cholesky_solve`].
pub fn cholesky_solve_grad(
    dx: Option<&mut ViewMut<'_>>,
    dy: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    y: &View<'_>,
    out: &View<'_>,
    dout: &View<'_>,
    upper: bool,
) -> Result<()> {
    let batch = common(square(y.dims())?.0, split(x.dims())?.0)?;
    with_scalar!(x.dtype(), T => {
        let factors = load_as::<T>(y, &batch)?;
        let of_x: Vec<_> = (factors.iter().zip(load::<T>(dout)?)).map(|(y, dout)| solved(y, dout, upper)).collect();
        if let Some(dy) = dy {
            let outs = load::<T>(out)?;
            let gradient = |((y, dx), out): ((&Matrix<T>, &Matrix<T>), &Matrix<T>)| {
                let half = dx.times(&out.adjoint());
                let both = half.plus(&half.adjoint()).negated();
                if upper { y.times(&both).upper(0) } else { both.times(y).lower(0) }
            };
            let of_y: Vec<_> = factors.iter().zip(&of_x).zip(&outs).map(gradient).collect();
            store_sums(dy, &batch, &of_y)?;
        }
        dx.map_or(Ok(()), |dx| store_sums(dx, &batch, &of_x))
    })
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
    with: &TriangularSolveAttributes,
) -> Result<()> {
    let TriangularSolveAttributes { upper, transpose, unitriangular } = *with;
    let (_, n) = square(a.dims())?;
    let (batch, matrix) = split(out.dims())?;
    let (_, [rows, count]) = split(b.dims())?;
    expect_shape(&[n], &[rows])?;
    expect_shape(&[n, count], &matrix)?;
    with_scalar!(b.dtype(), T => {
        let pairs = load_as::<T>(a, batch)?.into_iter().zip(load_as::<T>(b, batch)?);
        let solve = |(a, mut b): (Matrix<T>, Matrix<T>)| {
            let a = if transpose { a.transposed() } else { a };
            substitute(&a, &mut b, upper != transpose, unitriangular);
            b
        };
        store_all(out, &pairs.map(solve).collect::<Vec<_>>())
    })
}

/// Computes the gradients of [`triangular_solve`].
///
/// # Errors
/// As [`triangular_solve`].
pub fn triangular_solve_grad(
    da: Option<&mut ViewMut<'_>>,
    db: Option<&mut ViewMut<'_>>,
    a: &View<'_>,
    b: &View<'_>,
    out: &View<'_>,
    dout: &View<'_>,
    with: &TriangularSolveAttributes,
) -> Result<()> {
    let TriangularSolveAttributes { upper, transpose, unitriangular } = *with;
    let batch = common(square(a.dims())?.0, split(b.dims())?.0)?;
    with_scalar!(a.dtype(), T => {
        let of_b: Vec<_> = (load_as::<T>(a, &batch)?.into_iter().zip(load::<T>(dout)?))
            .map(|(a, mut dout)| {
                let a = if transpose { a.map(Scalar::conj) } else { a.adjoint() };
                substitute(&a, &mut dout, upper == transpose, unitriangular);
                dout
            })
            .collect();
        if let Some(da) = da {
            let gradient = |(db, out): (&Matrix<T>, &Matrix<T>)| {
                let whole = if transpose {
                    out.map(Scalar::conj).times(&db.transposed())
                } else {
                    db.times(&out.adjoint())
                };
                let inside = isize::from(unitriangular);
                let part = if upper { whole.upper(inside) } else { whole.lower(-inside) };
                part.negated()
            };
            let of_a: Vec<_> = of_b.iter().zip(&load::<T>(out)?).map(gradient).collect();
            store_sums(da, &batch, &of_a)?;
        }
        db.map_or(Ok(()), |db| store_sums(db, &batch, &of_b))
    })
}
