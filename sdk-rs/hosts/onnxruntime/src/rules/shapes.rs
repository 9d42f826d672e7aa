//! Nodes that give elements another shape or another order.

use tenon::device::{Error, Result};
use tenon_operators::attributes::StridedSliceAttributes;
use tenon_operators::{TensorRef, broadcast};

use crate::kernel::{Call, Compute, Info};

/// Returns the index of a dimension, of which negative ones count from the end.
pub(crate) fn axis_of(axis: i64, rank: usize) -> Result<usize> {
    let signed = rank as i64;
    if (-signed..signed).contains(&axis) || (rank == 0 && (axis == 0 || axis == -1)) {
        Ok(axis.rem_euclid(signed.max(1)) as usize)
    } else {
        Err(Error::invalid(format!("there is no dimension {axis} among {rank}")))
    }
}

/// Returns the indices of dimensions in order.
pub(crate) fn axes_of(axes: &[i64], rank: usize) -> Result<Vec<usize>> {
    let mut axes = axes.iter().map(|axis| axis_of(*axis, rank)).collect::<Result<Vec<_>>>()?;
    axes.sort_unstable();
    if axes.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::invalid("a dimension is named twice"));
    }
    Ok(axes)
}

/// Returns lengths that a model gives.
pub(crate) fn lengths(dims: &[i64]) -> Result<Vec<usize>> {
    let length =
        |dim: &i64| usize::try_from(*dim).map_err(|_| Error::invalid(format!("a dimension is {dim}")));
    dims.iter().map(length).collect()
}

/// Writes the elements of the first input, which keep their order, with another shape.
fn reshape_to(call: &Call<'_>, dims: &[usize]) -> Result<()> {
    let x = call.input(0)?;
    let reshaped = x.reshaped(dims)?;
    let mut out = call.output(0, dims)?;
    call.write(&mut out, &reshaped)
}

/// Gives a tensor the shape of the second input.
pub(crate) fn reshape(info: &Info) -> Result<Compute> {
    let keeps_zeros = info.flag("allowzero");
    Ok(Box::new(move |call| {
        let dims = call.input_dims(0)?;
        let wanted = call.integers(1)?.unwrap_or_default();
        let mut shape = Vec::with_capacity(wanted.len());
        for (index, wanted) in wanted.iter().enumerate() {
            shape.push(match wanted {
                0 if !keeps_zeros => *dims
                    .get(index)
                    .ok_or_else(|| Error::invalid("a dimension is copied that the input lacks"))?,
                -1 => 1,
                wanted => lengths(&[*wanted])?[0],
            });
        }
        if let Some(unknown) = wanted.iter().position(|wanted| *wanted == -1) {
            let (known, total) = (shape.iter().product::<usize>(), dims.iter().product::<usize>());
            if known == 0 || !total.is_multiple_of(known) {
                return Err(Error::invalid(format!("the shape {dims:?} does not fit into {wanted:?}")));
            }
            shape[unknown] = total / known;
        }
        reshape_to(call, &shape)
    }))
}

/// Makes a matrix of a tensor.
pub(crate) fn flatten(info: &Info) -> Result<Compute> {
    let axis = info.int("axis").unwrap_or(1);
    Ok(Box::new(move |call| {
        let dims = call.input_dims(0)?;
        let rank = dims.len() as i64;
        if !(-rank..=rank).contains(&axis) {
            return Err(Error::invalid(format!("there is no dimension {axis} in {dims:?}")));
        }
        let axis = if axis < 0 { axis + rank } else { axis } as usize;
        reshape_to(call, &[dims[..axis].iter().product(), dims[axis..].iter().product()])
    }))
}

/// Returns the dimensions that an attribute, or else an input, names.
fn named_axes(call: &Call<'_>, attribute: Option<&[i64]>, input: usize) -> Result<Option<Vec<i64>>> {
    match attribute {
        Some(axes) => Ok(Some(axes.to_vec())),
        None => call.integers(input),
    }
}

