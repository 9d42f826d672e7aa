//! Convolution and pooling.

use tenon::device::{DataType, Error, Result};
use tenon_operators::attributes::{
    ConvAttributes, ConvTransposeAttributes, DilatedMaxPoolAttributes, MaxPoolWithIndexAttributes,
    PoolAttributes, SumAttributes,
};
use tenon_operators::{TensorMut, TensorRef};

use super::elementwise::scaled;
use super::products::shifted;
use super::shapes::lengths;
use super::unary;
use crate::kernel::{Call, Compute, Info};

/// The windows of a convolution or a pooling, as a node states them.
#[derive(Clone)]
pub(super) struct Windows {
    auto_pad: String,
    kernel: Option<Vec<usize>>,
    strides: Option<Vec<usize>>,
    dilations: Option<Vec<usize>>,
    /// Before each dimension, and then behind each.
    pads: Option<Vec<i64>>,
    ceil_mode: bool,
}

/// The windows along the dimensions of an image.
pub(super) struct Placed {
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    /// Before and behind each dimension.
    pads: Vec<(usize, usize)>,
    /// The elements behind the padding that the last window reaches over.
    beyond: Vec<usize>,
}

impl Windows {
    pub(super) fn of(info: &Info) -> Result<Self> {
        let list = |name| info.ints(name).map(|list| lengths(&list)).transpose();
        let windows = Self {
            auto_pad: info.text("auto_pad").unwrap_or_else(|| "NOTSET".to_owned()),
            kernel: list("kernel_shape")?,
            strides: list("strides")?,
            dilations: list("dilations")?,
            pads: info.ints("pads"),
            ceil_mode: info.flag("ceil_mode"),
        };
        if windows.pads.iter().flatten().any(|pad| *pad < 0) {
            return info.refuse("negative pads");
        }
        Ok(windows)
    }

    /// Returns the windows for an image. `kernel` is the size of the filters, if there are any.
    fn place(&self, image: &[usize], kernel: Option<&[usize]>) -> Result<Placed> {
        let rank = image.len();
        let or_ones = |list: &Option<Vec<usize>>| list.clone().unwrap_or_else(|| vec![1; rank]);
        let kernel = match (kernel, &self.kernel) {
            (Some(kernel), _) => kernel.to_vec(),
            (None, Some(kernel)) => kernel.clone(),
            (None, None) => return Err(Error::invalid("the size of the window is missing")),
        };
        let (strides, dilations) = (or_ones(&self.strides), or_ones(&self.dilations));
        if [kernel.len(), strides.len(), dilations.len()] != [rank; 3]
            || strides.contains(&0)
            || dilations.contains(&0)
        {
            return Err(Error::invalid(format!("the windows do not fit to an image of {rank} dimensions")));
        }
        let mut pads = Vec::with_capacity(rank);
        for axis in 0..rank {
            let reach = span(kernel[axis], dilations[axis]);
            pads.push(match self.auto_pad.as_str() {
                "VALID" => (0, 0),
                "SAME_UPPER" | "SAME_LOWER" => {
                    let count = image[axis].div_ceil(strides[axis]);
                    let total = (count.max(1) - 1) * strides[axis] + reach;
                    let total = total.saturating_sub(image[axis]);
                    let less = total / 2;
                    if self.auto_pad == "SAME_UPPER" { (less, total - less) } else { (total - less, less) }
                }
                _ => match &self.pads {
                    None => (0, 0),
                    Some(pads) if pads.len() == 2 * rank => (pads[axis] as usize, pads[axis + rank] as usize),
                    Some(_) => return Err(Error::invalid("there must be two pads for each dimension")),
                },
            });
        }
        Ok(Placed { kernel, strides, dilations, pads, beyond: vec![0; rank] })
    }
}

/// Returns the number of elements from the first to the last one of a window.
fn span(kernel: usize, dilation: usize) -> usize {
    kernel.saturating_sub(1).saturating_mul(dilation).saturating_add(usize::from(kernel > 0))
}

impl Placed {
    /// Returns the number of windows along each dimension.
    fn counts(&self, image: &[usize]) -> Result<Vec<usize>> {
        let count = |(axis, len): (usize, &usize)| Ok(self.rest(axis, *len)? / self.strides[axis] + 1);
        image.iter().enumerate().map(count).collect()
    }

