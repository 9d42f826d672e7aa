//! Medians.

use super::compare;
use crate::attributes::{MedianAttributes, MedianGradAttributes, MedianGradOfEqualAttributes};
use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, integers, store_integers};
use crate::reduction::{resolve, rows_last, with_last};
use crate::tensor::{View, ViewMut};

fn averages(mode: &str) -> Result<bool> {
    match mode {
        "avg" => Ok(true),
        "min" => Ok(false),
        other => Err(Error::Attribute { name: "mode", value: other.to_owned() }),
    }
}

/// Computes the median along dimensions, or along all if none is given, and its index.
///
/// For an even number of elements, the mode `avg` returns the mean of the two middle elements, and `min` the
/// smaller one. If an element is NaN, the median is NaN, and its index is that of the first NaN. With
/// `ignore_nan`, NaN elements do not count. The median of no elements is NaN. Indices are in row-major
/// order of the reduced dimensions, -1 for none. With `avg` they have an additional dimension of two, for
/// both middle elements.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Type`] if a type is complex, [`Error::Attribute`] for an
/// unknown mode.
pub fn median(
    out: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    with: &MedianAttributes<'_>,
) -> Result<()> {
    let MedianAttributes { axis, keep_dim, mode, ignore_nan } = *with;
    let averages = averages(mode)?;
    let axes = resolve(out.dims(), x.dims(), axis, keep_dim, false)?;
    let index_dims = [out.dims(), &[2][usize::from(!averages)..]].concat();
    expect_shape(&index_dims, indices.dims())?;
    let (rows, len) = rows_last(x, &axes)?;
    let values = f64::load(&rows)?;
    let (mut medians, mut places) = (vec![0.0; out.len()], vec![]);
    for (row, median) in medians.iter_mut().enumerate() {
        let row = &values[row * len..][..len];
        let mut pairs: Vec<(f64, i64)> = row.iter().copied().zip(0..).collect();
        if ignore_nan {
            pairs.retain(|(value, _)| !value.is_nan());
        }
        let first_nan = row.iter().position(|value| value.is_nan());
        let (low, high) = match (pairs.len(), first_nan) {
            (0, _) => ((f64::NAN, -1), (f64::NAN, -1)),
            (_, Some(place)) if !ignore_nan => ((f64::NAN, place as i64), (f64::NAN, place as i64)),
            (count, _) => {
                pairs.sort_unstable_by(|a, b| compare(a.0, b.0).then(a.1.cmp(&b.1)));
                (pairs[(count - 1) / 2], pairs[count / 2])
            }
        };
        *median = if !averages || low.1 == high.1 { low.0 } else { low.0 / 2.0 + high.0 / 2.0 };
        places.push(low.1);
        if averages {
            places.push(high.1);
        }
    }
    f64::store(out, &medians)?;
    store_integers(indices, &places)
}

/// Computes the gradient of [`median`] with respect to `x`: `dout` for the selected element, or one half each
/// for two averaged elements.
///
/// # Errors
/// As [`median`], and [`Error::Index`].
pub fn median_grad(
    dx: &mut ViewMut<'_>,
    indices: &View<'_>,
    dout: &View<'_>,
    with: &MedianGradAttributes<'_>,
) -> Result<()> {
    let MedianGradAttributes { axis, keep_dim, mode } = *with;
    spread(dx, None, indices, dout, axis, keep_dim, mode)
}

/// Computes the gradient of [`median`] with respect to `x`. All elements that equal the median share it
/// equally.
///
/// If no element does, the result is that of [`median_grad`].
///
/// # Errors
/// As [`median_grad`].
pub fn median_grad_of_equal(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    median: &View<'_>,
    indices: &View<'_>,
    dout: &View<'_>,
    with: &MedianGradOfEqualAttributes<'_>,
) -> Result<()> {
    let MedianGradOfEqualAttributes { axis, keep_dim, mode } = *with;
    expect_shape(x.dims(), dx.dims())?;
    expect_shape(dout.dims(), median.dims())?;
    spread(dx, Some((x, median)), indices, dout, axis, keep_dim, mode)
}

/// Distributes the gradient of each median to the elements that equal it, if the elements and the medians are
/// given, or to the elements at its indices.
fn spread(
    dx: &mut ViewMut<'_>,
    values: Option<(&View<'_>, &View<'_>)>,
    indices: &View<'_>,
    dout: &View<'_>,
    axis: &[i64],
    keep_dim: bool,
    mode: &str,
) -> Result<()> {
    let averages = averages(mode)?;
    let axes = resolve(dout.dims(), dx.dims(), axis, keep_dim, false)?;
    expect_shape(&[dout.dims(), &[2][usize::from(!averages)..]].concat(), indices.dims())?;
    let each = if averages { 2 } else { 1 };
    let (places, gradients) = (integers(indices)?, f64::load(dout)?);
    let (elements, medians) = match values {
        Some((x, median)) => (f64::load(&rows_last(x, &axes)?.0)?, f64::load(median)?),
        None => (vec![], vec![]),
    };
    let len: usize = axes.iter().map(|&axis| dx.dims()[axis]).product();
    let mut values = vec![0.0; dx.len()];
    for (row, (&gradient, places)) in gradients.iter().zip(places.chunks_exact(each)).enumerate() {
        let target = &mut values[row * len..][..len];
        let of_row = elements.get(row * len..(row + 1) * len).unwrap_or_default();
        let is_median = |value: &&f64| medians.get(row) == Some(*value);
        let count = of_row.iter().filter(is_median).count();
        if count > 0 {
            let equal = target.iter_mut().zip(of_row).filter(|(_, value)| is_median(value));
            equal.for_each(|(target, _)| *target = gradient / count as f64);
            continue;
        }
        for &place in places.iter().filter(|&&place| place != -1) {
            target[crate::tensor::axis::index(place, len)?] += gradient / each as f64;
        }
    }
    let order = with_last(dx.dims().len(), &axes);
    let mut target = dx.reborrow().permute(&order)?;
    with_float!(target.dtype(), T => {
        let values: Vec<T> = values.iter().map(|&value| value as T).collect();
        T::store(&mut target, &values)
    })
}
