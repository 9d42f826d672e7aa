//! Decompositions into singular values or eigenvalues, by LAPACK.

use crate::attributes::MatrixRankAttributes;
use num_complex::Complex;
use num_traits::{Float as _, One as _, Zero as _};

use super::lu::Lu;
use super::matrix::{Matrix, Scalar, given, load, load_rows, split, square, store, store_all, with_scalar};
use crate::elements::accumulate::with_complex;
use crate::error::{Error, Result};
use crate::loops::slices::{owned, store_integers};
use crate::tensor::{View, ViewMut};

/// A singular value decomposition.
struct Svd<T: Scalar> {
    u: Matrix<T>,
    s: Vec<T::Real>,
    vh: Matrix<T>,
}

impl<T: Scalar> Svd<T> {
    /// Decomposes a matrix; `u` has `left` columns, and `vh` has `right` rows. If both are zero, only the values are
    /// computed.
    fn new(x: Matrix<T>, [left, right]: [usize; 2]) -> Result<Self> {
        let (rows, columns) = (x.rows, x.columns);
        let mut s = vec![T::Real::zero(); rows.min(columns)];
        let (mut u, mut vh) = (Matrix::zeros(rows, left), Matrix::zeros(right, columns));
        if s.is_empty() {
            // The whole matrices of an empty one are any orthogonal ones.
            u = Matrix::of(rows, left, |row, column| if row == column { T::one() } else { T::zero() });
            vh = Matrix::of(right, columns, |row, column| if row == column { T::one() } else { T::zero() });
            return Ok(Self { u, s, vh });
        }
        finite(&x)?;
        // Stored by columns, the elements are those of the transpose, whose factors exchange their places.
        let mut elements = x.elements;
        let sizes = [columns, rows];
        let info = T::lapack()?.svd(&mut elements, sizes, &mut s, &mut vh.elements, &mut u.elements);
        converged("svd", info)?;
        Ok(Self { u, s, vh })
    }
}

fn finite<T: Scalar>(x: &Matrix<T>) -> Result<()> {
    // LAPACK does not end, or fails, with other numbers.
    if x.is_finite() {
        Ok(())
    } else {
        Err(Error::Converge { routine: "decomposition of a matrix with infinity or NaN" })
    }
}

fn converged(routine: &'static str, info: i32) -> Result<()> {
    if info == 0 { Ok(()) } else { Err(Error::Converge { routine }) }
}

/// Computes singular value decompositions `x = u · diagonal(s) · vh`, with the values in descending order.
///
/// # Errors
/// [`Error::Library`], [`Error::Converge`], [`Error::Rank`], [`Error::Shape`] and [`Error::Type`].
pub fn svd(
    u: &mut ViewMut<'_>,
    s: &mut ViewMut<'_>,
    vh: &mut ViewMut<'_>,
    x: &View<'_>,
    full_matrices: bool,
) -> Result<()> {
    let (_, [rows, columns]) = split(x.dims())?;
    let least = rows.min(columns);
    let sizes = if full_matrices { [rows, columns] } else { [least; 2] };
    with_scalar!(x.dtype(), T => {
        let found: Result<Vec<_>> = load::<T>(x)?.into_iter().map(|x| Svd::new(x, sizes)).collect();
        let found = found?;
        store(u, found.iter().map(|svd| &svd.u.elements[..]))?;
        store(s, found.iter().map(|svd| &svd.s[..]))?;
        store(vh, found.iter().map(|svd| &svd.vh.elements[..]))
    })
}

/// Computes singular values in descending order.
///
/// # Errors
/// As [`svd`].
pub fn svdvals(s: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    with_scalar!(x.dtype(), T => {
        let found: Result<Vec<_>> = load::<T>(x)?.into_iter().map(|x| Svd::new(x, [0, 0])).collect();
        let found = found?;
        store(s, found.iter().map(|svd| &svd.s[..]))
    })
}

