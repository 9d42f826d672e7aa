//! Attention: values that are weighted by the products of queries and keys.
//!
//! Queries, keys and values are views of the shape `[batch, length, heads, width]`, as the device wants them. The nodes have
//! caches of the shape `[batch, heads, length, width]`. The sources of the fused nodes are their descriptions among the
//! operators of ONNX Runtime.

use tenon::device::{DataType, Error, Result};
use tenon_operators::{TensorMut, TensorRef, broadcast};

use super::binary;
use super::elementwise::scaled;
use super::products::{multiply, product_dims};
use super::rotary::{Rotation, angles_at, heads_of};
use crate::kernel::{Call, Compute, Info};

/// The scores that padding gets if a node does not say another number.
const FILTER: f64 = -10000.0;

/// Splits the last of three dimensions into heads.
pub(crate) fn split_heads<'t>(x: &TensorRef<'t>, heads: usize) -> Result<TensorRef<'t>> {
    match *x.dims() {
        [_, _, hidden] if heads > 0 && hidden.is_multiple_of(heads) => x.divided(2, hidden / heads),
        _ => Err(Error::invalid(format!("the shape {:?} cannot be split into {heads} heads", x.dims()))),
    }
}

/// Returns `[batch, length, heads * width]` or `[batch, heads, length, width]` as `[batch, length, heads, width]`.
fn as_heads<'t>(x: &TensorRef<'t>, heads: usize) -> Result<TensorRef<'t>> {
    if x.dims().len() == 4 { x.transposed(1, 2) } else { split_heads(x, heads) }
}

/// Which keys a query sees because of the places of both.
#[derive(Clone, Copy, Default)]
struct Reach<'a> {
    /// The place of the first query, for each sample or for all; a query sees no keys behind its place.
    first: Option<&'a [i64]>,
    /// The number of keys of each sample.
    lengths: Option<&'a [i64]>,
    /// The number of places before its own that a query sees.
    window: Option<i64>,
}

impl Reach<'_> {
    /// Returns true if the last query has the place of the last key, and sees all keys before it.
    fn is_causal(&self, queries: usize, keys: usize) -> bool {
        let fits = |first: &i64| first + queries as i64 == keys as i64;
        let is_aligned = self.first.is_some_and(|first| first.iter().all(fits));
        is_aligned && self.lengths.is_none() && self.window.is_none_or(|window| window >= keys as i64)
    }

    /// Makes a mask of the shape `[batch or 1, 1, queries, keys]` that is true where a query sees a key.
    fn mask<'c>(&self, call: &'c Call<'_>, queries: usize, keys: usize) -> Result<TensorRef<'c>> {
        let samples = self.first.map_or(1, <[_]>::len).max(self.lengths.map_or(1, <[_]>::len));
        let of = |list: Option<&[i64]>, sample: usize| {
            list.and_then(|list| if list.len() == 1 { list.first() } else { list.get(sample) }).copied()
        };
        let mut mask = Vec::with_capacity(samples * queries * keys);
        for sample in 0..samples {
            let first = of(self.first, sample);
            let length = of(self.lengths, sample).unwrap_or(keys as i64);
            for query in 0..queries as i64 {
                mask.extend((0..keys as i64).map(|key| {
                    let distance = first.map(|first| first + query - key);
                    let is_near = distance.is_none_or(|distance| {
                        distance >= 0 && self.window.is_none_or(|window| distance <= window)
                    });
                    u8::from(key < length && is_near)
                }));
            }
        }
        call.upload(DataType::BOOL, &[samples, 1, queries, keys], &mask)
    }
}

