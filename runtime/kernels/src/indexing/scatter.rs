//! Scattering values to indices.

use super::places::Places;
use crate::error::{Error, Result, expect_shape};
use crate::loops::movement;
use crate::reduction;
use crate::tensor::{View, ViewMut};

/// Copies `x` and replaces rows by their updates. If a row has several updates, the last one wins; if
/// `overwrite` is false, they are summed.
///
/// A column of indices counts as a vector.
///
/// # Errors
/// [`Error::Shape`], [`Error::Index`], [`Error::Rank`] without dimensions, [`Error::Type`] if types differ or
/// indices are not
/// integers.
pub fn scatter(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    index: &View<'_>,
    updates: &View<'_>,
    overwrite: bool,
) -> Result<()> {
    let places = Places::listed(x.dims(), index, 0)?;
    if overwrite { places.put(out, x, updates) } else { places.add(out, Some(x), updates, true) }
}

/// Computes the gradients of [`scatter`]. With respect to `x`: `dout`, with zeros in the replaced rows. With
/// respect to each update: its row of `dout`.
///
/// # Errors
/// As [`scatter`].
pub fn scatter_grad(
    dx: Option<&mut ViewMut<'_>>,
    dupdates: Option<&mut ViewMut<'_>>,
    index: &View<'_>,
    dout: &View<'_>,
) -> Result<()> {
    let places = Places::listed(dout.dims(), index, 0)?;
    let mut memory = None;
    let outs = dx.iter().map(|dx| &**dx).chain(dupdates.iter().map(|updates| &**updates));
    let shared = outs.into_iter().any(|out| out.shares_memory(dout));
    let dout = if shared { memory.insert(movement::packed(dout)?).view()? } else { dout.clone() };
    if let Some(dx) = dx {
        places.clear(dx, &dout)?;
    }
    dupdates.map_or(Ok(()), |dupdates| places.take(dupdates, &dout))
}

/// Copies `x` and adds updates to parts of it, which are selected as by [`gather_nd`](super::gather_nd).
///
/// # Errors
/// As [`scatter`].
pub fn scatter_nd_add(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    index: &View<'_>,
    updates: &View<'_>,
) -> Result<()> {
    Places::nd(x.dims(), index)?.add(out, Some(x), updates, false)
}

/// Computes the gradients of [`scatter_nd_add`]: `dout` with respect to `x`, and its selected parts with
/// respect to the updates.
///
/// # Errors
/// As [`scatter`].
pub fn scatter_nd_add_grad(
    dx: Option<&mut ViewMut<'_>>,
    dupdates: Option<&mut ViewMut<'_>>,
    index: &View<'_>,
    dout: &View<'_>,
) -> Result<()> {
    if let Some(dupdates) = dupdates {
        Places::nd(dout.dims(), index)?.take(dupdates, dout)?;
    }
    dx.map_or(Ok(()), |dx| whole(dx, dout))
}

fn whole(dx: &mut ViewMut<'_>, dout: &View<'_>) -> Result<()> {
    expect_shape(dout.dims(), dx.dims())?;
    movement::copy(dx, dout)
}

/// Copies `x` and adds values at indices along a dimension.
///
/// # Errors
/// As [`scatter`], and [`Error::Axis`].
pub fn index_add(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    index: &View<'_>,
    add_value: &View<'_>,
    axis: i64,
) -> Result<()> {
    Places::along(x.dims(), index, axis)?.add(out, Some(x), add_value, false)
}

/// Computes the gradients of [`index_add`]: `dout` with respect to `x`, and its parts at the indices with
/// respect to the values.
///
/// # Errors
/// As [`index_add`].
pub fn index_add_grad(
    dx: Option<&mut ViewMut<'_>>,
    dadd_value: Option<&mut ViewMut<'_>>,
    index: &View<'_>,
    dout: &View<'_>,
    axis: i64,
) -> Result<()> {
    if let Some(dadd_value) = dadd_value {
        Places::along(dout.dims(), index, axis)?.take(dadd_value, dout)?;
    }
    dx.map_or(Ok(()), |dx| whole(dx, dout))
}

/// Copies `x` and writes values at indices, or with `accumulate` adds them.
///
/// There is one index tensor for each of the first dimensions; the index tensors are broadcast to a common
/// shape. A boolean tensor stands for one index tensor for each of its dimensions. Values are broadcast to
/// the common shape followed by the dimensions without indices.
///
/// # Errors
/// As [`scatter`], and [`Error::Broadcast`].
pub fn index_put(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    indices: &[View<'_>],
    value: &View<'_>,
    accumulate: bool,
) -> Result<()> {
    let places = Places::of_lists(x.dims(), indices)?;
    let value = value.clone().drop_leading_ones(places.dims.len()).expand(&places.dims)?;
    if accumulate { places.add(out, Some(x), &value, false) } else { places.put(out, x, &value) }
}

/// Computes the gradients of [`index_put`]. With respect to `x`: `dout`, which without `accumulate` is zero
/// where values are written. With respect to the values: `dout` at their positions, summed over broadcast
/// dimensions.
///
/// # Errors
/// As [`index_put`].
pub fn index_put_grad(
    dx: Option<&mut ViewMut<'_>>,
    dvalue: Option<&mut ViewMut<'_>>,
    indices: &[View<'_>],
    dout: &View<'_>,
    accumulate: bool,
) -> Result<()> {
    let places = Places::of_lists(dout.dims(), indices)?;
    let mut chosen = None;
    if dvalue.is_some() {
        let mut buffer = crate::Buffer::new(dout.dtype(), &places.dims)?;
        places.take(&mut buffer.view_mut()?, dout)?;
        chosen = Some(buffer);
    }
    if let Some(dx) = dx {
        if accumulate { whole(dx, dout)? } else { places.clear(dx, dout)? }
    }
    if let (Some(dvalue), Some(chosen)) = (dvalue, chosen) {
        let mut target = dvalue.reborrow();
        while target.dims().len() > places.dims.len() && target.dims()[0] == 1 {
            target = target.select(0, 0)?;
        }
        if target.dims().len() > places.dims.len() {
            return Err(Error::Broadcast { from: target.dims().to_vec(), to: places.dims });
        }
        reduction::sum_to(&mut target, &chosen.view()?)?;
    }
    Ok(())
}
