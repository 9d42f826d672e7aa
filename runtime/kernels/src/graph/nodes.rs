//! Pools of the rows of nodes and of segments.

use super::{Edges, Message, Pool, Rows, receive, results};
use crate::elements::accumulate::with_number;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{integers, store_integers, with_optional_slices, with_slices};
use crate::numeric::Numeric;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the results of [`send_u_recv`].
///
/// # Errors
/// As [`send_u_recv`].
pub fn send_u_recv_shape(
    x: TensorMeta<'_>,
    _src_index: TensorMeta<'_>,
    _dst_index: TensorMeta<'_>,
    _reduce_op: &str,
    out_size: &[i64],
) -> Result<Vec<usize>> {
    Ok(Rows::new(x.dims())?.with_count(results(x.dims(), out_size)?))
}

/// Computes the shape of the numbers of messages of [`send_u_recv`].
///
/// # Errors
/// As [`send_u_recv`].
pub fn send_u_recv_counts_shape(
    x: TensorMeta<'_>,
    _src_index: TensorMeta<'_>,
    _dst_index: TensorMeta<'_>,
    _reduce_op: &str,
    out_size: &[i64],
) -> Result<Vec<usize>> {
    Ok(vec![results(x.dims(), out_size)?])
}

/// Pools the rows of `x` at the start of each edge for the node at its end, and counts the messages of each node.
///
/// The pool is `"SUM"`, `"MEAN"`, `"MAX"` or `"MIN"`. There are `out_size[0]` results, or as many as nodes if that
/// is absent or not positive. A node without messages has zeros.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`] if there are not as many starts as ends, [`Error::Index`],
/// [`Error::Attribute`], and [`Error::Type`].
pub fn send_u_recv(
    out: &mut ViewMut<'_>,
    dst_count: &mut ViewMut<'_>,
    x: &View<'_>,
    src_index: &View<'_>,
    dst_index: &View<'_>,
    reduce_op: &str,
    out_size: &[i64],
) -> Result<()> {
    let pool = Pool::new("reduce_op", reduce_op)?;
    let (rows, count) = (Rows::new(x.dims())?, results(x.dims(), out_size)?);
    expect_shape(&rows.with_count(count), out.dims())?;
    let edges = Edges::new([src_index, dst_index], [rows.count, count])?;
    with_number!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            receive(out, &edges, rows.len, pool, |edge, n| x[edges.src[edge] * rows.len + n]);
            Ok(())
        })
    })?;
    expect_shape(&[count], dst_count.dims())?;
    store_integers(dst_count, &edges.counts(count))
}

/// Computes the gradient of [`send_u_recv`] with respect to the nodes. `"MAX"` and `"MIN"` need the results.
///
/// # Errors
/// As [`send_u_recv`], and [`Error::Missing`].
pub fn send_u_recv_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    src_index: &View<'_>,
    dst_index: &View<'_>,
    out: Option<&View<'_>>,
    dout: &View<'_>,
    reduce_op: &str,
) -> Result<()> {
    let (pool, rows) = (Pool::new("reduce_op", reduce_op)?, Rows::new(x.dims())?);
    let count = Rows::new(dout.dims())?.count;
    expect_shape(&rows.with_count(count), dout.dims())?;
    expect_shape(x.dims(), dx.dims())?;
    let edges = Edges::new([src_index, dst_index], [rows.count, count])?;
    of_rows(dx, [x, dout], out, &edges, pool)
}

/// Computes the shape of the results of [`segment_pool`].
///
/// # Errors
/// As [`segment_pool`].
pub fn segment_pool_shape(x: TensorMeta<'_>, segment_ids: &View<'_>, _pooltype: &str) -> Result<Vec<usize>> {
    Ok(Rows::new(x.dims())?.with_count(segments(segment_ids)?))
}

/// Computes the shape of the numbers of rows of [`segment_pool`].
///
/// # Errors
/// As [`segment_pool`].
pub fn segment_counts_shape(
    x: TensorMeta<'_>,
    segment_ids: &View<'_>,
    _pooltype: &str,
) -> Result<Vec<usize>> {
    Rows::new(x.dims())?;
    Ok(vec![segments(segment_ids)?, 1])
}

/// Pools the rows of `x` for the segment that `segment_ids` says, and counts them. The last number is the largest.
///
/// # Errors
/// As [`send_u_recv`].
pub fn segment_pool(
    out: &mut ViewMut<'_>,
    summed_ids: &mut ViewMut<'_>,
    x: &View<'_>,
    segment_ids: &View<'_>,
    pooltype: &str,
) -> Result<()> {
    let (pool, rows) = (Pool::new("pooltype", pooltype)?, Rows::new(x.dims())?);
    let count = segments(segment_ids)?;
    expect_shape(&rows.with_count(count), out.dims())?;
    let edges = Edges::of_segments(rows.count, segment_ids, count)?;
    with_number!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            receive(out, &edges, rows.len, pool, |edge, n| x[edge * rows.len + n]);
            Ok(())
        })
    })?;
    expect_shape(&[count, 1], summed_ids.dims())?;
    store_integers(summed_ids, &edges.counts(count))
}

/// Computes the gradient of [`segment_pool`] with respect to the rows.
///
/// # Errors
/// As [`segment_pool`].
pub fn segment_pool_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    segment_ids: &View<'_>,
    out: &View<'_>,
    dout: &View<'_>,
    pooltype: &str,
) -> Result<()> {
    let (pool, rows) = (Pool::new("pooltype", pooltype)?, Rows::new(x.dims())?);
    let count = Rows::new(dout.dims())?.count;
    expect_shape(&rows.with_count(count), dout.dims())?;
    expect_shape(x.dims(), dx.dims())?;
    let edges = Edges::of_segments(rows.count, segment_ids, count)?;
    of_rows(dx, [x, dout], Some(out), &edges, pool)
}

/// Returns the number of segments.
fn segments(segment_ids: &View<'_>) -> Result<usize> {
    let ids = integers(segment_ids)?;
    let Some(&last) = ids.last() else { return Ok(0) };
    let count = last.checked_add(1).and_then(|count| usize::try_from(count).ok());
    count.filter(|&count| count > 0).ok_or(Error::Index { index: last, len: ids.len() })
}

/// Computes the gradient of rows that are messages themselves.
fn of_rows(
    dx: &mut ViewMut<'_>,
    [x, dout]: [&View<'_>; 2],
    out: Option<&View<'_>>,
    edges: &Edges,
    pool: Pool,
) -> Result<()> {
    let (rows, out) = (Rows::new(x.dims())?, pool.results(out, dout)?);
    let counts = edges.counts(Rows::new(dout.dims())?.count);
    with_number!(x.dtype(), T => {
        let inputs = [Some(x), Some(dout), out];
        with_optional_slices::<T, 1, 3>([Some(dx.reborrow())], inputs, |[dx], [x, dout, out]| {
            let [x, dout] = [x, dout].map(Option::unwrap_or_default);
            let dx = dx.unwrap_or_default();
            dx.fill(T::of(0.0));
            for (&src, &dst) in edges.src.iter().zip(&edges.dst) {
                for n in 0..rows.len {
                    let (from, to) = (src * rows.len + n, dst * rows.len + n);
                    if out.is_none_or(|out| out[to] == x[from]) {
                        dx[from] += Message::over(dout[to], pool.share(counts[dst]));
                    }
                }
            }
            Ok(())
        })
    })
}
