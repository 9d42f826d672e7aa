//! Sampling and resizing of images.

use tenon::device::{Error, Result};
use tenon_operators::TensorRef;
use tenon_operators::attributes::{GridSampleAttributes, InterpolateAttributes, RoiAlignAttributes};

use super::shapes::axes_of;
use crate::kernel::{Call, Compute, Info};

/// Samples images at the points of a grid.
pub(crate) fn grid_sample(info: &Info) -> Result<Compute> {
    let mode = match info.text("mode").as_deref() {
        None | Some("bilinear" | "linear") => "bilinear",
        Some("nearest") => "nearest",
        Some("bicubic" | "cubic") => "bicubic",
        Some(other) => return info.refuse(other),
    };
    let padding = info.text("padding_mode").unwrap_or_else(|| "zeros".to_owned());
    let align_corners = info.flag("align_corners");
    Ok(Box::new(move |call| {
        let (x, grid) = (call.input(0)?, call.input(1)?);
        let rank = x.dims().len();
        if !(4..=5).contains(&rank) || grid.dims().len() != rank {
            return Err(Error::unsupported("images of this shape"));
        }
        let dims = [&x.dims()[..2], &grid.dims()[1..rank - 1]].concat();
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        let grid = call.cast(&grid, x.data_type())?;
        let attributes = GridSampleAttributes { mode, padding_mode: &padding, align_corners };
        call.run(|operators, launch| operators.grid_sample(launch, &mut out, &x, &grid, &attributes))
    }))
}

/// The version since which corners are shifted by half a pixel.
const HALF_PIXEL: i32 = 16;

/// The mean of samples in each cell of regions.
pub(crate) fn roi_align(info: &Info) -> Result<Compute> {
    if info.text("mode").is_some_and(|mode| mode != "avg") {
        return info.refuse("the maximum of samples");
    }
    let number = |name, default| info.int(name).unwrap_or(default);
    let (height, width) = (number("output_height", 1), number("output_width", 1));
    let sampling_ratio = number("sampling_ratio", 0);
    let spatial_scale = info.float("spatial_scale").unwrap_or(1.0);
    let aligned = match info.text("coordinate_transformation_mode").as_deref() {
        None => info.version() >= HALF_PIXEL,
        Some(mode) => mode == "half_pixel",
    };
    Ok(Box::new(move |call| {
        let (x, corners, images) = (call.input(0)?, call.input(1)?, call.input(2)?);
        let (&[_, channels, ..], &[regions, 4]) = (x.dims(), corners.dims()) else {
            return Err(Error::invalid("regions must have four corners"));
        };
        if images.dims() != [regions] || x.dims().len() != 4 {
            return Err(Error::invalid("there must be an image for each region"));
        }
        let mut out = call.output(0, &[regions, channels, height as usize, width as usize])?;
        if out.is_empty() {
            return Ok(());
        }
        let images = call.cast(&images, x.data_type())?.unsqueezed(1)?;
        let mut boxes = call.temporary(x.data_type(), &[regions, 5])?;
        call.write(&mut boxes.sliced(1, 0, 1, 1)?, &images)?;
        call.write(&mut boxes.sliced(1, 1, 4, 1)?, &corners)?;
        let boxes = boxes.into_input();
        let attributes = RoiAlignAttributes {
            pooled_height: height,
            pooled_width: width,
            spatial_scale,
            sampling_ratio,
            aligned,
        };
        call.run(|operators, launch| operators.roi_align(launch, &mut out, &x, &boxes, None, &attributes))
    }))
}

/// How an element of the result is found in an image.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transformation {
    HalfPixel,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
}

/// Which of the nearest elements counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nearest {
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
}

/// How images are resized.
struct Resizing {
    /// The method of the device; `None` for the nearest element.
    linear: Option<bool>,
    transformation: Transformation,
    nearest: Nearest,
}

