//! LU decompositions, and the operators that solve systems of equations with them.

use num_traits::{One as _, Zero as _};

use super::matrix::{
    Matrix, Scalar, common, load, load_as, split, square, store, store_all, store_sums, with_scalar,
};
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{integers, owned, store_integers};
use crate::tensor::{TensorMeta, View, ViewMut};

/// The factors of a matrix with exchanged rows: below the diagonal those of `l`, whose diagonal is 1, and `u`.
pub(crate) struct Lu<T> {
    pub(crate) factors: Matrix<T>,
    /// The row that each step exchanges with its own.
    pub(crate) pivots: Vec<usize>,
    /// The number of the first step whose pivot is zero, from 1; 0 if there is none.
    pub(crate) failed: usize,
}

impl<T: Scalar> Lu<T> {
    /// Decomposes a matrix with partial pivoting, as LAPACK's `getrf` does.
    pub(crate) fn new(mut factors: Matrix<T>, exchanges: bool) -> Self {
        let steps = factors.rows.min(factors.columns);
        let (mut pivots, mut failed) = (Vec::with_capacity(steps), 0);
        for step in 0..steps {
            let mut pivot = step;
            if exchanges {
                for row in step + 1..factors.rows {
                    if factors.at(row, step).length() > factors.at(pivot, step).length() {
                        pivot = row;
                    }
                }
            }
            pivots.push(pivot);
            factors.swap_rows(step, pivot);
            let divisor = factors.at(step, step);
            if divisor.is_zero() {
                failed = if failed == 0 { step + 1 } else { failed };
                continue;
            }
            for row in step + 1..factors.rows {
                let factor = factors.at(row, step) / divisor;
                let place = row * factors.columns + step;
                factors.elements[place] = factor;
                if !factor.is_zero() {
                    factors.subtract_row(row, step, factor, step + 1);
                }
            }
        }
        Self { factors, pivots, failed }
    }

    pub(crate) fn solve(&self, mut b: Matrix<T>) -> Matrix<T> {
        for (step, &pivot) in self.pivots.iter().enumerate() {
            b.swap_rows(step, pivot);
        }
        substitute(&self.factors, &mut b, false, true);
        substitute(&self.factors, &mut b, true, false);
        b
    }

    fn inverse(&self) -> Matrix<T> {
        self.solve(Matrix::identity(self.factors.rows))
    }

    /// Returns the elements of the diagonal of `u`, and -1 if the number of exchanges is odd.
    fn diagonal(&self) -> (impl Iterator<Item = T> + '_, T) {
        let odd = self.pivots.iter().enumerate().filter(|&(step, &pivot)| step != pivot).count() % 2 == 1;
        let sign = if odd { -T::one() } else { T::one() };
        ((0..self.factors.rows).map(|place| self.factors.at(place, place)), sign)
    }

    pub(crate) fn determinant(&self) -> T {
        let (diagonal, sign) = self.diagonal();
        diagonal.fold(sign, |product, value| product * value)
    }
}

/// Replaces right-hand sides by the solutions of a triangular system.
pub(crate) fn substitute<T: Scalar>(a: &Matrix<T>, b: &mut Matrix<T>, upper: bool, unit: bool) {
    let n = a.rows.min(a.columns);
    for step in 0..n {
        let row = if upper { n - 1 - step } else { step };
        let known = if upper { row + 1..n } else { 0..row };
        for other in known {
            let factor = a.at(row, other);
            if !factor.is_zero() {
                b.subtract_row(row, other, factor, 0);
            }
        }
        if !unit {
            let divisor = a.at(row, row);
            for value in &mut b.elements[row * b.columns..][..b.columns] {
                *value /= divisor;
            }
        }
    }
}

/// Computes inverse matrices.
///
/// # Errors
/// [`Error::Singular`], [`Error::Rank`], [`Error::Shape`] and [`Error::Type`].
pub fn inverse(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    square(x.dims())?;
    expect_shape(x.dims(), out.dims())?;
    with_scalar!(x.dtype(), T => {
        let inverses: Result<Vec<_>> = load::<T>(x)?.into_iter().map(|x| regular(x).map(|lu| lu.inverse())).collect();
        store_all(out, &inverses?)
    })
}

