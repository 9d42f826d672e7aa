//! Fills memory with a byte or a word.

use std::sync::Arc;

use tenon::device::Stream;
use tenon::{DevicePtr, HostPtr};

use crate::api::AclError;
use crate::error::{Result, refuse};
use crate::state::State;
use crate::state::blocks::expect_fits;
use crate::state::session::DeviceSession;
use crate::stream::completion;

/// The pattern that memory is filled with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pattern {
    Byte(u8),
    Word(u32),
}

impl Pattern {
    /// Returns the pattern for a byte that the program passes as an integer.
    pub(crate) fn lowest_byte(value: i32) -> Self {
        Pattern::Byte(value.to_le_bytes()[0])
    }

    /// Calls a function with the bytes of one element.
    fn with_bytes<R>(self, body: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Pattern::Byte(byte) => body(&[byte]),
            Pattern::Word(word) => body(&word.to_ne_bytes()),
        }
    }

    fn write(self, place: &mut [u8]) {
        self.with_bytes(|bytes| {
            place.chunks_exact_mut(bytes.len()).for_each(|element| element.copy_from_slice(bytes));
        });
    }
}

/// A fill with a checked range.
#[derive(Clone, Copy, Debug)]
struct Fill {
    address: usize,
    size: usize,
    pattern: Pattern,
    is_device: bool,
}

fn plan_fill(
    state: &State,
    (param, address): (&str, usize),
    room: usize,
    pattern: Pattern,
    count: usize,
) -> Result<Option<Fill>> {
    state.context()?;
    if address == 0 {
        return refuse(AclError::INVALID_PARAM, format!("`{param}` is null"));
    }
    let width = match pattern {
        Pattern::Byte(_) => 1,
        Pattern::Word(_) => 4,
    };
    if address % width != 0 {
        return refuse(
            AclError::RT_ADDR_UNALIGNED,
            format!("`{param}` is {address:#x}, which is not a multiple of {width}"),
        );
    }
    let size = count.checked_mul(width).filter(|size| *size <= room && *size <= isize::MAX as usize);
    let Some(size) = size.filter(|size| address.checked_add(*size).is_some()) else {
        return refuse(
            AclError::RT_PARAM_INVALID,
            format!("{count} times {width} bytes exceed the {room} bytes at `{param}`"),
        );
    };
    if size == 0 {
        return Ok(None);
    }
    let block = state.blocks.find(address);
    if let Some(block) = &block {
        expect_fits(param, block, address, size)?;
    }
    // Unknown memory may be host memory of the program, or device memory from another source. A fill states no
    // direction, so the device gets the call, and rejects memory that it does not know.
    let is_device = block.is_none_or(|block| block.is_device() && !block.is_host_accessible());
    Ok(Some(Fill { address, size, pattern, is_device }))
}

/// Fills memory, and returns when the fill is complete.
pub(crate) fn fill(
    state: &State,
    at: (&str, usize),
    room: usize,
    pattern: Pattern,
    count: usize,
) -> Result<()> {
    let Some(fill) = plan_fill(state, at, room, pattern, count)? else { return Ok(()) };
    if !fill.is_device {
        fill.write_host();
        return Ok(());
    }
    let session = session_at(state, fill.address)?;
    if let Pattern::Byte(byte) = pattern {
        let address = DevicePtr::from_addr(fill.address);
        return session.call(|device, id| device.device_memory_set(id, address, byte, fill.size));
    }
    fill.queue(&session, Stream::NULL)?;
    session.call(|device, id| device.synchronize_stream(id, Stream::NULL))
}

/// Fills memory in stream order.
pub(crate) fn fill_on(
    state: &State,
    stream: usize,
    at: (&str, usize),
    room: usize,
    pattern: Pattern,
    count: usize,
) -> Result<()> {
    let stream = state.stream(stream)?;
    let Some(fill) = plan_fill(state, at, room, pattern, count)? else { return Ok(()) };
    if !fill.is_device {
        return stream.submit(move |stream| completion::when_reached(stream, move || fill.write_host()));
    }
    if !Arc::ptr_eq(&session_at(state, fill.address)?, &stream.session) {
        // As with copies, neither device knows both the stream and the memory, so the host waits.
        stream.synchronize(None)?;
        return self::fill(state, at, room, pattern, count);
    }
    stream.submit(move |stream| fill.queue(&stream.session, stream.raw))
}

/// Returns the device that an address belongs to; the current device for unknown addresses.
fn session_at(state: &State, address: usize) -> Result<Arc<DeviceSession>> {
    Ok(match state.blocks.find(address) {
        Some(block) => block.lease.session.clone(),
        None => state.context()?.lease.session.clone(),
    })
}

impl Fill {
    fn write_host(self) {
        // SAFETY: the caller promises that the memory stays valid; ranges of known blocks were checked.
        self.pattern.write(unsafe { HostPtr::from_addr(self.address).bytes_mut(self.size) });
    }

    /// Queues the fill on a stream of the device.
    fn queue(self, session: &DeviceSession, stream: Stream) -> Result<()> {
        let address = DevicePtr::from_addr(self.address);
        self.pattern.with_bytes(|bytes| {
            session.call(|device, id| device.async_memory_fill(id, stream, address, bytes, self.size))
        })
    }
}
