//! The overlaps of boxes.

use crate::attributes::BoxOverlapsAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Result, expect_shape};
use crate::loops::slices::with_slices;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`box_overlaps`].
///
/// # Errors
/// None.
pub fn box_overlaps_shape(
    x: TensorMeta<'_>,
    y: TensorMeta<'_>,
    with: &BoxOverlapsAttributes,
) -> Result<Vec<usize>> {
    let BoxOverlapsAttributes { aligned, .. } = *with;
    let [first, second] = [x, y].map(|boxes| boxes.dims().first().copied().unwrap_or(0));
    Ok(if aligned { vec![first] } else { vec![first, second] })
}

/// Computes the area of the intersection of boxes divided by the area of their union, or with `over_first` by
/// the area of the first box.
///
/// The divisor is at least `offset`, which is also added to widths and heights. With `aligned`, only boxes
/// with the same index are compared.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape), and [`Error::Type`](crate::Error::Type) unless the boxes are floating-point.
pub fn box_overlaps(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
    with: &BoxOverlapsAttributes,
) -> Result<()> {
    let BoxOverlapsAttributes { over_first, offset, aligned } = *with;
    let shape =
        box_overlaps_shape(x.meta(), y.meta(), &BoxOverlapsAttributes { over_first, offset, aligned })?;
    expect_shape(&shape, out.dims())?;
    expect_shape(&[shape[0], 4], x.dims())?;
    expect_shape(&[*shape.last().unwrap_or(&0), 4], y.dims())?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 2>([out.reborrow()], [x, y], |[out], [x, y]| {
            let (first, second) = (x.as_chunks().0, y.as_chunks().0);
            let quotient = |a, b| overlap::<T>(a, b, over_first, offset);
            if aligned {
                out.iter_mut().zip(first.iter().zip(second)).for_each(|(out, (a, b))| *out = quotient(a, b));
            } else {
                let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (a, b)));
                out.iter_mut().zip(pairs).for_each(|(out, (a, b))| *out = quotient(a, b));
            }
            Ok(())
        })
    })
}

fn overlap<T: Float>(a: &[T; 4], b: &[T; 4], over_first: bool, offset: f64) -> T {
    let offset = T::of(offset);
    let area = |[x1, y1, x2, y2]: &[T; 4]| (*x2 - *x1 + offset) * (*y2 - *y1 + offset);
    let width = (a[2].min(b[2]) - a[0].max(b[0]) + offset).max(T::ZERO);
    let height = (a[3].min(b[3]) - a[1].max(b[1]) + offset).max(T::ZERO);
    let both = width * height;
    let whole = if over_first { area(a) } else { area(a) + area(b) - both };
    both / whole.max(offset)
}
