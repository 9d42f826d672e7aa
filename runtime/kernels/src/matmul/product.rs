//! Matrix products in memory: the only module that calls the matrix multiplication library.

use std::borrow::Cow;
use std::num::Wrapping;
use std::ops::Add;

use bytemuck::Pod;

use super::few_rows;
use super::sums::Rows;
use crate::elements::dtype::DType;
use crate::provider;

/// A matrix in a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a, T> {
    data: &'a [T],
    shape: Shape,
}

/// A matrix in a slice that is written.
#[derive(Debug)]
pub(crate) struct MatrixMut<'a, T> {
    data: &'a mut [T],
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    rows: usize,
    columns: usize,
    /// The distances to the next row and to the next column, in elements.
    strides: [usize; 2],
}

impl Shape {
    fn transposed(self) -> Self {
        let [row, column] = self.strides;
        Self { rows: self.columns, columns: self.rows, strides: [column, row] }
    }

    /// Returns the number of elements from the first to the last of the matrix, gaps included.
    fn extent(self) -> usize {
        if self.rows == 0 || self.columns == 0 {
            return 0;
        }
        1 + (self.rows - 1) * self.strides[0] + (self.columns - 1) * self.strides[1]
    }

    fn signed_strides(self) -> [isize; 2] {
        self.strides.map(|stride| stride as isize)
    }
}

impl<'a, T> Matrix<'a, T> {
    /// Wraps a matrix whose rows are contiguous.
    pub(crate) fn new(data: &'a [T], rows: usize, columns: usize) -> Self {
        Self::with_rows_apart(data, rows, columns, columns)
    }

    /// Wraps a matrix whose row stride is `apart` elements.
    ///
    /// # Panics
    /// If it extends past the slice.
    pub(crate) fn with_rows_apart(data: &'a [T], rows: usize, columns: usize, apart: usize) -> Self {
        let shape = Shape { rows, columns, strides: [apart, 1] };
        assert!(shape.extent() <= data.len(), "a matrix past its memory");
        Self { data, shape }
    }

    pub(crate) fn transposed(self) -> Self {
        Self { data: self.data, shape: self.shape.transposed() }
    }

    /// Returns the numbers of rows and columns.
    pub(crate) fn dims(&self) -> [usize; 2] {
        [self.shape.rows, self.shape.columns]
    }

    pub(super) fn strides(&self) -> [usize; 2] {
        self.shape.strides
    }

    /// Returns some elements of a row, whose columns are one after the other.
    #[inline(always)]
    pub(super) fn row(&self, row: usize, column: usize, count: usize) -> &'a [T] {
        let start = row * self.shape.strides[0] + column;
        &self.data[start..start + count]
    }

    /// Returns all elements, row after row.
    pub(crate) fn in_order(&self) -> Cow<'a, [T]>
    where
        T: Copy,
    {
        let Shape { rows, columns, strides } = self.shape;
        if strides == [columns, 1] || self.shape.extent() == 0 {
            return Cow::Borrowed(&self.data[..rows * columns]);
        }
        let mut elements = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            elements.extend(self.data[row * strides[0]..].iter().step_by(strides[1]).take(columns));
        }
        Cow::Owned(elements)
    }

    /// Transposes the matrix if `condition` is true.
    pub(crate) fn transposed_if(self, condition: bool) -> Self {
        if condition { self.transposed() } else { self }
    }
}

impl<T> Rows<T> for Matrix<'_, T> {
    #[inline(always)]
    fn dims(&self) -> [usize; 2] {
        self.dims()
    }

    /// Returns some elements of a row, whose columns are one after the other.
    #[inline(always)]
    fn part(&self, row: usize, first: usize, count: usize) -> &[T] {
        self.row(row, first, count)
    }
}

impl<'a, T> MatrixMut<'a, T> {
    /// Wraps a matrix whose rows are contiguous.
    pub(crate) fn new(data: &'a mut [T], rows: usize, columns: usize) -> Self {
        Self::with_rows_apart(data, rows, columns, columns)
    }

    /// Wraps a matrix whose row stride is `apart` elements.
    ///
    /// # Panics
    /// If it extends past the slice, or rows overlap.
    pub(crate) fn with_rows_apart(data: &'a mut [T], rows: usize, columns: usize, apart: usize) -> Self {
        let shape = Shape { rows, columns, strides: [apart, 1] };
        assert!(shape.extent() <= data.len() && (apart >= columns || rows <= 1), "a matrix past its memory");
        Self { data, shape }
    }

    /// Returns the numbers of rows and columns.
    pub(super) fn dims(&self) -> [usize; 2] {
        [self.shape.rows, self.shape.columns]
    }

