//! Products as dot products of rows and columns. Some partial sums of each stay in registers.
//!
//! The sizes of the tiles are those that were the fastest of several, with vectors of 256 and of 512 bits.

use std::ops::Range;

use super::matrix::{Matrix, MatrixMut};
use crate::elements::float::Float;
use crate::loops::simd::multiply_add;

/// Writes the product of two matrices, or adds it to the output. `left` has the elements of the left matrix, row after row;
/// the right matrix is in order of its columns. `fused` is the value from [`wide_fused`](crate::loops::simd::wide_fused).
#[inline(always)]
pub(super) fn multiply<T: Float>(
    out: MatrixMut<'_, T>,
    left: &[T],
    right: Matrix<'_, T>,
    [fused, add]: [bool; 2],
) {
    let dots = Dots { out, left, columns: right.transposed(), fused, add };
    if size_of::<T>() == 4 { dots.multiply::<16>() } else { dots.multiply::<8>() }
}

struct Dots<'a, T> {
    out: MatrixMut<'a, T>,
    left: &'a [T],
    /// The columns of the right operand, as rows.
    columns: Matrix<'a, T>,
    fused: bool,
    add: bool,
}

impl<T: Float> Dots<'_, T> {
    /// Computes `LANES` partial sums for each element.
    #[inline(always)]
    fn multiply<const LANES: usize>(mut self) {
        let rows = self.out.dims()[0];
        let twos = rows - rows % 2;
        let done = self.tiles::<2, 4, LANES>(0..twos, 0);
        self.tiles::<2, 1, LANES>(0..twos, done);
        let done = self.tiles::<1, 8, LANES>(twos..rows, 0);
        self.tiles::<1, 1, LANES>(twos..rows, done);
    }

    /// Computes tiles of `R` rows and `C` columns from a column on, as long as there are so many. Returns the first column
    /// that is left. Tiles of the same columns follow each other, so that these stay in the cache.
    #[inline(always)]
    fn tiles<const R: usize, const C: usize, const LANES: usize>(
        &mut self,
        rows: Range<usize>,
        mut first: usize,
    ) -> usize {
        let [columns, inner] = self.columns.dims();
        while first + C <= columns {
            let right = std::array::from_fn(|column| self.columns.row(first + column, 0, inner));
            for top in rows.clone().step_by(R) {
                let left = std::array::from_fn(|row| &self.left[(top + row) * inner..][..inner]);
                let tile = dots::<T, R, C, LANES>(left, right, self.fused);
                for (row, sums) in tile.iter().enumerate() {
                    self.out.write(top + row, first, sums, self.add);
                }
            }
            first += C;
        }
        first
    }
}

/// Returns the dot products of some rows with some columns.
#[inline(always)]
fn dots<T: Float, const R: usize, const C: usize, const LANES: usize>(
    left: [&[T]; R],
    right: [&[T]; C],
    fused: bool,
) -> [[T; C]; R] {
    let inner = left[0].len();
    let whole = inner - inner % LANES;
    let mut lanes = [[[T::ZERO; LANES]; C]; R];
    for start in (0..whole).step_by(LANES) {
        let left: [[T; LANES]; R] = std::array::from_fn(|row| chunk(left[row], start));
        for (column, values) in right.iter().enumerate() {
            let values: [T; LANES] = chunk(values, start);
            for row in 0..R {
                for lane in 0..LANES {
                    let sum = &mut lanes[row][column][lane];
                    *sum = multiply_add(left[row][lane], values[lane], *sum, fused);
                }
            }
        }
    }
    let mut sums = [[T::ZERO; C]; R];
    for row in 0..R {
        for column in 0..C {
            let rest = left[row][whole..].iter().zip(&right[column][whole..]);
            let sum = sum_lanes(lanes[row][column]);
            sums[row][column] = rest.fold(sum, |sum, (left, right)| multiply_add(*left, *right, sum, fused));
        }
    }
    sums
}

/// Returns the elements from a place on.
#[inline(always)]
fn chunk<T: Float, const LANES: usize>(values: &[T], start: usize) -> [T; LANES] {
    let values = &values[start..start + LANES];
    std::array::from_fn(|lane| values[lane])
}

/// Returns the sum of a power of two of numbers: of halves, which vectors hold, and of their halves.
#[inline(always)]
fn sum_lanes<T: Float, const LANES: usize>(mut lanes: [T; LANES]) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for place in 0..half {
            lanes[place] += lanes[place + half];
        }
        half /= 2;
    }
    lanes[0]
}