/// Removes dimensions of length one.
pub(crate) fn squeeze(info: &Info) -> Result<Compute> {
    let attribute = info.ints("axes");
    Ok(Box::new(move |call| {
        let dims = call.input_dims(0)?;
        let removed = match named_axes(call, attribute.as_deref(), 1)? {
            Some(axes) => axes_of(&axes, dims.len())?,
            None => (0..dims.len()).filter(|axis| dims[*axis] == 1).collect(),
        };
        if removed.iter().any(|axis| dims[*axis] != 1) {
            return Err(Error::invalid(format!("a dimension of {dims:?} that is removed is not 1")));
        }
        let kept: Vec<usize> =
            (0..dims.len()).filter(|axis| !removed.contains(axis)).map(|axis| dims[axis]).collect();
        reshape_to(call, &kept)
    }))
}

/// Adds dimensions of length one.
pub(crate) fn unsqueeze(info: &Info) -> Result<Compute> {
    let attribute = info.ints("axes");
    Ok(Box::new(move |call| {
        let dims = call.input_dims(0)?;
        let axes = named_axes(call, attribute.as_deref(), 1)?.unwrap_or_default();
        let rank = dims.len() + axes.len();
        let added = axes_of(&axes, rank)?;
        let mut rest = dims.iter();
        let mut next = |axis| if added.contains(&axis) { Some(1) } else { rest.next().copied() };
        let shape: Vec<usize> = (0..rank).map_while(&mut next).collect();
        reshape_to(call, &shape)
    }))
}

/// Changes the order of the dimensions.
pub(crate) fn transpose(info: &Info) -> Result<Compute> {
    let order = info.ints("perm");
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let rank = x.dims().len();
        let order: Vec<usize> = match &order {
            Some(order) => lengths(order)?,
            None => (0..rank).rev().collect(),
        };
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..rank) {
            return Err(Error::invalid(format!("{order:?} is no order of {rank} dimensions")));
        }
        let view = x.permuted(&order)?;
        let mut out = call.output(0, view.dims())?;
        if out.is_empty() {
            return Ok(());
        }
        let axis: Vec<i64> = order.iter().map(|axis| *axis as i64).collect();
        call.run(|operators, launch| operators.transpose(launch, &mut out, &x, &axis))
    }))
}

/// Joins tensors along a dimension.
pub(crate) fn concat(info: &Info) -> Result<Compute> {
    let axis = info.int("axis").unwrap_or(1);
    Ok(Box::new(move |call| {
        let inputs = call.all_inputs()?;
        let first = inputs.first().ok_or_else(|| Error::invalid("there are no inputs"))?;
        let index = first.dimension(axis)?;
        let mut dims = first.dims().to_vec();
        if dims.is_empty() {
            return Err(Error::invalid("tensors without dimensions cannot be joined"));
        }
        let fits = |input: &TensorRef<'_>| {
            input.dims().len() == dims.len()
                && input
                    .dims()
                    .iter()
                    .zip(&dims)
                    .enumerate()
                    .all(|(axis, (one, other))| axis == index || one == other)
        };
        if !inputs.iter().all(fits) {
            return Err(Error::invalid("the shapes of the inputs differ in another dimension"));
        }
        dims[index] = inputs.iter().map(|input| input.dims()[index]).sum();
        let mut out = call.output(0, &dims)?;
        let parts: Vec<TensorRef<'_>> = inputs.into_iter().filter(|input| !input.is_empty()).collect();
        if out.is_empty() {
            return Ok(());
        }
        call.run(|operators, launch| operators.concat(launch, &mut out, &parts, index as i64))
    }))
}