/// Computes the gradient of [`svd`]. Only the first columns of `u` and rows of `vh` have gradients.
///
/// # Errors
/// As [`svd`].
pub fn svd_grad(
    dx: &mut ViewMut<'_>,
    u: &View<'_>,
    vh: &View<'_>,
    s: &View<'_>,
    du: Option<&View<'_>>,
    dvh: Option<&View<'_>>,
    ds: Option<&View<'_>>,
) -> Result<()> {
    let (batch, [rows, columns]) = split(dx.dims())?;
    let (count, k): (usize, _) = (batch.iter().product(), rows.min(columns));
    with_scalar!(u.dtype(), T => {
        type Real = <T as Scalar>::Real;
        let (us, vhs, values) = (load::<T>(u)?, load::<T>(vh)?, load_rows::<Real>(s)?);
        let (dus, dvhs) = (du.map(load::<T>).transpose()?, dvh.map(load::<T>).transpose()?);
        let dss = ds.map(load_rows::<Real>).transpose()?;
        let mut gradients = Vec::with_capacity(count);
        for number in 0..count {
            let s = &values[number];
            let (u, vh) = (us[number].part(0..rows, 0..k), vhs[number].part(0..k, 0..columns));
            let factor = |row: usize, column: usize| {
                if row == column { return Real::one(); }
                s[column] * s[column] - s[row] * s[row]
            };
            let skew = |x: &Matrix<T>| {
                x.minus(&x.adjoint()).by_place(|row, column, value| value / T::of_real(factor(row, column)))
            };
            let mut inner = Matrix::<T>::zeros(k, k);
            let mut outside = Matrix::<T>::zeros(rows, columns);
            if let Some(ds) = &dss {
                inner = inner.by_place(|row, column, value| {
                    if row == column { T::of_real(ds[number][row]) } else { value }
                });
            }
            if let Some(du) = &dus {
                let du = du[number].part(0..rows, 0..k);
                let product = u.adjoint().times(&du);
                let half = skew(&product);
                inner = inner.by_place(|row, column, value| {
                    if row == column {
                        // Zero for real numbers.
                        value + half.at(row, row) / T::of_real(s[row] + s[row])
                    } else {
                        value + half.at(row, column) * T::of_real(s[column])
                    }
                });
                if rows > k {
                    let rest = du.minus(&u.times(&product));
                    let scaled = rest.by_place(|_, column, value| value / T::of_real(s[column]));
                    outside = outside.plus(&scaled.times(&vh));
                }
            }
            if let Some(dvh) = &dvhs {
                let dvh = dvh[number].part(0..k, 0..columns);
                let product = vh.times(&dvh.adjoint());
                let half = skew(&product);
                inner = inner.by_place(|row, column, value| {
                    if row == column { value } else { value + half.at(row, column) * T::of_real(s[row]) }
                });
                if columns > k {
                    let rest = dvh.minus(&product.adjoint().times(&vh));
                    let scaled = rest.by_place(|row, _, value| value / T::of_real(s[row]));
                    outside = outside.plus(&u.times(&scaled));
                }
            }
            gradients.push(u.times(&inner).times(&vh).plus(&outside));
        }
        store_all(dx, &gradients)
    })
}

/// Computes the gradient of [`svdvals`].
///
/// # Errors
/// As [`svd`].
pub fn svdvals_grad(dx: &mut ViewMut<'_>, x: &View<'_>, ds: &View<'_>) -> Result<()> {
    let (_, [rows, columns]) = split(x.dims())?;
    let k = rows.min(columns);
    with_scalar!(x.dtype(), T => {
        let ds = load_rows::<<T as Scalar>::Real>(ds)?;
        let gradient = |(x, ds): (Matrix<T>, Vec<_>)| {
            let Svd { u, vh, .. } = Svd::new(x, [k, k])?;
            Ok(u.by_place(|_, column, value| value * T::of_real(ds[column])).times(&vh))
        };
        let gradients: Result<Vec<_>> = load::<T>(x)?.into_iter().zip(ds).map(gradient).collect();
        store_all(dx, &gradients?)
    })
}

/// Computes the ascending eigenvalues of a Hermitian matrix and, with `vectors`, its eigenvectors as columns.
fn hermitian<T: Scalar>(x: Matrix<T>, uplo: &str, vectors: bool) -> Result<(Vec<T::Real>, Matrix<T>)> {
    let upper = match uplo {
        "U" => true,
        "L" => false,
        other => return Err(Error::Attribute { name: "uplo", value: other.to_owned() }),
    };
    let n = x.rows;
    let mut w = vec![T::Real::zero(); n];
    if n == 0 {
        return Ok((w, x));
    }
    finite(&x)?;
    let mut elements = x.elements;
    // Stored by columns, the elements are those of the conjugate, whose other triangle is read.
    converged("eigh", T::lapack()?.eigh(&mut elements, &mut w, !upper, vectors))?;
    Ok((w, Matrix::new(n, n, elements).adjoint()))
}

