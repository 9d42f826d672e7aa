//! Messages that are made of two operands: nodes and edges, or both ends of edges.

use super::{Edges, Message, Pool, Rows, receive, results};
use crate::attributes::SendUeRecvAttributes;
use crate::elements::accumulate::with_number;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::slices::{lend, store_integers, with_optional_slices, with_slices};
use crate::numeric::Numeric;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the results of [`send_ue_recv`].
///
/// # Errors
/// As [`send_ue_recv`].
pub fn send_ue_recv_shape(
    x: TensorMeta<'_>,
    y: TensorMeta<'_>,
    _src_index: TensorMeta<'_>,
    _dst_index: TensorMeta<'_>,
    with: &SendUeRecvAttributes<'_>,
) -> Result<Vec<usize>> {
    let SendUeRecvAttributes { out_size, .. } = *with;
    Ok(Messages::new(x.dims(), y.dims())?.with_count(results(x.dims(), out_size)?))
}

/// Computes the shape of the numbers of messages of [`send_ue_recv`].
///
/// # Errors
/// As [`send_ue_recv`].
pub fn send_ue_recv_counts_shape(
    x: TensorMeta<'_>,
    _y: TensorMeta<'_>,
    _src_index: TensorMeta<'_>,
    _dst_index: TensorMeta<'_>,
    with: &SendUeRecvAttributes<'_>,
) -> Result<Vec<usize>> {
    let SendUeRecvAttributes { out_size, .. } = *with;
    Ok(vec![results(x.dims(), out_size)?])
}

/// Combines the row of `x` at the start of each edge with the row of `y` for the edge, and pools the messages as
/// [`send_u_recv`](super::send_u_recv) does. `message_op` is `"ADD"` or `"MUL"`. All dimensions but the first are
/// broadcast.
///
/// # Errors
/// As [`send_u_recv`](super::send_u_recv), and [`Error::Broadcast`].
pub fn send_ue_recv(
    out: &mut ViewMut<'_>,
    dst_count: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
    src_index: &View<'_>,
    dst_index: &View<'_>,
    with: &SendUeRecvAttributes<'_>,
) -> Result<()> {
    let SendUeRecvAttributes { message_op, reduce_op, out_size } = *with;
    let (combine, pool) = (Combine::new(message_op)?, Pool::new("reduce_op", reduce_op)?);
    let (messages, count) = (Messages::new(x.dims(), y.dims())?, results(x.dims(), out_size)?);
    expect_shape(&messages.with_count(count), out.dims())?;
    let edges = Edges::new([src_index, dst_index], [messages.counts[0], count])?;
    expect_length("y", edges.len(), messages.counts[1])?;
    with_number!(x.dtype(), T => {
        with_slices::<T, 1, 2>([out.reborrow()], [x, y], |[out], [x, y]| {
            receive(out, &edges, messages.len(), pool, |edge, n| {
                let [left, right] = messages.places(n, [edges.src[edge], edge]);
                combine.of(x[left], y[right])
            });
            Ok(())
        })
    })?;
    expect_shape(&[count], dst_count.dims())?;
    store_integers(dst_count, &edges.counts(count))
}

/// Computes the gradients of [`send_ue_recv`]. `"MAX"` and `"MIN"` need the results.
///
/// # Errors
/// As [`send_ue_recv`], and [`Error::Missing`].
pub fn send_ue_recv_grad(
    dx: Option<&mut ViewMut<'_>>,
    dy: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    y: &View<'_>,
    src_index: &View<'_>,
    dst_index: &View<'_>,
    out: Option<&View<'_>>,
    dout: &View<'_>,
    message_op: &str,
    reduce_op: &str,
) -> Result<()> {
    let (combine, pool) = (Combine::new(message_op)?, Pool::new("reduce_op", reduce_op)?);
    let (messages, count) = (Messages::new(x.dims(), y.dims())?, Rows::new(dout.dims())?.count);
    expect_shape(&messages.with_count(count), dout.dims())?;
    let edges = Edges::new([src_index, dst_index], [messages.counts[0], count])?;
    expect_length("y", edges.len(), messages.counts[1])?;
    let out = pool.results(out, dout)?;
    let (counts, len) = (edges.counts(count), messages.len());
    gradients([lend(dx), lend(dy)], [x, y, dout], out, combine, |visit| {
        for edge in 0..edges.len() {
            let (ends, dst) = ([edges.src[edge], edge], edges.dst[edge]);
            let share = pool.share(counts[dst]);
            (0..len).for_each(|n| visit(messages.places(n, ends), dst * len + n, share));
        }
    })
}