/// Decomposes a matrix that must have an inverse.
fn regular<T: Scalar>(x: Matrix<T>) -> Result<Lu<T>> {
    let lu = Lu::new(x, true);
    match lu.failed {
        0 => Ok(lu),
        step => Err(Error::Singular { step }),
    }
}

/// Computes the gradient of [`inverse`].
///
/// # Errors
/// As [`inverse`].
pub fn inverse_grad(dx: &mut ViewMut<'_>, out: &View<'_>, dout: &View<'_>) -> Result<()> {
    square(out.dims())?;
    with_scalar!(out.dtype(), T => {
        let gradients: Vec<_> = (load::<T>(out)?.iter().zip(&load(dout)?))
            .map(|(out, dout)| {
                let adjoint = out.adjoint();
                adjoint.times(dout).times(&adjoint).negated()
            })
            .collect();
        store_all(dx, &gradients)
    })
}

/// Returns `y` as matrices, and true if it is a vector, which is one column.
fn right_hand_sides<'v>(y: &View<'v>) -> (View<'v>, bool) {
    let is_vector = y.dims().len() == 1;
    (if is_vector { y.clone().append_dimensions(1) } else { y.clone() }, is_vector)
}

/// Solves systems of equations. Batches are broadcast; a `y` of one dimension is one right-hand side.
///
/// # Errors
/// As [`inverse`], and [`Error::Broadcast`].
pub fn solve(out: &mut ViewMut<'_>, x: &View<'_>, y: &View<'_>) -> Result<()> {
    let (own, n) = square(x.dims())?;
    let (y, _) = right_hand_sides(y);
    let (others, [rows, _]) = split(y.dims())?;
    expect_shape(&[n], &[rows])?;
    let batch = common(own, others)?;
    with_scalar!(x.dtype(), T => {
        let pairs = load_as::<T>(x, &batch)?.into_iter().zip(load_as::<T>(&y, &batch)?);
        let solutions: Result<Vec<_>> = pairs.map(|(x, y)| regular(x).map(|lu| lu.solve(y))).collect();
        store_all(out, &solutions?)
    })
}

/// Computes the shape of the result of [`solve`].
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`] and [`Error::Broadcast`].
pub fn solve_shape(x: TensorMeta<'_>, y: TensorMeta<'_>) -> Result<Vec<usize>> {
    let (own, n) = square(x.dims())?;
    if y.dims().len() == 1 {
        return Ok([own, &[n]].concat());
    }
    let (others, [_, columns]) = split(y.dims())?;
    Ok([&common(own, others)?[..], &[n, columns]].concat())
}

/// Computes the shape of the result of [`slogdet`].
///
/// # Errors
/// [`Error::Rank`] and [`Error::Shape`].
pub fn slogdet_shape(x: TensorMeta<'_>) -> Result<Vec<usize>> {
    Ok([&[2], square(x.dims())?.0].concat())
}

/// Computes the gradients of [`solve`].
///
/// # Errors
/// As [`solve`].
pub fn solve_grad(
    dx: Option<&mut ViewMut<'_>>,
    dy: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    y: &View<'_>,
    out: &View<'_>,
    dout: &View<'_>,
) -> Result<()> {
    let (own, _) = square(x.dims())?;
    let (y, is_vector) = right_hand_sides(y);
    let (others, _) = split(y.dims())?;
    let batch = common(own, others)?;
    with_scalar!(x.dtype(), T => {
        let [out, dout] = [out, dout].map(|view| {
            let view = view.clone();
            load::<T>(&if is_vector { view.append_dimensions(1) } else { view })
        });
        let (out, dout) = (out?, dout?);
        let gradients: Result<Vec<_>> = (load_as::<T>(x, &batch)?.iter().zip(dout))
            .map(|(x, dout)| regular(x.adjoint()).map(|lu| lu.solve(dout)))
            .collect();
        let of_y = gradients?;
        if let Some(dx) = dx {
            let of_x: Vec<_> =
                of_y.iter().zip(&out).map(|(dy, out)| dy.times(&out.adjoint()).negated()).collect();
            store_sums(dx, &batch, &of_x)?;
        }
        match dy {
            Some(dy) if is_vector => store_sums(&mut dy.reborrow().append_dimensions(1), &batch, &of_y),
            Some(dy) => store_sums(dy, &batch, &of_y),
            None => Ok(()),
        }
    })
}

/// Computes determinants.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`] and [`Error::Type`].
pub fn determinant(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    square(x.dims())?;
    with_scalar!(x.dtype(), T => {
        let values: Vec<T> = load::<T>(x)?.into_iter().map(|x| Lu::new(x, true).determinant()).collect();
        store(out, [&values[..]])
    })
}

