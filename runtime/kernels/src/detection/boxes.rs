//! Offsets of boxes from prior boxes, and the prior boxes of a feature map.

use super::{corners, ranked};
use crate::attributes::{BoxCoderAttributes, PriorBoxAttributes};
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::slices::{Slot, with_optional_slices};
use crate::tensor::{TensorMeta, View, ViewMut};

/// What [`box_coder`] does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Encode,
    Decode,
}

impl Direction {
    fn new(code_type: &str) -> Result<Self> {
        match code_type {
            "encode_center_size" => Ok(Self::Encode),
            "decode_center_size" => Ok(Self::Decode),
            _ => Err(Error::Attribute { name: "code_type", value: code_type.to_owned() }),
        }
    }
}

/// Computes the shape of the output of [`box_coder`].
///
/// # Errors
/// As [`box_coder`].
pub fn box_coder_shape(
    prior_box: TensorMeta<'_>,
    _prior_box_var: Option<TensorMeta<'_>>,
    target_box: TensorMeta<'_>,
    with: &BoxCoderAttributes<'_>,
) -> Result<Vec<usize>> {
    let BoxCoderAttributes { code_type, .. } = *with;
    let [priors, _] = ranked(prior_box.dims())?;
    match Direction::new(code_type)? {
        Direction::Encode => Ok(vec![ranked::<2>(target_box.dims())?[0], priors, 4]),
        Direction::Decode => Ok(target_box.dims().to_vec()),
    }
}

/// Encodes boxes as offsets from each prior box, or decodes offsets.
///
/// An offset is the distance of the centres, divided by the size of the prior box, and the logarithms of the
/// quotients of the sizes. Encoded offsets are divided by a variance, and multiplied by it before they are decoded.
/// Prior boxes belong to the columns of decoded offsets, or to the rows if `axis` is 1.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`] for another number of variances than 0 and 4,
/// [`Error::Attribute`], and [`Error::Type`] unless the tensors are floating-point.
pub fn box_coder(
    out: &mut ViewMut<'_>,
    prior_box: &View<'_>,
    prior_box_var: Option<&View<'_>>,
    target_box: &View<'_>,
    with: &BoxCoderAttributes<'_>,
) -> Result<()> {
    let BoxCoderAttributes { code_type, box_normalized, axis, variance } = *with;
    let direction = Direction::new(code_type)?;
    let [priors, _] = ranked(prior_box.dims())?;
    expect_shape(&[priors, 4], prior_box.dims())?;
    expect_shape(prior_box.dims(), prior_box_var.map_or(prior_box.dims(), View::dims))?;
    if !variance.is_empty() {
        expect_length("variance", 4, variance.len())?;
    }
    let [rows, columns] = match direction {
        Direction::Encode => {
            let [targets, _] = ranked(target_box.dims())?;
            expect_shape(&[targets, 4], target_box.dims())?;
            [targets, priors]
        }
        Direction::Decode => {
            let [rows, columns, _] = ranked(target_box.dims())?;
            expect_shape(&[rows, columns, 4], target_box.dims())?;
            expect_length("prior_box", if axis == 0 { columns } else { rows }, priors)?;
            [rows, columns]
        }
    };
    expect_shape(&[rows, columns, 4], out.dims())?;
    with_float!(prior_box.dtype(), T => {
        let inputs = [Some(prior_box), prior_box_var, Some(target_box)];
        with_optional_slices::<T, 1, 3>([Some(out.reborrow())], inputs, |[out], [priors, variances, targets]| {
            let [priors, targets] = [priors, targets].map(|boxes| corners(boxes.unwrap_or_default()));
            let variances = variances.map(corners);
            let of_all: [T; 4] = std::array::from_fn(|n| variance.get(n).map_or(1.0, |&v| v as T));
            let (results, _) = out.unwrap_or_default().as_chunks_mut::<4>();
            for (n, result) in results.iter_mut().enumerate() {
                let (row, column) = (n / columns, n % columns);
                let prior = if direction == Direction::Decode && axis != 0 { row } else { column };
                let variance = variances.map_or(of_all, |variances| variances[prior]);
                let prior = Center::new(&priors[prior], box_normalized);
                *result = match direction {
                    Direction::Encode => prior.encode(&targets[row], variance, box_normalized),
                    Direction::Decode => prior.decode(&targets[n], variance, box_normalized),
                };
            }
            Ok(())
        })
    })
}

/// A box as its centre and its size.
#[derive(Clone, Copy)]
struct Center<T> {
    center: [T; 2],
    size: [T; 2],
}

impl<T: Float> Center<T> {
    fn new(&[x1, y1, x2, y2]: &[T; 4], normalized: bool) -> Self {
        let one = if normalized { T::ZERO } else { T::ONE };
        let size = [x2 - x1 + one, y2 - y1 + one];
        Self { center: [x1 + size[0] * T::of(0.5), y1 + size[1] * T::of(0.5)], size }
    }

