//! Products of a matrix with one of few rows or few columns: they read the large matrix once, and are limited by memory.
//! Arranging it for a product of large matrices would take longer than the product.

use super::matrix::{Matrix, MatrixMut};
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

/// The method for a product whose left operand has few rows, or whose right one has few columns.
#[derive(Clone, Copy)]
pub(super) struct FewRows {
    /// True if the right operand has few columns. The product of the transposed operands is the transposed product.
    is_turned: bool,
    order: Order,
}

impl FewRows {
    /// Returns the method for a product whose right operand, or the matrix that this is a part of, has some columns. It is `None`
    /// unless there are few rows or columns, and the other operand is in order of its rows or its columns.
    pub(super) fn of<T>(left: Matrix<'_, T>, right: Matrix<'_, T>, columns: usize) -> Option<Self> {
        let [rows, inner] = left.dims();
        let is_turned = columns < rows;
        let (_, large) = turned_if(is_turned, left, right);
        let order = match large.strides() {
            [_, 1] => Order::Rows,
            [1, _] => Order::Columns,
            _ => return None,
        };
        let few = rows.min(columns);
        (1..=order.few(inner)).contains(&few).then_some(Self { is_turned, order }).filter(|_| inner > 0)
    }

    /// Writes or adds some rows or columns of the product of such operands.
    pub(super) fn multiply<T: Float>(
        self,
        out: MatrixMut<'_, T>,
        left: Matrix<'_, T>,
        right: Matrix<'_, T>,
        add: bool,
    ) {
        let out = out.transposed_if(self.is_turned);
        let (left, right) = turned_if(self.is_turned, left, right);
        let left = left.in_order();
        wide_fused(
            #[inline(always)]
            |fused| match self.order {
                Order::Rows => sums::multiply(out, &left, &right, [fused, add]),
                Order::Columns => dots::multiply(out, &left, right, [fused, add]),
            },
        );
    }
}

/// Returns the operands of the transposed product if `condition` is true.
fn turned_if<'a, T>(
    condition: bool,
    left: Matrix<'a, T>,
    right: Matrix<'a, T>,
) -> (Matrix<'a, T>, Matrix<'a, T>) {
    if condition { (right.transposed(), left.transposed()) } else { (left, right) }
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
                let few_rows = FewRows::of(a, b, columns).unwrap_or_else(|| panic!("{what}"));
                few_rows.multiply(MatrixMut::new(&mut out, rows, columns), a, b, add);
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
        let a = vec![1.0_f32; 289];
        let a = Matrix::new(&a, 17, 17);
        assert!(FewRows::of(a, a, 17).is_none());
    }
}
