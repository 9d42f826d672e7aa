//! The windows of a call, and the calls of pooling operators.

use tenon::device::{Error, Result};
use tenon_operators::attributes::{DilatedMaxPoolAttributes, MaxPoolWithIndexAttributes, PoolAttributes};

use crate::compute::rules::layers::windows::each;
use crate::compute::rules::shared::expect_shape;
use crate::compute::{Call, FLOAT, INTEGER, Method, Tensor};

/// The windows of a call, in the form that the operators take.
pub(super) struct Windows {
    pub(super) sizes: Vec<i64>,
    pub(super) strides: Vec<i64>,
    /// The padding before and after each dimension.
    pub(super) paddings: Vec<i64>,
    pub(super) dilations: Vec<i64>,
    pub(super) adaptive: bool,
}

/// The lists that a host passes.
#[derive(Clone, Copy)]
pub(super) struct Lists<'a> {
    pub(super) sizes: &'a [i64],
    pub(super) strides: &'a [i64],
    pub(super) paddings: &'a [i64],
    pub(super) dilations: &'a [i64],
    pub(super) ceil_mode: bool,
}

impl Windows {
    /// Checks the lists, and that the result has one element for each window.
    pub(super) fn sliding(
        input: &Tensor<'_>,
        result: &Tensor<'_>,
        space: usize,
        lists: Lists<'_>,
    ) -> Result<Self> {
        let sizes = each("kernel_size", lists.sizes, space, 1)?;
        let strides = match lists.strides {
            [] => sizes.clone(),
            strides => each("stride", strides, space, 1)?,
        };
        let padding = each("padding", lists.paddings, space, 0)?;
        let dilations = each("dilation", lists.dilations, space, 1)?;
        let (mut dims, mut paddings) = (input.dims().to_vec(), Vec::new());
        let first = dims.len() - space;
        for n in 0..space {
            let (len, padding, stride) = (dims[first + n] as i64, padding[n], strides[n]);
            let span = (sizes[n] - 1) * dilations[n] + 1;
            let rest = len + 2 * padding - span;
            let partly = if lists.ceil_mode { stride - 1 } else { 0 };
            let mut count = (rest + partly).div_euclid(stride) + 1;
            // A truncated window must start in the input or in the padding before it.
            if lists.ceil_mode && (count - 1) * stride >= len + padding {
                count -= 1;
            }
            if padding > span / 2 || count < 1 {
                return Err(Error::invalid(format!(
                    "windows of {span} elements with a padding of {padding} do not fit a length of {len}"
                )));
            }
            dims[first + n] = count as usize;
            // The operators count the windows that fit, so the padding after the input determines their
            // number.
            paddings.extend([padding, ((count - 1) * stride + span - len - padding).max(0)]);
        }
        expect_shape("the result", result, &dims)?;
        Ok(Self { sizes, strides, paddings, dilations, adaptive: false })
    }

    /// Partitions the input into as many windows as the result has elements.
    pub(super) fn adaptive(input: &Tensor<'_>, result: &Tensor<'_>, space: usize) -> Result<Self> {
        let first = input.rank() - space;
        if result.rank() != input.rank() || result.dims()[..first] != input.dims()[..first] {
            return Err(Error::invalid(format!(
                "{:?} cannot be divided into windows for {:?}",
                input.dims(),
                result.dims()
            )));
        }
        let sizes = result.dims()[first..].iter().map(|&dim| dim as i64).collect();
        let ones = vec![1; space];
        Ok(Self {
            sizes,
            strides: ones.clone(),
            paddings: vec![0; 2 * space],
            dilations: ones,
            adaptive: true,
        })
    }

