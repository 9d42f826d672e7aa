//! Products of matrices.

use tenon_kernels::provider::Factor;

use crate::library::Library;

impl Library {
    /// Computes a product of matrices, as [`Provider::multiply`] does.
    ///
    /// # Panics
    /// If a matrix reaches past its elements, or rows of the product overlap.
    ///
    /// [`Provider::multiply`]: tenon_kernels::provider::Provider::multiply
    pub fn multiply(
        &self,
        (out, strides): (&mut [f32], [usize; 2]),
        [rows, inner, columns]: [usize; 3],
        [left, right]: [Factor<'_>; 2],
        is_added: bool,
    ) -> bool {
        if strides[1] != 1 && strides[0] == 1 {
            // The library writes rows: the transposed product has them.
            let flipped = [right, left].map(|Factor { elements, strides: [row, column] }| Factor {
                elements,
                strides: [column, row],
            });
            return self.multiply((out, [strides[1], 1]), [columns, inner, rows], flipped, is_added);
        }
        let (left_order, right_order) =
            (order(left.strides, [rows, inner]), order(right.strides, [inner, columns]));
        let (Some(left_order), Some(right_order), true) = (left_order, right_order, strides[1] == 1) else {
            return false;
        };
        if [rows, inner, columns].contains(&0) {
            return false;
        }
        assert!(extent([rows, columns], strides) <= out.len(), "the product reaches past its memory");
        assert!(strides[0] >= columns || rows == 1, "the rows of the product overlap");
        assert!(extent([rows, inner], left.strides) <= left.elements.len(), "a matrix past its memory");
        assert!(extent([inner, columns], right.strides) <= right.elements.len(), "a matrix past its memory");
        // SAFETY: the matrices lie in their slices, as just checked, in row-major or column-major order. The product is
        // borrowed exclusively.
        let done = unsafe {
            self.context.api.sgemm(
                left_order.letter,
                right_order.letter,
                rows as i64,
                columns as i64,
                inner as i64,
                1.0,
                left.elements.as_ptr(),
                left_order.distance,
                right.elements.as_ptr(),
                right_order.distance,
                if is_added { 1.0 } else { 0.0 },
                out.as_mut_ptr(),
                strides[0].max(columns) as i64,
            )
        };
        done.is_ok()
    }
}

/// Returns the number of elements from the first to the last of a matrix, gaps included.
fn extent([rows, columns]: [usize; 2], [row, column]: [usize; 2]) -> usize {
    1 + (rows - 1) * row + (columns - 1) * column
}

struct Order {
    letter: i8,
    /// From a row to the next, or from a column.
    distance: i64,
}

/// The order of a matrix, if it is row-major or column-major.
fn order([row, column]: [usize; 2], [rows, columns]: [usize; 2]) -> Option<Order> {
    // The stride of a dimension of length one makes no difference, but the library checks it.
    if (column == 1 || columns == 1) && (row >= columns || rows == 1) {
        return Some(Order { letter: b'N' as i8, distance: row.max(columns) as i64 });
    }
    if (row == 1 || rows == 1) && (column >= rows || columns == 1) {
        return Some(Order { letter: b'T' as i8, distance: column.max(rows) as i64 });
    }
    None
}
