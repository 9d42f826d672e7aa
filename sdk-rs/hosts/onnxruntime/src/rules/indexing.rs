//! Nodes that select elements by indices or conditions, or replace them.

use tenon::device::{DataType, Error, Result};
use tenon_operators::attributes::PutAlongAxisAttributes;
use tenon_operators::{TensorMut, TensorRef};

use super::binary;
use crate::kernel::{Call, Compute, Info};

/// Selects the parts of a tensor at indices of a dimension.
pub(crate) fn gather(info: &Info) -> Result<Compute> {
    let axis = info.int("axis").unwrap_or(0);
    Ok(Box::new(move |call| {
        let (x, indices) = (call.input(0)?, call.input(1)?);
        let index = x.dimension(axis)?;
        if x.dims().is_empty() {
            return Err(Error::invalid("a tensor without dimensions has no parts"));
        }
        let dims = [&x.dims()[..index], indices.dims(), &x.dims()[index + 1..]].concat();
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        // As a list, so that a column of indices is no list.
        let list = indices.reshaped(&[indices.len()])?;
        let flat = [&x.dims()[..index], &[list.len()], &x.dims()[index + 1..]].concat();
        let mut out = out.reshaped(&flat)?;
        call.run(|operators, launch| operators.gather(launch, &mut out, &x, &list, index as i64))
    }))
}

/// Selects each element at its own index of a dimension.
pub(crate) fn gather_elements(info: &Info) -> Result<Compute> {
    let axis = info.int("axis").unwrap_or(0);
    Ok(Box::new(move |call| {
        let (x, indices) = (call.input(0)?, call.input(1)?);
        let index = x.dimension(axis)?;
        if x.dims().is_empty() {
            return Err(Error::invalid("a tensor without dimensions has no elements"));
        }
        let mut out = call.output(0, indices.dims())?;
        if out.is_empty() {
            return Ok(());
        }
        call.run(|operators, launch| operators.take_along_axis(launch, &mut out, &x, &indices, index as i64))
    }))
}

/// Returns rows of indices as numbers from zero on: those of negative indices count from the end of their dimension.
fn rows_from_start<'c>(call: &'c Call<'_>, indices: &TensorRef<'c>, dims: &[usize]) -> Result<TensorRef<'c>> {
    let indices = call.cast(indices, DataType::INT64)?;
    if indices.is_empty() {
        return Ok(indices);
    }
    let zero = call.filled(DataType::INT64, &[], 0.0)?;
    let is_negative = call.compare(&indices, &zero, binary!(less_than))?;
    let lengths: Vec<i64> = dims.iter().map(|dim| *dim as i64).collect();
    let lengths = call.upload_integers(&[lengths.len()], &lengths)?;
    let moved = call.binary(&indices, &lengths, binary!(add))?;
    let mut out = call.temporary(DataType::INT64, indices.dims())?;
    call.run(|operators, launch| operators.select(launch, &mut out, &is_negative, &moved, &indices))?;
    Ok(out.into_input())
}

/// Returns the number of dimensions that rows of indices select in.
fn depth_of(x: &TensorRef<'_>, indices: &TensorRef<'_>, batch: usize) -> Result<usize> {
    let depth = *indices.dims().last().ok_or_else(|| Error::invalid("indices need a dimension"))?;
    let rank = x.dims().len();
    if batch + depth > rank || batch >= indices.dims().len() || x.dims()[..batch] != indices.dims()[..batch] {
        return Err(Error::invalid(format!("indices {:?} do not fit to {:?}", indices.dims(), x.dims())));
    }
    Ok(depth)
}

/// Selects the parts of a tensor at rows of indices.
pub(crate) fn gather_nd(info: &Info) -> Result<Compute> {
    let batch = usize::try_from(info.int("batch_dims").unwrap_or(0)).unwrap_or(0);
    Ok(Box::new(move |call| {
        let (x, indices) = (call.input(0)?, call.input(1)?);
        let depth = depth_of(&x, &indices, batch)?;
        let rows = &indices.dims()[..indices.dims().len() - 1];
        let dims = [rows, &x.dims()[batch + depth..]].concat();
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        if batch == 0 {
            return call.run(|operators, launch| operators.gather_nd(launch, &mut out, &x, &indices));
        }
        // The index in the batch becomes a further index.
        let count: usize = x.dims()[..batch].iter().product();
        let each: usize = rows[batch..].iter().product();
        let whole = [&[count], &x.dims()[batch..]].concat();
        let places: Vec<i64> = (0..count as i64).collect();
        let places = call.upload_integers(&[count, 1, 1], &places)?.expanded(&[count, each, 1])?;
        let indices = call.cast(&indices, DataType::INT64)?.reshaped(&[count, each, depth])?;
        let mut joined = call.temporary(DataType::INT64, &[count, each, depth + 1])?;
        call.write(&mut joined.sliced(2, 0, 1, 1)?, &places)?;
        call.write(&mut joined.sliced(2, 1, depth, 1)?, &indices)?;
        let (joined, x) = (joined.into_input(), x.reshaped(&whole)?);
        let flat = [&[count, each], &x.dims()[1 + depth..]].concat();
        let mut out = out.reshaped(&flat)?;
        call.run(|operators, launch| operators.gather_nd(launch, &mut out, &x, &joined))
    }))
}