/// Computes the shape of the messages of [`send_uv`].
///
/// # Errors
/// As [`send_uv`].
pub fn send_uv_shape(
    x: TensorMeta<'_>,
    y: TensorMeta<'_>,
    src_index: TensorMeta<'_>,
    _dst_index: TensorMeta<'_>,
    _message_op: &str,
) -> Result<Vec<usize>> {
    Ok(Messages::new(x.dims(), y.dims())?.with_count(src_index.dims().iter().product()))
}

/// Combines the row of `x` at the start of each edge with the row of `y` at its end. `message_op` is `"ADD"` or
/// `"MUL"`. All dimensions but the first are broadcast.
///
/// # Errors
/// As [`send_ue_recv`].
pub fn send_uv(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
    src_index: &View<'_>,
    dst_index: &View<'_>,
    message_op: &str,
) -> Result<()> {
    let (combine, messages) = (Combine::new(message_op)?, Messages::new(x.dims(), y.dims())?);
    let edges = Edges::new([src_index, dst_index], messages.counts)?;
    expect_shape(&messages.with_count(edges.len()), out.dims())?;
    let len = messages.len();
    with_number!(x.dtype(), T => {
        with_slices::<T, 1, 2>([out.reborrow()], [x, y], |[out], [x, y]| {
            for edge in 0..edges.len() {
                for n in 0..len {
                    let [left, right] = messages.places(n, [edges.src[edge], edges.dst[edge]]);
                    out[edge * len + n] = combine.of(x[left], y[right]);
                }
            }
            Ok(())
        })
    })
}

/// Computes the gradients of [`send_uv`].
///
/// # Errors
/// As [`send_uv`].
pub fn send_uv_grad(
    dx: Option<&mut ViewMut<'_>>,
    dy: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    y: &View<'_>,
    src_index: &View<'_>,
    dst_index: &View<'_>,
    dout: &View<'_>,
    message_op: &str,
) -> Result<()> {
    let (combine, messages) = (Combine::new(message_op)?, Messages::new(x.dims(), y.dims())?);
    let edges = Edges::new([src_index, dst_index], messages.counts)?;
    expect_shape(&messages.with_count(edges.len()), dout.dims())?;
    let len = messages.len();
    gradients([lend(dx), lend(dy)], [x, y, dout], None, combine, |visit| {
        for edge in 0..edges.len() {
            let ends = [edges.src[edge], edges.dst[edge]];
            (0..len).for_each(|n| visit(messages.places(n, ends), edge * len + n, 1));
        }
    })
}

/// The operation that combines two operands into a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combine {
    Add,
    Multiply,
}

impl Combine {
    fn new(value: &str) -> Result<Self> {
        match value {
            "ADD" => Ok(Self::Add),
            "MUL" => Ok(Self::Multiply),
            _ => Err(Error::Attribute { name: "message_op", value: value.to_owned() }),
        }
    }

    fn of<T: Numeric>(self, x: T, y: T) -> T {
        match self {
            Self::Add => x + y,
            Self::Multiply => x * y,
        }
    }

    /// Returns the derivative by one operand, given the other.
    fn slope<T: Numeric>(self, other: T) -> T {
        match self {
            Self::Add => T::of(1.0),
            Self::Multiply => other,
        }
    }
}

