//! Rules for resizing images.

use tenon::device::{Error, Result};
use tenon_operators::attributes::{InterpolateAttributes, InterpolateGradAttributes};

use crate::compute::{Call, FLOAT, Method, Tensor};

/// Returns the names of the dimensions of an image, with the channels second.
fn format(images: &Tensor<'_>) -> Result<&'static str> {
    match images.rank() {
        3 => Ok("NCL"),
        4 => Ok("NCHW"),
        5 => Ok("NCDHW"),
        _ => Err(Error::invalid(format!("images of the shape {:?} cannot be resized", images.dims()))),
    }
}

/// Checks that the method supports images with this number of dimensions.
fn expect_mode(mode: &str, images: &Tensor<'_>) -> Result<()> {
    let rank = match mode {
        "nearest" => images.rank(),
        "linear" => 3,
        "bilinear" | "bicubic" => 4,
        "trilinear" => 5,
        _ => return Err(Error::invalid(format!("`mode` is `{mode}`"))),
    };
    if rank == images.rank() {
        Ok(())
    } else {
        Err(Error::invalid(format!("`{mode}` is not for the shape {:?}", images.dims())))
    }
}

/// Checks that images have the given size.
fn expect_size(name: &str, images: &Tensor<'_>, size: &[i64]) -> Result<()> {
    let space = images.dims().get(2..).unwrap_or_default();
    if space.iter().map(|&dim| dim as i64).eq(size.iter().copied()) {
        Ok(())
    } else {
        Err(Error::invalid(format!("`{name}` has the shape {:?}, not {size:?}", images.dims())))
    }
}

/// Resizes images.
pub(crate) fn resized(
    call: &Call,
    out: &Tensor<'_>,
    input: &Tensor<'_>,
    size: &[i64],
    align_corners: bool,
    mode: &str,
) -> Result<()> {
    let format = format(input)?;
    expect_mode(mode, input)?;
    expect_size("out", out, size)?;
    let mut result = call.output(out, input.data_type(), &[input])?;
    call.run(&Method::new("interpolate", FLOAT), input.data_type(), &mut |device, launch| {
        let (out, x) = (result.elements(), input.elements());
        // Missing dimensions come first.
        let at = |place: usize| size.len().checked_sub(place).map_or(-1, |index| size[index]);
        let (depth, height, width) = (at(3), at(2), at(1));
        device.interpolate(
            launch,
            out,
            x,
            None,
            None,
            None,
            &InterpolateAttributes {
                data_format: format,
                out_d: depth,
                out_h: height,
                out_w: width,
                scale: &[],
                interp_method: mode,
                align_corners,
                align_mode: 0,
            },
        )
    })?;
    result.finish()
}

/// Computes the gradient of [`resized`].
pub(crate) fn resized_backward(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_output: &Tensor<'_>,
    out_size: &[i64],
    in_size: &[i64],
    align_corners: bool,
    mode: &str,
) -> Result<()> {
    let format = format(grad_input)?;
    expect_mode(mode, grad_input)?;
    expect_size("grad_output", grad_output, out_size)?;
    // Hosts pass the whole shape too.
    if !grad_input.dims().iter().map(|&dim| dim as i64).eq(in_size.iter().copied()) {
        expect_size("grad_input", grad_input, in_size)?;
    }
    let ty = grad_input.data_type();
    let grad_output = call.to_type(grad_output, ty)?;
    let mut dx = call.output(grad_input, ty, &[&grad_output])?;
    call.run(&Method::new("interpolate_grad", FLOAT), ty, &mut |device, launch| {
        let (dx, dout) = (dx.elements(), grad_output.elements());
        device.interpolate_grad(
            launch,
            dx,
            None,
            None,
            dout,
            &InterpolateGradAttributes {
                data_format: format,
                scale: &[],
                interp_method: mode,
                align_corners,
                align_mode: 0,
            },
        )
    })?;
    dx.finish()
}
