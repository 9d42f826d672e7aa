//! Half-precision convolutions by the provider, without conversions to `f32` and back.

use crate::conv::geometry::{Geometry, Pass};
use crate::error::Result;
use crate::loops::slices::with_slices;
use crate::provider::{self, Operand};
use crate::tensor::{View, ViewMut};

impl Geometry {
    /// Lets the provider compute a tensor in half precision. `operands` are two of the `inputs`; it must not
    /// change any input. Returns the tensor if the kernel has to compute it.
    pub(super) fn left_over<'v>(
        &self,
        pass: Pass,
        mut result: Option<ViewMut<'v>>,
        operands: [&View<'_>; 2],
        inputs: &[&View<'_>],
    ) -> Result<Option<ViewMut<'v>>> {
        let Some(out) = result.as_mut().filter(|out| provider::takes_halves(out, inputs)) else {
            return Ok(result);
        };
        let (dtype, copies, mut is_done) = (out.dtype(), operands.map(View::copies), false);
        with_slices::<u16, 1, 2>([out.reborrow()], operands, |[out], operands| {
            is_done = provider::computes(|provider| {
                let operands = operands.map(bytemuck::cast_slice);
                let operands = [0, 1].map(|n| Operand { elements: operands[n], copies: copies[n] });
                provider.convolve(pass, dtype, self, bytemuck::cast_slice_mut(out), operands)
            });
            Ok(())
        })?;
        Ok(result.filter(|_| !is_done))
    }
}
