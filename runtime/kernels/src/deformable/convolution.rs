//! Deformable convolution: the product of weights with the samples of deformable windows.

use super::{deformable_columns, deformable_columns_grad};
use crate::attributes::{DeformableColumnsAttributes, DeformableConvAttributes};
use crate::elements::dtype::DType;
use crate::error::{Error, Result, expect_shape};
use crate::images::image;
use crate::loops::movement;
use crate::matmul::{matmul, matmul_grad};
use crate::tensor::buffer::Buffer;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`deformable_conv`].
///
/// # Errors
/// As [`deformable_conv`].
pub fn deformable_conv_shape(
    _x: TensorMeta<'_>,
    offset: TensorMeta<'_>,
    filter: TensorMeta<'_>,
    _mask: Option<TensorMeta<'_>>,
    _: &DeformableConvAttributes<'_>,
) -> Result<Vec<usize>> {
    let ([batch, _, rows, columns], [channels, ..]) = (image(offset.dims())?, image(filter.dims())?);
    Ok(vec![batch, channels, rows, columns])
}

/// Convolves images with windows whose elements are shifted by offsets, and multiplied by a mask if present: the
/// product of the weights with [`deformable_columns`].
///
/// # Errors
/// As [`deformable_columns`], [`Error::Shape`] unless the weights fit the images, and [`Error::Attribute`] for a
/// number of groups that does not divide the channels.
pub fn deformable_conv(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    offset: &View<'_>,
    filter: &View<'_>,
    mask: Option<&View<'_>>,
    with: &DeformableConvAttributes<'_>,
) -> Result<()> {
    let DeformableConvAttributes { strides, paddings, dilations, groups } = *with;
    let layer = Layer::new(x, offset, filter, [strides, paddings, dilations], groups)?;
    expect_shape(&layer.result(), out.dims())?;
    let columns = layer.columns(x, offset, mask)?;
    let mut result = Buffer::new(layer.dtype, &layer.products())?;
    matmul(&mut result.view_mut()?, &layer.weights(filter)?.view()?, &columns.view()?, false, false)?;
    result.reshape(&layer.result())?;
    movement::copy(out, &result.view()?)
}

/// Computes the gradients of [`deformable_conv`].
///
/// # Errors
/// As [`deformable_conv`].
pub fn deformable_conv_grad(
    dx: Option<&mut ViewMut<'_>>,
    doffset: Option<&mut ViewMut<'_>>,
    dfilter: Option<&mut ViewMut<'_>>,
    dmask: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    offset: &View<'_>,
    filter: &View<'_>,
    mask: Option<&View<'_>>,
    dout: &View<'_>,
    with: &DeformableConvAttributes<'_>,
) -> Result<()> {
    let DeformableConvAttributes { strides, paddings, dilations, groups } = *with;
    let layer = Layer::new(x, offset, filter, [strides, paddings, dilations], groups)?;
    expect_shape(&layer.result(), dout.dims())?;
    let columns = layer.columns(x, offset, mask)?;
    let weights = layer.weights(filter)?;
    let dtype = layer.dtype;
    let mut upstream = Buffer::new(dtype, dout.dims())?;
    movement::copy(&mut upstream.view_mut()?, dout)?;
    upstream.reshape(&layer.products())?;
    let mut of_columns = Buffer::new(dtype, columns.view()?.dims())?;
    let mut of_weights = Buffer::new(dtype, weights.view()?.dims())?;
    matmul_grad(
        Some(&mut of_weights.view_mut()?),
        Some(&mut of_columns.view_mut()?),
        &weights.view()?,
        &columns.view()?,
        &upstream.view()?,
        false,
        false,
    )?;
    if let Some(dfilter) = dfilter {
        of_weights.reshape(filter.dims())?;
        movement::copy(dfilter, &of_weights.view()?)?;
    }
    of_columns.reshape(&layer.all_columns())?;
    let (mut of_x, mut of_offset) = (Buffer::new(dtype, x.dims())?, Buffer::new(dtype, offset.dims())?);
    deformable_columns_grad(
        &mut of_x.view_mut()?,
        &mut of_offset.view_mut()?,
        dmask.filter(|_| mask.is_some()),
        x,
        offset,
        mask,
        &of_columns.view()?,
        &DeformableColumnsAttributes { kernel: &layer.kernel, strides, paddings, dilations },
    )?;
    dx.map_or(Ok(()), |dx| movement::copy(dx, &of_x.view()?))?;
    doffset.map_or(Ok(()), |doffset| movement::copy(doffset, &of_offset.view()?))
}

