//! Memory of the plugin, and the bytes in it.

use tenon::device::Function;

use super::{GuardedBuffer, PluginUnderTest, address, id};
use crate::case::{Failure, Stop, Verdict, blame, failed, skipped};

/// Memory that a plugin allocated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) device: i32,
    pub(crate) address: u64,
    pub(crate) len: usize,
    pub(crate) kind: MemoryKind,
}

/// The function that allocated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryKind {
    Device,
    Pinned,
    Unified,
}

impl MemoryKind {
    fn functions(self) -> (Function, Function) {
        match self {
            MemoryKind::Device => (Function::DeviceMemoryAllocate, Function::DeviceMemoryDeallocate),
            MemoryKind::Pinned => (Function::HostMemoryAllocate, Function::HostMemoryDeallocate),
            MemoryKind::Unified => (Function::UnifiedMemoryAllocate, Function::UnifiedMemoryDeallocate),
        }
    }
}

/// A size that every device has.
const SMALL: usize = 1 << 20;

/// Number of bytes of changing memory that are read at once.
const CHUNK: usize = 64;

/// Bytes without repetition, which differ by seed.
pub(crate) fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&next().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

impl Memory {
    /// Returns the address so many bytes further on.
    pub(crate) fn at(&self, offset: usize) -> u64 {
        self.address + offset as u64
    }

    /// Returns host or unified memory as the host reads it.
    pub(crate) fn read_here(&self) -> Vec<u8> {
        let start = std::ptr::with_exposed_provenance::<u8>(self.address as usize);
        let mut bytes = Vec::with_capacity(self.len + CHUNK);
        // Volatile: the device may write at the same time where a case looks for just that.
        while bytes.len() + CHUNK <= self.len {
            // SAFETY: the plugin allocated as many bytes for the host to use, and the case has not freed
            // them.
            bytes.extend_from_slice(&unsafe { start.add(bytes.len()).cast::<[u8; CHUNK]>().read_volatile() });
        }
        // SAFETY: as above.
        bytes.extend((bytes.len()..self.len).map(|index| unsafe { start.add(index).read_volatile() }));
        bytes
    }

    /// Writes memory of the host, or of both, from the start.
    pub(crate) fn write_here(&self, bytes: &[u8]) {
        let start = std::ptr::with_exposed_provenance_mut::<u8>(self.address as usize);
        // SAFETY: the plugin allocated at least as many bytes for the host to use, and the case has not freed
        // them.
        unsafe { start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len().min(self.len)) };
    }
}

impl PluginUnderTest {
    /// Allocates memory. `None` if the plugin reports that there is not enough.
    pub(crate) fn try_allocate(&self, kind: MemoryKind, device: i32, len: usize) -> Verdict<Option<Memory>> {
        let mut place = 0xA5A5_A5A5_A5A5_A5A5_u64;
        self.ok(kind.functions().0, &[id(device), address(&mut place), len as u64])?;
        if place == 0xA5A5_A5A5_A5A5_A5A5 {
            let message = format!("`{}` answered `success` and wrote no address", kind.functions().0.name());
            return blame(kind.functions().0, message);
        }
        Ok((place != 0).then_some(Memory { device, address: place, len, kind }))
    }

    fn allocated(&self, kind: MemoryKind, device: i32, len: usize) -> Verdict<Memory> {
        match self.try_allocate(kind, device, len)? {
            Some(memory) => Ok(memory),
            None if len > SMALL && self.free_memory(device).is_none_or(|free| free < len) => {
                skipped(format!("device {device} has no memory for {len} bytes"))
            }
            None => {
                let function = kind.functions().0;
                blame(function, format!("`{}` has no memory for {len} bytes", function.name()))
            }
        }
    }

    /// Returns the free memory, if the plugin reports it.
    fn free_memory(&self, device: i32) -> Option<usize> {
        let (mut total, mut free) = (0_usize, 0_usize);
        let arguments = [id(device), address(&mut total), address(&mut free)];
        let asked = self.is_native(Function::DeviceMemoryStats)
            && self.ok(Function::DeviceMemoryStats, &arguments).is_ok();
        asked.then_some(free)
    }

