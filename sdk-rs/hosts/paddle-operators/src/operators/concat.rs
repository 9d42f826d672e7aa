//! The gradient of concatenation.
//!
//! In static graphs of 3.0 and later, the memory of the inputs has been freed by then, because only their
//! shapes are needed. Paddle's fallback fails, because it copies them nevertheless.

use tenon::DevicePtr;
use tenon_operators::TensorRef;

use crate::error::{Error, Result};
use crate::kernel::{Any, Call, Output, Registry, Run, Scalar, Tensor, kernel, layout, outputs, shapes};

/// Registers `concat_grad`.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_every::<ConcatGrad<'static>>(&["expand"])
}

kernel! {
    /// Splits the gradient along the boundaries of the inputs.
    struct ConcatGrad<'c> = c"concat_grad" {
        inputs: { x: Vec<Tensor<'c>>, out_grad: Tensor<'c> },
        attributes: { axis: Scalar<'c> },
        outputs: { x_grad: Vec<Option<Output<'c>>> },
    }
}

impl Run<Any> for ConcatGrad<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { x, out_grad, axis, x_grad } = self;
        if x.len() != x_grad.len() {
            let message = format!("{} tensors cannot have {} gradients", x.len(), x_grad.len());
            return Err(Error::invalid(message));
        }
        let source = out_grad.view()?;
        let axis = shapes::axis_of(axis.to_i64()?, source.dims().len())?;
        let mut start = 0;
        for (x, x_grad) in x.into_iter().zip(x_grad) {
            let dims = x.dims()?;
            // An old rule allows empty tensors of any shape.
            let width = if x.len()? == 0 { 0 } else { dims.get(axis).copied().unwrap_or_default() };
            if let Some(x_grad) = x_grad.filter(|_| width > 0) {
                let part = part(&source, axis, start, width)?;
                let mut x_grad = x_grad.view(outputs::like(&source))?;
                call.run(&mut |device, launch| device.expand(launch, &mut x_grad, &part))?;
            } else if let Some(x_grad) = x_grad {
                x_grad.view(outputs::like(&source))?;
            }
            start += width;
        }
        Ok(())
    }
}

/// Returns the elements along an axis between two positions.
fn part<'v>(source: &TensorRef<'v>, axis: usize, start: usize, width: usize) -> Result<TensorRef<'v>> {
    let mut dims = source.dims().to_vec();
    if start + width > dims[axis] {
        return Err(Error::invalid(format!(
            "the inputs have more than {} elements along the axis",
            dims[axis]
        )));
    }
    dims[axis] = width;
    let size = source.data_type().size().unwrap_or_default() as isize;
    let offset = start as isize * source.strides()[axis] * size;
    let first = DevicePtr::from_addr(source.first().addr().wrapping_add_signed(offset));
    let layout = layout(&dims, source.strides())?;
    // SAFETY: all of its elements are elements of the source.
    Ok(unsafe { TensorRef::new(first, source.data_type(), layout) }?)
}