/// Computes the shape of the result of [`determinant`].
///
/// # Errors
/// [`Error::Rank`] and [`Error::Shape`].
pub fn determinant_shape(x: TensorMeta<'_>) -> Result<Vec<usize>> {
    Ok(square(x.dims())?.0.to_vec())
}

/// Computes the gradient of [`determinant`]. It is zero if a matrix of the batch has no inverse, as in PaddlePaddle.
///
/// # Errors
/// As [`determinant`].
pub fn determinant_grad(dx: &mut ViewMut<'_>, x: &View<'_>, out: &View<'_>, dout: &View<'_>) -> Result<()> {
    square(x.dims())?;
    with_scalar!(x.dtype(), T => {
        let (out, dout) = (
            owned::<T>(out)?,
            owned::<T>(dout)?,
        );
        let decomposed: Vec<_> = load::<T>(x)?.into_iter().map(|x| Lu::new(x, true)).collect();
        let is_singular = decomposed.iter().any(|lu| lu.failed != 0);
        let gradients: Vec<_> = (decomposed.iter().zip(out.iter().zip(&dout)))
            .map(|(lu, (out, dout))| {
                if is_singular {
                    lu.factors.map(|_| T::zero())
                } else {
                    lu.inverse().adjoint().map(|value| value * out.conj() * *dout)
                }
            })
            .collect();
        store_all(dx, &gradients)
    })
}

/// Computes the signs of determinants and the logarithms of their absolute values.
///
/// # Errors
/// As [`determinant`].
pub fn slogdet_v2(sign: &mut ViewMut<'_>, logdet: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    square(x.dims())?;
    with_scalar!(x.dtype(), T => {
        let (signs, logarithms) = signs_and_logarithms::<T>(x)?;
        store(sign, [&signs[..]])?;
        store(logdet, [&logarithms[..]])
    })
}

/// Computes the results of [`slogdet_v2`] one after the other in one tensor.
///
/// # Errors
/// As [`determinant`].
pub fn slogdet(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    square(x.dims())?;
    with_scalar!(x.dtype(), T => {
        let (signs, logarithms) = signs_and_logarithms::<T>(x)?;
        let logarithms: Vec<T> = logarithms.into_iter().map(T::of_real).collect();
        store(out, [&signs[..], &logarithms[..]])
    })
}

type SignsAndLogarithms<T> = (Vec<T>, Vec<<T as Scalar>::Real>);

fn signs_and_logarithms<T: Scalar>(x: &View<'_>) -> Result<SignsAndLogarithms<T>> {
    let of = |x: Matrix<T>| {
        let lu = Lu::new(x, true);
        let (diagonal, start) = lu.diagonal();
        diagonal.fold((start, T::Real::zero()), |(sign, sum), value| {
            let length = value.length();
            let unit = if length.is_zero() { T::zero() } else { value / T::of_real(length) };
            (sign * unit, sum + num_traits::Float::ln(length))
        })
    };
    Ok(load::<T>(x)?.into_iter().map(of).unzip())
}

/// Computes the gradient of [`slogdet_v2`] by the logarithms: those of the signs of real matrices are zero.
///
/// # Errors
/// As [`determinant`].
pub fn slogdet_v2_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    sign: &View<'_>,
    dsign: Option<&View<'_>>,
    dlogdet: Option<&View<'_>>,
) -> Result<()> {
    square(x.dims())?;
    with_scalar!(x.dtype(), T => {
        type Real = <T as Scalar>::Real;
        let signs = owned::<T>(sign)?;
        let dlogdet = dlogdet.map_or_else(|| Ok(vec![Real::zero(); signs.len()]), owned::<Real>)?;
        let dsigns = dsign.map_or_else(|| Ok(vec![T::zero(); signs.len()]), owned::<T>)?;
        let factors = (dlogdet.iter().zip(signs.iter().zip(&dsigns))).map(|(&dlogdet, (&sign, &dsign))| {
            // A sign turns with the imaginary part of the logarithm of the determinant.
            let turn = sign.conj() * dsign;
            T::of_real(dlogdet) + (turn - T::of_real(turn.real()))
        });
        logarithm_gradients::<T>(dx, x, factors.collect())
    })
}