/// Messages whose operands are rows of two tensors, broadcast to a common shape.
struct Messages {
    /// The numbers of rows.
    counts: [usize; 2],
    /// The dimensions of a message.
    dims: Vec<usize>,
    /// The element of each operand for each element of a message.
    operands: [Vec<usize>; 2],
    /// The lengths of the rows.
    lens: [usize; 2],
}

impl Messages {
    fn new(x: &[usize], y: &[usize]) -> Result<Self> {
        let [x, y] = [Rows::new(x)?, Rows::new(y)?];
        let rank = x.dims.len().max(y.dims.len());
        let dim = |rows: &Rows<'_>, axis: usize| match (axis + rows.dims.len()).checked_sub(rank) {
            Some(own) => rows.dims[own],
            None => 1,
        };
        let mut dims = Vec::with_capacity(rank);
        for axis in 0..rank {
            dims.push(match [dim(&x, axis), dim(&y, axis)] {
                [1, other] | [other, 1] => other,
                [first, second] if first == second => first,
                _ => return Err(Error::Broadcast { from: y.dims.to_vec(), to: x.dims.to_vec() }),
            });
        }
        let operands = [&x, &y].map(|rows| {
            let mut places = vec![0];
            let mut stride = 1;
            // From the last dimension on, each one repeats the places of those behind it.
            for axis in (0..rank).rev() {
                let own = dim(rows, axis);
                let step = if own == 1 { 0 } else { stride };
                places =
                    (0..dims[axis]).flat_map(|n| places.iter().map(move |place| place + n * step)).collect();
                stride *= own;
            }
            places
        });
        Ok(Self { counts: [x.count, y.count], dims, operands, lens: [x.len, y.len] })
    }

    fn len(&self) -> usize {
        self.operands[0].len()
    }

    fn with_count(&self, count: usize) -> Vec<usize> {
        [&[count], &self.dims[..]].concat()
    }

    /// Returns the positions of the operands of an element, given their rows.
    fn places(&self, element: usize, rows: [usize; 2]) -> [usize; 2] {
        [0, 1].map(|side| rows[side] * self.lens[side] + self.operands[side][element])
    }
}

/// Visits elements of messages: the positions of their operands, the position of their result, and the number that
/// the gradient of the result is divided by.
type Visit<'f> = &'f mut dyn FnMut([usize; 2], usize, i64);

/// Computes the gradients of both operands of messages. With the results of a maximum or minimum, only the messages
/// that are equal to them have gradients.
fn gradients(
    [dx, dy]: [Option<ViewMut<'_>>; 2],
    [x, y, dout]: [&View<'_>; 3],
    out: Option<&View<'_>>,
    combine: Combine,
    each: impl Fn(Visit<'_>),
) -> Result<()> {
    expect_shape(x.dims(), dx.as_ref().map_or(x.dims(), ViewMut::dims))?;
    expect_shape(y.dims(), dy.as_ref().map_or(y.dims(), ViewMut::dims))?;
    with_number!(x.dtype(), T => {
        let inputs = [Some(x), Some(y), Some(dout), out];
        with_optional_slices::<T, 2, 4>([dx, dy], inputs, |[mut dx, mut dy], [x, y, dout, out]| {
            let [x, y, dout] = [x, y, dout].map(Option::unwrap_or_default);
            dx.iter_mut().chain(&mut dy).for_each(|gradient| gradient.fill(T::of(0.0)));
            each(&mut |[left, right], result, share| {
                if out.is_some_and(|out| out[result] != combine.of(x[left], y[right])) {
                    return;
                }
                if let Some(dx) = &mut dx {
                    dx[left] += (dout[result] * combine.slope(y[right])).over(share);
                }
                if let Some(dy) = &mut dy {
                    dy[right] += (dout[result] * combine.slope(x[left])).over(share);
                }
            });
            Ok(())
        })
    })
}