/// Returns a mask that hides what one of two masks hides. The second one has truth values.
fn both<'c>(call: &'c Call<'_>, mask: &TensorRef<'c>, seen: &TensorRef<'c>) -> Result<TensorRef<'c>> {
    if mask.data_type() == DataType::BOOL {
        return call.compare(mask, seen, binary!(logical_and));
    }
    let hidden = call.filled(mask.data_type(), &[], f64::NEG_INFINITY)?;
    let mut out = call.temporary(mask.data_type(), &broadcast(mask.dims(), seen.dims())?)?;
    call.run(|operators, launch| operators.select(launch, &mut out, seen, mask, &hidden))?;
    Ok(out.into_input())
}

/// Returns the number of queries and of keys.
fn lengths_of([q, k, v]: [&TensorRef<'_>; 3]) -> Result<(usize, usize)> {
    match (q.dims(), k.dims(), v.dims()) {
        (&[batch, queries, _, _], &[of_keys, keys, _, _], &[of_values, values, _, _])
            if batch == of_keys && batch == of_values && keys == values =>
        {
            Ok((queries, keys))
        }
        (q, k, v) => {
            Err(Error::invalid(format!("queries {q:?}, keys {k:?} and values {v:?} do not fit together")))
        }
    }
}

/// Weights values by the softmax of scores. A key that no query sees does not matter.
fn attend(
    call: &Call<'_>,
    out: &mut TensorMut<'_>,
    parts: [&TensorRef<'_>; 3],
    mask: Option<&TensorRef<'_>>,
    reach: Reach<'_>,
    scale: Option<f64>,
) -> Result<()> {
    let (queries, keys) = lengths_of(parts)?;
    if out.is_empty() {
        return Ok(());
    }
    if keys == 0 {
        return call.write(out, &call.filled(out.data_type(), out.dims(), 0.0)?);
    }
    let [q, k, v] = parts;
    let scale = scale.unwrap_or_else(|| (q.dims()[3] as f64).sqrt().recip());
    let is_causal = reach.is_causal(queries, keys);
    let seen = if is_causal || (reach.first.is_none() && reach.lengths.is_none()) {
        None
    } else {
        Some(reach.mask(call, queries, keys)?)
    };
    let mask = match (mask, seen) {
        (Some(mask), Some(seen)) => Some(both(call, mask, &seen)?),
        (mask, seen) => mask.cloned().or(seen),
    };
    call.run(|operators, launch| {
        operators.attention(launch, out, None, q, k, v, mask.as_ref(), scale, is_causal)
    })
}

/// Computes attention, and writes the first output as `[batch, length, heads * width]`.
fn attend_flat(
    call: &Call<'_>,
    parts: [&TensorRef<'_>; 3],
    mask: Option<&TensorRef<'_>>,
    reach: Reach<'_>,
    scale: Option<f64>,
) -> Result<()> {
    lengths_of(parts)?;
    let (q, v) = (parts[0].dims(), parts[2].dims());
    let mut out = call.output(0, &[q[0], q[1], q[2] * v[3]])?;
    attend(call, &mut out.reshaped(&[q[0], q[1], q[2], v[3]])?, parts, mask, reach, scale)
}

/// Returns the shape of a cache that has old keys or values, if there are any, and then new ones.
fn joined_dims(past: Option<&[usize]>, new: &[usize]) -> Result<[usize; 4]> {
    match (past, new) {
        (None, &[batch, after, heads, width]) => Ok([batch, heads, after, width]),
        (Some(&[batch, heads, before, width]), &[new_batch, after, new_heads, new_width])
            if [batch, heads, width] == [new_batch, new_heads, new_width] =>
        {
            Ok([batch, heads, before + after, width])
        }
        _ => Err(Error::invalid(format!("a cache {past:?} does not fit to new elements {new:?}"))),
    }
}

/// Writes old keys or values, if there are any, and then new ones to a cache.
fn join(
    call: &Call<'_>,
    present: &mut TensorMut<'_>,
    past: Option<&TensorRef<'_>>,
    new: &TensorRef<'_>,
) -> Result<()> {
    let mut before = 0;
    if let Some(past) = past {
        before = past.dims()[2];
        call.write(&mut present.sliced(2, 0, before, 1)?, past)?;
    }
    call.write(&mut present.sliced(2, before, new.dims()[1], 1)?, &new.transposed(1, 2)?)
}

/// Allocates a cache, which is needed if there are old keys or values, and otherwise if the node has the output.
fn cache<'c>(
    call: &'c Call<'_>,
    output: usize,
    has_past: bool,
    ty: DataType,
    dims: &[usize],
) -> Result<Option<TensorMut<'c>>> {
    if has_past {
        return call.output_or_temporary(output, ty, dims).map(Some);
    }
    call.optional_output(output, dims)
}

/// Returns old keys or values and then new ones, and writes them to an output that may be absent.
fn with_past<'c>(
    call: &'c Call<'_>,
    output: usize,
    past: Option<TensorRef<'c>>,
    new: TensorRef<'c>,
) -> Result<TensorRef<'c>> {
    let dims = joined_dims(past.as_ref().map(TensorRef::dims), new.dims())?;
    let Some(mut present) = cache(call, output, past.is_some(), new.data_type(), &dims)? else {
        return Ok(new);
    };
    join(call, &mut present, past.as_ref(), &new)?;
    present.into_input().transposed(1, 2)
}

