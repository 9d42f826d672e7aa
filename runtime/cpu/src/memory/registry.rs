//! Finds the allocation that an address lies in.

use super::allocation::{Allocation, AllocationGuard};
use super::{PointerInfo, Space};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};
use tenon::device::DeviceId;
use tenon::support::RwLock;

/// The allocations of all devices by address, freed ones included while guards keep them.
#[derive(Default)]
pub(crate) struct Registry {
    by_address: RwLock<BTreeMap<usize, Arc<Allocation>>>,
}

impl Registry {
    pub(crate) fn insert(&self, allocation: &Arc<Allocation>) {
        self.write().insert(allocation.addr(), allocation.clone());
    }

    /// Forgets the allocation that starts at the address.
    pub(crate) fn remove(&self, addr: usize) {
        // Dropped after the lock: it may return memory to the system.
        let removed = self.write().remove(&addr);
        drop(removed);
    }

    /// Returns the allocation that the address lies in, freed or not.
    pub(crate) fn find(&self, ptr: usize) -> Option<Arc<Allocation>> {
        around(&self.read(), ptr).cloned()
    }

    /// Ends every allocation.
    pub(crate) fn free_all(&self) {
        let allocations: Vec<_> = self.read().values().cloned().collect();
        for allocation in allocations {
            allocation.abandon();
        }
    }

    /// Guards device memory: `size` bytes, not zero, inside one live allocation of `device`.
    pub(crate) fn guard_device(&self, device: DeviceId, ptr: usize, size: usize) -> Result<AllocationGuard> {
        if ptr == 0 {
            return Err(Error::NullPointer { size });
        }
        let guard = self.guard(ptr)?.ok_or(Error::UnknownPointer { ptr })?;
        let allocation = guard.allocation();
        match allocation.space() {
            Space::Unified => {}
            Space::Device if allocation.device == device => {}
            Space::Device => {
                return Err(Error::PointerOnOtherDevice { ptr, owner: allocation.device, device });
            }
            Space::Host => {
                return Err(Error::WrongSpace { ptr, expected: Space::Device, actual: Space::Host });
            }
        }
        allocation.check_range(ptr, size)?;
        Ok(guard)
    }

    /// Checks host memory, and guards it if it was allocated here. For other host memory the
    /// caller is responsible.
    pub(crate) fn guard_host(&self, ptr: usize, size: usize) -> Result<Option<AllocationGuard>> {
        if ptr == 0 {
            return Err(Error::NullPointer { size });
        }
        let Some(guard) = self.guard(ptr)? else {
            return match ptr.checked_add(size) {
                Some(_) => Ok(None),
                None => Err(Error::OutOfBounds { ptr, size, base: ptr, capacity: usize::MAX - ptr }),
            };
        };
        let actual = guard.allocation().space();
        if actual == Space::Device {
            return Err(Error::WrongSpace { ptr, expected: Space::Host, actual });
        }
        guard.allocation().check_range(ptr, size)?;
        Ok(Some(guard))
    }

    /// Describes the live allocation that the address lies in.
    pub(crate) fn info(&self, ptr: usize) -> Result<PointerInfo> {
        let guard = self.guard(ptr)?.ok_or(Error::UnknownPointer { ptr })?;
        guard.allocation().check_range(ptr, 0)?;
        Ok(guard.allocation().info())
    }

    /// Guards the allocation that the address lies in; `None` if there is none.
    fn guard(&self, ptr: usize) -> Result<Option<AllocationGuard>> {
        match around(&self.read(), ptr) {
            None => Ok(None),
            Some(allocation) => allocation.guard().map(Some).ok_or(Error::UnknownPointer { ptr }),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<usize, Arc<Allocation>>> {
        self.by_address.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<usize, Arc<Allocation>>> {
        self.by_address.write()
    }
}

fn around(allocations: &BTreeMap<usize, Arc<Allocation>>, ptr: usize) -> Option<&Arc<Allocation>> {
    let (&start, allocation) = allocations.range(..=ptr).next_back()?;
    (ptr - start < allocation.block_size()).then_some(allocation)
}
