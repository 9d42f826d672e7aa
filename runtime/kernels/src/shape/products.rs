//! Dot, cross and Kronecker products.

use crate::elements::accumulate::with_number;
use crate::error::{Error, Result, expect_shape};
use crate::formulas::reduction::Sum;
use crate::loops::tiles::update;
use crate::reduction::{self, Along};
use crate::tensor::axis;
use crate::tensor::buffer::Buffer;
use crate::tensor::{View, ViewMut};

/// Multiplies two tensors of the output's shape.
fn multiply(out: &mut ViewMut<'_>, x: &View<'_>, y: &View<'_>) -> Result<()> {
    with_number!(out.dtype(), T => {
        update::<T, 1, 2>([Some(out.reborrow())], [Some(x), Some(y)], |[x, y]| [x * y])
    })
}

/// Computes the sum of the products along the last dimension.
///
/// # Errors
/// [`Error::Shape`], [`Error::Rank`] without dimensions, [`Error::Type`] if a type is complex.
pub fn dot(out: &mut ViewMut<'_>, x: &View<'_>, y: &View<'_>) -> Result<()> {
    let last = x.dims().len().checked_sub(1).ok_or(Error::Rank { dims: 0, strides: 1 })?;
    let wide = crate::DType::F64;
    let dtype = if x.dtype().is_float() && x.dtype() != wide { wide } else { x.dtype() };
    let mut products = Buffer::new(dtype, x.dims())?;
    multiply(&mut products.view_mut()?, x, y)?;
    reduction::numeric(Sum, out, &products.view()?, Along::Axes(&[last]))
}

/// Computes the gradients of [`dot`]: `dout` times the other argument.
///
/// # Errors
/// As [`dot`].
pub fn dot_grad(
    dx: Option<&mut ViewMut<'_>>,
    dy: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    y: &View<'_>,
    dout: &View<'_>,
) -> Result<()> {
    let rest = x.dims().len().checked_sub(1).ok_or(Error::Rank { dims: 0, strides: 1 })?;
    expect_shape(&x.dims()[..rest], dout.dims())?;
    let dout = dout.clone().append_dimensions(1).expand(x.dims())?;
    let (dx, dy) = (dx.map(ViewMut::reborrow), dy.map(ViewMut::reborrow));
    with_number!(dout.dtype(), T => {
        update::<T, 2, 3>([dx, dy], [Some(x), Some(y), Some(&dout)], |[x, y, dout]| [y * dout, x * dout])
    })
}

/// Selects the three elements along a dimension of length three, as three tensors.
fn three<'v>(x: &View<'v>, axis: usize) -> Result<[View<'v>; 3]> {
    let part = |index| x.clone().select(axis, index);
    Ok([part(0)?, part(1)?, part(2)?])
}

/// Computes the cross product of vectors along a dimension of three.
///
/// The axis 9, Paddle's value for no axis, means the first such dimension.
///
/// # Errors
/// [`Error::Axis`] if there is no dimension of three, [`Error::Shape`], [`Error::Type`] if a type is complex.
pub fn cross(out: &mut ViewMut<'_>, x: &View<'_>, y: &View<'_>, axis: i64) -> Result<()> {
    let dims = x.dims().to_vec();
    expect_shape(&dims, out.dims())?;
    expect_shape(&dims, y.dims())?;
    let axis = match axis {
        9 => dims.iter().position(|&dim| dim == 3).ok_or(Error::Axis { axis: 9, rank: dims.len() })?,
        _ => axis::axis(axis, dims.len())?,
    };
    if dims[axis] != 3 {
        return Err(Error::Axis { axis, rank: dims.len() });
    }
    let mut memory = [None, None];
    let [of_x, of_y] = &mut memory;
    let x = three(&crate::loops::movement::apart(&[out], x, of_x)?, axis)?;
    let y = three(&crate::loops::movement::apart(&[out], y, of_y)?, axis)?;
    for index in 0..3 {
        let (next, last) = ((index + 1) % 3, (index + 2) % 3);
        let inputs = [Some(&x[next]), Some(&y[last]), Some(&x[last]), Some(&y[next])];
        let part = out.reborrow().select(axis, index)?;
        with_number!(part.dtype(), T => {
            update::<T, 1, 4>([Some(part)], inputs, |[a, b, c, d]| [a * b - c * d])
        })?;
    }
    Ok(())
}

