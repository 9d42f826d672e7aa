//! Dense matrices, for operators that are compositions of products and elementwise steps.

use std::ops::Neg;

use num_complex::Complex;
use num_traits::{Float, NumAssign};

use super::lapack::{self, Lapack};
use crate::error::{Error, Result};
use crate::loops::slices::{Slot, owned, write};
use crate::matmul::matrix;
use crate::matmul::product::Product;
use crate::tensor::{View, ViewMut};

/// The real or complex numbers in which decompositions compute.
pub(crate) trait Scalar: Slot + NumAssign + Neg<Output = Self> + PartialEq {
    /// The type of absolute values.
    type Real: Scalar<Real = Self::Real> + Float;

    fn conj(self) -> Self;
    fn real(self) -> Self::Real;
    fn of_real(value: Self::Real) -> Self;
    fn length(self) -> Self::Real;
    /// Writes the product of two matrices of the sizes `[rows, inner, columns]`.
    fn multiply(out: &mut [Self], left: &[Self], right: &[Self], sizes: [usize; 3]);
    /// Returns the routines for this type.
    fn lapack() -> Result<&'static dyn Lapack<Self, Self::Real>>;
}

macro_rules! scalar {
    ($($real:ident $complex:ident;)*) => {$(
        impl Scalar for $real {
            type Real = $real;

            fn conj(self) -> Self {
                self
            }

            fn real(self) -> $real {
                self
            }

            fn of_real(value: $real) -> Self {
                value
            }

            fn length(self) -> $real {
                Float::abs(self)
            }

            fn multiply(out: &mut [Self], left: &[Self], right: &[Self], [rows, inner, columns]: [usize; 3]) {
                let left = matrix::Matrix::new(left, rows, inner);
                let right = matrix::Matrix::new(right, inner, columns);
                Product::multiply(matrix::MatrixMut::new(out, rows, columns), left, right, false);
            }

            fn lapack() -> Result<&'static dyn Lapack<Self, $real>> {
                Ok(lapack::routines()?.$real)
            }
        }

        impl Scalar for Complex<$real> {
            type Real = $real;

            fn conj(self) -> Self {
                Complex::conj(&self)
            }

            fn real(self) -> $real {
                self.re
            }

            fn of_real(value: $real) -> Self {
                Complex::new(value, 0.0)
            }

            fn length(self) -> $real {
                self.norm()
            }

            fn multiply(out: &mut [Self], left: &[Self], right: &[Self], [_, inner, columns]: [usize; 3]) {
                out.fill(Complex::EMPTY);
                let rows = out.chunks_exact_mut(columns.max(1)).zip(left.chunks_exact(inner.max(1)));
                for (out, left) in rows {
                    for (&factor, right) in left.iter().zip(right.chunks_exact(columns)) {
                        for (out, &right) in out.iter_mut().zip(right) {
                            *out += factor * right;
                        }
                    }
                }
            }

            fn lapack() -> Result<&'static dyn Lapack<Self, $real>> {
                Ok(lapack::routines()?.$complex)
            }
        }
    )*};
}
scalar! {
    f32 complex64;
    f64 complex128;
}

/// Evaluates an expression with the name of the type in which elements of a type are computed.
macro_rules! with_scalar {
    ($dtype:expr, $scalar:ident => $body:expr) => {
        match $dtype {
            $crate::DType::Complex64 => {
                type $scalar = num_complex::Complex<f32>;
                $body
            }
            $crate::DType::Complex128 => {
                type $scalar = num_complex::Complex<f64>;
                $body
            }
            dtype => $crate::elements::accumulate::with_float!(dtype, $scalar => $body),
        }
    };
}
pub(crate) use with_scalar;

/// A row-major matrix.
#[derive(Clone, Debug)]
pub(crate) struct Matrix<T> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) elements: Vec<T>,
}

impl<T: Scalar> Matrix<T> {
    pub(crate) fn new(rows: usize, columns: usize, elements: Vec<T>) -> Self {
        debug_assert_eq!(elements.len(), rows * columns);
        Self { rows, columns, elements }
    }

    pub(crate) fn zeros(rows: usize, columns: usize) -> Self {
        Self::new(rows, columns, vec![T::EMPTY; rows * columns])
    }