    pub(super) fn largest(
        &self,
        call: &Call,
        out: &Tensor<'_>,
        indices: &Tensor<'_>,
        input: &Tensor<'_>,
    ) -> Result<()> {
        let input = call.to_type(input, out.data_type())?;
        let ty = input.data_type();
        let mut values = call.output(out, ty, &[&input])?;
        let mut places = call.output(indices, indices.data_type(), &[&input])?;
        let is_dilated = self.dilations.iter().any(|&dilation| dilation != 1);
        let (sizes, strides, paddings) = (&self.sizes, &self.strides, &self.paddings);
        if is_dilated {
            call.run(&Method::new("dilated_max_pool", FLOAT | INTEGER), ty, &mut |device, launch| {
                let (values, places, x) = (values.elements(), places.elements(), input.elements());
                device.dilated_max_pool(
                    launch,
                    values,
                    places,
                    x,
                    &DilatedMaxPoolAttributes {
                        kernel_size: sizes,
                        strides,
                        paddings,
                        dilations: &self.dilations,
                    },
                )
            })
        } else {
            call.run(&Method::new("max_pool_with_index", FLOAT | INTEGER), ty, &mut |device, launch| {
                let (values, places, x) = (values.elements(), places.elements(), input.elements());
                let adaptive = self.adaptive;
                device.max_pool_with_index(
                    launch,
                    values,
                    places,
                    x,
                    &MaxPoolWithIndexAttributes {
                        kernel_size: sizes,
                        strides,
                        paddings,
                        global_pooling: false,
                        adaptive,
                        ceil_mode: false,
                    },
                )
            })
        }?;
        values.finish()?;
        places.finish()
    }

    pub(super) fn means(
        &self,
        call: &Call,
        out: &Tensor<'_>,
        input: &Tensor<'_>,
        exclusive: bool,
    ) -> Result<()> {
        let input = call.to_type(input, out.data_type())?;
        let mut values = call.output(out, input.data_type(), &[&input])?;
        call.run(&Method::new("pool", FLOAT), input.data_type(), &mut |device, launch| {
            let (values, x) = (values.elements(), input.elements());
            let (sizes, strides, paddings) = (&self.sizes, &self.strides, &self.paddings);
            let (format, adaptive, algorithm) = ("AnyLayout", self.adaptive, "EXPLICIT");
            device.pool(
                launch,
                values,
                x,
                &PoolAttributes {
                    kernel_size: sizes,
                    strides,
                    paddings,
                    ceil_mode: false,
                    exclusive,
                    data_format: format,
                    pooling_type: "avg",
                    global_pooling: false,
                    adaptive,
                    padding_algorithm: algorithm,
                },
            )
        })?;
        values.finish()
    }

    pub(super) fn means_backward(
        &self,
        call: &Call,
        grad_input: &Tensor<'_>,
        grad_output: &Tensor<'_>,
        input: &Tensor<'_>,
        exclusive: bool,
    ) -> Result<()> {
        let ty = grad_input.data_type();
        let (input, grad_output) = (call.to_type(input, ty)?, call.to_type(grad_output, ty)?);
        let mut dx = call.output(grad_input, ty, &[&input, &grad_output])?;
        call.run(&Method::new("pool_grad", FLOAT), ty, &mut |device, launch| {
            let (dx, x, dout) = (dx.elements(), input.elements(), grad_output.elements());
            let (sizes, strides, paddings) = (&self.sizes, &self.strides, &self.paddings);
            let (format, adaptive, algorithm) = ("AnyLayout", self.adaptive, "EXPLICIT");
            device.pool_grad(
                launch,
                dx,
                x,
                dout,
                &PoolAttributes {
                    kernel_size: sizes,
                    strides,
                    paddings,
                    ceil_mode: false,
                    exclusive,
                    data_format: format,
                    pooling_type: "avg",
                    global_pooling: false,
                    adaptive,
                    padding_algorithm: algorithm,
                },
            )
        })?;
        dx.finish()
    }

    /// Returns the windows for images that include their padding.
    pub(super) fn without_paddings(self) -> Self {
        Self { paddings: vec![0; self.paddings.len()], ..self }
    }
}
