//! Pools of device memory that are allocated and freed in stream order.
//!
//! A pool reuses freed memory at once on the same stream, whose order makes that safe, and on other streams when the
//! work of the stream that freed it is done. Memory stays a block of the state while the pool keeps it, so resetting
//! the device frees it like any other.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, Weak};
use tenon::support::Mutex;

use tenon::handle::HandleTable;

use super::allocation::{allocate_on, free_if, rounded};
use crate::api::{AclError, MemAllocationType, MemHandleType, MemLocationType, MemPoolAttr, MemPoolProps};
use crate::error::{Error, Result, refuse, unknown_handle, unknown_value};
use crate::state::State;
use crate::state::blocks::{Block, Place};
use crate::state::device_state::DeviceState;
use crate::state::handles::HandleKind;
use crate::state::stream::Stream;

/// All pools, and the memory that they gave out.
pub(crate) struct Pools {
    pools: HandleTable<Pool>,
    used: Mutex<BTreeMap<usize, Used>>,
}

impl Default for Pools {
    fn default() -> Self {
        Pools { pools: HandleTable::new(HandleKind::Pool as u8), used: Mutex::default() }
    }
}

/// Memory in use.
struct Used {
    pool: Arc<Pool>,
    block: Weak<Block>,
}

/// Freed memory that a pool keeps.
struct Kept {
    block: Weak<Block>,
    /// The stream whose work may still use it.
    stream: Weak<Stream>,
}

impl Kept {
    /// Returns true if no queued work uses the memory. A failed query counts as busy.
    fn is_idle(&self) -> bool {
        self.stream.upgrade().is_none_or(|stream| stream.is_done().unwrap_or(false))
    }
}

/// A pool.
pub(crate) struct Pool {
    device: Arc<DeviceState>,
    /// The maximum number of bytes of the pool; `usize::MAX` for no limit.
    limit: usize,
    contents: Mutex<Contents>,
}

#[derive(Default)]
struct Contents {
    kept: Vec<Kept>,
    /// Bytes in use and bytes of the pool, each now and at most.
    used: (u64, u64),
    reserved: (u64, u64),
    /// The release threshold in bytes.
    threshold: u64,
    /// The attributes about reuse, by number.
    reuse: BTreeMap<i32, u32>,
    is_destroyed: bool,
}

impl Contents {
    fn begin_use(&mut self, length: usize) {
        self.used.0 += length as u64;
        self.used.1 = self.used.1.max(self.used.0);
    }

    fn reserve(&mut self, length: usize) {
        self.reserved.0 += length as u64;
        self.reserved.1 = self.reserved.1.max(self.reserved.0);
    }
}

impl Pool {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock()
    }

    /// Takes kept memory that work on a stream may use. It has at most twice the requested length.
    fn take(&self, length: usize, stream: &Arc<Stream>) -> Option<Arc<Block>> {
        let mut contents = self.contents();
        let fits = |kept: &Kept| {
            let block = kept.block.upgrade()?;
            let is_ordered = std::ptr::eq(kept.stream.as_ptr(), Arc::as_ptr(stream));
            let fits = (length..=length.saturating_mul(2)).contains(&block.length);
            (fits && (is_ordered || kept.is_idle())).then_some(block)
        };
        let found = contents.kept.iter().enumerate().find_map(|(index, kept)| Some((index, fits(kept)?)));
        let (index, block) = found?;
        contents.kept.swap_remove(index);
        contents.begin_use(block.length);
        Some(block)
    }

    /// Releases kept memory until the pool has at most `keep` bytes. Waits for streams if `waits` is true; otherwise
    /// skips memory whose stream is busy.
    fn release_to(&self, state: &State, keep: u64, waits: bool) -> Result<()> {
        let mut done = Ok(());
        let candidates = std::mem::take(&mut self.contents().kept);
        for kept in candidates {
            let Some(block) = kept.block.upgrade() else { continue };
            let is_over = self.contents().reserved.0 > keep;
            if is_over
                && waits
                && let Some(stream) = kept.stream.upgrade()
            {
                done = done.and(stream.synchronize(None).map(drop));
            }
            if !is_over || !(waits || kept.is_idle()) {
                self.contents().kept.push(kept);
                continue;
            }
            let is_same = |known: &Block| std::ptr::eq(known, &*block);
            done = done.and(free_if(state, "mem_pool", block.start, false, is_same));
            let mut contents = self.contents();
            contents.reserved.0 = contents.reserved.0.saturating_sub(block.length as u64);
        }
        done
    }
}

