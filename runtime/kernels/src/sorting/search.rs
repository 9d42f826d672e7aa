//! Positions in sorted rows.

use super::compare;
use crate::elements::accumulate::with_number;
use crate::error::{Error, Result, expect_shape};
use crate::loops::convert::Compute;
use crate::loops::slices::{Slot, store_integers};
use crate::tensor::{View, ViewMut};

/// Computes the positions at which values would be inserted into a sorted row: before equal elements, or with
/// `right` after them.
///
/// There is one row for all values, or one for each row of values.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`] if a type is complex.
pub fn searchsorted(
    out: &mut ViewMut<'_>,
    sorted_sequence: &View<'_>,
    values: &View<'_>,
    right: bool,
) -> Result<()> {
    fn run<T: Compute + Slot>(rows: &View<'_>, values: &View<'_>, right: bool) -> Result<Vec<i64>> {
        let (row_len, value_len) = match (rows.dims(), values.dims()) {
            ([len], _) => (*len, values.len()),
            ([outer @ .., len], [value_outer @ .., value_len]) if outer == value_outer => (*len, *value_len),
            (dims, actual) => return Err(Error::Shape { expected: dims.to_vec(), actual: actual.to_vec() }),
        };
        let (rows, values) = (T::load(rows)?, T::load(values)?);
        let places = values.iter().enumerate().map(|(n, &value)| {
            let row = &rows[n / value_len * row_len..][..row_len];
            row.partition_point(|&element| {
                let order = compare(element, value);
                order.is_lt() || (right && order.is_eq())
            }) as i64
        });
        Ok(places.collect())
    }
    expect_shape(values.dims(), out.dims())?;
    let places = if sorted_sequence.dtype().is_float() || values.dtype().is_float() {
        run::<f64>(sorted_sequence, values, right)
    } else {
        with_number!(values.dtype(), T => run::<T>(sorted_sequence, values, right))
    }?;
    store_integers(out, &places)
}