    pub(crate) fn allocate(&self, device: i32, len: usize) -> Verdict<Memory> {
        self.allocated(MemoryKind::Device, device, len)
    }

    pub(crate) fn pinned(&self, device: i32, len: usize) -> Verdict<Memory> {
        self.allocated(MemoryKind::Pinned, device, len)
    }

    pub(crate) fn unified(&self, device: i32, len: usize) -> Verdict<Memory> {
        self.allocated(MemoryKind::Unified, device, len)
    }

    /// Allocates device memory with these bytes in it.
    pub(crate) fn filled(&self, device: i32, bytes: &[u8]) -> Verdict<Memory> {
        let memory = self.allocate(device, bytes.len())?;
        self.write(&memory, 0, bytes)?;
        Ok(memory)
    }

    pub(crate) fn free(&self, memory: Memory) -> Verdict {
        let function = memory.kind.functions().1;
        self.ok(function, &[id(memory.device), memory.address, memory.len as u64])
    }

    /// Copies to the device and waits.
    pub(crate) fn write(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Verdict {
        let mut source = GuardedBuffer::of(bytes);
        let (to, from) = (memory.at(offset), source.address());
        self.ok(Function::MemoryCopyH2d, &[id(memory.device), to, from, bytes.len() as u64])
    }

    /// Copies from the device and waits.
    pub(crate) fn read(&self, memory: &Memory, offset: usize, len: usize) -> Verdict<Vec<u8>> {
        let mut target = GuardedBuffer::new(len, 0xEE);
        let (to, from) = (target.address(), memory.at(offset));
        self.ok(Function::MemoryCopyD2h, &[id(memory.device), to, from, len as u64])?;
        match target.intact("the destination of `memory_copy_d2h`") {
            Err(Stop::Failed(failure)) => blame(Function::MemoryCopyD2h, failure.message),
            _ => Ok(target.bytes()),
        }
    }

    /// Fails unless the memory holds these bytes.
    ///
    /// If it does not, and the case is not about the copies that wrote and read the bytes, those are tried by
    /// themselves first: if they fail, the case shows nothing about its own functions.
    pub(crate) fn expect(&self, memory: &Memory, offset: usize, bytes: &[u8], what: &str) -> Verdict {
        let seen = same(&self.read(memory, offset, bytes.len())?, bytes, what);
        if seen.is_err() && !super::is_tested(&COPIES) {
            self.round_trip(memory.device, bytes.len())?;
        }
        seen
    }

    /// Fails unless bytes that are copied to the device and back are the same.
    fn round_trip(&self, device: i32, len: usize) -> Verdict {
        let bytes = pattern(len, 0xB1);
        let memory = self.filled(device, &bytes)?;
        let what = "bytes written by `memory_copy_h2d` and read back by `memory_copy_d2h`";
        let seen = same(&self.read(&memory, 0, len)?, &bytes, what);
        self.free(memory)?;
        seen.map_err(|stop| match stop {
            Stop::Failed(Failure { message, .. }) => {
                Stop::Failed(Failure { message, blamed: COPIES.to_vec(), certain: true })
            }
            skipped => skipped,
        })
    }
}

/// The functions with which every case reads and writes memory of a device.
const COPIES: [Function; 2] = [Function::MemoryCopyH2d, Function::MemoryCopyD2h];

/// Fails unless both are equal, and reports the first difference.
pub(crate) fn same(found: &[u8], expected: &[u8], what: &str) -> Verdict {
    let Some(first) = found.iter().zip(expected).position(|(found, expected)| found != expected) else {
        return Ok(());
    };
    let wrong = found.iter().zip(expected).filter(|(found, expected)| found != expected).count();
    failed(format!(
        "{what}: {wrong} of {} bytes are wrong, the first at {first}, {:#04x} where {:#04x} belongs",
        expected.len(),
        found[first],
        expected[first]
    ))
}
