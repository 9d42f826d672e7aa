//! Matrix products in memory: the only module that calls the matrix multiplication library.

use std::num::Wrapping;

use bytemuck::Pod;

use super::few_rows::FewRows;
use super::matrix::{Matrix, MatrixMut};
use crate::elements::dtype::DType;
use crate::elements::float::Float;
use crate::provider::{self, Target};
use crate::threads;

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
    fn multiply(out: MatrixMut<'_, Self>, left: Matrix<'_, Self>, right: Matrix<'_, Self>, add: bool) {
        let columns = right.dims()[1];
        Self::multiply_part(out, left, right, add, columns);
    }

    /// Computes a part of the columns of a product that has some in all, as the whole would be: the method, and so the rounding,
    /// depends on the whole.
    ///
    /// # Panics
    /// As [`multiply`](Self::multiply).
    fn multiply_part(
        out: MatrixMut<'_, Self>,
        left: Matrix<'_, Self>,
        right: Matrix<'_, Self>,
        add: bool,
        columns: usize,
    );
}

fn check<T>(out: &MatrixMut<'_, T>, left: &Matrix<'_, T>, right: &Matrix<'_, T>) {
    let [out, left, right] = [out.dims(), left.dims(), right.dims()];
    let fits = out == [left[0], right[1]] && left[1] == right[0];
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
        let ([rows, columns], inner) = (out.dims(), left.dims()[1]);
        let factors = [left, right].map(|matrix| Factor {
            elements: bytemuck::cast_slice(matrix.elements()),
            strides: matrix.strides(),
        });
        // SAFETY: the part is borrowed exclusively.
        let target = unsafe { Target::from_raw(out.as_mut_ptr().cast(), out.dims(), out.strides()) };
        provider.multiply(dtype, target, [rows, inner, columns], factors, add)
    })
}

/// Computes a product on several threads, each of which computes some rows or some columns.
fn in_parts<T: Float>(
    out: MatrixMut<'_, T>,
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    (add, of_whole): (bool, usize),
    of_many_rows: impl Fn(MatrixMut<'_, T>, Matrix<'_, T>, Matrix<'_, T>) + Sync,
) {
    // The parts use the same method, whatever their shapes are.
    let few_rows = FewRows::of(left, right, of_whole);
    let multiply = |mut out: MatrixMut<'_, T>, left: Matrix<'_, T>, right: Matrix<'_, T>| {
        if T::DTYPE == DType::F32 && is_provided(T::DTYPE, &mut out, [left, right], add) {
            return;
        }
        match few_rows {
            Some(few_rows) => few_rows.multiply(out, left, right, add),
            None => of_many_rows(out, left, right),
        }
    };
    let [rows, columns] = out.dims();
    let operations = rows * left.dims()[1] * columns;
    let count = threads::count(operations);
    if count == 1 {
        return multiply(out, left, right);
    }
    let is_wide = columns > rows;
    let ranges = || threads::ranges(rows.max(columns), count, UNIT);
    if is_wide {
        let parts = ranges().zip(out.columns(ranges()));
        threads::each(operations, parts, |(range, out)| multiply(out, left, right.some_columns(range)));
    } else {
        let parts = ranges().zip(out.rows(ranges()));
        threads::each(operations, parts, |(range, out)| multiply(out, left.some_rows(range), right));
    }
}

/// The number of rows or columns of which a thread has a multiple: those of the largest tiles.
const UNIT: usize = 64;

macro_rules! product {
    ($($number:ident: $multiply:path;)*) => {$(
        impl Product for $number {
            fn multiply_part(
                out: MatrixMut<'_, Self>,
                left: Matrix<'_, Self>,
                right: Matrix<'_, Self>,
                add: bool,
                columns: usize,
            ) {
                check(&out, &left, &right);
                in_parts(out, left, right, (add, columns), |mut out, left, right| {
                    let ([rows, columns], inner) = (out.dims(), left.dims()[1]);
                    let [of_left, of_right, of_out] = [left.strides(), right.strides(), out.strides()]
                        .map(|strides| strides.map(|stride| stride as isize));
                    // SAFETY: the constructors checked that the matrices lie in their slices, and that no two
                    // elements of the output overlap; `check` compared their sizes. The output is borrowed exclusively.
                    unsafe {
                        $multiply(
                            rows,
                            inner,
                            columns,
                            1.0,
                            left.elements().as_ptr(),
                            of_left[0],
                            of_left[1],
                            right.elements().as_ptr(),
                            of_right[0],
                            of_right[1],
                            if add { 1.0 } else { 0.0 },
                            out.as_mut_ptr(),
                            of_out[0],
                            of_out[1],
                        );
                    }
                });
            }
        }
    )*};
}
product! {
    f32: matrixmultiply::sgemm;
    f64: matrixmultiply::dgemm;
}

impl Product for Wrapping<i64> {
    fn multiply_part(
        mut out: MatrixMut<'_, Self>,
        left: Matrix<'_, Self>,
        right: Matrix<'_, Self>,
        add: bool,
        _: usize,
    ) {
        check(&out, &left, &right);
        let at =
            |[of_row, of_column]: [usize; 2], row: usize, column: usize| row * of_row + column * of_column;
        let (of_left, of_right) = (left.strides(), right.strides());
        for row in 0..out.dims()[0] {
            for column in 0..out.dims()[1] {
                let products = (0..left.dims()[1]).map(|inner| {
                    left.elements()[at(of_left, row, inner)] * right.elements()[at(of_right, inner, column)]
                });
                out.write(row, column, &[products.sum()], add);
            }
        }
    }
}