impl Resizing {
    fn of(info: &Info) -> Result<Self> {
        let linear = match info.text("mode").as_deref() {
            None | Some("nearest") => None,
            Some("linear") => Some(true),
            Some("cubic") => Some(false),
            Some(other) => return info.refuse(other),
        };
        if info.flag("antialias")
            || info.flag("exclude_outside")
            || info.text("keep_aspect_ratio_policy").is_some_and(|policy| policy != "stretch")
        {
            return info.refuse("this way to resize");
        }
        if linear == Some(false) && info.float("cubic_coeff_a").is_some_and(|a| (a + 0.75).abs() > 1e-6) {
            return info.refuse("another cubic kernel");
        }
        let transformation = match info.text("coordinate_transformation_mode").as_deref() {
            None | Some("half_pixel") => Transformation::HalfPixel,
            Some("pytorch_half_pixel") => Transformation::PytorchHalfPixel,
            Some("align_corners") => Transformation::AlignCorners,
            Some("asymmetric") => Transformation::Asymmetric,
            Some(other) => return info.refuse(other),
        };
        let nearest = match info.text("nearest_mode").as_deref() {
            None | Some("round_prefer_floor") => Nearest::RoundPreferFloor,
            Some("round_prefer_ceil") => Nearest::RoundPreferCeil,
            Some("floor") => Nearest::Floor,
            Some("ceil") => Nearest::Ceil,
            Some(other) => return info.refuse(other),
        };
        if linear == Some(false) && transformation == Transformation::Asymmetric {
            return info.refuse("a cubic kernel between the edges of pixels");
        }
        Ok(Self { linear, transformation, nearest })
    }

    /// Returns the place in an image of an element of the result.
    fn place(&self, index: usize, from: usize, to: usize, scale: f64) -> f64 {
        let index = index as f64;
        match self.transformation {
            Transformation::HalfPixel => (index + 0.5) / scale - 0.5,
            Transformation::PytorchHalfPixel if to > 1 => (index + 0.5) / scale - 0.5,
            Transformation::PytorchHalfPixel => 0.0,
            Transformation::AlignCorners if to > 1 => index * (from as f64 - 1.0) / (to as f64 - 1.0),
            Transformation::AlignCorners => 0.0,
            Transformation::Asymmetric => index / scale,
        }
    }

    /// Returns the index of the nearest element of each element of the result.
    fn nearest(&self, from: usize, to: usize, scale: f64) -> Vec<i64> {
        let nearest = |place: f64| match self.nearest {
            Nearest::RoundPreferFloor => (place - 0.5).ceil(),
            Nearest::RoundPreferCeil => (place + 0.5).floor(),
            Nearest::Floor => place.floor(),
            Nearest::Ceil => place.ceil(),
        };
        let last = from.max(1) as i64 - 1;
        (0..to).map(|index| (nearest(self.place(index, from, to, scale)) as i64).clamp(0, last)).collect()
    }

    /// Resizes the first input.
    fn run(&self, call: &Call<'_>, dims: &[usize], scales: &[f64]) -> Result<()> {
        let x = call.input(0)?;
        let mut out = call.output(0, dims)?;
        if out.is_empty() {
            return Ok(());
        }
        let changed: Vec<usize> =
            (0..dims.len()).filter(|axis| dims[*axis] != x.dims()[*axis] || scales[*axis] != 1.0).collect();
        let Some(is_linear) = self.linear else {
            let mut whole = x.clone();
            for axis in changed {
                let places = self.nearest(x.dims()[axis], dims[axis], scales[axis]);
                let places = call.upload_integers(&[places.len()], &places)?;
                let mut part = whole.dims().to_vec();
                part[axis] = dims[axis];
                let mut part = call.temporary(x.data_type(), &part)?;
                call.run(|operators, launch| {
                    operators.gather(launch, &mut part, &whole, &places, axis as i64)
                })?;
                whole = part.into_input();
            }
            return call.write(&mut out, &whole);
        };
        // A dimension of the length one comes from the first element.
        let (mut x, mut scales) = (x, scales.to_vec());
        for axis in changed.iter().copied() {
            if self.transformation == Transformation::PytorchHalfPixel && dims[axis] == 1 {
                x = call.contiguous(&x.sliced(axis, 0, 1, 1)?)?;
                scales[axis] = 1.0;
            }
        }
        let rest = dims.len().saturating_sub(if is_linear { 3 } else { 2 });
        let first = changed.first().copied().unwrap_or(rest).min(rest);
        let spatial = dims.len() - first.max(rest);
        if first < rest || (!is_linear && spatial != 2) {
            return Err(Error::unsupported("images of so many dimensions"));
        }
        self.interpolate(call, &mut out, &x, first.max(rest), &scales, is_linear)
    }