/// Computes the ascending eigenvalues `w` of Hermitian matrices and their eigenvectors, the columns of `v`. Reads only
/// the triangle that `uplo` names: `L` or `U`.
///
/// # Errors
/// As [`svd`], and [`Error::Attribute`].
pub fn eigh(w: &mut ViewMut<'_>, v: Option<&mut ViewMut<'_>>, x: &View<'_>, uplo: &str) -> Result<()> {
    square(x.dims())?;
    let v = v.filter(|v| !v.is_empty());
    with_scalar!(x.dtype(), T => {
        let found: Result<Vec<_>> =
            load::<T>(x)?.into_iter().map(|x| hermitian(x, uplo, v.is_some())).collect();
        let found = found?;
        store(w, found.iter().map(|(w, _)| &w[..]))?;
        v.map_or(Ok(()), |v| store(v, found.iter().map(|(_, v)| &v.elements[..])))
    })
}

/// Computes the gradient of [`eigh`].
///
/// # Errors
/// As [`svd`].
pub fn eigh_grad(
    dx: &mut ViewMut<'_>,
    w: &View<'_>,
    v: &View<'_>,
    dw: Option<&View<'_>>,
    dv: Option<&View<'_>>,
) -> Result<()> {
    square(v.dims())?;
    with_scalar!(v.dtype(), T => {
        type Real = <T as Scalar>::Real;
        let (ws, vs) = (load_rows::<Real>(w)?, load::<T>(v)?);
        let dvs = given(dv, &vs)?;
        let dws = dw.map_or_else(|| Ok(ws.iter().map(|w| vec![0.0; w.len()]).collect()), load_rows::<Real>)?;
        let gradient = |number: usize| {
            let (v, w) = (&vs[number], &ws[number]);
            let inner = v.adjoint().times(&dvs[number]).by_place(|row, column, value| {
                if row == column { T::of_real(dws[number][row]) } else { value / T::of_real(w[column] - w[row]) }
            });
            v.times(&inner).times(&v.adjoint())
        };
        store_all(dx, &(0..vs.len()).map(gradient).collect::<Vec<_>>())
    })
}

/// Computes the gradient of the eigenvalues of [`eigh`].
///
/// # Errors
/// As [`svd`].
pub fn eigvalsh_grad(dx: &mut ViewMut<'_>, v: &View<'_>, dw: &View<'_>) -> Result<()> {
    square(v.dims())?;
    with_scalar!(v.dtype(), T => {
        let dws = load_rows::<<T as Scalar>::Real>(dw)?;
        let gradient = |(v, dw): (&Matrix<T>, Vec<_>)| {
            v.by_place(|_, column, value| value * T::of_real(dw[column])).times(&v.adjoint())
        };
        store_all(dx, &load::<T>(v)?.iter().zip(dws).map(gradient).collect::<Vec<_>>())
    })
}

/// Computes the eigenvalues `w` of matrices and their eigenvectors, the columns of `v`.
///
/// # Errors
/// As [`svd`].
pub fn eig(w: &mut ViewMut<'_>, v: Option<&mut ViewMut<'_>>, x: &View<'_>) -> Result<()> {
    let (_, n) = square(x.dims())?;
    with_scalar!(x.dtype(), T => {
        type Number = Complex<<T as Scalar>::Real>;
        let (mut values, mut vectors) = (Vec::<Number>::new(), Vec::<Number>::new());
        for x in load::<T>(x)? {
            finite(&x)?;
            let mut elements = x.transposed().elements;
            let mut w = vec![Number::zero(); n];
            let mut found = vec![Number::zero(); if v.is_some() { n * n } else { 0 }];
            if n > 0 {
                converged("eig", T::lapack()?.eig(&mut elements, &mut w, &mut found))?;
            }
            values.extend(w);
            if v.is_some() {
                vectors.extend(Matrix::new(n, n, found).transposed().elements);
            }
        }
        store(w, [&values[..]])?;
        v.map_or(Ok(()), |v| store(v, [&vectors[..]]))
    })
}

