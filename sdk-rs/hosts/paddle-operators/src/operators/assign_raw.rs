//! Assignments of static programs: `assign`, copies of tensors, the results of branches, and the variables of loops.
//!
//! Without this kernel PaddlePaddle runs its own on the CPU. That kernel takes tensors of any device without a copy, so
//! that the fallback inserts none, and then refuses a tensor of the device.

use tenon::DevicePtr;

use crate::error::Result;
use crate::kernel::{Any, Call, Output, Registry, Run, Tensor, Window, kernel, outputs};

/// Registers `assign_raw`.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_every::<AssignRaw<'static>>(&["expand"])
}

kernel! {
    /// Copies a tensor of the device or of the host.
    struct AssignRaw<'c> = c"assign_raw" {
        inputs: { x: Option<Tensor<'c>> },
        attributes: {},
        outputs: { out: Output<'c> },
    }
}

impl Run<Any> for AssignRaw<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { x: Some(x), out } = self else { return Ok(()) };
        if !x.is_initialized()? {
            return Ok(());
        }
        let source = x.view()?;
        out.set_dims(source.dims())?;
        let mut target = out.view(outputs::like(&source))?;
        if source.is_empty() || !x.is_in_host_memory()? {
            return call.run(&mut |device, launch| device.expand(launch, &mut target, &source));
        }
        let source = x.read_window::<u8>(Window::first(source.len() * x.place()?.size))?;
        call.copy_to_device(DevicePtr::from_ptr(out.place()?.first), source)
    }
}
