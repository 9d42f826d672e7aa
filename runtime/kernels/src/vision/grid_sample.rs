//! Samples of images at the points of a grid.
//!
//! The weight of a pixel for a point is a product of one weight for each dimension. Its derivative with
//! respect to a coordinate replaces one factor by its derivative.

use crate::attributes::GridSampleAttributes;
use smallvec::SmallVec;

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::interpolate::{cubic, cubic_slopes};
use crate::loops::slices::{lend, with_optional_slices, with_slices};
use crate::loops::window::{SPACE, Spatial, space};
use crate::tensor::{View, ViewMut};

/// Interpolates images at the points of a grid.
///
/// `x` is `[batch, channels, height, width]` and `grid` `[batch, …, 2]`, or both have a third dimension: a
/// depth before the height, and three coordinates. The coordinates are in reverse order of the spatial
/// dimensions. -1 and 1 are the centres of the outermost pixels with `align_corners`, and their outer edges
/// without. `mode` is `"bilinear"`, `"nearest"` (ties to the even pixel) or, for two dimensions, `"bicubic"`.
/// Outside the image, the padding `"zeros"` reads zeros, `"border"` the nearest pixels, and `"reflection"`
/// mirrored pixels. A coordinate that is NaN gives zero.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Attribute`], [`Error::Empty`] for points in images without pixels, and
/// [`Error::Type`].
pub fn grid_sample(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    grid: &View<'_>,
    with: &GridSampleAttributes<'_>,
) -> Result<()> {
    let GridSampleAttributes { mode, padding_mode, align_corners } = *with;
    let rules = Rules::new(x.dims(), grid.dims(), mode, padding_mode, align_corners)?;
    expect_shape(&rules.result(grid.dims()), out.dims())?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 2>([out.reborrow()], [x, grid], |[out], [x, grid]| {
            rules.each_sample(grid, |_, images, sample, pixels| {
                out[sample] =
                    pixels.iter().fold(T::ZERO, |sum, pixel| sum + x[images + pixel.place] * pixel.weight);
            });
            Ok(())
        })
    })
}

