//! A copy that Paddle makes before it saves a tensor.
//!
//! On other devices it also changes the format of the memory, hence the name. Paddle's CPU has it for some types of
//! elements only, so that the others could not be saved.

use tenon::device::Release;

use crate::error::Result;
use crate::kernel::{Call, Element, Output, Registry, Run, Tensor, kernel, register};

/// Registers `npu_identity`.
pub(super) fn register(registry: Registry) -> Result<()> {
    if registry.release() >= Release::V3_0 {
        register!(registry, Identity, every);
    }
    Ok(())
}

kernel! {
    /// Copies a tensor. There is only one format, whatever the caller requests.
    struct Identity<'c> = c"npu_identity" {
        inputs: { x: Tensor<'c> },
        attributes: { format: i32 },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for Identity<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { x, format: _, out } = self;
        out.set_dims(&x.dims()?)?;
        out.set_contiguous()?;
        let target = out.write::<T>()?;
        let source = x.read::<T>()?;
        call.compute(|| tenon_kernels::copy(target, source))
    }
}