    /// Returns the offset of a box. Its centre is the mean of its corners, even if they are pixels.
    fn encode(self, target: &[T; 4], variance: [T; 4], normalized: bool) -> [T; 4] {
        let of = Self::new(target, normalized);
        let middle = [0, 1].map(|n| (target[n + 2] + target[n]) * T::of(0.5));
        let place = [0, 1].map(|n| (middle[n] - self.center[n]) / self.size[n]);
        let size = [0, 1].map(|n| (of.size[n] / self.size[n]).abs().log());
        let offset = [place[0], place[1], size[0], size[1]];
        std::array::from_fn(|n| offset[n] / variance[n])
    }

    fn decode(self, offset: &[T; 4], variance: [T; 4], normalized: bool) -> [T; 4] {
        let one = if normalized { T::ZERO } else { T::ONE };
        let scaled: [T; 4] = std::array::from_fn(|n| variance[n] * offset[n]);
        let center = [0, 1].map(|n| scaled[n] * self.size[n] + self.center[n]);
        let half = [0, 1].map(|n| scaled[n + 2].exp() * self.size[n] * T::of(0.5));
        [center[0] - half[0], center[1] - half[1], center[0] + half[0] - one, center[1] + half[1] - one]
    }
}

/// Computes the shape of both outputs of [`prior_box`].
///
/// # Errors
/// As [`prior_box`].
pub fn prior_box_shape(
    input: TensorMeta<'_>,
    _image: TensorMeta<'_>,
    with: &PriorBoxAttributes<'_>,
) -> Result<Vec<usize>> {
    let PriorBoxAttributes { min_sizes, max_sizes, aspect_ratios, flip, .. } = *with;
    let [_, _, height, width] = ranked(input.dims())?;
    let priors = min_sizes.len() * ratios(aspect_ratios, flip).len() + max_sizes.len();
    Ok(vec![height, width, priors, 4])
}

/// Creates the prior boxes of each pixel of a feature map (Liu et al., "SSD", 2016), and their variances.
///
/// For each size there is a box for each ratio of width and height, 1 among them, and with `max_sizes` one of the
/// geometric mean of both sizes. Corners are divided by the size of the image.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`] unless there are four variances and as many largest sizes as
/// sizes, or none, and [`Error::Type`].
pub fn prior_box(
    out: &mut ViewMut<'_>,
    var: &mut ViewMut<'_>,
    input: &View<'_>,
    image: &View<'_>,
    with: &PriorBoxAttributes<'_>,
) -> Result<()> {
    let PriorBoxAttributes {
        min_sizes,
        max_sizes,
        aspect_ratios,
        variances,
        flip,
        clip,
        step_w,
        step_h,
        offset,
        min_max_aspect_ratios_order,
    } = *with;
    let ([_, _, height, width], [_, _, image_height, image_width]) =
        (ranked(input.dims())?, ranked(image.dims())?);
    expect_length("variances", 4, variances.len())?;
    expect_length("max_sizes", if max_sizes.is_empty() { 0 } else { min_sizes.len() }, max_sizes.len())?;
    let ratios = ratios(aspect_ratios, flip);
    let sizes = sizes(min_sizes, max_sizes, &ratios, min_max_aspect_ratios_order);
    for output in [&*out, &*var] {
        expect_shape(&[height, width, sizes.len(), 4], output.dims())?;
    }
    let is_given = step_w != 0.0 && step_h != 0.0;
    let step = if is_given {
        [step_w, step_h]
    } else {
        [image_width as f64 / width as f64, image_height as f64 / height as f64]
    };
    let mut boxes = Vec::with_capacity(out.len());
    for row in 0..height {
        for column in 0..width {
            let center = [(column as f64 + offset) * step[0], (row as f64 + offset) * step[1]];
            for size in &sizes {
                for side in [-0.5, 0.5] {
                    boxes.push((center[0] + side * size[0]) / image_width as f64);
                    boxes.push((center[1] + side * size[1]) / image_height as f64);
                }
            }
        }
    }
    if clip {
        boxes.iter_mut().for_each(|corner| *corner = corner.clamp(0.0, 1.0));
    }
    <f64 as Slot>::store(out, &boxes)?;
    let repeated: Vec<f64> = variances.iter().copied().cycle().take(var.len()).collect();
    <f64 as Slot>::store(var, &repeated)
}

/// Returns 1 and the other ratios, each once.
fn ratios(aspect_ratios: &[f64], flip: bool) -> Vec<f64> {
    let mut found = vec![1.0];
    for &ratio in aspect_ratios {
        if found.iter().all(|known: &f64| (known - ratio).abs() >= 1e-6) {
            found.push(ratio);
            if flip {
                found.push(1.0 / ratio);
            }
        }
    }
    found
}

/// Returns the width and the height of each prior box.
fn sizes(min_sizes: &[f64], max_sizes: &[f64], ratios: &[f64], max_comes_first: bool) -> Vec<[f64; 2]> {
    let mut found = vec![];
    for (n, &size) in min_sizes.iter().enumerate() {
        let largest = max_sizes.get(n).map(|max| [(size * max).sqrt(); 2]);
        let of_ratios = ratios.iter().map(|ratio| [size * ratio.sqrt(), size / ratio.sqrt()]);
        if max_comes_first {
            found.push([size; 2]);
            found.extend(largest);
            // The first ratio is 1.
            found.extend(of_ratios.skip(1));
        } else {
            found.extend(of_ratios);
            found.extend(largest);
        }
    }
    found
}
