//! Products of tensors that are flattened to matrices.

use super::Plan;
use crate::elements::accumulate::with_number;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{lend, with_optional_slices, with_slices};
use crate::tensor::{View, ViewMut};

/// Multiplies matrices whose rows are the first `x_num_col_dims` and `y_num_col_dims` dimensions of `x` and
/// `y`, and whose columns are the others. The result has the first dimensions of `x` and the last ones of
/// `y`.
///
/// # Errors
/// [`Error::Attribute`] unless each operand has rows and columns, [`Error::Inner`], [`Error::Shape`], [`Error::Type`].
pub fn matmul_with_flatten(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
    x_num_col_dims: i64,
    y_num_col_dims: i64,
) -> Result<()> {
    let (plan, dims) = plan(x, y, x_num_col_dims, y_num_col_dims)?;
    expect_shape(&dims, out.dims())?;
    with_number!(x.dtype(), T => with_slices::<T, 1, 2>([out.reborrow()], [x, y], |[out], [x, y]| {
        plan.forward(out, x, y);
        Ok(())
    }))
}

/// Computes the gradients of [`matmul_with_flatten`] with respect to `x` and `y`.
///
/// # Errors
/// As [`matmul_with_flatten`].
pub fn matmul_with_flatten_grad(
    dx: Option<&mut ViewMut<'_>>,
    dy: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    y: &View<'_>,
    dout: &View<'_>,
    x_num_col_dims: i64,
    y_num_col_dims: i64,
) -> Result<()> {
    let (plan, dims) = plan(x, y, x_num_col_dims, y_num_col_dims)?;
    expect_shape(&dims, dout.dims())?;
    expect_shape(x.dims(), dx.as_deref().map_or(x.dims(), ViewMut::dims))?;
    expect_shape(y.dims(), dy.as_deref().map_or(y.dims(), ViewMut::dims))?;
    with_number!(x.dtype(), T => {
        let inputs = [Some(x), Some(y), Some(dout)];
        with_optional_slices::<T, 2, 3>([lend(dx), lend(dy)], inputs, |[dx, dy], inputs| {
            if let [Some(x), Some(y), Some(dout)] = inputs {
                plan.backward(dx, dy, [x, y, dout]);
            }
            Ok(())
        })
    })
}

/// Plans the product of the matrices and computes the shape of the result.
fn plan(x: &View<'_>, y: &View<'_>, x_rows: i64, y_rows: i64) -> Result<(Plan, Vec<usize>)> {
    let x_rows = rows("x_num_col_dims", x.dims(), x_rows)?;
    let y_rows = rows("y_num_col_dims", y.dims(), y_rows)?;
    let folded = |dims: &[usize], rows: usize| [dims[..rows].iter().product(), dims[rows..].iter().product()];
    let plan = Plan::new(&folded(x.dims(), x_rows), &folded(y.dims(), y_rows), false, false)?;
    Ok((plan, [&x.dims()[..x_rows], &y.dims()[y_rows..]].concat()))
}

fn rows(name: &'static str, dims: &[usize], rows: i64) -> Result<usize> {
    let count = usize::try_from(rows).ok().filter(|rows| (1..dims.len()).contains(rows));
    count.ok_or_else(|| Error::Attribute { name, value: rows.to_string() })
}
