//! Products whose left operand has few rows, such as vectors: they read the right operand once, and are limited by memory.
//! Arranging it for a product of large matrices would take longer than the product.

use std::ops::{Add, Mul};

use super::product::{Matrix, MatrixMut};
use crate::loops::simd::wide;

/// The number of rows up to which each row is computed by itself.
const FEW: usize = 4;

/// The columns of a block, whose sums stay in the fastest cache.
const BLOCK: usize = 256;

/// The products of a column that are summed beside each other.
const LANES: usize = 8;

/// The columns that are summed beside each other.
const BESIDE: usize = 8;

/// Writes or adds the product if the left operand has few rows, and the right one is in order of its rows or its columns.
/// Returns false and leaves the output unchanged otherwise.
pub(super) fn multiply<T: Copy + Default + Add<Output = T> + Mul<Output = T>>(
    out: &mut MatrixMut<'_, T>,
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    add: bool,
) -> bool {
    let [rows, columns] = out.dims();
    let inner = left.dims()[1];
    if rows > FEW || inner == 0 || columns == 0 {
        return false;
    }
    let by_rows = match right.strides() {
        [_, 1] => true,
        [1, _] => false,
        _ => return false,
    };
    let mut row_of_left = Vec::with_capacity(inner);
    for row in 0..rows {
        row_of_left.clear();
        row_of_left.extend((0..inner).map(|column| left.at(row, column)));
        let mut write = |column: usize, sum: T| {
            let value = out.at_mut(row, column);
            *value = if add { *value + sum } else { sum };
        };
        wide(
            #[inline(always)]
            || {
                if by_rows {
                    sum_rows(&row_of_left, right, &mut write)
                } else {
                    dot_columns(&row_of_left, right, &mut write)
                }
            },
        );
    }
    true
}

/// Sums the rows of the right operand, each times its number.
#[inline(always)]
fn sum_rows<T: Copy + Default + Add<Output = T> + Mul<Output = T>>(
    numbers: &[T],
    right: Matrix<'_, T>,
    write: &mut impl FnMut(usize, T),
) {
    let columns = right.dims()[1];
    let whole = columns - columns % BLOCK;
    for start in (0..whole).step_by(BLOCK) {
        let mut sums = [T::default(); BLOCK];
        for (row, number) in numbers.iter().enumerate() {
            let part = right.row(row, start, BLOCK);
            for (sum, value) in sums.iter_mut().zip(part) {
                *sum = *sum + *number * *value;
            }
        }
        sums.iter().enumerate().for_each(|(place, sum)| write(start + place, *sum));
    }
    let rest = columns - whole;
    let mut sums = [T::default(); BLOCK];
    for (row, number) in numbers.iter().enumerate() {
        for (sum, value) in sums.iter_mut().zip(right.row(row, whole, rest)) {
            *sum = *sum + *number * *value;
        }
    }
    sums[..rest].iter().enumerate().for_each(|(place, sum)| write(whole + place, *sum));
}

/// Sums the products with each column of the right operand.
#[inline(always)]
fn dot_columns<T: Copy + Default + Add<Output = T> + Mul<Output = T>>(
    numbers: &[T],
    right: Matrix<'_, T>,
    write: &mut impl FnMut(usize, T),
) {
    let by_columns = right.transposed();
    let columns = right.dims()[1];
    let column = |column| by_columns.row(column, 0, numbers.len());
    let whole = columns - columns % BESIDE;
    for first in (0..whole).step_by(BESIDE) {
        let sums = dots::<T, BESIDE>(numbers, std::array::from_fn(|place| column(first + place)));
        sums.into_iter().enumerate().for_each(|(place, sum)| write(first + place, sum));
    }
    for place in whole..columns {
        let [sum] = dots(numbers, [column(place)]);
        write(place, sum);
    }
}

/// Returns the sums of products with some columns.
#[inline(always)]
fn dots<T: Copy + Default + Add<Output = T> + Mul<Output = T>, const N: usize>(
    numbers: &[T],
    columns: [&[T]; N],
) -> [T; N] {
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    let parts = columns.map(|column| column.as_chunks::<LANES>().0);
    let mut sums = [[T::default(); LANES]; N];
    // With iterators in place of these loops, the compiler makes vectors across columns, which takes three times as long.
    for (index, chunk) in chunks.iter().enumerate() {
        let mut column = 0;
        while column < N {
            let part = &parts[column][index];
            for lane in 0..LANES {
                sums[column][lane] = sums[column][lane] + chunk[lane] * part[lane];
            }
            column += 1;
        }
    }
    let whole = numbers.len() - rest.len();
    let mut results = [T::default(); N];
    for ((result, mut sums), column) in results.iter_mut().zip(sums).zip(columns) {
        let mut half = LANES / 2;
        while half > 0 {
            for place in 0..half {
                sums[place] = sums[place] + sums[place + half];
            }
            half /= 2;
        }
        let last = rest.iter().zip(&column[whole..]).map(|(number, value)| *number * *value);
        *result = last.fold(sums[0], |sum, value| sum + value);
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_definition() {
        for (rows, inner, columns) in
            [(1, 1, 1), (1, 7, 65), (2, 33, 130), (4, 16, 3), (3, 40, 64), (1, 21, 19)]
        {
            let left: Vec<f64> = (0..rows * inner).map(|index| (index % 7) as f64 - 3.0).collect();
            let right: Vec<f64> = (0..inner * columns).map(|index| (index % 5) as f64 - 2.0).collect();
            for turned in [false, true] {
                let b = if turned {
                    Matrix::new(&right, columns, inner).transposed()
                } else {
                    Matrix::new(&right, inner, columns)
                };
                let a = Matrix::new(&left, rows, inner);
                for add in [false, true] {
                    let mut out = vec![1.0; rows * columns];
                    assert!(multiply(&mut MatrixMut::new(&mut out, rows, columns), a, b, add));
                    for (place, value) in out.iter().enumerate() {
                        let (row, column) = (place / columns, place % columns);
                        let sum: f64 = (0..inner).map(|k| a.at(row, k) * b.at(k, column)).sum();
                        assert_eq!(
                            *value,
                            sum + f64::from(u8::from(add)),
                            "{rows} {inner} {columns} {turned}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn many_rows_are_left_to_others() {
        let (a, mut out) = (vec![1.0_f32; 25], vec![0.0; 25]);
        let a = Matrix::new(&a, 5, 5);
        assert!(!multiply(&mut MatrixMut::new(&mut out, 5, 5), a, a, false));
        assert!(out.iter().all(|value| *value == 0.0));
    }
}