/// Splits a tensor along a dimension: into the lengths of an attribute or of the second input, or evenly.
pub(crate) fn split(info: &Info) -> Result<Compute> {
    let axis = info.int("axis").unwrap_or(0);
    let attribute = info.ints("split");
    let outputs = info.outputs();
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let index = x.dimension(axis)?;
        let whole = *x
            .dims()
            .get(index)
            .ok_or_else(|| Error::invalid("a tensor without dimensions cannot be split"))?;
        let parts = match named_axes(call, attribute.as_deref(), 1)? {
            Some(parts) => lengths(&parts)?,
            None => {
                let part = whole.div_ceil(outputs.max(1));
                (0..outputs).map(|output| part.min(whole.saturating_sub(output * part))).collect()
            }
        };
        if parts.iter().sum::<usize>() != whole || parts.len() != outputs {
            return Err(Error::invalid(format!("{whole} elements cannot be split into {parts:?}")));
        }
        let mut start = 0;
        for (output, len) in parts.into_iter().enumerate() {
            let part = x.sliced(index, start, len, 1)?;
            start += len;
            if let Some(mut out) = call.optional_output(output, part.dims())? {
                call.write(&mut out, &part)?;
            }
        }
        Ok(())
    }))
}

/// Selects ranges along dimensions, which attributes or inputs give.
pub(crate) fn slice(info: &Info) -> Result<Compute> {
    let attributes = info.ints("starts").zip(info.ints("ends"));
    let axes = info.ints("axes");
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let (starts, ends) = match &attributes {
            Some((starts, ends)) => (starts.clone(), ends.clone()),
            None => (call.integers(1)?.unwrap_or_default(), call.integers(2)?.unwrap_or_default()),
        };
        let axes = match (&axes, &attributes) {
            (Some(axes), _) => Some(axes.clone()),
            (None, Some(_)) => None,
            (None, None) => call.integers(3)?,
        };
        let steps = if attributes.is_some() { None } else { call.integers(4)? };
        let axes = axes.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
        if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
            return Err(Error::invalid("starts, ends, axes and steps have different lengths"));
        }
        let mut dims = x.dims().to_vec();
        let mut ranges = Vec::with_capacity(axes.len());
        for (((axis, start), end), step) in axes.iter().zip(&starts).zip(&ends).zip(&steps) {
            let index = x.dimension(*axis)?;
            let len = *x
                .dims()
                .get(index)
                .ok_or_else(|| Error::invalid("a tensor without dimensions has no ranges"))?;
            let range = Range::of(*start, *end, *step, len as i64)?;
            dims[index] = range.count;
            ranges.push((index as i64, range));
        }
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        if ranges.iter().all(|(_, range)| range.step > 0) {
            let mut part = x.clone();
            for (index, range) in &ranges {
                part =
                    part.sliced(*index as usize, range.start as usize, range.count, range.step as usize)?;
            }
            return call.write(&mut out, &part);
        }
        let list = |of: fn(&Range) -> i64| ranges.iter().map(|(_, range)| of(range)).collect::<Vec<_>>();
        let axes: Vec<i64> = ranges.iter().map(|(axis, _)| *axis).collect();
        let (starts, ends, strides) = (list(|range| range.start), list(Range::end), list(|range| range.step));
        let attributes =
            StridedSliceAttributes { axes: &axes, starts: &starts, ends: &ends, strides: &strides };
        call.run(|operators, launch| operators.strided_slice(launch, &mut out, &x, &attributes))
    }))
}

/// A range of indices of a dimension.
struct Range {
    start: i64,
    step: i64,
    count: usize,
    len: i64,
}

impl Range {
    fn of(start: i64, end: i64, step: i64, len: i64) -> Result<Self> {
        if step == 0 {
            return Err(Error::invalid("a step is 0"));
        }
        let from_end = |index: i64| if index < 0 { index.saturating_add(len) } else { index };
        let (lowest, highest) = if step > 0 { (0, len) } else { (-1, len - 1) };
        let start = from_end(start).clamp(if step > 0 { 0 } else { -1 }, highest);
        let end = from_end(end).clamp(lowest, highest.max(lowest));
        let way = if step > 0 { end - start } else { start - end };
        let count = if way <= 0 { 0 } else { (way as u64).div_ceil(step.unsigned_abs()) as usize };
        Ok(Self { start, step, count, len })
    }

    /// Returns the end as the method wants it: before the first element there is none.
    fn end(&self) -> i64 {
        let end = self.start + self.step.saturating_mul(self.count as i64);
        if end < 0 { -self.len - 1 } else { end }
    }
}

