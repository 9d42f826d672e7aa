//! Products of matrices.

use tenon::device::Result;
use tenon_operators::{TensorMut, TensorRef};

use crate::elements::{offset, read, write};

/// A matrix in a batch: the dimensions and strides of the batch, and length and stride of rows and columns.
struct Matrices {
    dims: Vec<usize>,
    strides: Vec<isize>,
    rows: (usize, isize),
    columns: (usize, isize),
}

impl Matrices {
    /// Views the last two dimensions as matrices. A vector is `[1, n]` on the left and `[n, 1]` on the right.
    fn of(tensor: &TensorRef<'_>, is_left: bool, is_transposed: bool) -> Self {
        let mut sizes: Vec<(usize, isize)> =
            tensor.dims().iter().copied().zip(tensor.strides().iter().copied()).collect();
        let is_vector = sizes.len() == 1;
        if is_vector {
            sizes.insert(if is_left { 0 } else { 1 }, (1, 0));
        }
        let last = sizes.pop().unwrap_or((1, 0));
        let before = sizes.pop().unwrap_or((1, 0));
        let (dims, strides) = sizes.into_iter().unzip();
        let (rows, columns) = if is_transposed && !is_vector { (last, before) } else { (before, last) };
        Self { dims, strides, rows, columns }
    }

    /// Returns the distance to a matrix of a batch of other dimensions, over which this one is broadcast.
    fn start(&self, matrix: usize, batch: &[usize]) -> isize {
        let missing = batch.len() - self.dims.len();
        let own =
            self.dims.iter().zip(&self.strides).map(|(&dim, &stride)| if dim == 1 { 0 } else { stride });
        let strides: Vec<isize> = std::iter::repeat_n(0, missing).chain(own).collect();
        offset(matrix, batch, &strides)
    }
}

/// Returns the shape of a product. It has no dimension for an operand that is a vector.
pub(crate) fn shape(
    a: &TensorRef<'_>,
    b: &TensorRef<'_>,
    transpose_a: bool,
    transpose_b: bool,
) -> Result<Vec<usize>> {
    let (left, right) = (Matrices::of(a, true, transpose_a), Matrices::of(b, false, transpose_b));
    let mut dims = tenon_operators::broadcast(&left.dims, &right.dims)?;
    dims.extend((a.dims().len() > 1).then_some(left.rows.0));
    dims.extend((b.dims().len() > 1).then_some(right.columns.0));
    Ok(dims)
}

/// Computes the product of matrices or vectors.
pub(crate) fn product(
    out: &mut TensorMut<'_>,
    a: &TensorRef<'_>,
    b: &TensorRef<'_>,
    transpose_a: bool,
    transpose_b: bool,
) -> Result<()> {
    let (left, right) = (Matrices::of(a, true, transpose_a), Matrices::of(b, false, transpose_b));
    let batch = tenon_operators::broadcast(&left.dims, &right.dims)?;
    let (rows, inner, columns) = (left.rows.0, left.columns.0, right.columns.0);
    let elements = (0..out.len()).map(|position| {
        let (column, row, matrix) =
            (position % columns, position / columns % rows, position / columns / rows);
        let from = left.start(matrix, &batch) + row as isize * left.rows.1;
        let to = right.start(matrix, &batch) + column as isize * right.columns.1;
        let products = (0..inner as isize).map(|k| {
            f64::from(read(a, from + k * left.columns.1)) * f64::from(read(b, to + k * right.rows.1))
        });
        products.sum::<f64>()
    });
    for (position, element) in elements.collect::<Vec<f64>>().into_iter().enumerate() {
        let place = offset(position, out.dims(), out.strides());
        write(out, place, element as f32);
    }
    Ok(())
}
