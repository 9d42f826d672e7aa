//! Nodes that make tensors, or add to them.

use tenon::device::{DataType, Error, Result};
use tenon_operators::attributes::Pad3dAttributes;
use tenon_operators::{TensorMut, TensorRef};

use super::binary;
use super::shapes::{axes_of, lengths};
use crate::kernel::{Call, Compute, Info};

/// Adds a border to a tensor.
pub(crate) fn pad(info: &Info) -> Result<Compute> {
    let mode = match info.text("mode").as_deref() {
        None | Some("constant") => "constant",
        Some("reflect") => "reflect",
        Some("edge") => "replicate",
        Some("wrap") => "circular",
        Some(other) => return info.refuse(other),
    };
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let rank = x.dims().len();
        let pads = call.integers(1)?.unwrap_or_default();
        let axes = match call.integers(3)? {
            Some(axes) => axes.iter().map(|axis| x.dimension(*axis)).collect::<Result<Vec<_>>>()?,
            None => (0..rank).collect(),
        };
        if pads.len() != 2 * axes.len() {
            return Err(Error::invalid("there must be two pads for each dimension"));
        }
        let mut paddings = vec![(0, 0); rank];
        for (index, axis) in axes.iter().enumerate() {
            paddings[*axis] = (pads[index], pads[index + axes.len()]);
        }
        let padded = |(dim, (before, behind)): (&usize, &(i64, i64))| {
            let len = (*dim as i64).saturating_add(*before).saturating_add(*behind);
            usize::try_from(len).map_err(|_| Error::invalid("the pads cut off more than there is"))
        };
        let dims = x.dims().iter().zip(&paddings).map(padded).collect::<Result<Vec<_>>>()?;
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        if mode == "constant" {
            let value = call.numbers(2)?.and_then(|numbers| numbers.first().copied()).unwrap_or(0.0);
            if x.is_empty() {
                return call.write(&mut out, &call.filled(x.data_type(), &dims, value)?);
            }
            let flat: Vec<i64> = paddings.iter().flat_map(|(before, behind)| [*before, *behind]).collect();
            return call.run(|operators, launch| operators.pad(launch, &mut out, &x, &flat, value));
        }
        bordered(call, &mut out, &x, &paddings, mode)
    }))
}

/// Adds a border that comes from the elements, along each dimension in turn.
fn bordered(
    call: &Call<'_>,
    out: &mut TensorMut<'_>,
    x: &TensorRef<'_>,
    paddings: &[(i64, i64)],
    mode: &str,
) -> Result<()> {
    if x.data_type() == DataType::BOOL {
        return Err(Error::unsupported("borders of truth values"));
    }
    let mut whole = x.clone();
    for (axis, (before, behind)) in paddings.iter().enumerate() {
        if (*before, *behind) == (0, 0) {
            continue;
        }
        let mut dims = whole.dims().to_vec();
        let rows: usize = dims[..axis].iter().product();
        let columns: usize = dims[axis + 1..].iter().product();
        let len = dims[axis];
        dims[axis] = (len as i64 + before + behind) as usize;
        if len == 0 || (mode == "reflect" && (*before >= len as i64 || *behind >= len as i64)) {
            return Err(Error::unsupported("a border that is wider than the tensor"));
        }
        let view = call.contiguous(&whole)?.reshaped(&[1, rows, len, columns])?;
        let mut part = call.temporary(x.data_type(), &dims)?;
        let flat = [0, 0, *before, *behind];
        let attributes = Pad3dAttributes { paddings: &flat, mode, pad_value: 0.0, data_format: "NCHW" };
        let mut target = part.reshaped(&[1, rows, dims[axis], columns])?;
        call.run(|operators, launch| operators.pad3d(launch, &mut target, &view, &attributes))?;
        whole = part.into_input();
    }
    call.write(out, &whole)
}

/// A tensor with one value.
pub(crate) fn constant_of_shape(info: &Info) -> Result<Compute> {
    let value = info.element("value")?;
    Ok(Box::new(move |call| {
        let dims = lengths(&call.integers(0)?.unwrap_or_default())?;
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        let (ty, bytes) = value.clone().unwrap_or((DataType::FLOAT32, vec![0; 4]));
        if ty != out.data_type() {
            return Err(Error::invalid("the value is of another type than the output"));
        }
        let value = call.upload(ty, &[], &bytes)?.expanded(&dims)?;
        call.write(&mut out, &value)
    }))
}

