//! Half-precision convolutions by the provider, without conversions to `f32` and back.

use crate::conv::geometry::{Geometry, Pass};
use crate::error::Result;
use crate::loops::slices::with_optional_slices;
use crate::provider::{self, Operand};
use crate::tensor::{View, ViewMut};

impl Geometry {
    /// Lets the provider compute a tensor in half precision. `operands` and `bias` are some of the `inputs`; it must not
    /// change any input. Returns the tensor if the kernel has to compute it.
    pub(super) fn left_over<'v>(
        &self,
        pass: Pass,
        mut result: Option<ViewMut<'v>>,
        operands: [&View<'_>; 2],
        bias: Option<&View<'_>>,
        inputs: [Option<&View<'_>>; 3],
    ) -> Result<Option<ViewMut<'v>>> {
        let takes_halves = |out: &&mut ViewMut<'v>| provider::takes_halves(out, inputs.into_iter().flatten());
        let Some(out) = result.as_mut().filter(takes_halves) else { return Ok(result) };
        let (dtype, copies, mut is_done) = (out.dtype(), operands.map(View::copies), false);
        let [left, right] = operands.map(Some);
        with_optional_slices::<u16, 1, 3>([Some(out.reborrow())], [left, right, bias], |[out], inputs| {
            let (out, [left, right, bias]) =
                (out.unwrap_or_default(), inputs.map(|input| input.map(bytemuck::cast_slice)));
            is_done = provider::computes(|provider| {
                let operands = [left, right].map(Option::unwrap_or_default);
                let operands = [0, 1].map(|n| Operand { elements: operands[n], copies: copies[n] });
                provider.convolve(pass, dtype, self, bytemuck::cast_slice_mut(out), operands, bias)
            });
            Ok(())
        })?;
        Ok(result.filter(|_| !is_done))
    }
}