/// The sizes of a convolution.
struct Layer<'a> {
    batch: usize,
    groups: usize,
    /// The numbers of channels of the images and of the result.
    channels: [usize; 2],
    kernel: [i64; 2],
    /// The height and the width of the result.
    places: [usize; 2],
    numbers: [&'a [i64]; 3],
    /// The type that products are computed in.
    dtype: DType,
}

impl<'a> Layer<'a> {
    fn new(
        x: &View<'_>,
        offset: &View<'_>,
        filter: &View<'_>,
        numbers: [&'a [i64]; 3],
        groups: i64,
    ) -> Result<Self> {
        let [batch, channels, ..] = image(x.dims())?;
        let ([_, _, rows, columns], [outputs, _, height, width]) =
            (image(offset.dims())?, image(filter.dims())?);
        let is_divisor =
            |&count: &usize| count > 0 && outputs.is_multiple_of(count) && channels.is_multiple_of(count);
        let groups = usize::try_from(groups)
            .ok()
            .filter(is_divisor)
            .ok_or(Error::Attribute { name: "groups", value: groups.to_string() })?;
        expect_shape(&[outputs, channels / groups, height, width], filter.dims())?;
        Ok(Self {
            batch,
            groups,
            channels: [channels, outputs],
            kernel: [height as i64, width as i64],
            places: [rows, columns],
            numbers,
            dtype: if x.dtype() == DType::F64 { DType::F64 } else { DType::F32 },
        })
    }

    fn result(&self) -> [usize; 4] {
        [self.batch, self.channels[1], self.places[0], self.places[1]]
    }

    /// The number of elements of a window in all channels of a group.
    fn elements(&self) -> usize {
        self.channels[0] / self.groups * (self.kernel[0] * self.kernel[1]) as usize
    }

    fn all_columns(&self) -> [usize; 3] {
        [self.batch, self.groups * self.elements(), self.places[0] * self.places[1]]
    }

    /// The shape of the products of each image and group.
    fn products(&self) -> [usize; 4] {
        [self.batch, self.groups, self.channels[1] / self.groups, self.places[0] * self.places[1]]
    }

    /// Collects the samples of all windows, `[batch, groups, elements, places]`.
    fn columns(&self, x: &View<'_>, offset: &View<'_>, mask: Option<&View<'_>>) -> Result<Buffer> {
        let mut columns = Buffer::new(self.dtype, &self.all_columns())?;
        let [strides, paddings, dilations] = self.numbers;
        let (kernel, out) = (&self.kernel, &mut columns.view_mut()?);
        deformable_columns(
            out,
            x,
            offset,
            mask,
            &DeformableColumnsAttributes { kernel, strides, paddings, dilations },
        )?;
        columns.reshape(&[self.batch, self.groups, self.elements(), self.places[0] * self.places[1]])?;
        Ok(columns)
    }

    /// Returns the weights of each group as a matrix.
    fn weights(&self, filter: &View<'_>) -> Result<Buffer> {
        let mut weights = Buffer::new(self.dtype, filter.dims())?;
        movement::copy(&mut weights.view_mut()?, filter)?;
        weights.reshape(&[self.groups, self.channels[1] / self.groups, self.elements()])?;
        Ok(weights)
    }
}
