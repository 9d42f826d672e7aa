//! The elements of tensors. A real device has kernels instead.

use tenon::DevicePtr;
use tenon::device::{DataType, Error, Result};
use tenon_operators::{TensorMut, TensorRef};

use crate::device::memory;

/// Computes each element of the output from those of the inputs, which are broadcast to its shape.
pub(crate) fn each<const N: usize>(
    out: &mut TensorMut<'_>,
    inputs: [&TensorRef<'_>; N],
    compute: impl Fn([f32; N]) -> f32,
) -> Result<()> {
    let dims = &out.dims().to_vec();
    let strides = inputs.map(|input| broadcast(input, dims));
    if let Some(shape) = (0..N).find(|&n| strides[n].is_none()).map(|n| inputs[n].dims()) {
        return Err(Error::invalid(format!("the shape {shape:?} cannot be broadcast to {dims:?}")));
    }
    let elements = (0..out.len()).map(|position| {
        compute(std::array::from_fn(|n| {
            read(inputs[n], offset(position, dims, strides[n].as_deref().unwrap_or_default()))
        }))
    });
    // All is computed before it is stored: the output may be the memory of an input.
    for (position, element) in elements.collect::<Vec<f32>>().into_iter().enumerate() {
        write(out, offset(position, dims, out.strides()), element);
    }
    Ok(())
}

/// Reads an element at a distance from the first one.
pub(crate) fn read(tensor: &TensorRef<'_>, offset: isize) -> f32 {
    let first: DevicePtr = tensor.first();
    // SAFETY: the element is one of the tensor, which is memory of this device.
    unsafe {
        match tensor.data_type() {
            DataType::BOOL => memory(first).offset(offset).read().into(),
            _ => memory(first).cast::<f32>().offset(offset).read(),
        }
    }
}

/// Writes an element at a distance from the first one.
pub(crate) fn write(tensor: &mut TensorMut<'_>, offset: isize, element: f32) {
    // SAFETY: as for `read`; only this operator uses the memory.
    unsafe {
        match tensor.data_type() {
            DataType::BOOL => memory(tensor.first()).offset(offset).write(u8::from(element != 0.0)),
            _ => memory(tensor.first()).cast::<f32>().offset(offset).write(element),
        }
    }
}

/// Returns the strides that repeat a tensor so that it has a shape; `None` if there are none.
fn broadcast(tensor: &TensorRef<'_>, dims: &[usize]) -> Option<Vec<isize>> {
    let missing = dims.len().checked_sub(tensor.dims().len())?;
    let own = tensor.dims().iter().zip(tensor.strides()).zip(&dims[missing..]);
    let own = own.map(|((&dim, &stride), &wanted)| match dim {
        _ if dim == wanted => Some(stride),
        1 => Some(0),
        _ => None,
    });
    std::iter::repeat_n(Some(0), missing).chain(own).collect()
}

/// Returns the distance between the first element of a tensor and the one at a position in row-major order, in elements.
pub(crate) fn offset(mut position: usize, dims: &[usize], strides: &[isize]) -> isize {
    let mut offset = 0;
    for (&dim, &stride) in dims.iter().zip(strides).rev() {
        offset += (position % dim) as isize * stride;
        position /= dim;
    }
    offset
}