    /// Returns the number of windows along each dimension, where one more that begins in the padded image counts, unless it
    /// begins in the padding behind. The padding behind then ends with the last window, if that is shorter.
    fn counts_rounded_up(&mut self, image: &[usize]) -> Result<Vec<usize>> {
        let mut counts = Vec::with_capacity(image.len());
        for (axis, len) in image.iter().enumerate() {
            let (before, stride) = (self.pads[axis].0, self.strides[axis]);
            let mut count = self.rest(axis, *len)?.div_ceil(stride) + 1;
            if (count - 1) * stride >= len + before {
                count -= 1;
            }
            let end = (count - 1) * stride + span(self.kernel[axis], self.dilations[axis]);
            let all = end.saturating_sub(len + before);
            self.pads[axis].1 = self.pads[axis].1.min(all);
            self.beyond[axis] = all - self.pads[axis].1;
            counts.push(count);
        }
        Ok(counts)
    }

    /// Returns the number of elements of a padded dimension behind its first window.
    fn rest(&self, axis: usize, len: usize) -> Result<usize> {
        let (before, behind) = self.pads[axis];
        let reach = span(self.kernel[axis], self.dilations[axis]);
        let rest = (len + before + behind).checked_sub(reach);
        rest.ok_or_else(|| Error::invalid(format!("a window of {reach} is larger than the image of {len}")))
    }

    fn pads(&self) -> Vec<i64> {
        let pads = self.pads.iter().zip(&self.beyond);
        pads.flat_map(|((before, behind), beyond)| [*before as i64, (behind + beyond) as i64]).collect()
    }
}

fn signed(list: &[usize]) -> Vec<i64> {
    list.iter().map(|number| *number as i64).collect()
}

/// Returns the lengths of an image without its batch and its channels.
fn image_of<'t>(x: &'t TensorRef<'_>) -> Result<&'t [usize]> {
    match x.dims() {
        [_, _, image @ ..] if !image.is_empty() => Ok(image),
        dims => Err(Error::invalid(format!("{dims:?} is no shape of images"))),
    }
}

/// Adds a number for each channel to images.
pub(super) fn add_bias(call: &Call<'_>, out: &mut TensorMut<'_>, bias: Option<TensorRef<'_>>) -> Result<()> {
    let Some(bias) = bias else { return Ok(()) };
    let dims = out.dims().to_vec();
    let mut shape = vec![1; dims.len()];
    shape[1] = bias.len();
    let bias = bias.reshaped(&shape)?;
    let present = out.as_input();
    call.run(|operators, launch| operators.add(launch, out, &present, &bias))
}

/// Convolves images with filters, and adds a number to each channel.
pub(super) fn convolve(
    call: &Call<'_>,
    out: &mut TensorMut<'_>,
    x: &TensorRef<'_>,
    filter: &TensorRef<'_>,
    bias: Option<&TensorRef<'_>>,
    placed: &Placed,
    groups: i64,
) -> Result<()> {
    let (strides, paddings, dilations) = (signed(&placed.strides), placed.pads(), signed(&placed.dilations));
    let attributes = ConvAttributes {
        strides: &strides,
        paddings: &paddings,
        padding_algorithm: "EXPLICIT",
        dilations: &dilations,
        groups,
        data_format: "NCHW",
    };
    call.run(|operators, launch| match bias {
        None => operators.conv(launch, out, x, filter, &attributes),
        Some(bias) => operators.conv_bias(launch, out, x, filter, bias, &attributes),
    })
}

/// Returns the shape of a convolution, and its windows.
pub(super) fn convolution_dims(
    windows: &Windows,
    x: &TensorRef<'_>,
    filter: &TensorRef<'_>,
    groups: i64,
) -> Result<(Vec<usize>, Placed)> {
    let image = image_of(x)?;
    let [out_channels, channels, kernel @ ..] = filter.dims() else {
        return Err(Error::invalid("filters have no window"));
    };
    if kernel.len() != image.len() || x.dims()[1] as i64 != *channels as i64 * groups || groups < 1 {
        return Err(Error::invalid(format!(
            "filters {:?} do not fit to images {:?}",
            filter.dims(),
            x.dims()
        )));
    }
    let placed = windows.place(image, Some(kernel))?;
    let mut dims = vec![x.dims()[0], *out_channels];
    dims.extend(placed.counts(image)?);
    Ok((dims, placed))
}

