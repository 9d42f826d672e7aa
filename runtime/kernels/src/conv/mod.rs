//! Convolutions and transposed convolutions of images with one to three dimensions, and their gradients.
//!
//! Images are `[batch, channels, …]`, or `[batch, …, channels]` with the formats `"NHWC"`, `"NDHWC"` and
//! `"NLC"`. Filters are `[out channels, in channels / groups, …]` in any format. Filters of transposed
//! convolutions are `[in channels, out channels / groups, …]`.
//!
//! `strides` and `dilations` have one number for each spatial dimension. `paddings` has one or two for each;
//! the algorithms `"SAME"` and `"VALID"` ignore it, and `"SAME"` also ignores the dilations, as in
//! PaddlePaddle. A group of channels depends only on the same group of the other image. With as many groups
//! as channels, the convolution is depthwise.

mod columns;
mod engine;
mod geometry;
mod half;
mod planes;
mod provided;

use crate::attributes::{ConvAttributes, ConvTransposeAttributes};
pub use crate::conv::geometry::{Geometry, Pass};
use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{lend, with_optional_slices, with_slices};
use crate::loops::window::{
    SPACE, Spatial, attribute, channels_first, channels_first_mut, channels_last, paddings as read_paddings,
    space, windows,
};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Convolves an image: each element of the output is the sum of the products of the elements in a window and
/// those of the filter.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Attribute`], and [`Error::Type`] unless the tensors are floating-point.
pub fn conv(out: &mut ViewMut<'_>, x: &View<'_>, filter: &View<'_>, with: &ConvAttributes<'_>) -> Result<()> {
    convolve(out, x, filter, None, with)
}

/// Convolves an image, and adds a number to each channel of the output. `bias` is `[out channels]`.
///
/// # Errors
/// As [`conv`].
pub fn conv_bias(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    filter: &View<'_>,
    bias: &View<'_>,
    with: &ConvAttributes<'_>,
) -> Result<()> {
    convolve(out, x, filter, Some(bias), with)
}

fn convolve(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    filter: &View<'_>,
    bias: Option<&View<'_>>,
    with: &ConvAttributes<'_>,
) -> Result<()> {
    let attributes = Attributes::from(with);
    let last = channels_last(with.data_format)?;
    let (x, out) = (channels_first(x, last), channels_first_mut(out, last));
    let geometry = attributes.forward(x.dims(), filter.dims(), out.dims())?;
    expect_shape(&geometry.small_dims(out.dims().len()), out.dims())?;
    if let Some(bias) = bias {
        expect_shape(&[out.dims()[1]], bias.dims())?;
    }
    let inputs = [Some(&x), Some(filter), bias];
    let Some(out) = geometry.left_over(Pass::Small, Some(out), [&x, filter], bias, inputs)? else {
        return Ok(());
    };
    let copies = filter.copies();
    with_float!(x.dtype(), T => with_optional_slices::<T, 1, 3>([Some(out)], inputs, |[out], [x, filter, bias]| {
        let (out, [x, filter]) = (out.unwrap_or_default(), [x, filter].map(Option::unwrap_or_default));
        geometry.forward(out, x, filter, copies, bias);
        Ok(())
    }))
}

/// Computes the shape of the result of [`conv`]. As in PaddlePaddle, one window that is longer than the padded image by
/// less than its stride counts.
///
/// # Errors
/// As [`conv`].
pub fn shape(x: TensorMeta<'_>, filter: TensorMeta<'_>, with: &ConvAttributes<'_>) -> Result<Vec<usize>> {
    let attributes = Attributes::from(with);
    let last = channels_last(with.data_format)?;
    let mut dims = x.dims().to_vec();
    space(&dims)?;
    if last {
        dims[1..].rotate_right(1);
    }
    let one = vec![1; dims.len()];
    let mut dims = attributes.forward(&dims, filter.dims(), &one)?.small_dims(dims.len());
    if last {
        dims[1..].rotate_left(1);
    }
    Ok(dims)
}

/// Computes the shape of the result of [`conv_bias`].
///
/// # Errors
/// As [`conv`].
pub fn bias_shape(
    x: TensorMeta<'_>,
    filter: TensorMeta<'_>,
    _: TensorMeta<'_>,
    with: &ConvAttributes<'_>,
) -> Result<Vec<usize>> {
    shape(x, filter, with)
}