/// Computes the gradient of [`slogdet`], by the logarithms.
///
/// # Errors
/// As [`determinant`].
pub fn slogdet_grad(dx: &mut ViewMut<'_>, x: &View<'_>, dout: &View<'_>) -> Result<()> {
    square(x.dims())?;
    with_scalar!(x.dtype(), T => {
        let dout = owned::<T>(dout)?;
        logarithm_gradients::<T>(dx, x, dout[dout.len() / 2..].to_vec())
    })
}

fn logarithm_gradients<T: Scalar>(dx: &mut ViewMut<'_>, x: &View<'_>, factors: Vec<T>) -> Result<()> {
    let gradients: Vec<_> = (load::<T>(x)?.into_iter().zip(factors))
        .map(|(x, factor)| {
            let lu = Lu::new(x, true);
            // PaddlePaddle has zeros for a matrix without an inverse.
            match lu.failed {
                0 => lu.inverse().adjoint().map(|value| value * factor),
                _ => lu.factors.map(|_| T::zero()),
            }
        })
        .collect();
    store_all(dx, &gradients)
}

/// Computes LU decompositions. `pivots` counts rows from 1, as LAPACK does; `infos` is zero, or the number of the first
/// step whose pivot is zero.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`] and [`Error::Type`].
pub fn lu(
    out: &mut ViewMut<'_>,
    pivots: &mut ViewMut<'_>,
    infos: &mut ViewMut<'_>,
    x: &View<'_>,
    pivot: bool,
) -> Result<()> {
    expect_shape(x.dims(), out.dims())?;
    with_scalar!(x.dtype(), T => {
        let decomposed: Vec<_> = load::<T>(x)?.into_iter().map(|x| Lu::new(x, pivot)).collect();
        let rows = decomposed.iter().flat_map(|lu| &lu.pivots).map(|&row| row as i64 + 1);
        store_integers(pivots, &rows.collect::<Vec<_>>())?;
        store_integers(infos, &decomposed.iter().map(|lu| lu.failed as i64).collect::<Vec<_>>())?;
        store(out, decomposed.iter().map(|lu| &lu.factors.elements[..]))
    })
}

/// Splits the result of [`lu`] into its factors, whose sizes decide about `order`.
fn factors<T: Scalar>(lu: &Matrix<T>) -> (Matrix<T>, Matrix<T>) {
    let order = lu.rows.min(lu.columns);
    let unit = |row, column, value| if row == column { T::one() } else { value };
    let lower = lu.part(0..lu.rows, 0..order).lower(0).by_place(unit);
    (lower, lu.part(0..order, 0..lu.columns).upper(0))
}

/// Returns the rows of a tensor of pivots as permutations: the place in the matrix of each row of the factors.
fn permutations(pivots: &View<'_>, rows: usize) -> Result<Vec<Vec<usize>>> {
    let steps = pivots.dims().last().copied().unwrap_or(0);
    let batch: usize = pivots.dims()[..pivots.dims().len().saturating_sub(1)].iter().product();
    let pivots = integers(pivots)?;
    let permutation = |number: usize| {
        let mut order: Vec<usize> = (0..rows).collect();
        for (step, &pivot) in pivots[number * steps..][..steps].iter().enumerate() {
            let other = usize::try_from(pivot - 1).ok().filter(|&row| row < rows);
            order.swap(step, other.ok_or(Error::Index { index: pivot, len: rows })?);
        }
        Ok(order)
    };
    (0..batch).map(permutation).collect()
}

/// Moves the rows of the factors to their places in the matrix.
fn unpermuted<T: Scalar>(x: &Matrix<T>, order: &[usize]) -> Matrix<T> {
    let mut out = x.clone();
    for (row, &place) in order.iter().enumerate() {
        out.elements[place * x.columns..][..x.columns].copy_from_slice(x.row(row));
    }
    out
}