    /// Borrows the matrix for a shorter time.
    pub(super) fn reborrow(&mut self) -> MatrixMut<'_, T> {
        MatrixMut { data: self.data, shape: self.shape }
    }

    /// Writes or adds some elements of a row.
    #[inline(always)]
    pub(super) fn write(&mut self, row: usize, column: usize, values: &[T], add: bool)
    where
        T: Copy + Add<Output = T>,
    {
        let [of_row, of_column] = self.shape.strides;
        let elements = &mut self.data[row * of_row + column * of_column..];
        let put = |(to, value): (&mut T, &T)| *to = if add { *to + *value } else { *value };
        if of_column == 1 {
            elements[..values.len()].iter_mut().zip(values).for_each(put);
        } else {
            elements.iter_mut().step_by(of_column).zip(values).for_each(put);
        }
    }

    /// Transposes the matrix if `condition` is true.
    pub(crate) fn transposed_if(self, condition: bool) -> Self {
        let shape = if condition { self.shape.transposed() } else { self.shape };
        Self { data: self.data, shape }
    }
}

/// A matrix that a [`Provider`](provider::Provider) multiplies.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a> {
    /// The elements of the matrix; there may be others between and after them.
    pub elements: &'a [u8],
    /// The distance to the next row and to the next column, in elements.
    pub strides: [usize; 2],
}

/// Numbers that support matrix products.
pub(crate) trait Product: Sized {
    /// Writes the product of two matrices, or adds it to the output.
    ///
    /// # Panics
    /// If the shapes do not match.
    fn multiply(out: MatrixMut<'_, Self>, left: Matrix<'_, Self>, right: Matrix<'_, Self>, add: bool);
}

fn check<T>(out: &MatrixMut<'_, T>, left: &Matrix<'_, T>, right: &Matrix<'_, T>) {
    let [out, left, right] = [out.shape, left.shape, right.shape];
    let fits = out.rows == left.rows && out.columns == right.columns && left.columns == right.rows;
    assert!(fits, "{out:?} is no product of {left:?} and {right:?}");
}

/// Lets the provider multiply matrices. Returns false and leaves the output unchanged if the kernel has to
/// compute the product.
pub(crate) fn is_provided<T: Pod>(
    dtype: DType,
    out: &mut MatrixMut<'_, T>,
    [left, right]: [Matrix<'_, T>; 2],
    add: bool,
) -> bool {
    provider::computes(|provider| {
        let shape = [out.shape.rows, left.shape.columns, out.shape.columns];
        let factors = [left, right].map(|Matrix { data, shape }| Factor {
            elements: bytemuck::cast_slice(data),
            strides: shape.strides,
        });
        let out = (bytemuck::cast_slice_mut(out.data), out.shape.strides);
        provider.multiply(dtype, out, shape, factors, add)
    })
}

impl Product for f32 {
    fn multiply(mut out: MatrixMut<'_, Self>, left: Matrix<'_, Self>, right: Matrix<'_, Self>, add: bool) {
        check(&out, &left, &right);
        let is_computed = is_provided(DType::F32, &mut out, [left, right], add)
            || few_rows::multiply(&mut out, left, right, add);
        if !is_computed {
            multiply_f32(out, left, right, add);
        }
    }
}

impl Product for f64 {
    fn multiply(mut out: MatrixMut<'_, Self>, left: Matrix<'_, Self>, right: Matrix<'_, Self>, add: bool) {
        check(&out, &left, &right);
        if !few_rows::multiply(&mut out, left, right, add) {
            multiply_f64(out, left, right, add);
        }
    }
}

macro_rules! multiply {
    ($($name:ident: $number:ident, $multiply:path;)*) => {$(
        fn $name(
            out: MatrixMut<'_, $number>,
            left: Matrix<'_, $number>,
            right: Matrix<'_, $number>,
            add: bool,
        ) {
            let ([left_row, left_column], [right_row, right_column], [row, column]) = (
                left.shape.signed_strides(),
                right.shape.signed_strides(),
                out.shape.signed_strides(),
            );
            // SAFETY: the constructors checked that the matrices lie in their slices, and that no two
            // elements of the output overlap; the caller checked that their sizes match. The output is
            // borrowed exclusively.
            unsafe {
                $multiply(
                    out.shape.rows,
                    left.shape.columns,
                    out.shape.columns,
                    1.0,
                    left.data.as_ptr(),
                    left_row,
                    left_column,
                    right.data.as_ptr(),
                    right_row,
                    right_column,
                    if add { 1.0 } else { 0.0 },
                    out.data.as_mut_ptr(),
                    row,
                    column,
                );
            }
        }
    )*};
}
multiply! {
    multiply_f32: f32, matrixmultiply::sgemm;
    multiply_f64: f64, matrixmultiply::dgemm;
}

impl Product for Wrapping<i64> {
    fn multiply(out: MatrixMut<'_, Self>, left: Matrix<'_, Self>, right: Matrix<'_, Self>, add: bool) {
        check(&out, &left, &right);
        let at = |shape: Shape, row: usize, column: usize| row * shape.strides[0] + column * shape.strides[1];
        for row in 0..out.shape.rows {
            for column in 0..out.shape.columns {
                let products = (0..left.shape.columns).map(|inner| {
                    left.data[at(left.shape, row, inner)] * right.data[at(right.shape, inner, column)]
                });
                let sum: Self = products.sum();
                let value = &mut out.data[at(out.shape, row, column)];
                *value = if add { *value + sum } else { sum };
            }
        }
    }
}
