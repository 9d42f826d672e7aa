//! Rules for matrix decompositions and triangular systems of equations.

#![allow(clippy::too_many_arguments, reason = "functions of DIOPI have that many")]

use tenon::device::{DataType, Error, Result, Status};
use tenon_operators::attributes::TriangularSolveAttributes;

use super::matrix::{product_of, summed};
use crate::compute::rules::shared::{expect_shape, kernel};
use crate::compute::rules::terms;
use crate::compute::{Call, FLOAT, Method, Tensor};

/// Computes Cholesky factors: triangular matrices whose products with their own transposes are the inputs.
pub(crate) fn cholesky<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    info: &Tensor<'c>,
    matrices: &Tensor<'_>,
    upper: bool,
    must_succeed: bool,
) -> Result<()> {
    expect_shape("out", out, matrices.dims())?;
    let ty = matrices.data_type();
    let mut failed = call.output(info, DataType::INT32, &[matrices])?;
    kernel(call, out, ty, &[matrices], &Method::new("cholesky", FLOAT), &mut |device, launch, out| {
        device.cholesky(launch, out, Some(failed.elements()), matrices.elements(), upper)
    })?;
    failed.finish()?;
    if !must_succeed {
        return Ok(());
    }
    let bytes = call.download(&call.to_type(info, DataType::INT32)?)?;
    let orders =
        bytes.chunks_exact(4).map(|bytes| i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    match orders.enumerate().find(|(_, order)| *order != 0) {
        None => Ok(()),
        Some((index, order)) => Err(Error::new(
            Status::FAILED,
            format!("matrix {index} is not positive definite: its leading part of order {order} is not"),
        )),
    }
}

/// Computes the gradient of [`cholesky`].
///
/// With the lower triangle `l` and its gradient `g` it is `l⁻ᵀ · s · l⁻¹`, where `s` is the symmetric half of the lower
/// triangle of `lᵀ · g` (Murray, 2016: "Differentiation of the Cholesky decomposition").
pub(crate) fn cholesky_gradient<'c>(
    call: &'c Call,
    gradient: &Tensor<'c>,
    out_gradient: &Tensor<'_>,
    factor: &Tensor<'_>,
    upper: bool,
) -> Result<()> {
    expect_shape("grad_mat", gradient, factor.dims())?;
    let (factor, out_gradient) = if upper {
        (swapped(factor)?, swapped(out_gradient)?)
    } else {
        (factor.clone(), out_gradient.clone())
    };
    let inner = terms::triangle(call, &product_of(call, &swapped(&factor)?, &out_gradient)?, 0, true)?;
    let below = terms::triangle(call, &inner, -1, true)?;
    let both = terms::scale(call, &terms::add(call, &inner, &swapped(&below)?)?, 0.5, 0.0)?;
    let transposed = Shape { upper: false, transpose: true, unitriangular: false };
    let left = solved(call, &factor, &both, factor.dims(), transposed)?;
    let right = solved(call, &factor, &swapped(&left)?, factor.dims(), transposed)?;
    call.copy(gradient, &right)
}

#[derive(Clone, Copy)]
struct Shape {
    upper: bool,
    transpose: bool,
    unitriangular: bool,
}

/// Solves triangular systems of equations, and copies the triangular matrices.
pub(crate) fn triangular_solve<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    copy: &Tensor<'c>,
    b: &Tensor<'_>,
    a: &Tensor<'_>,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
) -> Result<()> {
    let x = solved(call, a, b, out.dims(), Shape { upper, transpose, unitriangular })?;
    call.copy(copy, a)?;
    call.copy(out, &x)
}

/// Computes the gradients of [`triangular_solve`]: the gradient of `b` solves the transposed system, and the
/// gradient of the triangular matrices is its negative product with the transposed solutions.
pub(crate) fn triangular_solve_gradient<'c>(
    call: &'c Call,
    b_gradient: &Tensor<'c>,
    a_gradient: &Tensor<'c>,
    x_gradient: &Tensor<'_>,
    copy_gradient: Option<&Tensor<'_>>,
    x: &Tensor<'_>,
    a: &Tensor<'_>,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
) -> Result<()> {
    let shape = Shape { upper, transpose: !transpose, unitriangular };
    let of_b = solved(call, a, x_gradient, x_gradient.dims(), shape)?;
    let of_a = if transpose {
        product_of(call, x, &swapped(&of_b)?)?
    } else {
        product_of(call, &of_b, &swapped(x)?)?
    };
    let diagonal = match (unitriangular, upper) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => -1,
    };
    let mut of_a = terms::scale(call, &terms::triangle(call, &of_a, diagonal, !upper)?, -1.0, 0.0)?;
    if let Some(copy_gradient) = copy_gradient {
        of_a = terms::add(call, &of_a, copy_gradient)?;
    }
    summed(call, Some(b_gradient), &of_b)?;
    summed(call, Some(a_gradient), &of_a)
}

/// Computes the QR decomposition. The mode determines the shapes.
pub(crate) fn qr<'c>(
    call: &'c Call,
    q: &Tensor<'c>,
    r: &Tensor<'c>,
    x: &Tensor<'_>,
    mode: &str,
) -> Result<()> {
    let &[.., rows, columns] = x.dims() else {
        return Err(Error::invalid(format!("the shape {:?} is not that of matrices", x.dims())));
    };
    let batch = &x.dims()[..x.rank() - 2];
    let order = match mode {
        "complete" => rows,
        "reduced" | "r" => rows.min(columns),
        _ => {
            return Err(Error::invalid(format!(
                "`mode` is \"{mode}\", not \"reduced\", \"complete\" or \"r\""
            )));
        }
    };
    expect_shape("r", r, &[batch, &[order, columns]].concat())?;
    let ty = x.data_type();
    let mut q = if mode == "r" {
        None
    } else {
        expect_shape("q", q, &[batch, &[rows, order]].concat())?;
        Some(call.output(q, ty, &[x])?)
    };
    kernel(call, r, ty, &[x], &Method::new("qr", FLOAT), &mut |device, launch, r| {
        device.qr(launch, q.as_mut().map(|q| q.elements()), r, x.elements())
    })?;
    q.map_or(Ok(()), |q| q.finish())
}

fn solved<'c>(
    call: &'c Call,
    a: &Tensor<'_>,
    b: &Tensor<'_>,
    dims: &[usize],
    shape: Shape,
) -> Result<Tensor<'c>> {
    let out = call.temporary(b.data_type(), dims)?;
    let Shape { upper, transpose, unitriangular } = shape;
    let method = Method::new("triangular_solve", FLOAT);
    kernel(call, &out, b.data_type(), &[a, b], &method, &mut |device, launch, out| {
        device.triangular_solve(
            launch,
            out,
            a.elements(),
            b.elements(),
            &TriangularSolveAttributes { upper, transpose, unitriangular },
        )
    })?;
    Ok(out)
}

/// Returns a view with rows and columns swapped.
fn swapped<'c>(matrices: &Tensor<'c>) -> Result<Tensor<'c>> {
    match matrices.rank() {
        0 | 1 => Err(Error::invalid(format!("the shape {:?} is not that of matrices", matrices.dims()))),
        rank => matrices.transposed(rank - 2, rank - 1),
    }
}