/// Returns a mask with as many keys as there are. Further keys are hidden.
fn padded<'c>(call: &'c Call<'_>, mask: TensorRef<'c>, keys: usize) -> Result<TensorRef<'c>> {
    let Some((&given, before)) = mask.dims().split_last() else { return Ok(mask) };
    if given >= keys {
        return Ok(mask);
    }
    let axis = before.len();
    let mut whole = call.temporary(mask.data_type(), &[before, &[keys]].concat())?;
    call.write(&mut whole.sliced(axis, 0, given, 1)?, &mask)?;
    let value = if mask.data_type() == DataType::BOOL { 0.0 } else { f64::NEG_INFINITY };
    let hidden = call.filled(mask.data_type(), &[before, &[keys - given]].concat(), value)?;
    call.write(&mut whole.sliced(axis, given, keys - given, 1)?, &hidden)?;
    Ok(whole.into_input())
}

/// Attention of queries, keys and values with or without heads as a dimension, and with caches.
pub(crate) fn attention(info: &Info) -> Result<Compute> {
    let heads = [heads_of(info, "q_num_heads"), heads_of(info, "kv_num_heads")];
    let (scale, is_causal) = (info.float("scale"), info.flag("is_causal"));
    if info.float("softcap").is_some_and(|cap| cap != 0.0) {
        return info.refuse("limited scores");
    }
    if info.outputs() > 3 {
        return info.refuse("scores as an output");
    }
    Ok(Box::new(move |call| {
        let is_flat = call.input_dims(0)?.len() == 3;
        let part = |index: usize| as_heads(&call.input(index)?, heads[index.min(1)].unwrap_or(0));
        let (q, k, v) = (part(0)?, part(1)?, part(2)?);
        let past = call.optional(4)?;
        let before = past.as_ref().map_or(0, |past| past.dims().get(2).copied().unwrap_or(0));
        let k = with_past(call, 1, past, k)?;
        let v = call.cast(&with_past(call, 2, call.optional(5)?, v)?, q.data_type())?;
        let (queries, keys) = lengths_of([&q, &k, &v])?;
        let lengths = call.integers(6)?;
        let first: Vec<i64> = match &lengths {
            Some(lengths) => lengths.iter().map(|length| length - queries as i64).collect(),
            None => vec![before as i64],
        };
        let reach = Reach { first: is_causal.then_some(&first), lengths: lengths.as_deref(), window: None };
        let mask = match call.optional(3)? {
            Some(mask) if mask.data_type() == DataType::BOOL => Some(padded(call, mask, keys)?),
            Some(mask) => Some(padded(call, call.cast(&mask, q.data_type())?, keys)?),
            None => None,
        };
        let parts = [&q, &k, &v];
        if is_flat {
            return attend_flat(call, parts, mask.as_ref(), reach, scale);
        }
        let (batch, heads, width) = (q.dims()[0], q.dims()[2], v.dims()[3]);
        let mut out = call.output(0, &[batch, heads, queries, width])?;
        let dims = [batch, queries, heads, width];
        if queries == 1 || heads == 1 {
            return attend(call, &mut out.reshaped(&dims)?, parts, mask.as_ref(), reach, scale);
        }
        let mut result = call.temporary(q.data_type(), &dims)?;
        attend(call, &mut result, parts, mask.as_ref(), reach, scale)?;
        call.write(&mut out, &result.into_input().transposed(1, 2)?)
    }))
}