impl Pools {
    fn used(&self) -> MutexGuard<'_, BTreeMap<usize, Used>> {
        self.used.lock()
    }

    fn pool(&self, handle: usize) -> Result<Arc<Pool>> {
        self.pools.get(handle).ok_or_else(|| unknown_handle("mem_pool", handle))
    }

    /// Creates a pool. Returns its handle.
    pub(crate) fn create(&self, state: &State, props: &MemPoolProps) -> Result<usize> {
        if props.alloc_type != MemAllocationType::PINNED {
            return unknown_value("allocType", props.alloc_type.0);
        }
        if props.handle_type != MemHandleType::NONE {
            return refuse(AclError::RT_FEATURE_NOT_SUPPORT, "pools are not shared with other processes");
        }
        if props.location.r#type != MemLocationType::DEVICE {
            return refuse(AclError::INVALID_PARAM, "the location of a pool must be a device");
        }
        let device = state.device(props.location.id)?;
        let limit = if props.max_size == 0 { usize::MAX } else { props.max_size };
        let made = self.pools.insert_with(|_| Pool { device, limit, contents: Mutex::default() });
        made.map(|(handle, _)| handle)
            .ok_or_else(|| Error::new(AclError::RT_RESOURCE_ALLOC_FAIL, "there are too many pools"))
    }

    /// Destroys a pool. Memory in use is released when it is freed.
    pub(crate) fn destroy(&self, state: &State, handle: usize) -> Result<()> {
        let pool = self.pools.remove(handle).ok_or_else(|| unknown_handle("mem_pool", handle))?;
        pool.contents().is_destroyed = true;
        pool.release_to(state, 0, true)
    }

    /// Releases kept memory until the pool has at most `keep` bytes.
    pub(crate) fn trim(&self, state: &State, handle: usize, keep: usize) -> Result<()> {
        self.pool(handle)?.release_to(state, keep as u64, true)
    }

    /// Allocates memory for work on a stream.
    pub(crate) fn allocate(&self, state: &State, size: usize, handle: usize, stream: usize) -> Result<usize> {
        let length = rounded(size, 0)?;
        let (pool, stream) = (self.pool(handle)?, state.stream(stream)?);
        if !Arc::ptr_eq(&pool.device, &state.current_device()?) {
            return refuse(
                AclError::RT_INVALID_DEVICEID,
                "`mem_pool` belongs to another device than the current context",
            );
        }
        if let Some(block) = pool.take(length, &stream) {
            self.give_out(&pool, &block);
            return Ok(block.start);
        }
        let threshold = pool.contents().threshold;
        pool.release_to(state, threshold, false)?;
        if pool.contents().reserved.0.saturating_add(length as u64) > pool.limit as u64 {
            pool.release_to(state, (pool.limit as u64).saturating_sub(length as u64), true)?;
        }
        {
            // Reserved before the device is asked, so that two threads cannot exceed the limit together.
            let mut contents = pool.contents();
            if contents.reserved.0.saturating_add(length as u64) > pool.limit as u64 {
                return refuse(
                    AclError::RT_MEMORY_ALLOCATION,
                    format!("{size} bytes more exceed the limit of the pool, {} bytes", pool.limit),
                );
            }
            contents.reserve(length);
        }
        let block = match allocate_on(state.lease_current_device()?, size, length, Place::Pooled) {
            Ok(block) => state.blocks.insert(block),
            Err(error) => {
                pool.contents().reserved.0 -= length as u64;
                return Err(error);
            }
        };
        pool.contents().begin_use(block.length);
        self.give_out(&pool, &block);
        Ok(block.start)
    }

    fn give_out(&self, pool: &Arc<Pool>, block: &Arc<Block>) {
        let used = Used { pool: pool.clone(), block: Arc::downgrade(block) };
        self.used().insert(block.start, used);
    }

    /// Frees memory after the work that was submitted to a stream so far.
    pub(crate) fn free(&self, state: &State, address: usize, stream: usize) -> Result<()> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, "`ptr` is null");
        }
        let stream = state.stream(stream)?;
        let known = self.used().remove(&address);
        let known = known.and_then(|used| Some((used.pool, used.block.upgrade()?)));
        let (pool, block) = known.ok_or_else(|| {
            let message = format!("`ptr` is {address:#x}, which no pool gave out, or which was freed");
            Error::new(AclError::RT_PARAM_INVALID, message)
        })?;
        let (is_destroyed, threshold) = {
            let mut contents = pool.contents();
            contents.used.0 = contents.used.0.saturating_sub(block.length as u64);
            contents.kept.push(Kept { block: Arc::downgrade(&block), stream: Arc::downgrade(&stream) });
            (contents.is_destroyed, contents.threshold)
        };
        drop(block);
        pool.release_to(state, if is_destroyed { 0 } else { threshold }, is_destroyed)
    }

    /// Returns an attribute of a pool, and its size in bytes.
    pub(crate) fn attribute(&self, handle: usize, attr: MemPoolAttr) -> Result<(u64, usize)> {
        let pool = self.pool(handle)?;
        let contents = pool.contents();
        let number = match attr {
            MemPoolAttr::ATTR_RELEASE_THRESHOLD => contents.threshold,
            MemPoolAttr::ATTR_RESERVED_MEM_CURRENT => contents.reserved.0,
            MemPoolAttr::ATTR_RESERVED_MEM_HIGH => contents.reserved.1,
            MemPoolAttr::ATTR_USED_MEM_CURRENT => contents.used.0,
            MemPoolAttr::ATTR_USED_MEM_HIGH => contents.used.1,
            _ => {
                let enabled = contents.reuse.get(&attr.0).copied().unwrap_or(1);
                return Ok((enabled.into(), self.width(attr)?));
            }
        };
        Ok((number, size_of::<u64>()))
    }

    /// Returns the size of the value of an attribute in bytes.
    pub(crate) fn width(&self, attr: MemPoolAttr) -> Result<usize> {
        match attr {
            MemPoolAttr::REUSE_FOLLOW_EVENT_DEPENDENCIES
            | MemPoolAttr::REUSE_ALLOW_OPPORTUNISTIC
            | MemPoolAttr::REUSE_ALLOW_INTERNAL_DEPENDENCIES => Ok(size_of::<u32>()),
            _ if attr.name().is_some() => Ok(size_of::<u64>()),
            _ => unknown_value("attr", attr.0),
        }
    }

    /// Sets an attribute of a pool.
    pub(crate) fn set_attribute(&self, handle: usize, attr: MemPoolAttr, value: u64) -> Result<()> {
        let pool = self.pool(handle)?;
        let mut contents = pool.contents();
        match attr {
            MemPoolAttr::ATTR_RELEASE_THRESHOLD => contents.threshold = value,
            MemPoolAttr::ATTR_RESERVED_MEM_HIGH if value == 0 => contents.reserved.1 = contents.reserved.0,
            MemPoolAttr::ATTR_USED_MEM_HIGH if value == 0 => contents.used.1 = contents.used.0,
            MemPoolAttr::ATTR_RESERVED_MEM_CURRENT | MemPoolAttr::ATTR_USED_MEM_CURRENT => {
                return refuse(AclError::INVALID_PARAM, format!("{attr:?} cannot be set"));
            }
            MemPoolAttr::ATTR_RESERVED_MEM_HIGH | MemPoolAttr::ATTR_USED_MEM_HIGH => {
                return refuse(AclError::INVALID_PARAM, format!("{attr:?} can be set to 0 only"));
            }
            _ if value > 1 => {
                return refuse(AclError::INVALID_PARAM, format!("{attr:?} is 0 or 1, not {value}"));
            }
            _ => {
                contents.reuse.insert(attr.0, u32::from(value == 1));
            }
        }
        Ok(())
    }
}