/// A convolution, with a number for each channel that is added.
pub(crate) fn conv(info: &Info) -> Result<Compute> {
    let windows = Windows::of(info)?;
    let groups = info.int("group").unwrap_or(1);
    Ok(Box::new(move |call| {
        let (x, filter) = (call.input(0)?, call.input(1)?);
        let (dims, placed) = convolution_dims(&windows, &x, &filter, groups)?;
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        convolve(call, &mut out, &x, &filter, call.optional(2)?.as_ref(), &placed, groups)
    }))
}

/// A convolution, a summand and an activation.
pub(crate) fn fused_conv(info: &Info) -> Result<Compute> {
    let windows = Windows::of(info)?;
    let groups = info.int("group").unwrap_or(1);
    let activation = info.text("activation").unwrap_or_default();
    let numbers = info.floats("activation_params").unwrap_or_default();
    let number = move |index: usize, default: f64| numbers.get(index).copied().unwrap_or(default);
    if !["", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid"].contains(&activation.as_str()) {
        return info.refuse(&activation);
    }
    Ok(Box::new(move |call| {
        let (x, filter) = (call.input(0)?, call.input(1)?);
        let (dims, placed) = convolution_dims(&windows, &x, &filter, groups)?;
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        convolve(call, &mut out, &x, &filter, call.optional(2)?.as_ref(), &placed, groups)?;
        if let Some(summand) = call.optional(3)? {
            let present = out.as_input();
            call.run(|operators, launch| operators.add(launch, &mut out, &present, &summand))?;
        }
        let x = out.as_input();
        call.run(|operators, launch| match activation.as_str() {
            "Relu" => operators.relu(launch, &mut out, &x),
            "Sigmoid" => operators.sigmoid(launch, &mut out, &x),
            "Tanh" => operators.tanh(launch, &mut out, &x),
            "LeakyRelu" => operators.leaky_relu(launch, &mut out, &x, number(0, 0.01)),
            "Clip" => {
                operators.clip(launch, &mut out, &x, number(0, f64::NEG_INFINITY), number(1, f64::INFINITY))
            }
            "HardSigmoid" => operators.hard_sigmoid(launch, &mut out, &x, number(0, 0.2), number(1, 0.5)),
            _ => Ok(()),
        })
    }))
}

/// A transposed convolution.
pub(crate) fn conv_transpose(info: &Info) -> Result<Compute> {
    let windows = Windows::of(info)?;
    let groups = info.int("group").unwrap_or(1);
    let extra = info.ints("output_padding").map(|list| lengths(&list)).transpose()?;
    let wanted = info.ints("output_shape").map(|list| lengths(&list)).transpose()?;
    Ok(Box::new(move |call| {
        let (x, filter) = (call.input(0)?, call.input(1)?);
        let image = image_of(&x)?;
        let [in_channels, channels, kernel @ ..] = filter.dims() else {
            return Err(Error::invalid("filters have no window"));
        };
        if kernel.len() != image.len() || x.dims()[1] != *in_channels || groups < 1 {
            return Err(Error::invalid(format!(
                "filters {:?} do not fit to images {:?}",
                filter.dims(),
                x.dims()
            )));
        }
        let explicit = Windows { auto_pad: "NOTSET".to_owned(), ..windows.clone() };
        let mut placed = explicit.place(image, Some(kernel))?;
        let mut dims = vec![x.dims()[0], channels * groups as usize];
        for axis in 0..image.len() {
            let extra = extra.as_ref().and_then(|extra| extra.get(axis)).copied().unwrap_or(0);
            let reach = span(kernel[axis], placed.dilations[axis]);
            let whole = (image[axis].max(1) - 1) * placed.strides[axis] + reach + extra;
            let is_same = windows.auto_pad.starts_with("SAME");
            let wanted = match &wanted {
                // It may state the batch and the channels too.
                Some(wanted) => wanted.iter().rev().nth(image.len() - 1 - axis).copied(),
                None if is_same => Some(image[axis] * placed.strides[axis]),
                None => None,
            };
            if let Some(wanted) = wanted {
                let total = whole.saturating_sub(wanted);
                let less = total / 2;
                placed.pads[axis] = if windows.auto_pad == "SAME_UPPER" {
                    (less, total - less)
                } else {
                    (total - less, less)
                };
                dims.push(wanted);
                continue;
            }
            let (before, behind) = placed.pads[axis];
            let cut = whole.checked_sub(before + behind);
            dims.push(cut.ok_or_else(|| Error::invalid("the pads are larger than the result"))?);
        }
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        let (strides, paddings, dilations) =
            (signed(&placed.strides), placed.pads(), signed(&placed.dilations));
        let attributes = ConvTransposeAttributes {
            strides: &strides,
            paddings: &paddings,
            padding_algorithm: "EXPLICIT",
            dilations: &dilations,
            groups,
            data_format: "NCHW",
        };
        call.run(|operators, launch| operators.conv_transpose(launch, &mut out, &x, &filter, &attributes))?;
        add_bias(call, &mut out, call.optional(2)?)
    }))
}

