//! Products of matrices.

use tenon::device::{DataType, Error, Result};
use tenon_operators::{TensorMut, TensorRef, broadcast};

use super::binary;
use super::elementwise::scaled;
use crate::kernel::{Call, Compute, Info};

/// Returns the shape of a product of matrices.
pub(crate) fn product_dims(a: &[usize], b: &[usize]) -> Result<Vec<usize>> {
    let refuse = || Error::invalid(format!("the shapes {a:?} and {b:?} cannot be multiplied"));
    let (Some(last), [.., inner, _] | [inner]) = (a.last(), b) else { return Err(refuse()) };
    if last != inner {
        return Err(refuse());
    }
    let batch = |dims: &[usize]| dims[..dims.len().saturating_sub(2)].to_vec();
    let mut dims = broadcast(&batch(a), &batch(b))?;
    if let [.., rows, _] = a {
        dims.push(*rows);
    }
    if let [.., _, columns] = b {
        dims.push(*columns);
    }
    Ok(dims)
}

/// Multiplies matrices. An empty inner dimension gives zeros.
pub(crate) fn multiply(
    call: &Call<'_>,
    out: &mut TensorMut<'_>,
    a: &TensorRef<'_>,
    b: &TensorRef<'_>,
) -> Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    if a.is_empty() {
        return call.write(out, &call.filled(out.data_type(), out.dims(), 0.0)?);
    }
    call.run(|operators, launch| operators.matmul(launch, out, a, b, false, false))
}

/// The product of two matrices, or of batches of them.
pub(crate) fn matmul(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let (a, b) = (call.input(0)?, call.input(1)?);
        let mut out = call.output(0, &product_dims(a.dims(), b.dims())?)?;
        multiply(call, &mut out, &a, &b)
    }))
}

/// Swaps the last two dimensions of a tensor, if that is wanted.
fn turned<'t>(x: &TensorRef<'t>, is_turned: bool) -> Result<TensorRef<'t>> {
    match x.dims().len() {
        rank @ 2.. if is_turned => x.transposed(rank - 2, rank - 1),
        _ => Ok(x.clone()),
    }
}

/// Multiplies matrices, which may be transposed, and scales the product.
pub(crate) fn fused_matmul(info: &Info) -> Result<Compute> {
    let (turns_a, turns_b) = (info.flag("transA"), info.flag("transB"));
    let alpha = info.float("alpha").unwrap_or(1.0);
    if info.flag("transBatchA") || info.flag("transBatchB") {
        return info.refuse("transposed batches");
    }
    Ok(Box::new(move |call| {
        let (a, b) = (call.input(0)?, call.input(1)?);
        let dims = product_dims(turned(&a, turns_a)?.dims(), turned(&b, turns_b)?.dims())?;
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            Ok(())
        } else {
            scaled_product(call, &mut out, &a, &b, (turns_a, turns_b, alpha))
        }
    }))
}

/// `alpha * A · B + beta * C`, of matrices that may be transposed.
pub(crate) fn gemm(info: &Info) -> Result<Compute> {
    let (turns_a, turns_b) = (info.flag("transA"), info.flag("transB"));
    let (alpha, beta) = (info.float("alpha").unwrap_or(1.0), info.float("beta").unwrap_or(1.0));
    Ok(Box::new(move |call| {
        let (a, b) = (call.input(0)?, call.input(1)?);
        let dims = product_dims(turned(&a, turns_a)?.dims(), turned(&b, turns_b)?.dims())?;
        if dims.len() != 2 {
            return Err(Error::invalid("the operands must be matrices"));
        }
        let summand = call.optional(2)?.filter(|_| beta != 0.0);
        let summand = summand.map(|summand| summand.expanded(&dims)).transpose()?;
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        let factor = (turns_a, turns_b, alpha);
        let Some(summand) = summand else { return scaled_product(call, &mut out, &a, &b, factor) };
        if beta == 1.0 && !out.shares_memory(&summand) {
            scaled_product(call, &mut out, &a, &b, factor)?;
            let product = out.as_input();
            return call.run(|operators, launch| operators.add(launch, &mut out, &product, &summand));
        }
        let mut product = call.temporary(out.data_type(), &dims)?;
        scaled_product(call, &mut product, &a, &b, factor)?;
        let product = product.into_input();
        let summand = if beta == 1.0 {
            summand
        } else {
            let mut part = call.temporary(out.data_type(), &dims)?;
            scaled(call, &mut part, &summand, beta, 0.0)?;
            part.into_input()
        };
        call.run(|operators, launch| operators.add(launch, &mut out, &product, &summand))
    }))
}

/// Multiplies matrices, which may be transposed, and scales the product.
fn scaled_product(
    call: &Call<'_>,
    out: &mut TensorMut<'_>,
    a: &TensorRef<'_>,
    b: &TensorRef<'_>,
    (turns_a, turns_b, alpha): (bool, bool, f64),
) -> Result<()> {
    if a.is_empty() {
        return call.write(out, &call.filled(out.data_type(), out.dims(), 0.0)?);
    }
    if alpha == 1.0 {
        return call.run(|operators, launch| operators.matmul(launch, out, a, b, turns_a, turns_b));
    }
    let mut product = call.temporary(a.data_type(), out.dims())?;
    call.run(|operators, launch| operators.matmul(launch, &mut product, a, b, turns_a, turns_b))?;
    scaled(call, out, &product.into_input(), alpha, 0.0)
}