    fn interpolate(
        &self,
        call: &Call<'_>,
        out: &mut tenon_operators::TensorMut<'_>,
        x: &TensorRef<'_>,
        first: usize,
        scales: &[f64],
        is_linear: bool,
    ) -> Result<()> {
        let flat = |dims: &[usize]| [&[1, dims[..first].iter().product()], &dims[first..]].concat();
        let (from, to) = (flat(x.dims()), flat(out.dims()));
        let image = x.reshaped(&from)?;
        let mut result = out.reshaped(&to)?;
        let method = match (is_linear, to.len()) {
            (true, 3) => "linear",
            (true, 4) => "bilinear",
            (true, _) => "trilinear",
            (false, _) => "bicubic",
        };
        let (align_corners, align_mode) = match self.transformation {
            Transformation::AlignCorners => (true, 1),
            Transformation::Asymmetric => (false, 1),
            Transformation::HalfPixel | Transformation::PytorchHalfPixel => (false, 0),
        };
        let size = |back: usize| {
            to.len().checked_sub(back).filter(|index| *index > 1).map_or(-1, |index| to[index] as i64)
        };
        let attributes = InterpolateAttributes {
            data_format: match to.len() {
                3 => "NCW",
                4 => "NCHW",
                _ => "NCDHW",
            },
            out_d: size(3),
            out_h: size(2),
            out_w: size(1),
            scale: &scales[first..],
            interp_method: method,
            align_corners,
            align_mode,
        };
        let sizes: Vec<i64> = to[2..].iter().map(|len| *len as i64).collect();
        let sizes = call.upload_integers(&[sizes.len()], &sizes)?;
        call.run(|operators, launch| {
            operators.interpolate(launch, &mut result, &image, Some(&sizes), None, None, &attributes)
        })
    }
}

/// Resizes by scales or to sizes.
pub(crate) fn resize(info: &Info) -> Result<Compute> {
    let resizing = Resizing::of(info)?;
    let axes = info.ints("axes");
    Ok(Box::new(move |call| {
        let dims = call.input_dims(0)?;
        let axes = match &axes {
            Some(axes) => {
                axes_of(axes, dims.len())?;
                axes.iter()
                    .map(|axis| super::shapes::axis_of(*axis, dims.len()))
                    .collect::<Result<Vec<_>>>()?
            }
            None => (0..dims.len()).collect(),
        };
        let given = call.numbers(2)?.filter(|scales| !scales.is_empty());
        let (mut wanted, mut scales) = (dims.clone(), vec![1.0; dims.len()]);
        if let Some(given) = given {
            if given.len() != axes.len() {
                return Err(Error::invalid("there must be a scale for each dimension"));
            }
            for (axis, scale) in axes.iter().zip(given) {
                scales[*axis] = scale;
                wanted[*axis] = (dims[*axis] as f64 * scale).floor() as usize;
            }
        } else {
            let sizes = super::shapes::lengths(&call.integers(3)?.unwrap_or_default())?;
            if sizes.len() != axes.len() {
                return Err(Error::invalid("there must be a size for each dimension"));
            }
            for (axis, size) in axes.iter().zip(sizes) {
                wanted[*axis] = size;
                scales[*axis] = size as f64 / dims[*axis] as f64;
            }
        }
        resizing.run(call, &wanted, &scales)
    }))
}

/// Resizes by scales: the nearest element before, or a linear interpolation.
pub(crate) fn upsample(info: &Info) -> Result<Compute> {
    let resizing = Resizing {
        linear: match info.text("mode").as_deref() {
            None | Some("nearest") => None,
            Some("linear") => Some(true),
            Some(other) => return info.refuse(other),
        },
        transformation: Transformation::Asymmetric,
        nearest: Nearest::Floor,
    };
    Ok(Box::new(move |call| {
        let dims = call.input_dims(0)?;
        let scales = call.numbers(1)?.unwrap_or_default();
        if scales.len() != dims.len() {
            return Err(Error::invalid("there must be a scale for each dimension"));
        }
        let wanted: Vec<usize> =
            dims.iter().zip(&scales).map(|(dim, scale)| (*dim as f64 * scale).floor() as usize).collect();
        resizing.run(call, &wanted, &scales)
    }))
}