/// Computes the gradients of [`cross`]: `y × dout` with respect to `x`, and `dout × x` with respect to `y`.
///
/// # Errors
/// As [`cross`].
pub fn cross_grad(
    dx: Option<&mut ViewMut<'_>>,
    dy: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    y: &View<'_>,
    dout: &View<'_>,
    axis: i64,
) -> Result<()> {
    if let Some(dx) = dx {
        cross(dx, y, dout, axis)?;
    }
    dy.map_or(Ok(()), |dy| cross(dy, dout, x, axis))
}

/// Returns views of a product's factors with twice as many dimensions: blocks, and elements of blocks.
fn factors<'v>(x: &View<'v>, y: &View<'v>) -> Result<(View<'v>, View<'v>, Vec<usize>)> {
    let rank = x.dims().len().max(y.dims().len());
    let (mut x, mut y) = (x.clone(), y.clone());
    while x.dims().len() < rank {
        x = x.insert(0)?;
    }
    while y.dims().len() < rank {
        y = y.insert(0)?;
    }
    let dims: Vec<usize> = x.dims().iter().zip(y.dims()).flat_map(|(&x, &y)| [x, y]).collect();
    for n in 0..rank {
        x = x.insert(2 * n + 1)?;
        y = y.insert(2 * n)?;
    }
    Ok((x.expand(&dims)?, y.expand(&dims)?, dims))
}

/// Computes the lengths of a product's dimensions from those of blocks and elements.
fn product_dims(dims: &[usize]) -> Vec<usize> {
    dims.chunks_exact(2).map(|pair| pair[0] * pair[1]).collect()
}

/// Computes the Kronecker product: one copy of `y` for each element of `x`, multiplied by it.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`] if a type is complex.
pub fn kron(out: &mut ViewMut<'_>, x: &View<'_>, y: &View<'_>) -> Result<()> {
    let (x, y, dims) = factors(x, y)?;
    expect_shape(&product_dims(&dims), out.dims())?;
    let mut blocks = out.reborrow();
    for n in (0..dims.len() / 2).rev() {
        blocks = blocks.split(n, &dims[2 * n..][..2])?;
    }
    multiply(&mut blocks, &x, &y)
}

/// Computes the gradients of [`kron`]: the sums of `dout` times the other factor, over each block with
/// respect to `x`, and over all blocks with respect to `y`.
///
/// # Errors
/// As [`kron`].
pub fn kron_grad(
    dx: Option<&mut ViewMut<'_>>,
    dy: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    y: &View<'_>,
    dout: &View<'_>,
) -> Result<()> {
    let (wide_x, wide_y, dims) = factors(x, y)?;
    expect_shape(&product_dims(&dims), dout.dims())?;
    let mut blocks = dout.clone();
    for n in (0..dims.len() / 2).rev() {
        blocks = blocks.split(n, &dims[2 * n..][..2])?;
    }
    for (grad, other, first) in
        [(dx.map(ViewMut::reborrow), &wide_y, 1), (dy.map(ViewMut::reborrow), &wide_x, 0)]
    {
        let Some(mut grad) = grad else { continue };
        let mut products =
            Buffer::new(if grad.dtype().is_float() { crate::DType::F64 } else { grad.dtype() }, &dims)?;
        multiply(&mut products.view_mut()?, &blocks, other)?;
        let axes: Vec<usize> = (0..dims.len() / 2).map(|n| 2 * n + first).collect();
        while grad.dims().len() < dims.len() / 2 {
            grad = grad.insert(0)?;
        }
        reduction::numeric(Sum, &mut grad, &products.view()?, Along::Axes(&axes))?;
    }
    Ok(())
}
