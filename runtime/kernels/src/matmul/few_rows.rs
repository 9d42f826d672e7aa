//! Products of a matrix with one of few rows or few columns: they read the large matrix once, and are limited by memory.
//! Arranging it for a product of large matrices would take longer than the product.

use super::product::{Matrix, MatrixMut};
use super::{dots, sums};
use crate::elements::float::Float;
use crate::loops::simd::wide_fused;

/// The order of the elements of the right operand.
#[derive(Clone, Copy)]
enum Order {
    Rows,
    Columns,
}

impl Order {
    /// Returns the number of rows of the left operand up to which it is faster not to arrange the right one. Where columns are
    /// short, it takes longer to add up partial sums.
    fn few(self, inner: usize) -> usize {
        match self {
            Order::Rows => 16,
            Order::Columns if inner < 64 => 1,
            Order::Columns => 8,
        }
    }
}

/// Writes or adds the product if the left operand has few rows, or the right one few columns, and the other one is in order
/// of its rows or its columns. Returns false and leaves the output unchanged otherwise.
pub(super) fn multiply<T: Float>(
    out: &mut MatrixMut<'_, T>,
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    add: bool,
) -> bool {
    let [rows, columns] = out.dims();
    // The product of the transposed operands is the transposed product.
    let is_turned = columns < rows;
    let out = out.reborrow().transposed_if(is_turned);
    let (left, right) = if is_turned { (right.transposed(), left.transposed()) } else { (left, right) };
    let order = match right.strides() {
        [_, 1] => Order::Rows,
        [1, _] => Order::Columns,
        _ => return false,
    };
    let [few, inner] = left.dims();
    if few > order.few(inner) || inner == 0 || few == 0 {
        return false;
    }
    let left = left.in_order();
    wide_fused(
        #[inline(always)]
        |fused| match order {
            Order::Rows => sums::multiply(out, &left, &right, [fused, add]),
            Order::Columns => dots::multiply(out, &left, right, [fused, add]),
        },
    );
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes products of all orders of both operands, and compares them with the definition. The numbers are whole and
    /// small, so that the order of sums does not matter.
    fn expect_products<T: Float + From<u8> + std::fmt::Debug>([rows, inner, columns]: [usize; 3]) {
        let number =
            |index: usize, count: u8| T::from((index % usize::from(count)) as u8) - T::from(count / 2);
        let left: Vec<T> = (0..rows * inner).map(|index| number(index, 7)).collect();
        let right: Vec<T> = (0..inner * columns).map(|index| number(index, 5)).collect();
        for turned in 0..4 {
            let (is_left_turned, is_right_turned) = (turned & 1 == 1, turned & 2 == 2);
            let a = if is_left_turned {
                Matrix::new(&left, inner, rows).transposed()
            } else {
                Matrix::new(&left, rows, inner)
            };
            let b = if is_right_turned {
                Matrix::new(&right, columns, inner).transposed()
            } else {
                Matrix::new(&right, inner, columns)
            };
            for add in [false, true] {
                let mut out = vec![T::ONE; rows * columns];
                let what = format!("{rows} {inner} {columns} {turned} {add}");
                assert!(multiply(&mut MatrixMut::new(&mut out, rows, columns), a, b, add), "{what}");
                let (a, b) = (a.in_order(), b.transposed().in_order());
                for (place, value) in out.iter().enumerate() {
                    let (row, column) = (&a[place / columns * inner..], &b[place % columns * inner..]);
                    let sum = row[..inner].iter().zip(column).fold(T::ZERO, |sum, (a, b)| sum + *a * *b);
                    assert_eq!(*value, if add { sum + T::ONE } else { sum }, "{what} {place}");
                }
            }
        }
    }

    #[test]
    fn products_are_those_of_the_definition() {
        let shapes = [
            [1, 1, 1],
            [1, 7, 65],
            [2, 97, 130],
            [4, 64, 3],
            [3, 70, 64],
            [8, 91, 19],
            [1, 5, 300],
            [7, 85, 290],
        ];
        for [rows, inner, columns] in shapes {
            for shape in [[rows, inner, columns], [columns, inner, rows]] {
                expect_products::<f32>(shape);
                expect_products::<f64>(shape);
            }
        }
    }

    #[test]
    fn many_rows_and_columns_are_left_to_others() {
        let (a, mut out) = (vec![1.0_f32; 289], vec![0.0; 289]);
        let a = Matrix::new(&a, 17, 17);
        assert!(!multiply(&mut MatrixMut::new(&mut out, 17, 17), a, a, false));
        assert!(out.iter().all(|value| *value == 0.0));
    }
}