/// Returns what is added to the scores of padding, of the shape `[batch, 1, queries or 1, keys]`.
///
/// A mask of the shape `[batch, keys]` or `[batch, queries, keys]` is 0 for padding. One of the shape `[batch]` has the numbers
/// of keys, one of the shape `[2 * batch]` the ends and then the starts of the keys.
fn padding<'c>(
    call: &'c Call<'_>,
    mask: &TensorRef<'c>,
    (batch, keys): (usize, usize),
    (ty, filter): (DataType, f64),
) -> Result<TensorRef<'c>> {
    let numbers = |mask: &TensorRef<'_>| -> Result<Vec<i32>> {
        let bytes = call.download(&call.contiguous(mask)?)?;
        let number = |bytes: &[u8]| i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Ok(bytes.chunks_exact(4).map(number).collect())
    };
    let ones = match *mask.dims() {
        [samples, length] if samples == batch && length == keys => mask.unsqueezed(1)?.unsqueezed(1)?,
        [samples, _, length] if samples == batch && length == keys => mask.unsqueezed(1)?,
        [count] if count == batch || count == 2 * batch => {
            let numbers = numbers(mask)?;
            let mut ones = Vec::with_capacity(batch * keys);
            for sample in 0..batch {
                let start = numbers.get(batch + sample).copied().unwrap_or(0);
                let seen = i64::from(start)..i64::from(numbers[sample]);
                ones.extend((0..keys as i64).map(|key| i32::from(seen.contains(&key))));
            }
            let bytes: Vec<u8> = ones.iter().flat_map(|one| one.to_ne_bytes()).collect();
            call.upload(DataType::INT32, &[batch, 1, 1, keys], &bytes)?
        }
        _ => {
            return Err(Error::unsupported(&format!(
                "a mask of the shape {:?} for {batch} samples with {keys} keys",
                mask.dims()
            )));
        }
    };
    let ones = call.cast(&ones, ty)?;
    let mut out = call.temporary(ty, ones.dims())?;
    scaled(call, &mut out, &ones, -filter, filter)?;
    Ok(out.into_input())
}

/// Returns the factor of the scores that a fused node has; 0 stands for the usual one.
fn scale_of(info: &Info) -> Option<f64> {
    info.float("scale").filter(|scale| *scale != 0.0)
}

/// The scores of a node with padding.
struct Scores {
    scale: Option<f64>,
    /// The number that padding gets.
    filter: f64,
    is_causal: bool,
}

impl Scores {
    fn of(info: &Info) -> Self {
        let filter = info.float("mask_filter_value").unwrap_or(FILTER);
        Self { scale: scale_of(info), filter, is_causal: info.flag("unidirectional") }
    }

    /// Computes attention with the padding mask and the bias of scores that two inputs may be.
    fn attend(&self, call: &Call<'_>, parts: [&TensorRef<'_>; 3], [mask, bias]: [usize; 2]) -> Result<()> {
        let (queries, keys) = lengths_of(parts)?;
        let [q, ..] = parts;
        let mask = match call.optional(mask)? {
            Some(mask) => Some(padding(call, &mask, (q.dims()[0], keys), (q.data_type(), self.filter))?),
            None => None,
        };
        let added = match (mask, call.optional(bias)?) {
            (Some(mask), Some(bias)) => Some(call.binary(&mask, &bias, binary!(add))?),
            (mask, bias) => mask.or(bias),
        };
        let first = [keys as i64 - queries as i64];
        let reach = Reach { first: self.is_causal.then_some(&first), ..Reach::default() };
        attend_flat(call, parts, added.as_ref(), reach, self.scale)
    }
}