/// Computes the gradients of [`conv`] with respect to `x` and `filter`.
///
/// # Errors
/// As [`conv`].
pub fn conv_grad(
    dx: Option<&mut ViewMut<'_>>,
    dfilter: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    filter: &View<'_>,
    dout: &View<'_>,
    with: &ConvAttributes<'_>,
) -> Result<()> {
    let attributes = Attributes::from(with);
    let last = channels_last(with.data_format)?;
    let (x, dout) = (channels_first(x, last), channels_first(dout, last));
    let dx = dx.map(|dx| channels_first_mut(dx, last));
    let geometry = attributes.forward(x.dims(), filter.dims(), dout.dims())?;
    expect_shape(&geometry.small_dims(dout.dims().len()), dout.dims())?;
    expect_shape(x.dims(), dx.as_ref().map_or(x.dims(), ViewMut::dims))?;
    expect_shape(filter.dims(), dfilter.as_deref().map_or(filter.dims(), ViewMut::dims))?;
    let inputs = [&x, filter, &dout].map(Some);
    let dfilter = geometry.left_over(Pass::Kernels, lend(dfilter), [&x, &dout], None, inputs)?;
    let dx = geometry.left_over(Pass::Large, dx, [&dout, filter], None, inputs)?;
    let outs = [dx, dfilter];
    if outs.iter().all(Option::is_none) {
        return Ok(());
    }
    with_float!(x.dtype(), T => with_optional_slices::<T, 2, 3>(outs, inputs, |[dx, dfilter], inputs| {
        let [x, filter, dout] = inputs.map(Option::unwrap_or_default);
        if let Some(dx) = dx {
            geometry.backward_image(dx, dout, filter, None);
        }
        if let Some(dfilter) = dfilter {
            geometry.backward_kernels(dfilter, x, dout);
        }
        Ok(())
    }))
}

/// Computes the transposed convolution: adds each element of an image, times the filter, to a window of the
/// output. This is the gradient of [`conv`] with respect to its image.
///
/// The output may be larger than the area that the windows cover, by less than a stride or a dilation.
/// Frameworks specify the size with an output padding or an output size.
///
/// # Errors
/// As [`conv`].
pub fn conv_transpose(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    filter: &View<'_>,
    with: &ConvTransposeAttributes<'_>,
) -> Result<()> {
    let attributes = Attributes::from(with);
    let last = channels_last(with.data_format)?;
    let (x, out) = (channels_first(x, last), channels_first_mut(out, last));
    let geometry = attributes.transposed(x.dims(), filter.dims(), out.dims())?;
    let operands = [&x, filter];
    let inputs = [Some(&x), Some(filter), None];
    let Some(out) = geometry.left_over(Pass::Large, Some(out), operands, None, inputs)? else {
        return Ok(());
    };
    let copies = filter.copies();
    with_float!(x.dtype(), T => with_slices::<T, 1, 2>([out], [&x, filter], |[out], [x, filter]| {
        geometry.backward_image(out, x, filter, copies);
        Ok(())
    }))
}

/// Computes the gradients of [`conv_transpose`] with respect to `x` and `filter`.
///
/// # Errors
/// As [`conv`].
pub fn conv_transpose_grad(
    dx: Option<&mut ViewMut<'_>>,
    dfilter: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    filter: &View<'_>,
    dout: &View<'_>,
    with: &ConvTransposeAttributes<'_>,
) -> Result<()> {
    let attributes = Attributes::from(with);
    let last = channels_last(with.data_format)?;
    let (x, dout) = (channels_first(x, last), channels_first(dout, last));
    let dx = dx.map(|dx| channels_first_mut(dx, last));
    let geometry = attributes.transposed(x.dims(), filter.dims(), dout.dims())?;
    expect_shape(x.dims(), dx.as_ref().map_or(x.dims(), ViewMut::dims))?;
    expect_shape(filter.dims(), dfilter.as_deref().map_or(filter.dims(), ViewMut::dims))?;
    let inputs = [&x, filter, &dout].map(Some);
    let dfilter = geometry.left_over(Pass::Kernels, lend(dfilter), [&dout, &x], None, inputs)?;
    let dx = geometry.left_over(Pass::Small, dx, [&dout, filter], None, inputs)?;
    let outs = [dx, dfilter];
    if outs.iter().all(Option::is_none) {
        return Ok(());
    }
    with_float!(x.dtype(), T => with_optional_slices::<T, 2, 3>(outs, inputs, |[dx, dfilter], inputs| {
        let [x, filter, dout] = inputs.map(Option::unwrap_or_default);
        if let Some(dx) = dx {
            geometry.forward(dx, dout, filter, None, None);
        }
        if let Some(dfilter) = dfilter {
            geometry.backward_kernels(dfilter, dout, x);
        }
        Ok(())
    }))
}

struct Attributes<'a> {
    strides: &'a [i64],
    paddings: &'a [i64],
    padding_algorithm: &'a str,
    dilations: &'a [i64],
    groups: i64,
}

