//! Fills: a byte or a word, again and again.

use std::sync::Arc;

use tenon::{DevicePtr, HostPtr};

use crate::api::AclError;
use crate::arrival;
use crate::block::fits;
use crate::error::{Result, refuse};
use crate::home::Unit;
use crate::runtime::Runtime;
use crate::stream::Stream;

/// How much is copied at once from the host, where a device cannot fill by itself.
const CHUNK: usize = 1 << 20;

/// What memory is filled with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pattern {
    Byte(u8),
    Word(u32),
}

impl Pattern {
    /// The byte that a program passes as a whole number.
    pub(crate) fn lowest_byte(value: i32) -> Self {
        Pattern::Byte(value.to_le_bytes()[0])
    }

    fn write(self, place: &mut [u8]) {
        match self {
            Pattern::Byte(byte) => place.fill(byte),
            Pattern::Word(word) => {
                for piece in place.chunks_mut(4) {
                    piece.copy_from_slice(&word.to_ne_bytes()[..piece.len()]);
                }
            }
        }
    }
}

/// A fill whose range was checked.
#[derive(Clone, Copy, Debug)]
struct Fill {
    address: usize,
    size: usize,
    pattern: Pattern,
    is_device: bool,
}

impl Runtime {
    fn plan_fill(
        &self,
        (param, address): (&str, usize),
        room: usize,
        pattern: Pattern,
        count: usize,
    ) -> Result<Option<Fill>> {
        self.context()?;
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, format!("`{param}` is null"));
        }
        let unit = match pattern {
            Pattern::Byte(_) => 1,
            Pattern::Word(_) => 4,
        };
        if address % unit != 0 {
            return refuse(
                AclError::RT_ADDR_UNALIGNED,
                format!("`{param}` is {address:#x}, no multiple of {unit}"),
            );
        }
        let size = count.checked_mul(unit).filter(|size| *size <= room && *size <= isize::MAX as usize);
        let Some(size) = size.filter(|size| address.checked_add(*size).is_some()) else {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("{count} times {unit} bytes are more than the {room} bytes of room at `{param}`"),
            );
        };
        if size == 0 {
            return Ok(None);
        }
        let block = self.memory.find(address);
        if let Some(block) = &block {
            fits(param, block, address, size)?;
        }
        // Memory that is not known may be the device's from elsewhere, or the program's: as a fill has no kind that would
        // say, it is taken for the device's, which refuses what it does not know.
        let is_device = block.is_none_or(|block| block.is_device() && !block.is_the_hosts_too());
        Ok(Some(Fill { address, size, pattern, is_device }))
    }

    /// Fills, and returns when it is done.
    pub(crate) fn fill(&self, at: (&str, usize), room: usize, pattern: Pattern, count: usize) -> Result<()> {
        let Some(fill) = self.plan_fill(at, room, pattern, count)? else { return Ok(()) };
        if !fill.is_device {
            fill.write_host();
            return Ok(());
        }
        let unit = self.unit_at(fill.address)?;
        if let Pattern::Byte(byte) = pattern {
            let address = DevicePtr::from_addr(fill.address);
            return unit.on(|device, id| device.device_memory_set(id, address, byte, fill.size));
        }
        let mut bytes = vec![0; fill.size.min(CHUNK)];
        pattern.write(&mut bytes);
        fill.chunks(|address, size| {
            unit.on(|device, id| device.memory_copy_h2d(id, DevicePtr::from_addr(address), &bytes[..size]))
        })
    }

    /// Fills in the order of a stream.
    pub(crate) fn fill_on(
        &self,
        stream: usize,
        at: (&str, usize),
        room: usize,
        pattern: Pattern,
        count: usize,
    ) -> Result<()> {
        let stream = self.stream(stream)?;
        let Some(fill) = self.plan_fill(at, room, pattern, count)? else { return Ok(()) };
        if !fill.is_device {
            return stream.submit(move |stream| arrival::when_reached(stream, move || fill.write_host()));
        }
        if !Arc::ptr_eq(&self.unit_at(fill.address)?, &stream.unit) {
            // As with copies: the two devices know nothing of each other.
            stream.synchronize(None)?;
            return self.fill(at, room, pattern, count);
        }
        stream.submit(move |stream| fill.queue(stream))
    }

    /// The device that an address belongs to; the current one for what is not known.
    fn unit_at(&self, address: usize) -> Result<Arc<Unit>> {
        Ok(match self.memory.find(address) {
            Some(block) => block.lease.unit.clone(),
            None => self.context()?.lease.unit.clone(),
        })
    }
}

impl Fill {
    fn write_host(self) {
        // SAFETY: by the caller's promise the memory is there until then; what is known of it was checked.
        self.pattern.write(unsafe { HostPtr::from_addr(self.address).bytes_mut(self.size) });
    }

    /// Does something for each piece of the range, none longer than a chunk.
    fn chunks(self, mut each: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        (0..self.size)
            .step_by(CHUNK)
            .try_for_each(|offset| each(self.address + offset, CHUNK.min(self.size - offset)))
    }

    /// Queues copies from host memory that holds the pattern, since a device has no fill in the order of a stream.
    fn queue(self, stream: &Stream) -> Result<()> {
        let unit = &stream.unit;
        let length = self.size.min(CHUNK);
        let copy = |source: HostPtr| {
            self.chunks(|address, size| {
                let address = DevicePtr::from_addr(address);
                unit.on(|device, id| device.async_memory_copy_h2d(id, stream.raw, address, source, size))
            })
        };
        let queued = unit.with_scratch(stream.raw, length, |pinned| {
            // SAFETY: the device has given it, no work uses it, and nobody else has it.
            self.pattern.write(unsafe { pinned.bytes_mut(length) });
            copy(pinned)
        });
        queued.unwrap_or_else(|| {
            // From pageable memory the device takes the source over before it returns.
            let mut bytes = vec![0; length];
            self.pattern.write(&mut bytes);
            copy(HostPtr::from_ptr(bytes.as_ptr()))
        })
    }
}
