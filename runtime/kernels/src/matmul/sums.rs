//! Products as sums of rows, each times a number. The rows are read where they are, and the sums stay in registers.
//!
//! The sizes of the tiles are those that were the fastest of several, with vectors of 256 and of 512 bits.

use std::ops::Range;

use super::matrix::MatrixMut;
use crate::elements::float::Float;
use crate::loops::simd::multiply_add;

/// The columns of a narrow tile.
const FEW: usize = 16;

/// A right operand as rows that may overlap.
pub(crate) trait Rows<T> {
    /// Returns the numbers of rows and columns.
    fn dims(&self) -> [usize; 2];

    /// Returns some elements of a row.
    fn part(&self, row: usize, first: usize, count: usize) -> &[T];
}

/// Rows in a slice, each from a place of its own on.
pub(crate) struct Shifted<'a, T> {
    pub(crate) elements: &'a [T],
    pub(crate) starts: &'a [usize],
    pub(crate) columns: usize,
}

impl<T> Rows<T> for Shifted<'_, T> {
    #[inline(always)]
    fn dims(&self) -> [usize; 2] {
        [self.starts.len(), self.columns]
    }

    #[inline(always)]
    fn part(&self, row: usize, first: usize, count: usize) -> &[T] {
        &self.elements[self.starts[row] + first..][..count]
    }
}

/// Writes the product of two matrices, or adds it to the output. `left` has the elements of the left matrix, row after row.
/// `fused` is the value from [`wide_fused`](crate::loops::simd::wide_fused).
#[inline(always)]
pub(crate) fn multiply<T: Float>(
    out: MatrixMut<'_, T>,
    left: &[T],
    right: &impl Rows<T>,
    [fused, add]: [bool; 2],
) {
    let sums = Sums { out, left, right, fused, add };
    if size_of::<T>() == 4 { sums.multiply::<64, 128, 256>() } else { sums.multiply::<32, 64, 128>() }
}

struct Sums<'a, T, R> {
    out: MatrixMut<'a, T>,
    left: &'a [T],
    right: &'a R,
    fused: bool,
    add: bool,
}

impl<T: Float, Right: Rows<T>> Sums<'_, T, Right> {
    /// Computes `OF_FOUR` columns at once for four rows, and more for fewer rows.
    #[inline(always)]
    fn multiply<const OF_FOUR: usize, const OF_TWO: usize, const OF_ONE: usize>(mut self) {
        let rows = self.out.dims()[0];
        let (fours, twos) = (rows - rows % 4, rows - rows % 2);
        self.all_columns::<4, OF_FOUR>(0..fours);
        self.all_columns::<2, OF_TWO>(fours..twos);
        self.all_columns::<1, OF_ONE>(twos..rows);
    }

    /// Computes some rows, `R` rows and `C` columns at once as long as there are so many.
    #[inline(always)]
    fn all_columns<const R: usize, const C: usize>(&mut self, rows: Range<usize>) {
        let columns = self.right.dims()[1];
        let done = self.tiles::<R, C>(&rows, 0);
        let done = self.tiles::<R, FEW>(&rows, done);
        if done < columns && columns >= FEW {
            self.tiles_at::<R, FEW>(&rows, columns - FEW, done);
        } else {
            self.tiles::<R, 1>(&rows, done);
        }
    }

    /// Computes tiles from a column on, as long as there are so many columns. Returns the first column that is left.
    #[inline(always)]
    fn tiles<const R: usize, const C: usize>(&mut self, rows: &Range<usize>, mut first: usize) -> usize {
        while first + C <= self.right.dims()[1] {
            self.tiles_at::<R, C>(rows, first, first);
            first += C;
        }
        first
    }

    /// Computes the tiles of some columns, one after another, so that a part of the right operand stays in the cache. Writes
    /// the columns from `done` on.
    #[inline(always)]
    fn tiles_at<const R: usize, const C: usize>(&mut self, rows: &Range<usize>, first: usize, done: usize) {
        let inner = self.right.dims()[0];
        for top in rows.clone().step_by(R) {
            let left = std::array::from_fn(|row| &self.left[(top + row) * inner..][..inner]);
            let tile = self.tile::<R, C>(left, first);
            for (row, sums) in tile.iter().enumerate() {
                self.out.write(top + row, done, &sums[done - first..], self.add);
            }
        }
    }

    #[inline(always)]
    fn tile<const R: usize, const C: usize>(&self, left: [&[T]; R], first: usize) -> [[T; C]; R] {
        let mut sums = [[T::ZERO; C]; R];
        for inner in 0..left[0].len() {
            let Some(values) = self.right.part(inner, first, C).first_chunk::<C>() else { break };
            for (sums, left) in sums.iter_mut().zip(left) {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = multiply_add(left[inner], *value, *sum, self.fused);
                }
            }
        }
        sums
    }
}
