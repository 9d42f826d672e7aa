//! Many copies at once.

use tenon::AnyPtr;

use crate::api::{AclError, MemLocation, MemLocationType, MemcpyBatchAttr};
use crate::copy::{Claim, Rows};
use crate::error::{Result, refuse};
use crate::info::no_such;
use crate::runtime::Runtime;

/// Copies, and which attribute holds from which copy on.
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
        let (copies, attrs) = (self.dsts.len(), self.attrs.len());
        if attrs == 0 || attrs > copies {
            return refuse(AclError::INVALID_PARAM, format!("`num_attrs` is {attrs}; it is 1 to {copies}"));
        }
        let rise = self.attrs_indexes.windows(2).all(|pair| pair[0] < pair[1]);
        let last = self.attrs_indexes.last().copied().unwrap_or(0);
        if self.attrs_indexes.first() != Some(&0) || !rise || last >= copies {
            return refuse(
                AclError::INVALID_PARAM,
                format!("`attrs_indexes` do not rise from 0 and stay below {copies}"),
            );
        }
        Ok(())
    }

    /// What the program says about a copy.
    fn claim(&self, copy: usize) -> Result<Claim> {
        let of = self.attrs_indexes.partition_point(|first| *first <= copy) - 1;
        let is_device = |param: &str, location: &MemLocation| match location.r#type {
            MemLocationType::HOST => Ok(Some(false)),
            MemLocationType::DEVICE => Ok(Some(true)),
            MemLocationType::UNREGISTERED => Ok(None),
            MemLocationType(other) => no_such(param, other),
        };
        Ok(Claim {
            to_device: is_device("attrs.dst_loc.type", &self.attrs[of].dst_loc)?,
            from_device: is_device("attrs.src_loc.type", &self.attrs[of].src_loc)?,
        })
    }
}

impl Runtime {
    /// Makes copies one after the other, and says which failed.
    pub(crate) fn copy_batch(
        &self,
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
                        None => self.copy(dst, src, rows, batch.claim(copy)?),
                        Some(stream) => self.copy_on(stream, (dst, src), rows, batch.claim(copy)?, false),
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
}
