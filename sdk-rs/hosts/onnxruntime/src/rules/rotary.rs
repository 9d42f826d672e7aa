//! The rotation of queries and keys by angles that depend on their places.

use tenon::device::{DataType, Error, Result};
use tenon_operators::{TensorMut, TensorRef};

use super::attention::split_heads;
use super::binary;
use crate::kernel::{Call, Compute, Info};

/// The rotation of the elements of a head.
#[derive(Clone, Copy)]
pub(crate) struct Rotation {
    /// True if the two numbers of a pair are adjacent; otherwise they are half of the rotated width apart.
    pub(crate) is_interleaved: bool,
    /// The number of elements of a head that are rotated; `None` means all.
    pub(crate) width: Option<usize>,
}

impl Rotation {
    fn of(info: &Info) -> Self {
        let width = info.int("rotary_embedding_dim").and_then(|width| usize::try_from(width).ok());
        Self { is_interleaved: info.flag("interleaved"), width: width.filter(|width| *width > 0) }
    }

    /// Rotates pairs of the last dimension. Cosines and sines are broadcast to the pairs.
    pub(crate) fn apply(
        self,
        call: &Call<'_>,
        out: &mut TensorMut<'_>,
        x: &TensorRef<'_>,
        [cos, sin]: [&TensorRef<'_>; 2],
    ) -> Result<()> {
        let last = x.dims().len() - 1;
        let all = x.dims()[last];
        let width = self.width.unwrap_or(all);
        let pairs = width / 2;
        if width > all || !width.is_multiple_of(2) || cos.dims().last() != Some(&pairs) {
            return Err(Error::invalid(format!(
                "angles of the shape {:?} do not fit to {width} elements of a head with {all}",
                cos.dims()
            )));
        }
        let (second, step) = if self.is_interleaved { (1, 2) } else { (pairs, 1) };
        let (one, other) = (x.sliced(last, 0, pairs, step)?, x.sliced(last, second, pairs, step)?);
        let turn = |a: &TensorRef<'_>, b: &TensorRef<'_>| call.binary(a, b, binary!(multiply));
        let (kept, moved) = (turn(&one, cos)?, turn(&other, sin)?);
        let mut real = out.sliced(last, 0, pairs, step)?;
        call.run(|operators, launch| operators.subtract(launch, &mut real, &kept, &moved))?;
        let (kept, moved) = (turn(&other, cos)?, turn(&one, sin)?);
        let mut imaginary = out.sliced(last, second, pairs, step)?;
        call.run(|operators, launch| operators.add(launch, &mut imaginary, &kept, &moved))?;
        call.write(&mut out.sliced(last, width, all - width, 1)?, &x.sliced(last, width, all - width, 1)?)
    }
}

/// Returns the rows of a table of angles at places of the shape `[batch, length]`.
pub(crate) fn angles_at<'c>(
    call: &'c Call<'_>,
    table: &TensorRef<'c>,
    places: &TensorRef<'c>,
) -> Result<TensorRef<'c>> {
    let (&[_, pairs], &[batch, length]) = (table.dims(), places.dims()) else {
        return Err(Error::invalid(format!(
            "a table of angles {:?} or places {:?} do not have two dimensions",
            table.dims(),
            places.dims()
        )));
    };
    let places = call.contiguous(places)?.reshaped(&[batch * length])?;
    let mut rows = call.temporary(table.data_type(), &[batch * length, pairs])?;
    if !rows.is_empty() {
        call.run(|operators, launch| operators.gather(launch, &mut rows, table, &places, 0))?;
    }
    rows.into_input().reshaped(&[batch, length, pairs])
}

/// Rotates an input of the shape `[batch, heads, length, width]` or `[batch, length, heads * width]` by angles of the shape
/// `[batch, length, pairs]`.
fn rotate(
    call: &Call<'_>,
    rotation: Rotation,
    heads: Option<usize>,
    [cos, sin]: [&TensorRef<'_>; 2],
) -> Result<()> {
    let x = call.input(0)?;
    let mut out = call.output(0, x.dims())?;
    if out.is_empty() {
        return Ok(());
    }
    let dims = x.dims().to_vec();
    if let [_, _, _, _] = *dims {
        let (cos, sin) = (cos.unsqueezed(1)?, sin.unsqueezed(1)?);
        return rotation.apply(call, &mut out, &x, [&cos, &sin]);
    }
    let pairs = cos.dims().last().copied().unwrap_or(0);
    let count = match heads {
        Some(count) => count,
        None => dims.last().copied().unwrap_or(0) / (2 * pairs).max(1),
    };
    let x = split_heads(&x, count)?;
    let mut out = out.reshaped(x.dims())?;
    let (cos, sin) = (cos.unsqueezed(2)?, sin.unsqueezed(2)?);
    rotation.apply(call, &mut out, &x, [&cos, &sin])
}

/// Returns the number of heads that an attribute gives; 0 is none.
pub(crate) fn heads_of(info: &Info, name: &str) -> Option<usize> {
    info.int(name).and_then(|count| usize::try_from(count).ok()).filter(|count| *count > 0)
}

/// Rotates the elements of heads by tables of angles, at places that may be an input.
pub(crate) fn rotary_embedding(info: &Info) -> Result<Compute> {
    let (rotation, heads) = (Rotation::of(info), heads_of(info, "num_heads"));
    Ok(Box::new(move |call| {
        let (cos, sin) = (call.input(1)?, call.input(2)?);
        match call.optional(3)? {
            None => rotate(call, rotation, heads, [&cos, &sin]),
            Some(places) => {
                let (cos, sin) = (angles_at(call, &cos, &places)?, angles_at(call, &sin, &places)?);
                rotate(call, rotation, heads, [&cos, &sin])
            }
        }
    }))
}

/// Rotates the elements of heads by tables of angles, at given places or from a first one on.
///
/// The source of the form is the description of `RotaryEmbedding` among the operators of ONNX Runtime.
pub(crate) fn fused_rotary_embedding(info: &Info) -> Result<Compute> {
    let (rotation, heads) = (Rotation::of(info), heads_of(info, "num_heads"));
    if info.float("scale").is_some_and(|scale| scale != 1.0) {
        return info.refuse("a scale");
    }
    if info.flag("is_packed_batching") {
        return info.refuse("batches without padding");
    }
    Ok(Box::new(move |call| {
        let (places, cos, sin) = (call.input(1)?, call.input(2)?, call.input(3)?);
        let places = match *places.dims() {
            [1] => {
                let dims = call.input_dims(0)?;
                let (batch, length) = match *dims {
                    [batch, _, length, _] | [batch, length, _] => (batch, length),
                    _ => return Err(Error::invalid(format!("{dims:?} are no heads"))),
                };
                let steps: Vec<i64> = (0..length as i64).collect();
                let steps = call.upload_integers(&[1, length], &steps)?;
                call.binary(&steps, &call.cast(&places, DataType::INT64)?, binary!(add))?
                    .expanded(&[batch, length])?
            }
            _ => places,
        };
        let (cos, sin) = (angles_at(call, &cos, &places)?, angles_at(call, &sin, &places)?);
        rotate(call, rotation, heads, [&cos, &sin])
    }))
}
