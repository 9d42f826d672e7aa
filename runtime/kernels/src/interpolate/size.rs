//! The size of an interpolated image, which frameworks specify in several ways.

use super::{interpolate, interpolate_grad};
use crate::attributes::{InterpolateAttributes, InterpolateGradAttributes};
use crate::error::{Error, Result};
use crate::loops::slices::{Slot, integers};
use crate::loops::window::channels_last;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the result of [`resize`].
///
/// The size comes from the first of these that is given: `size_tensor`, a list with a one-element tensor for
/// each spatial dimension; `out_size`; the size of the image times the scales, rounded down; `out_d`, `out_h`
/// and `out_w`.
///
/// # Errors
/// [`Error::Rank`], [`Error::Attribute`], [`Error::Length`], [`Error::Type`].
pub fn shape(
    x: TensorMeta<'_>,
    out_size: Option<&View<'_>>,
    size_tensor: Option<&[View<'_>]>,
    scale_tensor: Option<&View<'_>>,
    with: &InterpolateAttributes<'_>,
) -> Result<Vec<usize>> {
    let InterpolateAttributes { data_format, out_d, out_h, out_w, scale, .. } = *with;
    let Some(rank) = x.dims().len().checked_sub(2).filter(|rank| (1..=3).contains(rank)) else {
        return Err(Error::Rank { dims: x.dims().len(), strides: 5 });
    };
    let first = if channels_last(data_format)? { 1 } else { 2 };
    let scale = scales(rank, size_tensor, scale_tensor, scale)?;
    let image = x.dims()[first..][..rank].iter();
    let sizes = match (listed(size_tensor)?, out_size) {
        (Some(sizes), _) => sizes,
        (None, Some(sizes)) => integers(sizes)?,
        (None, None) if !scale.is_empty() => {
            image.zip(scale).map(|(&len, scale)| times(len, scale)).collect()
        }
        (None, None) => [out_d, out_h, out_w][3 - rank..].to_vec(),
    };
    crate::expect_length("out_size", rank, sizes.len())?;
    let mut dims = x.dims().to_vec();
    for (dim, &size) in dims[first..].iter_mut().zip(&sizes) {
        let size = usize::try_from(size).ok().filter(|&size| size > 0);
        *dim = size.ok_or_else(|| Error::Attribute { name: "out_size", value: format!("{sizes:?}") })?;
    }
    Ok(dims)
}

/// Resizes images as [`interpolate`] does, with the scales and the sizes that [`shape`] accepts.
///
/// # Errors
/// As [`interpolate`] and [`shape`].
pub fn resize(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    _out_size: Option<&View<'_>>,
    size_tensor: Option<&[View<'_>]>,
    scale_tensor: Option<&View<'_>>,
    with: &InterpolateAttributes<'_>,
) -> Result<()> {
    let InterpolateAttributes { data_format, scale, interp_method, align_corners, align_mode, .. } = *with;
    let scale = scales(x.dims().len().saturating_sub(2), size_tensor, scale_tensor, scale)?;
    interpolate(out, x, data_format, interp_method, &scale, align_corners, align_mode)
}

/// Computes the gradient of [`resize`] with respect to `x`.
///
/// # Errors
/// As [`resize`].
pub fn resize_grad(
    dx: &mut ViewMut<'_>,
    size_tensor: Option<&[View<'_>]>,
    scale_tensor: Option<&View<'_>>,
    dout: &View<'_>,
    with: &InterpolateGradAttributes<'_>,
) -> Result<()> {
    let InterpolateGradAttributes { data_format, scale, interp_method, align_corners, align_mode } = *with;
    let scale = scales(dx.dims().len().saturating_sub(2), size_tensor, scale_tensor, scale)?;
    interpolate_grad(dx, dout, data_format, interp_method, &scale, align_corners, align_mode)
}

fn listed(tensors: Option<&[View<'_>]>) -> Result<Option<Vec<i64>>> {
    let Some(tensors) = tensors.filter(|tensors| !tensors.is_empty()) else { return Ok(None) };
    let single = |tensor: &View<'_>| {
        crate::expect_length("size_tensor", 1, tensor.len())?;
        Ok(integers(tensor)?[0])
    };
    tensors.iter().map(single).collect::<Result<_>>().map(Some)
}

/// Returns a scale for each spatial dimension, or none if there is a list of sizes or a scale is not
/// positive.
fn scales(
    rank: usize,
    size_tensor: Option<&[View<'_>]>,
    scale_tensor: Option<&View<'_>>,
    scale: &[f64],
) -> Result<Vec<f64>> {
    if size_tensor.is_some_and(|tensors| !tensors.is_empty()) {
        return Ok(Vec::new());
    }
    let given = scale_tensor.map_or_else(|| Ok(scale.to_vec()), <f64 as Slot>::load)?;
    let scales = if given.len() == 1 { vec![given[0]; rank] } else { given };
    Ok(if scales.iter().all(|&scale| scale > 0.0) { scales } else { Vec::new() })
}

/// Multiplies the length of a dimension by a scale, rounding towards zero.
///
/// Frameworks that store scales in 32 bits also multiply in 32 bits.
fn times(len: usize, scale: f64) -> i64 {
    let short = scale as f32;
    if f64::from(short) == scale { (len as f32 * short) as i64 } else { (len as f64 * scale) as i64 }
}