/// Repeats dimensions of length one.
pub(crate) fn expand(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let x = call.input(0)?;
        let wanted = lengths(&call.integers(1)?.unwrap_or_default())?;
        let dims = broadcast(x.dims(), &wanted)?;
        let mut out = call.output(0, &dims)?;
        call.write(&mut out, &x.expanded(&dims)?)
    }))
}

/// Repeats the whole tensor along each dimension.
pub(crate) fn tile(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let x = call.input(0)?;
        let times = call.integers(1)?.unwrap_or_default();
        if times.len() != x.dims().len() {
            return Err(Error::invalid("there must be a number of repetitions for each dimension"));
        }
        let dims: Vec<usize> =
            x.dims().iter().zip(lengths(&times)?).map(|(dim, times)| dim * times).collect();
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        call.run(|operators, launch| operators.tile(launch, &mut out, &x, &times))
    }))
}

/// The lengths of the dimensions, or of some of them.
pub(crate) fn shape(info: &Info) -> Result<Compute> {
    let (start, end) = (info.int("start").unwrap_or(0), info.int("end").unwrap_or(i64::MAX));
    Ok(Box::new(move |call| {
        let dims = call.input_dims(0)?;
        let rank = dims.len() as i64;
        let index =
            |index: i64| if index < 0 { index.saturating_add(rank) } else { index }.clamp(0, rank) as usize;
        let (start, end) = (index(start), index(end));
        let lengths: Vec<i64> = dims[start..end.max(start)].iter().map(|dim| *dim as i64).collect();
        call.write_integers(0, &[lengths.len()], &lengths)
    }))
}

/// The number of elements.
pub(crate) fn size(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let count: usize = call.input_dims(0)?.iter().product();
        call.write_integers(0, &[], &[count as i64])
    }))
}

/// Moves channels into blocks of pixels.
pub(crate) fn depth_to_space(info: &Info) -> Result<Compute> {
    let block = lengths(&[info.int("blocksize").unwrap_or(1)])?[0];
    let is_column = info.text("mode").as_deref() == Some("CRD");
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let &[batch, channels, height, width] = x.dims() else {
            return Err(Error::invalid("images have four dimensions"));
        };
        if block == 0 || !channels.is_multiple_of(block * block) {
            return Err(Error::invalid(format!("{channels} channels are not a multiple of the block")));
        }
        let rest = channels / (block * block);
        let view = if is_column {
            x.reshaped(&[batch, rest, block, block, height, width])?.permuted(&[0, 1, 4, 2, 5, 3])?
        } else {
            x.reshaped(&[batch, block, block, rest, height, width])?.permuted(&[0, 3, 4, 1, 5, 2])?
        };
        let mut out = call.output(0, &[batch, rest, height * block, width * block])?;
        let moved = call.contiguous(&view)?.reshaped(&[batch, rest, height * block, width * block])?;
        call.write(&mut out, &moved)
    }))
}

/// Moves blocks of pixels into channels.
pub(crate) fn space_to_depth(info: &Info) -> Result<Compute> {
    let block = lengths(&[info.int("blocksize").unwrap_or(1)])?[0];
    if info.text("mode").is_some_and(|mode| mode != "DCR") {
        return info.refuse("this mode");
    }
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let &[batch, channels, height, width] = x.dims() else {
            return Err(Error::invalid("images have four dimensions"));
        };
        if block == 0 || !height.is_multiple_of(block) || !width.is_multiple_of(block) {
            return Err(Error::invalid("the image is not a multiple of the block"));
        }
        let (rows, columns) = (height / block, width / block);
        let view =
            x.reshaped(&[batch, channels, rows, block, columns, block])?.permuted(&[0, 3, 5, 1, 2, 4])?;
        let dims = [batch, channels * block * block, rows, columns];
        let mut out = call.output(0, &dims)?;
        let moved = call.contiguous(&view)?.reshaped(&dims)?;
        call.write(&mut out, &moved)
    }))
}
