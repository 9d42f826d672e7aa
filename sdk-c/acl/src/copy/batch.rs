//! Batches of copies.

use tenon::AnyPtr;

use crate::api::{AclError, MemLocation, MemLocationType, MemcpyBatchAttr};
use crate::copy::transfer;
use crate::copy::transfer::{Direction, Rows};
use crate::error::{Result, refuse, unknown_value};
use crate::state::State;

/// Most copies of a batch, as on Ascend.
const MOST_COPIES: usize = 4096;

/// A batch of copies. Each attribute applies from one copy to the start of the next attribute.
pub(crate) struct Batch<'a> {
    pub(crate) dsts: &'a [AnyPtr],
    pub(crate) dest_maxs: &'a [usize],
    pub(crate) srcs: &'a [AnyPtr],
    pub(crate) sizes: &'a [usize],
    pub(crate) attrs: &'a [MemcpyBatchAttr],
    pub(crate) attrs_indexes: &'a [usize],
}

impl Batch<'_> {
    fn check(&self) -> Result<()> {
        if self.dsts.is_empty() {
            return refuse(AclError::INVALID_PARAM, "`num_batches` is 0");
        }
        if self.dsts.len() > MOST_COPIES {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`num_batches` is {}; it must be at most {MOST_COPIES}", self.dsts.len()),
            );
        }
        let (copies, attrs) = (self.dsts.len(), self.attrs.len());
        if attrs == 0 || attrs > copies {
            return refuse(
                AclError::INVALID_PARAM,
                format!("`num_attrs` is {attrs}; it must be from 1 to {copies}"),
            );
        }
        let rise = self.attrs_indexes.windows(2).all(|pair| pair[0] < pair[1]);
        let last = self.attrs_indexes.last().copied().unwrap_or(0);
        if self.attrs_indexes.first() != Some(&0) || !rise || last >= copies {
            return refuse(
                AclError::INVALID_PARAM,
                format!("`attrs_indexes` must start at 0, increase, and stay below {copies}"),
            );
        }
        Ok(())
    }

    /// Returns the direction of a copy.
    fn direction(&self, copy: usize) -> Result<Direction> {
        let of = self.attrs_indexes.partition_point(|first| *first <= copy) - 1;
        let is_device = |param: &str, location: &MemLocation| match location.r#type {
            MemLocationType::HOST => Ok(Some(false)),
            MemLocationType::DEVICE => Ok(Some(true)),
            MemLocationType::UNREGISTERED => Ok(None),
            MemLocationType(other) => unknown_value(param, other),
        };
        Ok(Direction {
            to_device: is_device("attrs.dst_loc.type", &self.attrs[of].dst_loc)?,
            from_device: is_device("attrs.src_loc.type", &self.attrs[of].src_loc)?,
        })
    }
}

/// Makes the copies one after the other. If one fails, writes its index.
pub(crate) fn copy_batch(
    state: &State,
    batch: &Batch<'_>,
    stream: Option<usize>,
    fail_index: &mut [usize],
) -> Result<()> {
    let mut failed = usize::MAX;
    let done = batch.check().and_then(|()| {
        (0..batch.dsts.len()).try_for_each(|copy| {
            let one = || {
                let rows = Rows::within(batch.dest_maxs[copy], batch.sizes[copy])?;
                let (dst, src) = (batch.dsts[copy].addr(), batch.srcs[copy].addr());
                match stream {
                    None => transfer::copy(state, dst, src, rows, batch.direction(copy)?),
                    Some(stream) => {
                        transfer::copy_on(state, stream, (dst, src), rows, batch.direction(copy)?, false)
                    }
                }
            };
            one().inspect_err(|_| failed = copy)
        })
    });
    if let (Err(_), Some(place)) = (&done, fail_index.first_mut()) {
        *place = failed;
    }
    done
}