/// Computes the gradient of [`lu`].
///
/// # Errors
/// As [`lu`].
pub fn lu_grad(dx: &mut ViewMut<'_>, out: &View<'_>, pivots: &View<'_>, dout: &View<'_>) -> Result<()> {
    let (_, [rows, columns]) = split(out.dims())?;
    let orders = permutations(pivots, rows)?;
    let k = rows.min(columns);
    with_scalar!(out.dtype(), T => {
        let gradient = |(lu, (dout, order)): (&Matrix<T>, (&Matrix<T>, &Vec<usize>))| {
            let (l, u) = factors(lu);
            let (dl, du) = (dout.part(0..rows, 0..k).lower(-1), dout.part(0..k, 0..columns).upper(0));
            let (l1, u1) = (l.part(0..k, 0..k), u.part(0..k, 0..k));
            let (dl1, dl2) = (dl.part(0..k, 0..k), dl.part(k..rows, 0..k));
            let (du1, du2) = (du.part(0..k, 0..k), du.part(0..k, k..columns));
            let (l2, u2) = (l.part(k..rows, 0..k), u.part(0..k, k..columns));
            let below = l1.adjoint().times(&dl1).minus(&du2.times(&u2.adjoint())).lower(-1);
            let above = du1.times(&u1.adjoint()).minus(&l2.adjoint().times(&dl2)).upper(0);
            // Divides by the adjoint of `u` on the right, and by that of `l` on the left.
            let by_u = |x: &Matrix<T>| {
                let mut solved = x.adjoint();
                substitute(&u1, &mut solved, true, false);
                solved.adjoint()
            };
            let by_l = |mut x: Matrix<T>| {
                substitute(&l1.adjoint(), &mut x, true, true);
                x
            };
            let first = by_l(by_u(&below.plus(&above)).beside(&du2));
            let second = by_u(&dl2).beside(&Matrix::zeros(rows - k, columns - k));
            unpermuted(&first.above(&second), order)
        };
        let gradients: Vec<_> = load::<T>(out)?.iter().zip(load::<T>(dout)?.iter().zip(&orders)).map(gradient).collect();
        store_all(dx, &gradients)
    })
}

/// Splits the results of [`lu`] into permutations and the two factors.
///
/// # Errors
/// As [`lu`], and [`Error::Index`].
pub fn lu_unpack(
    pmat: Option<&mut ViewMut<'_>>,
    l: Option<&mut ViewMut<'_>>,
    u: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    pivots: &View<'_>,
) -> Result<()> {
    let (_, [rows, _]) = split(x.dims())?;
    with_scalar!(x.dtype(), T => {
        if let Some(pmat) = pmat {
            let orders = permutations(pivots, rows)?;
            let matrix = |order: &Vec<usize>| {
                Matrix::<T>::of(rows, rows, |row, column| {
                    if order[column] == row { T::one() } else { T::zero() }
                })
            };
            store_all(pmat, &orders.iter().map(matrix).collect::<Vec<_>>())?;
        }
        let (lower, upper): (Vec<_>, Vec<_>) = load::<T>(x)?.iter().map(factors).unzip();
        l.map_or(Ok(()), |l| store_all(l, &lower))?;
        u.map_or(Ok(()), |u| store_all(u, &upper))
    })
}

/// Computes the gradient of [`lu_unpack`].
///
/// # Errors
/// As [`lu`].
pub fn lu_unpack_grad(dx: &mut ViewMut<'_>, dl: &View<'_>, du: &View<'_>) -> Result<()> {
    let (_, [rows, columns]) = split(dx.dims())?;
    with_scalar!(dl.dtype(), T => {
        let joined = |(dl, du): (Matrix<T>, Matrix<T>)| {
            Matrix::of(rows, columns, |row, column| {
                if column < row { dl.at(row, column) } else { du.at(row, column) }
            })
        };
        let pairs = load::<T>(dl)?.into_iter().zip(load::<T>(du)?);
        store_all(dx, &pairs.map(joined).collect::<Vec<_>>())
    })
}