/// Returns the name of a reduction of the device.
fn reduction_of(info: &Info) -> Result<&'static str> {
    Ok(match info.text("reduction").as_deref() {
        None | Some("none") => "assign",
        Some("add") => "add",
        Some("mul") => "mul",
        Some("max") => "amax",
        Some("min") => "amin",
        Some(other) => return info.refuse(other),
    })
}

/// Replaces elements, or combines them with others, each at its own index of a dimension.
pub(crate) fn scatter_elements(info: &Info) -> Result<Compute> {
    let axis = info.int("axis").unwrap_or(0);
    let reduce = reduction_of(info)?;
    Ok(Box::new(move |call| {
        let (x, indices, updates) = (call.input(0)?, call.input(1)?, call.input(2)?);
        let index = x.dimension(axis)?;
        if x.dims().is_empty() {
            return Err(Error::invalid("a tensor without dimensions has no elements"));
        }
        let mut out = call.output(0, x.dims())?;
        if indices.is_empty() {
            return call.write(&mut out, &x);
        }
        put(call, &mut out, &x, &indices, &updates, index as i64, reduce)
    }))
}

/// Combines values with elements at indices of a dimension.
fn put(
    call: &Call<'_>,
    out: &mut TensorMut<'_>,
    x: &TensorRef<'_>,
    indices: &TensorRef<'_>,
    values: &TensorRef<'_>,
    axis: i64,
    reduce: &str,
) -> Result<()> {
    let attributes = PutAlongAxisAttributes { axis, reduce, include_self: true };
    if x.data_type() != DataType::BOOL {
        return call
            .run(|operators, launch| operators.put_along_axis(launch, out, x, indices, values, &attributes));
    }
    let (bytes, values) = (call.cast(x, DataType::UINT8)?, call.cast(values, DataType::UINT8)?);
    let mut result = call.temporary(DataType::UINT8, x.dims())?;
    call.run(|operators, launch| {
        operators.put_along_axis(launch, &mut result, &bytes, indices, &values, &attributes)
    })?;
    let result = result.into_input();
    call.run(|operators, launch| operators.cast(launch, out, &result))
}

/// Replaces the parts of a tensor at rows of indices, or combines them with others.
pub(crate) fn scatter_nd(info: &Info) -> Result<Compute> {
    let reduce = reduction_of(info)?;
    Ok(Box::new(move |call| {
        let (x, indices, updates) = (call.input(0)?, call.input(1)?, call.input(2)?);
        let depth = depth_of(&x, &indices, 0)?;
        let mut out = call.output(0, x.dims())?;
        if indices.is_empty() || updates.is_empty() {
            return call.write(&mut out, &x);
        }
        let rows = indices.len() / depth;
        let part: usize = x.dims()[depth..].iter().product();
        if updates.len() != rows * part {
            return Err(Error::invalid("there must be an update for each row of indices"));
        }
        // One index counts the parts: the sum of the indices times the distances of their dimensions.
        let lengths = &x.dims()[..depth];
        let indices = rows_from_start(call, &indices, lengths)?.reshaped(&[rows, depth])?;
        check_rows(call, &indices, lengths)?;
        let mut place = indices.selected(1, 0)?;
        for (axis, len) in lengths.iter().enumerate().skip(1) {
            let len = call.filled(DataType::INT64, &[], *len as f64)?;
            let before = call.binary(&place, &len, binary!(multiply))?;
            let next = indices.selected(1, axis)?;
            place = call.binary(&before, &next, binary!(add))?;
        }
        let parts: usize = lengths.iter().product();
        let (x, updates) = (x.reshaped(&[parts, part])?, updates.reshaped(&[rows, part])?);
        let places = place.unsqueezed(1)?.expanded(&[rows, part])?;
        let places = call.contiguous(&places)?;
        let mut out = out.reshaped(&[parts, part])?;
        put(call, &mut out, &x, &places, &updates, 0, reduce)
    }))
}

/// Refuses indices that are out of range: combined to one, they would be those of another part.
fn check_rows(call: &Call<'_>, indices: &TensorRef<'_>, lengths: &[usize]) -> Result<()> {
    let limits: Vec<i64> = lengths.iter().map(|len| *len as i64).collect();
    let limits = call.upload_integers(&[limits.len()], &limits)?;
    let zero = call.filled(DataType::INT64, &[], 0.0)?;
    let below = call.compare(indices, &zero, binary!(less_than))?;
    let above = call.compare(indices, &limits, binary!(greater_equal))?;
    let mut wrong = call.temporary(DataType::BOOL, indices.dims())?;
    call.run(|operators, launch| operators.logical_or(launch, &mut wrong, &below, &above))?;
    if call.download(&wrong.into_input())?.contains(&1) {
        return Err(Error::invalid("an index is out of range"));
    }
    Ok(())
}