/// Attention of queries, keys and values that are inputs, together or apart.
pub(crate) fn multi_head_attention(info: &Info) -> Result<Compute> {
    let (heads, scores) = (heads_of(info, "num_heads").unwrap_or(0), Scores::of(info));
    if info.inputs() > 8 {
        return info.refuse("caches with room for later keys");
    }
    if info.outputs() > 3 {
        return info.refuse("scores as an output");
    }
    Ok(Box::new(move |call| {
        let bias = call.optional(3)?;
        let (first, second) = (call.input(0)?, call.optional(1)?);
        let mut parts = match (second, call.optional(2)?) {
            (Some(k), Some(v)) => [as_heads(&first, heads)?, as_heads(&k, heads)?, as_heads(&v, heads)?],
            (Some(packed), None) if packed.dims().len() == 5 => {
                [as_heads(&first, heads)?, packed.selected(3, 0)?, packed.selected(3, 1)?]
            }
            (None, None) if first.dims().len() == 5 => {
                [first.selected(3, 0)?, first.selected(3, 1)?, first.selected(3, 2)?]
            }
            _ => return Err(Error::invalid("keys and values are not given together")),
        };
        if let Some(bias) = bias {
            let mut start = 0;
            for part in &mut parts {
                let (heads, width) = (part.dims()[2], part.dims()[3]);
                let own = bias.sliced(0, start, heads * width, 1)?.reshaped(&[heads, width])?;
                start += heads * width;
                *part = call.binary(part, &own, binary!(add))?;
            }
        }
        let [q, k, v] = parts;
        let k = with_past(call, 1, call.optional(6)?, k)?;
        let v = with_past(call, 2, call.optional(7)?, v)?;
        scores.attend(call, [&q, &k, &v], [4, 5])
    }))
}

/// Attention of queries, keys and values that are products of one input.
pub(crate) fn fused_attention(info: &Info) -> Result<Compute> {
    let (heads, scores) = (heads_of(info, "num_heads").unwrap_or(0), Scores::of(info));
    let sizes = info.ints("qkv_hidden_sizes").filter(|sizes| !sizes.is_empty());
    if info.flag("do_rotary") {
        return info.refuse("rotated queries");
    }
    if info.flag("past_present_share_buffer") || info.inputs() > 6 {
        return info.refuse("caches with room for later keys");
    }
    Ok(Box::new(move |call| {
        let (x, weights) = (call.input(0)?, call.input(1)?);
        let mut product = call.temporary(x.data_type(), &product_dims(x.dims(), weights.dims())?)?;
        multiply(call, &mut product, &x, &weights)?;
        if let Some(bias) = call.optional(2)?.filter(|_| !product.is_empty()) {
            let whole = product.as_input();
            call.run(|operators, launch| operators.add(launch, &mut product, &whole, &bias))?;
        }
        let product = product.into_input();
        let all = product.dims().last().copied().unwrap_or(0);
        let sizes = match &sizes {
            None => vec![all / 3; 3],
            Some(sizes) => sizes.iter().map(|size| usize::try_from(*size).unwrap_or(0)).collect(),
        };
        if product.dims().len() != 3 || sizes.len() != 3 || sizes.iter().sum::<usize>() != all {
            return Err(Error::invalid(format!("{:?} has no queries, keys and values", product.dims())));
        }
        let part = |index: usize| {
            let start = sizes[..index].iter().sum();
            split_heads(&product.sliced(2, start, sizes[index], 1)?, heads)
        };
        let (q, mut k, mut v) = (part(0)?, part(1)?, part(2)?);
        let past = call.optional(4)?;
        if past.as_ref().is_some_and(|past| past.dims().first() != Some(&2)) {
            return Err(Error::invalid("a cache has keys and values"));
        }
        let halves =
            |new: &TensorRef<'_>| joined_dims(past.as_ref().map(|past| &past.dims()[1..]), new.dims());
        let dims = halves(&k)?;
        let whole = [&[2], &dims[..]].concat();
        if let Some(mut present) = cache(call, 1, past.is_some(), x.data_type(), &whole)? {
            if halves(&v)? != dims {
                return Err(Error::invalid("keys and values in one cache have the same width"));
            }
            for (index, new) in [&mut k, &mut v].into_iter().enumerate() {
                let old = past.as_ref().map(|past| past.selected(0, index)).transpose()?;
                let mut half = present.sliced(0, index, 1, 1)?;
                join(call, &mut half.reshaped(&dims)?, old.as_ref(), new)?;
                *new = present.as_input().selected(0, index)?.transposed(1, 2)?;
            }
        }
        scores.attend(call, [&q, &k, &v], [3, 5])
    }))
}

