//! Rules that fill tensors with a constant or multiply them by one.

use tenon::device::Result;
use tenon_operators::attributes::ScaleAttributes;

use crate::compute::{BOOL, COMPLEX, Call, FLOAT, INTEGER, Method, Tensor};

/// Sets all elements of a tensor to 0.
pub fn zero(call: &Call, target: &Tensor<'_>) -> Result<()> {
    let like = call.temporary(target.data_type(), &[])?.expanded(target.dims())?;
    let mut out = call.output(target, target.data_type(), &[])?;
    call.run(
        &Method::new("zero_grad", FLOAT | INTEGER | BOOL | COMPLEX),
        target.data_type(),
        &mut |device, launch| device.zero_grad(launch, out.elements(), like.elements()),
    )?;
    out.finish()
}

/// Multiplies a tensor by a number. The target may be the tensor itself.
pub fn scale<'c>(call: &'c Call, target: &Tensor<'c>, tensor: &'c Tensor<'c>, factor: f64) -> Result<()> {
    call.write(&Method::new("scale", FLOAT), target, [tensor.into()], &mut |device, launch, out, [x]| {
        device.scale(launch, out, x, &ScaleAttributes { scale: factor, bias: 0.0, bias_after_scale: true })
    })
}