/// A convolution of bytes, less their zero points, as integers.
pub(crate) fn conv_integer(info: &Info) -> Result<Compute> {
    let windows = Windows::of(info)?;
    let groups = info.int("group").unwrap_or(1);
    Ok(Box::new(move |call| {
        let (x, filter) = (call.input(0)?, call.input(1)?);
        let (dims, placed) = convolution_dims(&windows, &x, &filter, groups)?;
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        let x = shifted(call, &x, call.optional(2)?, false)?;
        let mut zero = call.optional(3)?;
        if let Some(point) = zero.as_mut().filter(|point| point.len() > 1) {
            let mut shape = vec![1; filter.dims().len()];
            shape[0] = point.len();
            *point = point.reshaped(&shape)?;
        }
        let filter = shifted(call, &filter, zero, false)?;
        // Sums of products of bytes are exact in double.
        let wide = DataType::FLOAT64;
        let mut sum = call.temporary(wide, &dims)?;
        convolve(call, &mut sum, &call.cast(&x, wide)?, &call.cast(&filter, wide)?, None, &placed, groups)?;
        let sum = sum.into_input();
        call.run(|operators, launch| operators.cast(launch, &mut out, &sum))
    }))
}

/// Pools images by windows without gaps.
fn pooled(
    call: &Call<'_>,
    out: &mut TensorMut<'_>,
    x: &TensorRef<'_>,
    placed: &Placed,
    kind: &str,
    exclusive: bool,
) -> Result<()> {
    let (kernel, strides) = (signed(&placed.kernel), signed(&placed.strides));
    let pool = |out: &mut TensorMut<'_>, x: &TensorRef<'_>, paddings: &[i64]| {
        let attributes = PoolAttributes {
            kernel_size: &kernel,
            strides: &strides,
            paddings,
            ceil_mode: false,
            exclusive,
            data_format: "NCHW",
            pooling_type: kind,
            global_pooling: false,
            adaptive: false,
            padding_algorithm: "EXPLICIT",
        };
        call.run(|operators, launch| operators.pool(launch, out, x, &attributes))
    };
    if exclusive || placed.pads.iter().all(|(before, behind)| before == behind) {
        return pool(out, x, &placed.pads());
    }
    // The device counts as much padding behind as before.
    let mut flat = vec![0; 4];
    flat.extend(placed.pads.iter().flat_map(|(before, behind)| [*before as i64, *behind as i64]));
    let mut dims = x.dims().to_vec();
    for (dim, (before, behind)) in dims[2..].iter_mut().zip(&placed.pads) {
        *dim += before + behind;
    }
    let mut padded = call.temporary(x.data_type(), &dims)?;
    call.run(|operators, launch| operators.pad(launch, &mut padded, x, &flat, 0.0))?;
    let rest: Vec<i64> = placed.beyond.iter().flat_map(|beyond| [0, *beyond as i64]).collect();
    pool(out, &padded.into_input(), &rest)
}

/// Returns the shape of pooled images, and the windows.
fn pooled_dims(windows: &Windows, x: &TensorRef<'_>) -> Result<(Vec<usize>, Placed)> {
    let image = image_of(x)?;
    if image.len() > 3 {
        return Err(Error::unsupported("images of more than three dimensions"));
    }
    let mut placed = windows.place(image, None)?;
    let mut dims = x.dims()[..2].to_vec();
    let is_rounded_up = windows.ceil_mode && !windows.auto_pad.starts_with("SAME");
    dims.extend(if is_rounded_up { placed.counts_rounded_up(image)? } else { placed.counts(image)? });
    Ok((dims, placed))
}

/// The average of each window.
pub(crate) fn average_pool(info: &Info) -> Result<Compute> {
    let windows = Windows::of(info)?;
    let exclusive = !info.flag("count_include_pad");
    if windows.dilations.iter().flatten().any(|dilation| *dilation != 1) {
        return info.refuse("averages of windows with gaps");
    }
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let (dims, placed) = pooled_dims(&windows, &x)?;
        let mut out = call.output(0, &dims)?;
        if out.is_empty() { Ok(()) } else { pooled(call, &mut out, &x, &placed, "avg", exclusive) }
    }))
}