/// Attention with caches that may have room for later keys, and with rotated queries and keys.
pub(crate) fn group_query_attention(info: &Info) -> Result<Compute> {
    let heads = [heads_of(info, "num_heads").unwrap_or(0), heads_of(info, "kv_num_heads").unwrap_or(0)];
    let scale = scale_of(info);
    // The host counts the query's own place.
    let window = info.int("local_window_size").filter(|window| *window > 0).map(|window| window - 1);
    let is_rotated = info.flag("do_rotary");
    let is_interleaved = info.flag("rotary_interleaved");
    if info.float("softcap").is_some_and(|cap| cap != 0.0) || info.int("smooth_softmax") == Some(1) {
        return info.refuse("changed scores");
    }
    if info.inputs() > 11 {
        return info.refuse("sinks or caches of bytes");
    }
    if info.outputs() > 3 {
        return info.refuse("scores as an output");
    }
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let [mut q, mut k, v] = match (call.optional(1)?, call.optional(2)?) {
            (Some(k), Some(v)) => {
                [split_heads(&x, heads[0])?, split_heads(&k, heads[1])?, split_heads(&v, heads[1])?]
            }
            _ => {
                let all = split_heads(&x, heads[0] + 2 * heads[1])?;
                let part = |start, count| all.sliced(2, start, count, 1);
                [part(0, heads[0])?, part(heads[0], heads[1])?, part(heads[0] + heads[1], heads[1])?]
            }
        };
        let (queries, _) = lengths_of([&q, &k, &v])?;
        let batch = q.dims()[0];
        let (first, total) = first_places(call, batch, queries)?;
        if is_rotated {
            let (cos, sin) = angles(call, &first, (batch, queries))?;
            let rotation = Rotation { is_interleaved, width: cos.dims().last().map(|pairs| 2 * pairs) };
            for part in [&mut q, &mut k] {
                let mut out = call.temporary(part.data_type(), part.dims())?;
                if !out.is_empty() {
                    rotation.apply(call, &mut out, part, [&cos, &sin])?;
                }
                *part = out.into_input();
            }
        }
        let k = with_room(call, 1, call.optional(3)?, &k, (&first, total))?;
        let v = with_room(call, 2, call.optional(4)?, &v, (&first, total))?;
        let bias = call.optional(10)?;
        let bias = match &bias {
            Some(bias) if bias.dims().last().is_some_and(|last| *last > k.dims()[1]) => {
                Some(bias.sliced(bias.dims().len() - 1, 0, k.dims()[1], 1)?)
            }
            _ => bias,
        };
        let reach = Reach { first: Some(&first), lengths: None, window };
        attend_flat(call, [&q, &k, &v], bias.as_ref(), reach, scale)
    }))
}

