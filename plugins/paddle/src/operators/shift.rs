//! Bits moved down, with or without regard to the sign.

use tenon::device::Release;
use tenon_kernels::formulas::logic;

use crate::error::Result;
use crate::kernel::{Any, Call, INTEGERS, Output, Registry, Run, Tensor, kernel};

/// Registers `bitwise_right_shift`.
pub(super) fn register(registry: Registry) -> Result<()> {
    match registry.release() >= Release::V3_0 {
        true => registry.add_any::<RightShift<'static>>(&[INTEGERS]),
        false => Ok(()),
    }
}

kernel! {
    /// Moves the bits of a tensor down by the numbers of another one.
    struct RightShift<'c> = c"bitwise_right_shift" {
        inputs: { x: Tensor<'c>, y: Tensor<'c> },
        attributes: { is_arithmetic: bool },
        outputs: { out: Output<'c> },
    }
}

impl Run<Any> for RightShift<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let (x, y) = (self.x.view()?, self.y.view()?);
        let mut out = self.out.view(self.x.data_type()?)?;
        let bits = 8 * x.dtype().size();
        call.compute(|| match self.is_arithmetic {
            true => logic::bitwise_right_shift(&mut out, &x, &y),
            false => logic::bitwise_right_shift_logical(&mut out, &x, &y, bits as f64),
        })
    }
}