/// The maximum of each window, and its index.
pub(crate) fn max_pool(info: &Info) -> Result<Compute> {
    let windows = Windows::of(info)?;
    let has_indices = info.outputs() > 1;
    let has_gaps = windows.dilations.iter().flatten().any(|dilation| *dilation != 1);
    if has_indices && info.flag("storage_order") {
        return info.refuse("indices in the order of columns");
    }
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let (dims, placed) = pooled_dims(&windows, &x)?;
        let mut out = call.output(0, &dims)?;
        let indices = call.optional_output(1, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        let is_plain = super::elementwise::is_float(x.data_type()) && indices.is_none() && !has_gaps;
        if is_plain {
            return pooled(call, &mut out, &x, &placed, "max", true);
        }
        // The index counts in its image; here it counts in the whole tensor.
        let mut mask = call.temporary(DataType::INT64, &dims)?;
        let (kernel, strides, paddings) = (signed(&placed.kernel), signed(&placed.strides), placed.pads());
        let dilations = signed(&placed.dilations);
        let is_dilated =
            has_gaps || windows.ceil_mode || placed.pads.iter().any(|(before, behind)| before != behind);
        call.run(|operators, launch| {
            if is_dilated {
                let attributes = DilatedMaxPoolAttributes {
                    kernel_size: &kernel,
                    strides: &strides,
                    paddings: &paddings,
                    dilations: &dilations,
                };
                return operators.dilated_max_pool(launch, &mut out, &mut mask, &x, &attributes);
            }
            let before: Vec<i64> = paddings.iter().step_by(2).copied().collect();
            let attributes = MaxPoolWithIndexAttributes {
                kernel_size: &kernel,
                strides: &strides,
                paddings: &before,
                global_pooling: false,
                adaptive: false,
                ceil_mode: false,
            };
            operators.max_pool_with_index(launch, &mut out, &mut mask, &x, &attributes)
        })?;
        let Some(mut indices) = indices else { return Ok(()) };
        let size: usize = x.dims()[2..].iter().product();
        let images = dims[0] * dims[1];
        let starts: Vec<i64> = (0..images).map(|image| (image * size) as i64).collect();
        let mut shape = vec![1; dims.len()];
        shape[..2].copy_from_slice(&dims[..2]);
        let (starts, mask) = (call.upload_integers(&shape, &starts)?, mask.into_input());
        call.run(|operators, launch| operators.add(launch, &mut indices, &mask, &starts))
    }))
}

/// Reduces whole images to one element.
fn global(kind: &'static str) -> Result<Compute> {
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let image = image_of(&x)?;
        let mut dims = x.dims()[..2].to_vec();
        dims.extend(image.iter().map(|_| 1));
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        let axis: Vec<i64> = (2..x.dims().len() as i64).collect();
        let attributes = SumAttributes { axis: &axis, keep_dim: true, reduce_all: false };
        call.run(|operators, launch| match kind {
            "max" => operators.max(launch, &mut out, &x, &attributes),
            _ => operators.mean(launch, &mut out, &x, &attributes),
        })
    }))
}

/// The average of each image.
pub(crate) fn global_average_pool(_: &Info) -> Result<Compute> {
    global("avg")
}

/// The maximum of each image.
pub(crate) fn global_max_pool(_: &Info) -> Result<Compute> {
    global("max")
}

/// The norm of each window.
pub(crate) fn lp_pool(info: &Info) -> Result<Compute> {
    let windows = Windows::of(info)?;
    let p = info.int("p").unwrap_or(2);
    if windows.dilations.iter().flatten().any(|dilation| *dilation != 1) || windows.ceil_mode {
        return info.refuse("norms of windows with gaps");
    }
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let (dims, placed) = pooled_dims(&windows, &x)?;
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        let absolute = call.unary(&x, unary!(abs))?;
        let powers =
            call.unary(&absolute, |operators, launch, out, x| operators.pow(launch, out, x, p as f64))?;
        let mut average = call.temporary(x.data_type(), &dims)?;
        pooled(call, &mut average, &powers, &placed, "avg", false)?;
        let count: usize = placed.kernel.iter().product();
        let mut sum = call.temporary(x.data_type(), &dims)?;
        scaled(call, &mut sum, &average.into_input(), count as f64, 0.0)?;
        let sum = sum.into_input();
        call.run(|operators, launch| operators.pow(launch, &mut out, &sum, 1.0 / p as f64))
    }))
}
