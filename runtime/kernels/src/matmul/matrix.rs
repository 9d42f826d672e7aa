//! Matrices in memory.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::{Add, AddAssign, Range};
use std::slice;

use super::sums::Rows;

/// A matrix in a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a, T> {
    data: &'a [T],
    shape: Shape,
}

/// A matrix that is written, in a slice or in a part of a matrix. Other parts of the matrix may be between its elements.
#[derive(Debug)]
pub(crate) struct MatrixMut<'a, T> {
    first: *mut T,
    shape: Shape,
    data: PhantomData<&'a mut [T]>,
}

// SAFETY: it borrows its elements exclusively, as a slice does.
unsafe impl<T: Send> Send for MatrixMut<'_, T> {}

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

    /// Returns the memory of the matrix; there may be other elements between and after its own.
    pub(super) fn elements(&self) -> &'a [T] {
        self.data
    }

    /// Returns some of the rows.
    pub(super) fn some_rows(self, range: Range<usize>) -> Self {
        let shape = Shape { rows: range.len(), ..self.shape };
        let start = if shape.extent() > 0 { range.start * shape.strides[0] } else { 0 };
        Self { data: &self.data[start..], shape }
    }

    /// Returns some of the columns.
    pub(super) fn some_columns(self, range: Range<usize>) -> Self {
        self.transposed().some_rows(range).transposed()
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
        Self { first: data.as_mut_ptr(), shape, data: PhantomData }
    }

    /// Returns the numbers of rows and columns.
    pub(super) fn dims(&self) -> [usize; 2] {
        [self.shape.rows, self.shape.columns]
    }

    pub(super) fn strides(&self) -> [usize; 2] {
        self.shape.strides
    }

    /// Returns the address of the first element.
    pub(super) fn as_mut_ptr(&mut self) -> *mut T {
        self.first
    }

    /// Borrows the matrix for a shorter time.
    pub(crate) fn reborrow(&mut self) -> MatrixMut<'_, T> {
        MatrixMut { ..*self }
    }

    /// Transposes the matrix if `condition` is true.
    pub(crate) fn transposed_if(self, condition: bool) -> Self {
        let shape = if condition { self.shape.transposed() } else { self.shape };
        Self { shape, ..self }
    }

    /// Splits the matrix into ranges of rows, which follow each other.
    ///
    /// # Panics
    /// If they overlap, or there are not as many rows.
    pub(crate) fn rows(self, ranges: impl Iterator<Item = Range<usize>>) -> impl Iterator<Item = Self> {
        let Self { first, shape, data } = self;
        let mut end = 0;
        ranges.map(move |range| {
            assert!(end <= range.start && range.end <= shape.rows, "ranges that are no parts of the matrix");
            end = range.end;
            let shape = Shape { rows: range.len(), ..shape };
            // A matrix without elements has no element from which a part could start.
            let start = if shape.extent() > 0 { range.start * shape.strides[0] } else { 0 };
            // SAFETY: the part has an element there, which is in the memory of the matrix.
            let first = unsafe { first.add(start) };
            Self { first, shape, data }
        })
    }

    /// Splits the matrix into ranges of columns, as [`rows`](Self::rows) does.
    pub(crate) fn columns(self, ranges: impl Iterator<Item = Range<usize>>) -> impl Iterator<Item = Self> {
        self.transposed_if(true).rows(ranges).map(|part| part.transposed_if(true))
    }

    /// Adds a number to each element of a row. There is one for each row.
    pub(crate) fn add_to_rows(&mut self, numbers: &[T])
    where
        T: Copy + AddAssign,
    {
        for (row, number) in (0..self.shape.rows).zip(numbers) {
            for column in 0..self.shape.columns {
                let [of_row, of_column] = self.shape.strides;
                // SAFETY: the element is in the matrix, which is in memory and borrowed exclusively.
                unsafe { *self.first.add(row * of_row + column * of_column) += *number };
            }
        }
    }

    /// Writes or adds some elements of a row.
    ///
    /// # Panics
    /// If they are not in the matrix.
    #[inline(always)]
    pub(super) fn write(&mut self, row: usize, column: usize, values: &[T], add: bool)
    where
        T: Copy + Add<Output = T>,
    {
        let Shape { rows, columns, strides: [of_row, of_column] } = self.shape;
        assert!(row < rows && column + values.len() <= columns, "elements past a matrix");
        let put = |(to, value): (&mut T, &T)| *to = if add { *to + *value } else { *value };
        // SAFETY: the elements are in the matrix, which is in memory and borrowed exclusively. If they are next to each other,
        // no other part has elements between them.
        unsafe {
            let to = self.first.add(row * of_row + column * of_column);
            if of_column == 1 {
                slice::from_raw_parts_mut(to, values.len()).iter_mut().zip(values).for_each(put);
            } else {
                values.iter().enumerate().for_each(|(n, value)| put((&mut *to.add(n * of_column), value)));
            }
        }
    }
}
