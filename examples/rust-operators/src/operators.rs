//! The operators. A real device starts a kernel on `launch.stream`; this one computes before it returns.

use tenon::device::{Error, Result};
use tenon::operators::{Launch, Operators, TensorMut, TensorRef};

use crate::device::{MyNpu, memory};

#[tenon::operators]
impl Operators for MyNpu {
    #[data_types(FLOAT32)]
    fn relu(&self, _: Launch, out: &mut TensorMut<'_>, x: &TensorRef<'_>) -> Result<()> {
        each(out, [x], |[x]| x.max(0.0))
    }

    #[data_types(FLOAT32)]
    fn relu_dx(
        &self,
        _: Launch,
        dx: &mut TensorMut<'_>,
        out: &TensorRef<'_>,
        dout: &TensorRef<'_>,
    ) -> Result<()> {
        each(dx, [out, dout], |[out, dout]| if out > 0.0 { dout } else { 0.0 })
    }

    #[data_types(FLOAT32)]
    fn add(&self, _: Launch, out: &mut TensorMut<'_>, a: &TensorRef<'_>, b: &TensorRef<'_>) -> Result<()> {
        each(out, [a, b], |[a, b]| a + b)
    }

    // PaddlePaddle fills tensors and reads slices with this one.
    #[data_types(FLOAT32)]
    fn expand(&self, _: Launch, out: &mut TensorMut<'_>, x: &TensorRef<'_>) -> Result<()> {
        each(out, [x], |[x]| x)
    }
}

/// Computes each element of the output from those of the inputs, which are broadcast to its shape.
fn each<const N: usize>(
    out: &mut TensorMut<'_>,
    inputs: [&TensorRef<'_>; N],
    compute: impl Fn([f32; N]) -> f32,
) -> Result<()> {
    let dims = out.dims();
    let strides = inputs.map(|input| broadcast(input, dims));
    if let Some(shape) = (0..N).find(|&n| strides[n].is_none()).map(|n| inputs[n].dims()) {
        return Err(Error::invalid(format!("the shape {shape:?} cannot be broadcast to {dims:?}")));
    }
    let elements = (0..out.len()).map(|position| {
        compute(std::array::from_fn(|n| {
            let offset = offset(position, dims, strides[n].as_deref().unwrap_or_default());
            // SAFETY: the element is one of the tensor, which is memory of this device.
            unsafe { memory(inputs[n].first()).cast::<f32>().offset(offset).read() }
        }))
    });
    // All is computed before it is stored: the output may be the memory of an input.
    for (position, element) in elements.collect::<Vec<f32>>().into_iter().enumerate() {
        let offset = offset(position, dims, out.strides());
        // SAFETY: as above; only this operator uses the memory.
        unsafe { memory(out.first()).cast::<f32>().offset(offset).write(element) };
    }
    Ok(())
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
fn offset(mut position: usize, dims: &[usize], strides: &[isize]) -> isize {
    let mut offset = 0;
    for (&dim, &stride) in dims.iter().zip(strides).rev() {
        offset += (position % dim) as isize * stride;
        position /= dim;
    }
    offset
}
