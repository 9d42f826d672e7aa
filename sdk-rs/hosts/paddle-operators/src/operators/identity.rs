//! A copy that Paddle makes before it saves a tensor.
//!
//! On other devices it also changes the format of the memory, hence the name. Paddle's CPU supports it only
//! for some element types, so the others could not be saved.

use tenon::device::Release;

use crate::error::Result;
use crate::kernel::{Any, Call, Output, Registry, Run, Tensor, kernel, outputs};

/// Registers `npu_identity`.
pub(super) fn register(registry: Registry) -> Result<()> {
    if registry.release() >= Release::V3_0 {
        registry.add_every::<Identity<'static>>(&["expand"])?;
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

impl Run<Any> for Identity<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let x = self.x.view()?;
        self.out.reshape(x.dims())?;
        let mut out = self.out.view(outputs::like(&x))?;
        call.run(&mut |device, launch| device.expand(launch, &mut out, &x))
    }
}