/// Computes the gradient of [`eig`].
///
/// # Errors
/// As [`svd`].
pub fn eig_grad(
    dx: &mut ViewMut<'_>,
    w: &View<'_>,
    v: &View<'_>,
    dw: Option<&View<'_>>,
    dv: Option<&View<'_>>,
) -> Result<()> {
    square(v.dims())?;
    with_complex!(v.dtype(), T => {
        type Number = Complex<T>;
        let (ws, vs) = (load_rows::<Number>(w)?, load::<Number>(v)?);
        let (dws, dvs) = (dw.map(load_rows::<Number>).transpose()?, dv.map(load::<Number>).transpose()?);
        let mut gradients = Vec::with_capacity(vs.len());
        for (number, v) in vs.iter().enumerate() {
            let (w, adjoint) = (&ws[number], v.adjoint());
            let mut inner = Matrix::<Number>::zeros(v.rows, v.rows);
            if let Some(dvs) = &dvs {
                let product = adjoint.times(&dvs[number]);
                let norms = adjoint.times(v);
                inner = product.by_place(|row, column, value| {
                    if row == column {
                        Number::zero()
                    } else {
                        // Eigenvectors keep their length.
                        let along = norms.at(row, column) * product.at(column, column).re;
                        (value - along) / (w[column] - w[row]).conj()
                    }
                });
            }
            if let Some(dws) = &dws {
                inner = inner.by_place(|row, column, value| {
                    if row == column { dws[number][row] } else { value }
                });
            }
            gradients.push(Lu::new(adjoint.clone(), true).solve(inner.times(&adjoint)));
        }
        store_all(dx, &gradients)
    })
}

/// Counts the singular values above a tolerance, or the absolute eigenvalues of Hermitian matrices.
///
/// The tolerance is the larger one of `atol` and `rtol` times the largest value. `atol` is broadcast over the batch.
fn ranks<T: Scalar>(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    hermitian_too: bool,
    tolerance: impl Fn(usize, T::Real) -> T::Real,
) -> Result<()> {
    if hermitian_too {
        square(x.dims())?;
    }
    let mut counts = Vec::new();
    for (number, x) in load::<T>(x)?.into_iter().enumerate() {
        let values = if hermitian_too {
            hermitian(x, "L", false)?.0.into_iter().map(Scalar::length).collect()
        } else {
            Svd::new(x, [0, 0])?.s
        };
        let largest = values.iter().fold(T::Real::zero(), |largest, &value| largest.max(value));
        let limit = tolerance(number, largest);
        counts.push(values.iter().filter(|&&value| value > limit).count() as i64);
    }
    store_integers(out, &counts)
}

/// Computes the ranks of matrices, with one tolerance; the default one is the largest singular value times the larger
/// size and the distance from 1 to the next number.
///
/// # Errors
/// As [`svd`].
pub fn matrix_rank(out: &mut ViewMut<'_>, x: &View<'_>, with: &MatrixRankAttributes) -> Result<()> {
    let MatrixRankAttributes { tol, use_default_tol, hermitian } = *with;
    let (_, [rows, columns]) = split(x.dims())?;
    with_scalar!(x.dtype(), T => {
        type Real = <T as Scalar>::Real;
        let relative = Real::EPSILON * rows.max(columns) as Real;
        ranks::<T>(out, x, hermitian, |_, largest| {
            if use_default_tol { largest * relative } else { tol as Real }
        })
    })
}

/// Computes the ranks of matrices, with a tolerance for each matrix; with `use_default_tol`, it is at least that of
/// [`matrix_rank`].
///
/// # Errors
/// As [`svd`], and [`Error::Broadcast`].
pub fn matrix_rank_tol(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    atol: &View<'_>,
    use_default_tol: bool,
    hermitian: bool,
) -> Result<()> {
    let (batch, [rows, columns]) = split(x.dims())?;
    with_scalar!(x.dtype(), T => {
        type Real = <T as Scalar>::Real;
        let relative = Real::EPSILON * rows.max(columns) as Real;
        let atol = owned::<Real>(&atol.clone().expand(batch)?)?;
        ranks::<T>(out, x, hermitian, |number, largest| {
            if use_default_tol { (largest * relative).max(atol[number]) } else { atol[number] }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hermitian_matrices_without_elements_are_square_too() {
        let mut out = [0_i64; 2];
        let mut out = ViewMut::of_slice(&mut out, &[2]).unwrap();
        let x = View::of_slice::<f32>(&[], &[2, 4, 0]).unwrap();
        let refused = matrix_rank(
            &mut out,
            &x,
            &MatrixRankAttributes { tol: 0.0, use_default_tol: true, hermitian: true },
        );
        assert!(matches!(refused, Err(Error::Shape { .. })), "{refused:?}");
    }
}