    pub(crate) fn of(rows: usize, columns: usize, element: impl Fn(usize, usize) -> T) -> Self {
        let mut elements = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            elements.extend((0..columns).map(|column| element(row, column)));
        }
        Self::new(rows, columns, elements)
    }

    pub(crate) fn identity(n: usize) -> Self {
        Self::of(n, n, |row, column| if row == column { T::one() } else { T::zero() })
    }

    pub(crate) fn at(&self, row: usize, column: usize) -> T {
        self.elements[row * self.columns + column]
    }

    pub(crate) fn transposed(&self) -> Self {
        Self::of(self.columns, self.rows, |row, column| self.at(column, row))
    }

    pub(crate) fn adjoint(&self) -> Self {
        Self::of(self.columns, self.rows, |row, column| self.at(column, row).conj())
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        let mut out = Self::zeros(self.rows, other.columns);
        if !out.elements.is_empty() && self.columns > 0 {
            let sizes = [self.rows, self.columns, other.columns];
            T::multiply(&mut out.elements, &self.elements, &other.elements, sizes);
        }
        out
    }

    pub(crate) fn map(&self, function: impl Fn(T) -> T) -> Self {
        Self::new(self.rows, self.columns, self.elements.iter().map(|&value| function(value)).collect())
    }

    /// Computes each element from its row, its column and the element before.
    pub(crate) fn by_place(&self, function: impl Fn(usize, usize, T) -> T) -> Self {
        Self::of(self.rows, self.columns, |row, column| function(row, column, self.at(row, column)))
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        self.by_place(|row, column, value| value + other.at(row, column))
    }

    pub(crate) fn minus(&self, other: &Self) -> Self {
        self.by_place(|row, column, value| value - other.at(row, column))
    }

    pub(crate) fn negated(&self) -> Self {
        self.map(|value| -value)
    }

    /// Returns the elements on the diagonal `offset` and below it, and zeros elsewhere.
    pub(crate) fn lower(&self, offset: isize) -> Self {
        self.by_place(
            |row, column, value| {
                if column as isize <= row as isize + offset { value } else { T::zero() }
            },
        )
    }

    /// Returns the elements on the diagonal `offset` and above it, and zeros elsewhere.
    pub(crate) fn upper(&self, offset: isize) -> Self {
        self.by_place(
            |row, column, value| {
                if column as isize >= row as isize + offset { value } else { T::zero() }
            },
        )
    }

    /// Returns the part of some rows and columns.
    pub(crate) fn part(&self, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> Self {
        let (first, left) = (rows.start, columns.start);
        Self::of(rows.len(), columns.len(), |row, column| self.at(first + row, left + column))
    }

    /// Puts the columns of another matrix behind those of this one.
    pub(crate) fn beside(&self, other: &Self) -> Self {
        Self::of(self.rows, self.columns + other.columns, |row, column| {
            if column < self.columns { self.at(row, column) } else { other.at(row, column - self.columns) }
        })
    }

    /// Puts the rows of another matrix below those of this one.
    pub(crate) fn above(&self, other: &Self) -> Self {
        Self::of(self.rows + other.rows, self.columns, |row, column| {
            if row < self.rows { self.at(row, column) } else { other.at(row - self.rows, column) }
        })
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.elements.iter().all(|value| value.length().is_finite())
    }

    pub(crate) fn row(&self, row: usize) -> &[T] {
        &self.elements[row * self.columns..][..self.columns]
    }

    /// Subtracts a multiple of one row from another, from a column on.
    pub(crate) fn subtract_row(&mut self, from: usize, row: usize, factor: T, start: usize) {
        let columns = self.columns;
        let (low, high) = self.elements.split_at_mut(from.max(row) * columns);
        let (target, source) = if from > row {
            (&mut high[..columns], &low[row * columns..][..columns])
        } else {
            (&mut low[from * columns..][..columns], &high[..columns])
        };
        for (target, &source) in target[start..].iter_mut().zip(&source[start..]) {
            *target -= factor * source;
        }
    }

    pub(crate) fn swap_rows(&mut self, left: usize, right: usize) {
        if left != right {
            let (low, high) = self.elements.split_at_mut(left.max(right) * self.columns);
            let low = &mut low[left.min(right) * self.columns..][..self.columns];
            low.swap_with_slice(&mut high[..self.columns]);
        }
    }
}

/// Splits a shape into the shape of the batch and the shape of the matrices.
pub(crate) fn split(dims: &[usize]) -> Result<(&[usize], [usize; 2])> {
    dims.split_last_chunk()
        .map(|(batch, matrix)| (batch, *matrix))
        .ok_or(Error::Rank { dims: dims.len(), strides: 2 })
}

