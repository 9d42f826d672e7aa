//! Right shifts, arithmetic or logical.

use tenon::device::Release;

use crate::error::Result;
use crate::kernel::{Any, Call, INTEGERS, Output, Registry, Run, Tensor, kernel, outputs};

/// The methods that the kernel calls.
const METHODS: &[&str] = &["bitwise_right_shift", "bitwise_right_shift_logical"];

/// Registers `bitwise_right_shift`.
pub(super) fn register(registry: Registry) -> Result<()> {
    if registry.release() >= Release::V3_0 {
        registry.add_any::<RightShift<'static>>(METHODS, &[INTEGERS])
    } else {
        Ok(())
    }
}

kernel! {
    /// Shifts the bits of a tensor to the right by the numbers in another tensor.
    struct RightShift<'c> = c"bitwise_right_shift" {
        inputs: { x: Tensor<'c>, y: Tensor<'c> },
        attributes: { is_arithmetic: bool },
        outputs: { out: Output<'c> },
    }
}

impl Run<Any> for RightShift<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let (x, y) = (self.x.view()?, self.y.view()?);
        let mut out = self.out.view(outputs::like(&x))?;
        let bits = 8 * x.data_type().size().unwrap_or_default();
        call.run(&mut |device, launch| {
            if self.is_arithmetic {
                device.bitwise_right_shift(launch, &mut out, &x, &y)
            } else {
                device.bitwise_right_shift_logical(launch, &mut out, &x, &y, bits as f64)
            }
        })
    }
}
