//! The gradient of tensors side by side.
//!
//! In a static graph of 3.0 and later the inputs have lost their memory by then, since only their shapes are
//! needed; Paddle's way round fails when it copies them nevertheless.

use tenon_kernels::concat::{Part, split};

use crate::error::{Error, Result};
use crate::kernel::{Call, Element, Output, Registry, Run, Scalar, Tensor, kernel, register};

/// Registers `concat_grad`.
pub(super) fn register(registry: Registry) -> Result<()> {
    register!(registry, ConcatGrad, every);
    Ok(())
}

kernel! {
    /// Takes the gradient apart as the inputs were put together.
    struct ConcatGrad<'c> = c"concat_grad" {
        inputs: { x: Vec<Tensor<'c>>, out_grad: Tensor<'c> },
        attributes: { axis: Scalar<'c> },
        outputs: { x_grad: Vec<Option<Output<'c>>> },
    }
}

impl<T: Element> Run<T> for ConcatGrad<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { x, out_grad, axis, x_grad } = self;
        if x.len() != x_grad.len() {
            let message = format!("{} tensors cannot have {} gradients", x.len(), x_grad.len());
            return Err(Error::invalid(message));
        }
        let dims = out_grad.dims()?;
        let axis = axis_of(axis.to_i64()?, dims.len())?;
        let rows: usize = dims[..axis].iter().product();
        let source = out_grad.read::<T>()?;
        let mut parts = Vec::with_capacity(x.len());
        for (x, x_grad) in x.into_iter().zip(x_grad) {
            let width = x.len()?.checked_div(rows).unwrap_or(0);
            parts.push(Part { width, target: x_grad.map(Output::write::<T>).transpose()? });
        }
        call.compute(|| split(source, &mut parts))
    }
}

/// The number of an axis, which counts from the end if it is negative.
fn axis_of(axis: i64, rank: usize) -> Result<usize> {
    let axis_from_start = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(axis_from_start)
        .ok()
        .filter(|&axis| axis < rank)
        .ok_or_else(|| Error::invalid(format!("there is no axis {axis} in {rank} dimensions")))
}
