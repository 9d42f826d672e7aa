//! The dimensions that a reduction removes.

use tenon::device::{Error, Result};

use crate::compute::rules::shared::dimensions;
use crate::compute::{Call, Tensor};

/// Returns the dimensions to reduce; an empty list means all dimensions.
pub fn axes(input: &Tensor<'_>, dims: &[i64]) -> Result<Vec<usize>> {
    let mut axes = dimensions(input, dims)?;
    if dims.is_empty() || input.rank() == 0 {
        axes = (0..input.rank()).collect();
    }
    axes.sort_unstable();
    Ok(axes)
}

/// Returns a view of a result without the reduced dimensions. In the result they may have the length 1.
pub fn without<'c>(result: &Tensor<'c>, input: &Tensor<'_>, axes: &[usize]) -> Result<Tensor<'c>> {
    let others = |keep: bool| {
        let dims = input.dims().iter().enumerate();
        dims.filter_map(|(dim, &len)| if axes.contains(&dim) { keep.then_some(1) } else { Some(len) })
            .collect::<Vec<usize>>()
    };
    let reduced = others(false);
    if result.dims() == reduced {
        return Ok(result.clone());
    }
    if result.dims() == others(true) {
        return axes.iter().rev().try_fold(result.clone(), |view, &axis| view.selected(axis, 0));
    }
    // Frameworks also represent a single number as one element in one dimension.
    if reduced.is_empty() && result.len() == 1 {
        return (0..result.rank()).try_fold(result.clone(), |view, _| view.selected(0, 0));
    }
    let message = format!("the result has the shape {:?} instead of {reduced:?}", result.dims());
    Err(Error::invalid(message))
}

/// Returns the tensor with the reduced dimensions merged into one last dimension: a view if only one
/// dimension is reduced.
pub fn rows<'c>(call: &'c Call, input: &Tensor<'c>, axes: &[usize]) -> Result<Tensor<'c>> {
    let view = input.permuted(&order(input, axes))?;
    match axes.len() {
        1 => Ok(view),
        0 => view.unsqueezed(view.rank()),
        _ => {
            let packed = call.packed(&view)?;
            let (others, reduced) = view.dims().split_at(input.rank() - axes.len());
            packed.reshaped(&[others, &[reduced.iter().product()]].concat())
        }
    }
}

/// Returns the dimensions with the reduced ones last.
pub fn order(input: &Tensor<'_>, axes: &[usize]) -> Vec<usize> {
    let others = (0..input.rank()).filter(|dim| !axes.contains(dim));
    others.chain(axes.iter().copied()).collect()
}
