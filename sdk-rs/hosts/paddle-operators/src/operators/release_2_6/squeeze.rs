//! Dimensions of length one that come and go, in 2.6. Later releases have these kernels for every device.

use tenon_operators::{TensorRef, contiguous_strides};

use crate::error::{Error, Result};
use crate::kernel::{Any, Call, IntArray, Output, Registry, Run, Tensor, kernel, layout};

/// Registers `squeeze`, `unsqueeze` and their gradients.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_every::<Squeeze<'static>>(&["expand"])?;
    registry.add_every::<SqueezeInfer<'static>>(&["expand"])?;
    registry.add_every::<SqueezeGrad<'static>>(&["expand"])?;
    registry.add_every::<Unsqueeze<'static>>(&["expand"])?;
    registry.add_every::<UnsqueezeInfer<'static>>(&["expand"])?;
    registry.add_every::<UnsqueezeGrad<'static>>(&["expand"])
}

/// Copies the elements of a tensor to one of another shape, which PaddlePaddle has set. Copies nothing if
/// both have the same memory, as in dygraph.
fn copy(call: &Call, x: Tensor<'_>, out: Output<'_>) -> Result<()> {
    let x = x.view()?;
    let mut target = out.view(x.data_type())?;
    if target.len() != x.len() {
        return Err(Error::invalid(format!(
            "{:?} elements cannot have the shape {:?}",
            x.dims(),
            target.dims()
        )));
    }
    if x.is_empty() || target.first() == x.first() {
        return Ok(());
    }
    let dims = target.dims().to_vec();
    let strides = contiguous_strides(&dims).map_err(Error::of_operator)?;
    // SAFETY: it is the same memory: tensors of 2.6 are contiguous.
    let x = unsafe { TensorRef::new(x.first(), x.data_type(), layout(&dims, &strides)?) }?;
    call.run(&mut |device, launch| device.expand(launch, &mut target, &x))
}

kernel! {
    /// Removes dimensions of length one.
    struct Squeeze<'c> = c"squeeze" {
        inputs: { x: Tensor<'c> },
        attributes: { axes: IntArray<'c> },
        outputs: { out: Output<'c>, xshape: Option<Output<'c>> },
    }
}

impl Run<Any> for Squeeze<'_> {
    fn run(self, call: &Call) -> Result<()> {
        copy(call, self.x, self.out)
    }
}

kernel! {
    /// Removes dimensions of length one.
    struct SqueezeInfer<'c> = c"squeeze_infer" {
        inputs: { x: Tensor<'c> },
        attributes: { axes: IntArray<'c> },
        outputs: { out: Output<'c> },
    }
}

impl Run<Any> for SqueezeInfer<'_> {
    fn run(self, call: &Call) -> Result<()> {
        copy(call, self.x, self.out)
    }
}

kernel! {
    /// Computes the gradient of `squeeze`.
    struct SqueezeGrad<'c> = c"squeeze_grad" {
        inputs: { xshape: Tensor<'c>, dout: Tensor<'c> },
        attributes: { axes: IntArray<'c> },
        outputs: { dx: Output<'c> },
    }
}

impl Run<Any> for SqueezeGrad<'_> {
    fn run(self, call: &Call) -> Result<()> {
        copy(call, self.dout, self.dx)
    }
}

kernel! {
    /// Inserts dimensions of length one.
    struct Unsqueeze<'c> = c"unsqueeze" {
        inputs: { x: Tensor<'c> },
        attributes: { axes: IntArray<'c> },
        outputs: { out: Output<'c>, xshape: Option<Output<'c>> },
    }
}

impl Run<Any> for Unsqueeze<'_> {
    fn run(self, call: &Call) -> Result<()> {
        copy(call, self.x, self.out)
    }
}

kernel! {
    /// Inserts dimensions of length one.
    struct UnsqueezeInfer<'c> = c"unsqueeze_infer" {
        inputs: { x: Tensor<'c> },
        attributes: { axes: IntArray<'c> },
        outputs: { out: Output<'c> },
    }
}

impl Run<Any> for UnsqueezeInfer<'_> {
    fn run(self, call: &Call) -> Result<()> {
        copy(call, self.x, self.out)
    }
}

kernel! {
    /// Computes the gradient of `unsqueeze`.
    struct UnsqueezeGrad<'c> = c"unsqueeze_grad" {
        inputs: { xshape: Tensor<'c>, dout: Tensor<'c> },
        attributes: {},
        outputs: { dx: Output<'c> },
    }
}

impl Run<Any> for UnsqueezeGrad<'_> {
    fn run(self, call: &Call) -> Result<()> {
        copy(call, self.dout, self.dx)
    }
}
