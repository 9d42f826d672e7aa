//! Rules for sparse matrices.

use tenon::device::{Error, Result};

use crate::compute::call::SparseMatrix;
use crate::compute::rules::shared::kernel;
use crate::compute::{Call, FLOAT, Method, Tensor};

/// Computes the product of a sparse matrix with a dense one.
pub(crate) fn sparse_product<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    _input: &Tensor<'_>,
    dense: &Tensor<'c>,
) -> Result<()> {
    let SparseMatrix { dims, starts, columns, values } = call.sparse_matrix("input")?;
    if dims != [starts.len().saturating_sub(1), dense.dims().first().copied().unwrap_or(0)] {
        let message = format!("matrices of the shapes {dims:?} and {:?} cannot be multiplied", dense.dims());
        return Err(Error::invalid(message));
    }
    let ty = values.data_type();
    let dense = call.to_type(dense, ty)?;
    let inputs = [&values, &starts, &columns, &dense];
    kernel(call, out, ty, &inputs, &Method::new("sparse_matmul", FLOAT), &mut |device, launch, out| {
        let [values, starts, columns, dense] = inputs.map(Tensor::elements);
        device.sparse_matmul(launch, out, values, starts, columns, dense)
    })
}