/// Returns the place of the first query, of each sample or one number if it is the same for all, and the number of keys.
fn first_places(call: &Call<'_>, batch: usize, queries: usize) -> Result<(Vec<i64>, usize)> {
    let last = call.integers(5)?.unwrap_or_default();
    let total = call.integers(6)?.and_then(|total| total.first().copied()).unwrap_or(0);
    if last.len() != batch {
        return Err(Error::invalid(format!("{} lengths are not those of {batch} samples", last.len())));
    }
    // A prompt begins at the first place. Shorter samples have padding at their ends.
    let is_prompt = total == queries as i64;
    let first = |last: &i64| if is_prompt { 0 } else { last + 1 - queries as i64 };
    let mut places: Vec<i64> = last.iter().map(first).collect();
    if let Some(place) = places.iter().find(|place| **place < 0 || **place + queries as i64 > total) {
        return Err(Error::invalid(format!("{queries} queries at {place} are not among {total} keys")));
    }
    if places.windows(2).all(|pair| pair[0] == pair[1]) {
        places.truncate(1);
    }
    Ok((places, usize::try_from(total).unwrap_or(0)))
}

/// Returns the cosines and sines for each query, of the shape `[batch or 1, length, 1, pairs]`.
fn angles<'c>(
    call: &'c Call<'_>,
    first: &[i64],
    (batch, queries): (usize, usize),
) -> Result<(TensorRef<'c>, TensorRef<'c>)> {
    let (cos, sin) = (call.input(7)?, call.input(8)?);
    let places = match call.optional(9)? {
        Some(places) => places.expanded(&[batch, queries])?,
        None => {
            let steps = |first: &i64| *first..*first + queries as i64;
            let places: Vec<i64> = first.iter().flat_map(steps).collect();
            call.upload_integers(&[first.len(), queries], &places)?
        }
    };
    let at = |table| angles_at(call, table, &places)?.unsqueezed(2);
    Ok((at(&cos)?, at(&sin)?))
}

/// Writes new keys or values into a cache at the places of their samples. Returns all that are valid.
fn with_room<'c>(
    call: &'c Call<'_>,
    output: usize,
    past: Option<TensorRef<'c>>,
    new: &TensorRef<'c>,
    (first, total): (&[i64], usize),
) -> Result<TensorRef<'c>> {
    let &[batch, length, heads, width] = new.dims() else { unreachable!("the heads were split") };
    let room = match past.as_ref().map(TensorRef::dims) {
        None => 0,
        Some(&[of, heads_of, room, width_of]) if [of, heads_of, width_of] == [batch, heads, width] => room,
        Some(other) => {
            return Err(Error::invalid(format!("a cache {other:?} does not fit to {:?}", new.dims())));
        }
    };
    let all = room.max(total);
    let mut present = call.output_or_temporary(output, new.data_type(), &[batch, heads, all, width])?;
    if let Some(past) = past {
        // The host may use one block for both.
        call.write(&mut present.sliced(2, 0, room, 1)?, &past)?;
    }
    let mut rest = present.sliced(2, room, all - room, 1)?;
    if first.len() > 1 && !rest.is_empty() {
        // Shorter samples leave places without keys, and what is there must be a number.
        let zero = call.filled(new.data_type(), &[batch, heads, all - room, width], 0.0)?;
        call.write(&mut rest, &zero)?;
    }
    let new = new.transposed(1, 2)?;
    for (sample, place) in first.iter().enumerate() {
        let place = usize::try_from(*place).map_err(|_| Error::invalid("a place is negative"))?;
        let count = if first.len() == 1 { batch } else { 1 };
        let mut of_sample = present.sliced(0, sample, count, 1)?;
        call.write(&mut of_sample.sliced(2, place, length, 1)?, &new.sliced(0, sample, count, 1)?)?;
    }
    present.as_input().sliced(2, 0, total, 1)?.transposed(1, 2)
}
