//! Messages along the edges of graphs, and pools of segments.
//!
//! A message is a row of elements. The nodes that edges begin at give one operand of a message, and the edges or the
//! nodes that they end at give the other. Rows of messages are pooled for each node.

mod edges;
mod nodes;

pub use edges::{
    send_ue_recv, send_ue_recv_counts_shape, send_ue_recv_grad, send_ue_recv_shape, send_uv, send_uv_grad,
    send_uv_shape,
};
pub use nodes::{
    segment_counts_shape, segment_pool, segment_pool_grad, segment_pool_shape, send_u_recv,
    send_u_recv_counts_shape, send_u_recv_grad, send_u_recv_shape,
};

use std::num::Wrapping;

use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::slices::{Slot, integers};
use crate::numeric::Numeric;
use crate::tensor::View;

/// A number of messages.
trait Message: Slot + Numeric {
    /// Divides by a number that is not zero. Integers are rounded towards zero.
    fn over(self, count: i64) -> Self;
}

impl Message for f32 {
    fn over(self, count: i64) -> Self {
        self / count as Self
    }
}

impl Message for f64 {
    fn over(self, count: i64) -> Self {
        self / count as Self
    }
}

impl Message for Wrapping<i64> {
    fn over(self, count: i64) -> Self {
        self.trunc_div(Self(count))
    }
}

/// The reduction of the messages of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pool {
    Sum,
    Mean,
    Max,
    Min,
}

impl Pool {
    fn new(attribute: &'static str, value: &str) -> Result<Self> {
        match value {
            "SUM" => Ok(Self::Sum),
            "MEAN" => Ok(Self::Mean),
            "MAX" => Ok(Self::Max),
            "MIN" => Ok(Self::Min),
            _ => Err(Error::Attribute { name: attribute, value: value.to_owned() }),
        }
    }

    /// Returns the number that the gradient of a message is divided by.
    fn share(self, count: i64) -> i64 {
        if self == Self::Mean { count } else { 1 }
    }

    /// Returns the results, if the gradient needs them.
    fn results<'o, 'v>(self, out: Option<&'o View<'v>>, dout: &View<'_>) -> Result<Option<&'o View<'v>>> {
        if matches!(self, Self::Sum | Self::Mean) {
            return Ok(None);
        }
        let out = out.ok_or(Error::Missing { missing: "out", because: "MAX and MIN" })?;
        expect_shape(dout.dims(), out.dims())?;
        Ok(Some(out))
    }
}

/// The edges of a graph, as valid indices of nodes.
struct Edges {
    src: Vec<usize>,
    dst: Vec<usize>,
}

impl Edges {
    fn new([src, dst]: [&View<'_>; 2], counts: [usize; 2]) -> Result<Self> {
        expect_length("dst_index", src.len(), dst.len())?;
        Ok(Self { src: indices(src, counts[0])?, dst: indices(dst, counts[1])? })
    }

    /// Makes an edge from each row to its segment.
    fn of_segments(rows: usize, segment_ids: &View<'_>, count: usize) -> Result<Self> {
        expect_length("segment_ids", rows, segment_ids.len())?;
        Ok(Self { src: (0..rows).collect(), dst: indices(segment_ids, count)? })
    }

    fn len(&self) -> usize {
        self.dst.len()
    }

    /// Counts the messages of each node.
    fn counts(&self, nodes: usize) -> Vec<i64> {
        let mut counts = vec![0; nodes];
        self.dst.iter().for_each(|&node| counts[node] += 1);
        counts
    }
}

fn indices(view: &View<'_>, len: usize) -> Result<Vec<usize>> {
    let index = |index: i64| usize::try_from(index).ok().filter(|&found| found < len);
    let found =
        integers(view)?.into_iter().map(|number| index(number).ok_or(Error::Index { index: number, len }));
    found.collect()
}

/// The rows of a tensor.
struct Rows<'d> {
    count: usize,
    /// The number of elements of a row.
    len: usize,
    /// The dimensions of a row.
    dims: &'d [usize],
}

impl<'d> Rows<'d> {
    fn new(dims: &'d [usize]) -> Result<Self> {
        let (&count, dims) = dims.split_first().ok_or(Error::Rank { dims: 0, strides: 1 })?;
        Ok(Self { count, len: dims.iter().product(), dims })
    }

    /// Returns the shape of a number of such rows.
    fn with_count(&self, count: usize) -> Vec<usize> {
        [&[count], self.dims].concat()
    }
}

/// Returns the number of results.
fn results(x: &[usize], out_size: &[i64]) -> Result<usize> {
    let wanted = out_size.first().and_then(|&size| usize::try_from(size).ok()).filter(|&size| size > 0);
    Ok(wanted.unwrap_or(Rows::new(x)?.count))
}

/// Pools messages of a length for the nodes at the end of edges.
fn receive<T: Message>(
    out: &mut [T],
    edges: &Edges,
    len: usize,
    pool: Pool,
    message: impl Fn(usize, usize) -> T,
) {
    out.fill(T::of(0.0));
    if len == 0 {
        return;
    }
    let mut counts = vec![0; out.len() / len];
    for (edge, &node) in edges.dst.iter().enumerate() {
        let is_first = counts[node] == 0;
        counts[node] += 1;
        for (n, result) in out[node * len..][..len].iter_mut().enumerate() {
            let value = message(edge, n);
            *result = match pool {
                Pool::Sum | Pool::Mean => *result + value,
                _ if is_first => value,
                Pool::Max => result.max(value),
                Pool::Min => result.min(value),
            };
        }
    }
    if pool == Pool::Mean {
        for (row, &count) in out.chunks_exact_mut(len).zip(&counts).filter(|(_, count)| **count > 0) {
            row.iter_mut().for_each(|value| *value = value.over(count));
        }
    }
}