/// Numbers from a start to a limit.
pub(crate) fn range(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let one = |index| {
            let numbers = call.numbers(index)?.unwrap_or_default();
            numbers.first().copied().ok_or_else(|| Error::invalid("a number is missing"))
        };
        let (start, limit, delta) = (one(0)?, one(1)?, one(2)?);
        if delta == 0.0 {
            return Err(Error::invalid("the step is 0"));
        }
        let count = ((limit - start) / delta).ceil().max(0.0);
        let mut out = call.output(0, &[count as usize])?;
        if out.is_empty() {
            return Ok(());
        }
        let ty = out.data_type();
        let [start, limit, delta] = [start, limit, delta].map(|number| call.filled(ty, &[], number));
        let (start, limit, delta) = (start?, limit?, delta?);
        call.run(|operators, launch| operators.arange_tensor(launch, &mut out, &start, &limit, &delta))
    }))
}

/// Ones on a diagonal, and zeros elsewhere.
pub(crate) fn eye_like(info: &Info) -> Result<Compute> {
    let offset = info.int("k").unwrap_or(0);
    Ok(Box::new(move |call| {
        let dims = call.input_dims(0)?;
        let &[rows, columns] = &dims[..] else { return Err(Error::invalid("a matrix is expected")) };
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        if out.data_type() == DataType::BOOL {
            return Err(Error::unsupported("matrices of truth values"));
        }
        // A larger matrix has the diagonal where this one wants it.
        let (down, right) =
            if offset < 0 { (offset.unsigned_abs() as usize, 0) } else { (0, offset as usize) };
        let side = rows.max(columns) + down.max(right);
        let mut whole = call.temporary(out.data_type(), &[side, side])?;
        call.run(|operators, launch| operators.eye(launch, &mut whole))?;
        let whole = whole.into_input();
        // An element of the result at (i, i + k) is one of the diagonal at (i + right, i + right).
        let part = whole.sliced(0, right, rows, 1)?.sliced(1, down, columns, 1)?;
        call.write(&mut out, &part)
    }))
}

/// One value at an index along a new dimension, and another value elsewhere.
pub(crate) fn one_hot(info: &Info) -> Result<Compute> {
    let axis = info.int("axis").unwrap_or(-1);
    Ok(Box::new(move |call| {
        let (indices, values) = (call.input(0)?, call.input(2)?);
        let depth = call.numbers(1)?.and_then(|numbers| numbers.first().copied());
        let depth = depth
            .filter(|depth| *depth >= 0.0)
            .ok_or_else(|| Error::invalid("the depth is missing"))? as usize;
        let rank = indices.dims().len() + 1;
        let index = axes_of(&[axis], rank)?[0];
        let mut dims = indices.dims().to_vec();
        dims.insert(index, depth);
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        let indices = call.cast(&indices, DataType::INT64)?.unsqueezed(index)?;
        let mut shape = vec![1; rank];
        shape[index] = depth;
        let list =
            |first: i64| call.upload_integers(&shape, &(first..first + depth as i64).collect::<Vec<_>>());
        // Negative indices count from the end.
        let (places, from_end) = (list(0)?, list(-(depth as i64))?);
        let equal = |places: &TensorRef<'_>| call.compare(&indices, places, binary!(equal));
        let (front, back) = (equal(&places)?, equal(&from_end)?);
        let (off, on) = (values.selected(0, 0)?, values.selected(0, 1)?);
        let mut first = call.temporary(out.data_type(), &dims)?;
        call.run(|operators, launch| operators.select(launch, &mut first, &back, &on, &off))?;
        let first = first.into_input();
        call.run(|operators, launch| operators.select(launch, &mut out, &front, &on, &first))
    }))
}

/// One triangle of matrices, and zeros in the other one.
pub(crate) fn trilu(info: &Info) -> Result<Compute> {
    let is_upper = info.int("upper").unwrap_or(1) != 0;
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let diagonal = call.integers(1)?.and_then(|numbers| numbers.first().copied()).unwrap_or(0);
        let mut out = call.output(0, x.dims())?;
        if out.is_empty() {
            return Ok(());
        }
        call.run(|operators, launch| operators.tril_triu(launch, &mut out, &x, diagonal, !is_upper))
    }))
}