/// The indices of the elements other than zero, a column for each.
pub(crate) fn nonzero(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let x = call.input(0)?;
        let rank = x.dims().len().max(1);
        if x.is_empty() {
            return call.output(0, &[rank, 0]).map(drop);
        }
        let x = x.with_a_dimension()?;
        let dims = call.run(|operators, launch| operators.nonzero_out_shape(launch, &x))?;
        let mut rows = call.temporary(DataType::INT64, &dims)?;
        if dims[0] > 0 {
            call.run(|operators, launch| operators.nonzero(launch, &mut rows, &x))?;
        }
        let mut out = call.output(0, &[rank, dims[0]])?;
        call.write(&mut out, &rows.into_input().transposed(0, 1)?)
    }))
}

/// Selects the parts of a tensor where a condition holds.
pub(crate) fn compress(info: &Info) -> Result<Compute> {
    let axis = info.int("axis");
    Ok(Box::new(move |call| {
        let (x, condition) = (call.input(0)?, call.input(1)?);
        let holds = call.download(&condition)?;
        let (x, index) = match axis {
            Some(axis) => {
                let index = x.dimension(axis)?;
                (x, index)
            }
            None => (x.reshaped(&[x.len()])?, 0),
        };
        let Some(&len) = x.dims().get(index) else {
            return Err(Error::invalid("a tensor without dimensions has no parts"));
        };
        let chosen: Vec<i64> =
            (0..).zip(holds.iter().take(len)).filter(|(_, holds)| **holds != 0).map(|(at, _)| at).collect();
        let mut dims = x.dims().to_vec();
        dims[index] = chosen.len();
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        let chosen = call.upload_integers(&[chosen.len()], &chosen)?;
        call.run(|operators, launch| operators.gather(launch, &mut out, &x, &chosen, index as i64))
    }))
}

/// The distinct elements in order, with their places and counts.
pub(crate) fn unique(info: &Info) -> Result<Compute> {
    let axis = info.int("axis");
    if info.int("sorted") == Some(0) {
        return info.refuse("distinct elements in the order of their first places");
    }
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let axes: Vec<i64> = axis.into_iter().collect();
        let len = match axis {
            Some(axis) => x.dims().get(x.dimension(axis)?).copied().unwrap_or(1),
            None => x.len(),
        };
        let dims = call.run(|operators, launch| operators.unique_out_shape(launch, &x, &axes, true))?;
        let count = match axis {
            Some(axis) => dims[x.dimension(axis)?],
            None => dims.iter().product(),
        };
        let mut out = call.output_or_temporary(0, x.data_type(), &dims)?;
        let mut indices = call.optional_output(1, &[count])?;
        let mut inverse = call.optional_output(2, &[len])?;
        let mut counts = call.optional_output(3, &[count])?;
        if x.is_empty() {
            return Ok(());
        }
        call.run(|operators, launch| {
            operators.unique(
                launch,
                &mut out,
                indices.as_mut(),
                inverse.as_mut(),
                counts.as_mut(),
                &x,
                &axes,
                true,
            )
        })
    }))
}

/// Reverses the first elements of each sequence of a batch.
pub(crate) fn reverse_sequence(info: &Info) -> Result<Compute> {
    let (time, batch) = (info.int("time_axis").unwrap_or(0), info.int("batch_axis").unwrap_or(1));
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let (time, batch) = (x.dimension(time)?, x.dimension(batch)?);
        let lengths = call.integers(1)?.unwrap_or_default();
        let dims = x.dims().to_vec();
        if dims.len() < 2 || time == batch || lengths.len() != dims[batch] {
            return Err(Error::invalid("there must be a length for each sequence"));
        }
        let steps = dims[time] as i64;
        if lengths.iter().any(|len| !(0..=steps).contains(len)) {
            return Err(Error::invalid("a length is out of range"));
        }
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        let place = |step: i64, len: i64| if step < len { len - 1 - step } else { step };
        let places: Vec<i64> = if time < batch {
            (0..steps).flat_map(|step| lengths.iter().map(move |len| place(step, *len))).collect()
        } else {
            lengths.iter().flat_map(|len| (0..steps).map(move |step| place(step, *len))).collect()
        };
        let mut shape = vec![1; dims.len()];
        (shape[time], shape[batch]) = (dims[time], dims[batch]);
        let places = call.upload_integers(&shape, &places)?.expanded(&dims)?;
        let places = call.contiguous(&places)?;
        call.run(|operators, launch| operators.take_along_axis(launch, &mut out, &x, &places, time as i64))
    }))
}