/// Splits a shape as [`split`] does, and checks that matrices are square. Returns the batch and the order.
pub(crate) fn square(dims: &[usize]) -> Result<(&[usize], usize)> {
    let (batch, [rows, columns]) = split(dims)?;
    crate::error::expect_shape(&[rows, rows], &[rows, columns])?;
    Ok((batch, rows))
}

/// Reads the matrices of a tensor.
pub(crate) fn load<T: Scalar>(x: &View<'_>) -> Result<Vec<Matrix<T>>> {
    let (batch, [rows, columns]) = split(x.dims())?;
    let elements = owned::<T>(x)?;
    let matrix = |number: usize| {
        let part = &elements[number * rows * columns..][..rows * columns];
        Matrix::new(rows, columns, part.to_vec())
    };
    Ok((0..batch.iter().product()).map(matrix).collect())
}

/// Reads the matrices of a tensor, broadcast to the shape of a batch.
pub(crate) fn load_as<T: Scalar>(x: &View<'_>, batch: &[usize]) -> Result<Vec<Matrix<T>>> {
    let (_, matrix) = split(x.dims())?;
    load(&x.clone().expand(&[batch, &matrix].concat())?)
}

/// Reads gradients of some matrices: zeros if they are not given.
pub(crate) fn given<T: Scalar>(gradients: Option<&View<'_>>, of: &[Matrix<T>]) -> Result<Vec<Matrix<T>>> {
    let zeros = || of.iter().map(|of| Matrix::zeros(of.rows, of.columns)).collect();
    gradients.map_or_else(|| Ok(zeros()), load)
}

/// Reads vectors along the last dimension.
pub(crate) fn load_rows<T: Slot>(x: &View<'_>) -> Result<Vec<Vec<T>>> {
    let (&len, batch) = x.dims().split_last().ok_or(Error::Rank { dims: 0, strides: 1 })?;
    let elements = owned::<T>(x)?;
    Ok((0..batch.iter().product()).map(|number: usize| elements[number * len..][..len].to_vec()).collect())
}

/// Stores vectors or matrices one after another.
pub(crate) fn store<'m, T: Slot>(
    out: &mut ViewMut<'_>,
    parts: impl IntoIterator<Item = &'m [T]>,
) -> Result<()> {
    let elements: Vec<T> = parts.into_iter().flatten().copied().collect();
    crate::expect_length("out", out.len(), elements.len())?;
    write::<T>(out, |out| {
        out.copy_from_slice(&elements);
        Ok(())
    })
}

/// Stores matrices one after another.
pub(crate) fn store_all<T: Scalar>(out: &mut ViewMut<'_>, matrices: &[Matrix<T>]) -> Result<()> {
    store(out, matrices.iter().map(|matrix| &matrix.elements[..]))
}

/// Stores the sums of matrices over the dimensions of a batch along which the output was broadcast.
pub(crate) fn store_sums<T: Scalar>(
    out: &mut ViewMut<'_>,
    batch: &[usize],
    matrices: &[Matrix<T>],
) -> Result<()> {
    let (own, [rows, columns]) = split(out.dims())?;
    if own == batch {
        return store_all(out, matrices);
    }
    let count: usize = own.iter().product();
    let places: Vec<i64> = (0..count as i64).collect();
    let view = View::of_slice(&places, own)?.expand(batch)?;
    let places = crate::loops::slices::integers(&view)?;
    let mut sums = vec![Matrix::<T>::zeros(rows, columns); count];
    for (matrix, place) in matrices.iter().zip(places) {
        for (sum, &value) in sums[place as usize].elements.iter_mut().zip(&matrix.elements) {
            *sum += value;
        }
    }
    store_all(out, &sums)
}

/// Returns the common shape of two batches.
pub(crate) fn common(left: &[usize], right: &[usize]) -> Result<Vec<usize>> {
    let rank = left.len().max(right.len());
    let dim =
        |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |axis| dims[axis]);
    let pairs = (0..rank).map(|axis| (dim(left, axis), dim(right, axis)));
    pairs
        .map(|pair| match pair {
            (1, other) | (other, 1) => Ok(other),
            (one, other) if one == other => Ok(one),
            _ => Err(Error::Broadcast { from: left.to_vec(), to: right.to_vec() }),
        })
        .collect()
}