/// Computes the gradients of [`grid_sample`] with respect to the images and the grid.
///
/// The gradient with respect to a coordinate that the padding moved to the border is zero. With `"nearest"`,
/// all gradients of coordinates are zero.
///
/// # Errors
/// As [`grid_sample`].
pub fn grid_sample_grad(
    dx: Option<&mut ViewMut<'_>>,
    dgrid: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    grid: &View<'_>,
    dout: &View<'_>,
    with: &GridSampleAttributes<'_>,
) -> Result<()> {
    let GridSampleAttributes { mode, padding_mode, align_corners } = *with;
    let rules = Rules::new(x.dims(), grid.dims(), mode, padding_mode, align_corners)?;
    expect_shape(&rules.result(grid.dims()), dout.dims())?;
    expect_shape(x.dims(), dx.as_deref().map_or(x.dims(), ViewMut::dims))?;
    expect_shape(grid.dims(), dgrid.as_deref().map_or(grid.dims(), ViewMut::dims))?;
    with_float!(x.dtype(), T => {
        let inputs = [Some(x), Some(grid), Some(dout)];
        with_optional_slices::<T, 2, 3>([lend(dx), lend(dgrid)], inputs, |[mut dx, mut dgrid], inputs| {
            let [x, grid, dout] = inputs.map(Option::unwrap_or_default);
            dx.iter_mut().for_each(|dx| dx.fill(T::ZERO));
            dgrid.iter_mut().for_each(|dgrid| dgrid.fill(T::ZERO));
            rules.each_sample(grid, |point, images, sample, pixels| {
                for pixel in pixels {
                    if let Some(dx) = &mut dx {
                        dx[images + pixel.place] += dout[sample] * pixel.weight;
                    }
                    if let Some(dgrid) = &mut dgrid {
                        let gradient = dout[sample] * x[images + pixel.place];
                        let coordinates = &mut dgrid[point * rules.coordinates..][..rules.coordinates];
                        let slopes = pixel.slopes.iter().rev();
                        coordinates.iter_mut().zip(slopes).for_each(|(sum, &slope)| *sum += gradient * slope);
                    }
                }
            });
            Ok(())
        })
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Nearest,
    Linear,
    Cubic,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// A pixel that a sample depends on.
struct Pixel<T> {
    /// The position in its image.
    place: usize,
    weight: T,
    /// The derivative of the weight with respect to each coordinate.
    slopes: Spatial<T>,
}

/// An index in one dimension that a sample depends on.
#[derive(Clone, Copy)]
struct Tap<T> {
    index: usize,
    weight: T,
    slope: T,
}

struct Rules {
    batch: usize,
    channels: usize,
    /// The size of an image.
    size: Spatial<usize>,
    /// The number of coordinates of a point.
    coordinates: usize,
    /// The number of points for each image.
    points: usize,
    mode: Mode,
    padding: Padding,
    align_corners: bool,
}

impl Rules {
    fn new(x: &[usize], grid: &[usize], mode: &str, padding: &str, align_corners: bool) -> Result<Self> {
        let coordinates = x.len().saturating_sub(2);
        if !(2..=SPACE).contains(&coordinates) {
            return Err(Error::Rank { dims: x.len(), strides: SPACE + 1 });
        }
        let mode = match mode {
            "nearest" => Mode::Nearest,
            "bilinear" => Mode::Linear,
            "bicubic" if coordinates == 2 => Mode::Cubic,
            _ => return Err(Error::Attribute { name: "mode", value: mode.to_owned() }),
        };
        let padding = match padding {
            "zeros" => Padding::Zeros,
            "border" => Padding::Border,
            "reflection" => Padding::Reflection,
            _ => return Err(Error::Attribute { name: "padding_mode", value: padding.to_owned() }),
        };
        let of_points = grid.get(1..grid.len().saturating_sub(1)).unwrap_or_default();
        let wanted = [&x[..1], of_points, &[coordinates]].concat();
        if wanted.len() != x.len() || wanted != grid {
            return Err(Error::Shape { expected: wanted, actual: grid.to_vec() });
        }
        let (size, points) = (space(x)?, of_points.iter().product());
        if size.contains(&0) && x[0] * x[1] * points > 0 {
            return Err(Error::Empty);
        }
        Ok(Self { batch: x[0], channels: x[1], size, coordinates, points, mode, padding, align_corners })
    }

    fn result(&self, grid: &[usize]) -> Vec<usize> {
        [&[self.batch, self.channels], &grid[1..grid.len() - 1]].concat()
    }

    /// Calls a function for each sample with the number of its point, the start of its image, the number of
    /// the sample, and the pixels that it depends on.
    fn each_sample<T: Float>(&self, grid: &[T], mut visit: impl FnMut(usize, usize, usize, &[Pixel<T>])) {
        let pixels: usize = self.size.iter().product();
        for (point, coordinates) in grid.chunks_exact(self.coordinates).enumerate() {
            let seen = self.pixels(coordinates);
            let (image, place) = (point / self.points, point % self.points);
            for channel in image * self.channels..(image + 1) * self.channels {
                visit(point, channel * pixels, channel * self.points + place, &seen);
            }
        }
    }

    /// Returns the pixels that a point depends on.
    fn pixels<T: Float>(&self, coordinates: &[T]) -> SmallVec<[Pixel<T>; 16]> {
        let taps: Spatial<SmallVec<[Tap<T>; 4]>> =
            std::array::from_fn(|n| match coordinates.get(SPACE - 1 - n) {
                Some(&coordinate) => self.taps(coordinate, self.size[n]),
                None => SmallVec::from_iter([Tap { index: 0, weight: T::ONE, slope: T::ZERO }]),
            });
        let [_, height, width] = self.size;
        let mut pixels = SmallVec::new();
        for z in &taps[0] {
            for y in &taps[1] {
                for x in &taps[2] {
                    pixels.push(Pixel {
                        place: (z.index * height + y.index) * width + x.index,
                        weight: z.weight * y.weight * x.weight,
                        slopes: [
                            z.slope * y.weight * x.weight,
                            z.weight * y.slope * x.weight,
                            z.weight * y.weight * x.slope,
                        ],
                    });
                }
            }
        }
        pixels
    }

    /// Returns the indices in a dimension that a coordinate depends on.
    fn taps<T: Float>(&self, coordinate: T, len: usize) -> SmallVec<[Tap<T>; 4]> {
        let (half, size) = (T::of(0.5), T::of(len as f64));
        let (position, slope) = if self.align_corners {
            ((coordinate + T::ONE) * half * (size - T::ONE), half * (size - T::ONE))
        } else {
            (((coordinate + T::ONE) * size - T::ONE) * half, half * size)
        };
        let tap = |(position, weight, slope)| index(position, len).map(|index| Tap { index, weight, slope });
        match self.mode {
            Mode::Nearest => {
                let (position, _) = self.padded(position, size);
                [(position.round(), T::ONE, T::ZERO)].into_iter().filter_map(tap).collect()
            }
            Mode::Linear => {
                let (position, direction) = self.padded(position, size);
                let low = position.floor();
                let (part, slope) = (position - low, slope * direction);
                let taps = [(low, T::ONE - part, -slope), (low + T::ONE, part, slope)];
                taps.into_iter().filter_map(tap).collect()
            }
            Mode::Cubic => {
                let low = position.floor();
                let part = position - low;
                let place = |n: usize| self.padded(low + T::of(n as f64 - 1.0), size).0;
                let taps = cubic(part).into_iter().zip(cubic_slopes(part)).enumerate();
                taps.map(|(n, (weight, of_part))| (place(n), weight, of_part * slope))
                    .filter_map(tap)
                    .collect()
            }
        }
    }

    /// Returns the position after padding, and its derivative with respect to the original position.
    fn padded<T: Float>(&self, position: T, size: T) -> (T, T) {
        match self.padding {
            Padding::Zeros => (position, T::ONE),
            Padding::Border => clipped(position, size),
            Padding::Reflection => {
                let (low, span) =
                    if self.align_corners { (T::ZERO, size - T::ONE) } else { (T::of(-0.5), size) };
                let (reflected, direction) = reflected(position - low, span);
                let (clipped, slope) = clipped(reflected + low, size);
                (clipped, slope * direction)
            }
        }
    }
}

/// Returns the index of a position if it is in the dimension. NaN never is.
fn index<T: Float>(position: T, len: usize) -> Option<usize> {
    let position: f64 = position.into();
    (position >= 0.0 && position < len as f64).then_some(position as usize)
}

fn clipped<T: Float>(position: T, size: T) -> (T, T) {
    let last = size - T::ONE;
    if position <= T::ZERO {
        (T::ZERO, T::ZERO)
    } else if position >= last {
        (last, T::ZERO)
    } else {
        (position, T::ONE)
    }
}

/// Mirrors a position at both ends of an interval that begins at zero.
fn reflected<T: Float>(position: T, span: T) -> (T, T) {
    if span == T::ZERO {
        return (T::ZERO, T::ZERO);
    }
    let distance = position.abs();
    let direction = if position < T::ZERO { -T::ONE } else { T::ONE };
    let rest = distance.fmod(span);
    let is_even = (distance / span).floor().fmod(T::of(2.0)) == T::ZERO;
    if is_even { (rest, direction) } else { (span - rest, -direction) }
}
