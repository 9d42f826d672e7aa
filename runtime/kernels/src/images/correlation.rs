//! Correlation of the windows of two images (Dosovitskiy et al., "FlowNet", 2015).

use super::image;
use crate::attributes::CorrelationAttributes;
use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::slices::with_slices;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`correlation`].
///
/// # Errors
/// As [`correlation`].
pub fn correlation_shape(
    x: TensorMeta<'_>,
    _y: TensorMeta<'_>,
    with: &CorrelationAttributes<'_>,
) -> Result<Vec<usize>> {
    let CorrelationAttributes { kernel, patch, strides, paddings, dilations, patch_dilations } = *with;
    let lists = [kernel, patch, strides, paddings, dilations, patch_dilations];
    Ok(Rules::new(x.dims(), lists)?.result().to_vec())
}

/// Computes the scalar products of windows of one image with the windows of another one that are near:
/// `[batch, patch height, patch width, rows, columns]`.
///
/// Attributes have a number for the rows and one for the columns. Pixels outside an image are zero.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`], [`Error::Attribute`] for a number that is too small or too
/// large, or without windows, and [`Error::Type`].
pub fn correlation(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
    with: &CorrelationAttributes<'_>,
) -> Result<()> {
    let CorrelationAttributes { kernel, patch, strides, paddings, dilations, patch_dilations } = *with;
    let rules = Rules::new(x.dims(), [kernel, patch, strides, paddings, dilations, patch_dilations])?;
    expect_shape(&rules.result(), out.dims())?;
    expect_shape(x.dims(), y.dims())?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 2>([out.reborrow()], [x, y], |[out], [x, y]| {
            out.fill(0.0);
            rules.each(|result, a, b| out[result] += x[a] * y[b]);
            Ok(())
        })
    })
}

/// Computes the gradients of [`correlation`].
///
/// # Errors
/// As [`correlation`].
pub fn correlation_grad(
    dx: &mut ViewMut<'_>,
    dy: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
    dout: &View<'_>,
    with: &CorrelationAttributes<'_>,
) -> Result<()> {
    let CorrelationAttributes { kernel, patch, strides, paddings, dilations, patch_dilations } = *with;
    let rules = Rules::new(x.dims(), [kernel, patch, strides, paddings, dilations, patch_dilations])?;
    expect_shape(&rules.result(), dout.dims())?;
    for other in [y.dims(), dx.dims(), dy.dims()] {
        expect_shape(x.dims(), other)?;
    }
    with_float!(x.dtype(), T => {
        with_slices::<T, 2, 3>([dx.reborrow(), dy.reborrow()], [x, y, dout], |[dx, dy], [x, y, dout]| {
            dx.fill(0.0);
            dy.fill(0.0);
            rules.each(|result, a, b| {
                dx[a] += dout[result] * y[b];
                dy[b] += dout[result] * x[a];
            });
            Ok(())
        })
    })
}

/// The parameters of one direction.
struct Axis {
    len: usize,
    kernel: i64,
    patch: usize,
    stride: i64,
    padding: i64,
    dilation: i64,
    patch_dilation: i64,
    /// The number of windows.
    windows: usize,
}

impl Axis {
    fn new(len: usize, numbers: [i64; 6]) -> Result<Self> {
        let [kernel, patch, stride, padding, dilation, patch_dilation] = numbers;
        let width = dilation * (kernel - 1) + 1;
        let rest = len as i64 + 2 * padding - width;
        if rest < 0 {
            return Err(Error::Attribute { name: "kernel", value: kernel.to_string() });
        }
        let windows = (rest / stride) as usize + 1;
        Ok(Self { len, kernel, patch: patch as usize, stride, padding, dilation, patch_dilation, windows })
    }

    /// Returns the places of the elements of a window that are in both images.
    fn places(&self, window: usize, shift: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let radius = self.patch_dilation * (self.patch as i64 - 1) / 2;
        let shift = shift as i64 * self.patch_dilation - radius;
        (0..self.kernel).filter_map(move |element| {
            let place = window as i64 * self.stride - self.padding + element * self.dilation;
            let inside = |place: i64| usize::try_from(place).ok().filter(|&place| place < self.len);
            inside(place).zip(inside(place + shift))
        })
    }
}

struct Rules {
    batch: usize,
    channels: usize,
    axes: [Axis; 2],
}

impl Rules {
    fn new(dims: &[usize], lists: [&[i64]; 6]) -> Result<Self> {
        let [batch, channels, height, width] = image(dims)?;
        let names = ["kernel", "patch", "strides", "paddings", "dilations", "patch_dilations"];
        let mut numbers = [[0; 6]; 2];
        for (n, (name, list)) in names.into_iter().zip(lists).enumerate() {
            expect_length(name, 2, list.len())?;
            for (axis, &number) in list.iter().enumerate() {
                let least = i64::from(name != "paddings");
                if !(least..=i64::from(i32::MAX)).contains(&number) {
                    return Err(Error::Attribute { name, value: number.to_string() });
                }
                numbers[axis][n] = number;
            }
        }
        let axes = [Axis::new(height, numbers[0])?, Axis::new(width, numbers[1])?];
        Ok(Self { batch, channels, axes })
    }

    fn result(&self) -> [usize; 5] {
        let [rows, columns] = &self.axes;
        [self.batch, rows.patch, columns.patch, rows.windows, columns.windows]
    }

    /// Calls a function with the index of a result, and the pixels of both images whose product it contains.
    fn each(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let [batch, down, right, windows, across] = self.result();
        let [rows, columns] = &self.axes;
        for result in 0..batch * down * right * windows * across {
            let (shift, window) = (result / (windows * across), result % (windows * across));
            let (n, shift) = (shift / (down * right), shift % (down * right));
            for (row, other_row) in rows.places(window / across, shift / right) {
                for (column, other_column) in columns.places(window % across, shift % right) {
                    for channel in n * self.channels..(n + 1) * self.channels {
                        let pixel = |row, column| (channel * rows.len + row) * columns.len + column;
                        visit(result, pixel(row, column), pixel(other_row, other_column));
                    }
                }
            }
        }
    }
}
