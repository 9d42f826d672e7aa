//! From any address to the block that it lies in.

use super::block::{Block, Pin};
use super::{PointerInfo, Space};
use crate::error::{Error, Result};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// All blocks of all devices, the cached ones included: so a block that goes in and out of the
/// cache costs the registry nothing.
#[derive(Default)]
pub(crate) struct Registry {
    maps: RwLock<Maps>,
}

#[derive(Default)]
struct Maps {
    /// For the pointers that allocations return, which are most of those asked for.
    starts: HashMap<usize, Arc<Block>, BuildHasherDefault<AddressHasher>>,
    /// For pointers into the middle.
    ordered: BTreeMap<usize, Arc<Block>>,
}

impl Registry {
    pub(crate) fn insert(&self, block: &Arc<Block>) {
        let mut maps = self.write();
        maps.starts.insert(block.addr(), block.clone());
        maps.ordered.insert(block.addr(), block.clone());
    }

    pub(crate) fn remove(&self, blocks: &[Arc<Block>]) {
        if blocks.is_empty() {
            return;
        }
        let mut maps = self.write();
        for block in blocks {
            maps.starts.remove(&block.addr());
            maps.ordered.remove(&block.addr());
        }
        // What holds nothing gives its memory back, so that a device that was shut down leaves none behind.
        if maps.starts.is_empty() {
            maps.starts.shrink_to_fit();
        }
    }

    /// The block that the address lies in, allocated or not.
    pub(crate) fn find(&self, ptr: usize) -> Option<Arc<Block>> {
        let maps = self.read();
        maps.starts.get(&ptr).or_else(|| maps.around(ptr)).cloned()
    }

    /// Ends every allocation.
    pub(crate) fn free_all(&self) {
        let blocks: Vec<_> = self.read().ordered.values().cloned().collect();
        for block in blocks {
            block.abandon();
        }
    }

    /// Pins device memory: `size` bytes, not zero, inside one live allocation of `device`.
    pub(crate) fn pin_device(&self, device: usize, ptr: usize, size: usize) -> Result<Pin> {
        if ptr == 0 {
            return Err(Error::NullPointer { size });
        }
        let pin = self.pin(ptr)?.ok_or(Error::UnknownPointer { ptr })?;
        let block = pin.block();
        match block.space() {
            Space::Unified => {}
            Space::Device if block.device == device => {}
            Space::Device => {
                return Err(Error::PointerOnOtherDevice { ptr, owner: block.device, device });
            }
            Space::Host => {
                return Err(Error::WrongSpace { ptr, expected: Space::Device, actual: Space::Host });
            }
        }
        block.check_range(ptr, size)?;
        Ok(pin)
    }

    /// Checks host memory, and pins it if it was allocated here. Other host memory is the
    /// caller's business.
    pub(crate) fn pin_host(&self, ptr: usize, size: usize) -> Result<Option<Pin>> {
        if ptr == 0 {
            return Err(Error::NullPointer { size });
        }
        let Some(pin) = self.pin(ptr)? else {
            return match ptr.checked_add(size) {
                Some(_) => Ok(None),
                None => Err(Error::OutOfBounds { ptr, size, base: ptr, capacity: usize::MAX - ptr }),
            };
        };
        let actual = pin.block().space();
        if actual == Space::Device {
            return Err(Error::WrongSpace { ptr, expected: Space::Host, actual });
        }
        pin.block().check_range(ptr, size)?;
        Ok(Some(pin))
    }

    /// What is known of the live allocation around the address.
    pub(crate) fn info(&self, ptr: usize) -> Result<PointerInfo> {
        let pin = self.pin(ptr)?.ok_or(Error::UnknownPointer { ptr })?;
        pin.block().check_range(ptr, 0)?;
        Ok(pin.block().info())
    }

    /// Pins the block around the address; none if the address lies in no block.
    fn pin(&self, ptr: usize) -> Result<Option<Pin>> {
        let maps = self.read();
        match maps.starts.get(&ptr).or_else(|| maps.around(ptr)) {
            None => Ok(None),
            Some(block) => block.pin().map(Some).ok_or(Error::UnknownPointer { ptr }),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Maps> {
        self.maps.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Maps> {
        self.maps.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Maps {
    fn around(&self, ptr: usize) -> Option<&Arc<Block>> {
        let (&start, block) = self.ordered.range(..=ptr).next_back()?;
        (ptr - start < block.capacity()).then_some(block)
    }
}

/// Addresses are multiples of 64 and not chosen by an adversary: one multiplication spreads
/// them well enough.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(usize::from(byte) ^ self.0 as usize);
        }
    }

    fn write_usize(&mut self, address: usize) {
        let mixed = (address as u64 >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The table takes its index from the low bits and its tag from the high ones.
        self.0 = mixed ^ (mixed >> 32);
    }
}