/// Sums products in Einstein's notation.
pub(crate) fn einsum(info: &Info) -> Result<Compute> {
    let equation: String = info.text("equation").unwrap_or_default().split_whitespace().collect();
    Ok(Box::new(move |call| {
        let operands = call.all_inputs()?;
        let dims = einsum_dims(&equation, &operands)?;
        let mut out = call.output(0, &dims)?;
        call.run(|operators, launch| operators.einsum(launch, &mut out, &operands, &equation))
    }))
}

/// Returns the shape of sums in Einstein's notation.
fn einsum_dims(equation: &str, operands: &[TensorRef<'_>]) -> Result<Vec<usize>> {
    let (inputs, output) = match equation.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output.to_owned())),
        None => (equation, None),
    };
    let terms: Vec<&str> = inputs.split(',').collect();
    if terms.len() != operands.len() {
        return Err(Error::invalid(format!("`{equation}` has another number of operands")));
    }
    let mut lengths: Vec<(char, usize)> = Vec::new();
    let mut rest: Vec<usize> = Vec::new();
    for (term, operand) in terms.iter().zip(operands) {
        let dims = operand.dims();
        let (before, behind) = term.split_once("...").unwrap_or((term, ""));
        let named = before.chars().count() + behind.chars().count();
        let middle = dims.len().checked_sub(named);
        let middle = middle.filter(|middle| *middle == 0 || term.contains("..."));
        let middle = middle.ok_or_else(|| Error::invalid(format!("`{term}` does not fit to {dims:?}")))?;
        let start = before.chars().count();
        rest = broadcast(&rest, &dims[start..start + middle])?;
        let labels = before.chars().zip(&dims[..start]).chain(behind.chars().zip(&dims[start + middle..]));
        for (label, length) in labels {
            match lengths.iter_mut().find(|(known, _)| *known == label) {
                Some((_, known)) if *known == 1 => *known = *length,
                Some((_, known)) if *known == *length || *length == 1 => {}
                Some(_) => return Err(Error::invalid(format!("the lengths of `{label}` differ"))),
                None => lengths.push((label, *length)),
            }
        }
    }
    let output = output.unwrap_or_else(|| {
        let labels = inputs.chars().filter(|label| label.is_alphabetic());
        let mut once: Vec<char> = labels.filter(|label| inputs.matches(*label).count() == 1).collect();
        once.sort_unstable();
        let dots = if inputs.contains("...") { "..." } else { "" };
        dots.chars().chain(once).collect()
    });
    let length = |label: char| {
        let found = lengths.iter().find(|(known, _)| *known == label).map(|(_, length)| *length);
        found.ok_or_else(|| Error::invalid(format!("`{label}` of the output is in no operand")))
    };
    let (before, behind) = output.split_once("...").unwrap_or((&output, ""));
    let has_rest = output.contains("...");
    let before = before.chars().map(length).collect::<Result<Vec<_>>>()?;
    let behind = behind.chars().map(length).collect::<Result<Vec<_>>>()?;
    Ok([before, if has_rest { rest } else { Vec::new() }, behind].concat())
}

/// The determinant of square matrices.
pub(crate) fn determinant(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let x = call.input(0)?;
        let [batch @ .., rows, columns] = x.dims() else {
            return Err(Error::invalid("a matrix is expected"));
        };
        if rows != columns {
            return Err(Error::invalid(format!("a matrix of {rows} by {columns} has no determinant")));
        }
        let mut out = call.output(0, batch)?;
        call.run(|operators, launch| operators.determinant(launch, &mut out, &x))
    }))
}

/// The product of matrices of bytes, less their zero points, as integers.
pub(crate) fn matmul_integer(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let (a, b) = (call.input(0)?, call.input(1)?);
        let mut out = call.output(0, &product_dims(a.dims(), b.dims())?)?;
        // A zero point of the left operand is for its rows, one of the right operand for its columns.
        let a = shifted(call, &a, call.optional(2)?, true)?;
        let b = shifted(call, &b, call.optional(3)?, false)?;
        multiply(call, &mut out, &a, &b)
    }))
}

/// Returns bytes less their zero point, as integers.
pub(crate) fn shifted<'t>(
    call: &'t Call<'_>,
    x: &TensorRef<'t>,
    zero: Option<TensorRef<'t>>,
    is_by_row: bool,
) -> Result<TensorRef<'t>> {
    let wide = call.cast(x, DataType::INT32)?;
    let Some(zero) = zero else { return Ok(wide) };
    let mut zero = call.cast(&zero, DataType::INT32)?;
    if is_by_row && zero.dims().len() == 1 && zero.len() > 1 {
        zero = zero.unsqueezed(1)?;
    }
    call.binary(&wide, &zero, binary!(subtract))
}
