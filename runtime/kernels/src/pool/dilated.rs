//! Max pooling with dilated windows.

use crate::attributes::DilatedMaxPoolAttributes;
use crate::elements::accumulate::with_number;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, store_integers};
use crate::loops::window::{SPACE, Spatial, attribute, paddings as explicit, space};
use crate::numeric::Numeric;
use crate::tensor::{View, ViewMut};

/// Computes the largest element of each window, and its index in its image.
///
/// The channels come first. The size of `out` determines the number of windows. Elements of a window are
/// `dilations` apart. Of equal elements the first counts; NaN is larger than any number.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Attribute`], [`Error::Empty`] if a window has no elements, and
/// [`Error::Type`] if elements are complex.
pub fn dilated_max_pool(
    out: &mut ViewMut<'_>,
    mask: &mut ViewMut<'_>,
    x: &View<'_>,
    with: &DilatedMaxPoolAttributes<'_>,
) -> Result<()> {
    let DilatedMaxPoolAttributes { kernel_size, strides, paddings, dilations } = *with;
    let (image, rank) = (space(x.dims())?, x.dims().len() - 2);
    let kernel = attribute("kernel_size", kernel_size, rank, 1)?;
    let strides = attribute("strides", strides, rank, 1)?;
    let dilations = attribute("dilations", dilations, rank, 1)?;
    let paddings = explicit(paddings, "EXPLICIT", rank, image, kernel, strides)?;
    let counts = space(out.dims())?;
    expect_shape(&[&x.dims()[..2], &counts[SPACE - rank..]].concat(), out.dims())?;
    expect_shape(out.dims(), mask.dims())?;
    let windows: Spatial<Vec<Vec<usize>>> = std::array::from_fn(|n| {
        let window = |number: usize| {
            let places = (0..kernel[n]).map(|tap| number * strides[n] + tap * dilations[n]);
            places.filter_map(|place| place.checked_sub(paddings[n][0])).filter(|&at| at < image[n]).collect()
        };
        (0..counts[n]).map(window).collect()
    });
    if !out.is_empty() && windows.iter().flatten().any(Vec::is_empty) {
        return Err(Error::Empty);
    }
    with_number!(x.dtype(), T => {
        let x = T::load(x)?;
        let mut values = Vec::with_capacity(out.len());
        let mut places = Vec::with_capacity(out.len());
        let len = image.iter().product();
        for image_number in 0..out.dims()[0] * out.dims()[1] {
            let x = &x[image_number * len..][..len];
            each_window(&windows, |window| {
                let place = largest(window, image, |best, at| {
                    x[at] > x[best] || (Numeric::is_nan(x[at]) && !Numeric::is_nan(x[best]))
                });
                values.push(x[place]);
                places.push(place as i64);
            });
        }
        T::store(out, &values)?;
        store_integers(mask, &places)
    })
}

/// Calls `visit` with the positions of each window along the dimensions, in row-major order.
fn each_window(windows: &Spatial<Vec<Vec<usize>>>, mut visit: impl FnMut(Spatial<&[usize]>)) {
    let [zs, ys, xs] = windows;
    for z in zs {
        for y in ys {
            xs.iter().for_each(|x| visit([z, y, x]));
        }
    }
}

/// Returns the position in the image of the first of the largest elements of a window.
fn largest(
    [zs, ys, xs]: Spatial<&[usize]>,
    [_, height, width]: Spatial<usize>,
    exceeds: impl Fn(usize, usize) -> bool,
) -> usize {
    let mut best = (zs[0] * height + ys[0]) * width + xs[0];
    for (z, y) in zs.iter().flat_map(|z| ys.iter().map(move |y| (z, y))) {
        for x in xs {
            let at = (z * height + y) * width + x;
            best = if exceeds(best, at) { at } else { best };
        }
    }
    best
}