impl<'a> From<&ConvAttributes<'a>> for Attributes<'a> {
    fn from(with: &ConvAttributes<'a>) -> Self {
        let ConvAttributes { strides, paddings, padding_algorithm, dilations, groups, data_format: _ } =
            *with;
        Attributes { strides, paddings, padding_algorithm, dilations, groups }
    }
}

impl<'a> From<&ConvTransposeAttributes<'a>> for Attributes<'a> {
    fn from(with: &ConvTransposeAttributes<'a>) -> Self {
        let ConvTransposeAttributes {
            strides,
            paddings,
            padding_algorithm,
            dilations,
            groups,
            data_format: _,
        } = *with;
        Attributes { strides, paddings, padding_algorithm, dilations, groups }
    }
}

impl Attributes<'_> {
    /// Computes the geometry of a convolution of `x` whose result has the shape `out`.
    fn forward(&self, x: &[usize], filter: &[usize], out: &[usize]) -> Result<Geometry> {
        let mut geometry = self.geometry(x, filter)?;
        let wanted = space(out)?;
        for (n, wanted) in wanted.into_iter().enumerate() {
            let (span, stride) = (geometry.span(n), geometry.strides[n]);
            let room = geometry.large[n] + geometry.paddings[n].iter().sum::<usize>();
            geometry.small[n] = windows(room, span, stride, wanted);
            if geometry.small[n] > 0 {
                // What a window reads behind the room is zero.
                geometry.paddings[n][1] += span.saturating_sub(room);
            }
        }
        let channels = geometry.groups * geometry.large_channels;
        expect_shape(&[&[x[0], channels], &x[2..]].concat(), x)?;
        Ok(geometry)
    }

    /// Computes the geometry of the convolution whose image is `out` and whose result is `x`.
    fn transposed(&self, x: &[usize], filter: &[usize], out: &[usize]) -> Result<Geometry> {
        let geometry = self.geometry(x, filter)?;
        let large = space(out)?;
        let geometry = Geometry { small: geometry.large, large, ..geometry };
        let smallest: Spatial<usize> = std::array::from_fn(|n| {
            let reach = geometry.small[n].saturating_sub(1) * geometry.strides[n] + geometry.span(n);
            reach.saturating_sub(geometry.paddings[n].iter().sum())
        });
        let fits = (0..SPACE).all(|n| {
            let more = geometry.strides[n].max(geometry.dilations[n]);
            (smallest[n]..smallest[n] + more).contains(&large[n]) || geometry.small[n] == 0
        });
        let channels = geometry.groups * geometry.large_channels;
        let spatial = if fits { &out[2..] } else { &smallest[SPACE + 2 - x.len()..] };
        expect_shape(&[&[x[0], channels], spatial].concat(), out)?;
        expect_shape(&[&[x[0], geometry.groups * geometry.small_channels], &x[2..]].concat(), x)?;
        Ok(geometry)
    }

    /// Returns the geometries of both directions, with the image `x` as the large image and as the small
    /// image.
    fn geometry(&self, x: &[usize], filter: &[usize]) -> Result<Geometry> {
        let (image, kernel) = (space(x)?, space(filter)?);
        let rank = x.len() - 2;
        if filter.len() != x.len() {
            return Err(Error::Rank { dims: filter.len(), strides: x.len() });
        }
        let strides = attribute("strides", self.strides, rank, 1)?;
        let dilations = match self.padding_algorithm {
            "SAME" => [1; SPACE],
            _ => attribute("dilations", self.dilations, rank, 1)?,
        };
        let refused = || Error::Attribute { name: "groups", value: self.groups.to_string() };
        let groups = usize::try_from(self.groups).ok().filter(|&groups| groups > 0).ok_or_else(refused)?;
        if !filter[0].is_multiple_of(groups) {
            return Err(refused());
        }
        Ok(Geometry {
            batch: x[0],
            groups,
            large_channels: filter[1],
            small_channels: filter[0] / groups,
            large: image,
            small: image,
            kernel,
            strides,
            paddings: read_paddings(self.paddings, self.padding_algorithm, rank, image, kernel, strides)?,
            dilations,
        })
    }
}

impl Geometry {
    /// Returns the number of elements from the first to the last that a window covers.
    fn span(&self, dimension: usize) -> usize {
        match self.kernel[dimension] {
            0 => 0,
            kernel => (kernel - 1) * self.dilations[dimension] + 1,
        }
    }

    /// Returns the shape of the small image as a tensor of the given rank.
    fn small_dims(&self, rank: usize) -> Vec<usize> {
        let channels = self.groups * self.small_channels;
        [&[self.batch, channels], &self.small[(SPACE + 2).saturating_sub(rank.max(2)).min(SPACE)..]].concat()
    }
}
