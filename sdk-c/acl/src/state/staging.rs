//! Staging buffers: pinned host memory that queued copies read from.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tenon::{HostPtr, device};

use super::session::DeviceSession;
use crate::error::Result;

/// Number of idle buffers that are kept for reuse.
const KEPT: usize = 4;

/// Pinned memory, and a pooled event behind the work that reads it.
struct Buffer {
    address: HostPtr,
    length: usize,
    event: device::Event,
}

/// The staging buffers of a device.
#[derive(Default)]
pub(super) struct StagingBuffers(Mutex<Vec<Buffer>>);

impl StagingBuffers {
    fn buffers(&self) -> MutexGuard<'_, Vec<Buffer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the buffers that no queued work reads.
    fn take_idle(&self, session: &DeviceSession) -> Vec<Buffer> {
        // Taken out first: the device is not called under the lock.
        let all = std::mem::take(&mut *self.buffers());
        let is_idle = |buffer: &Buffer| {
            session.call(|device, id| device.query_event(id, buffer.event)).unwrap_or(false)
        };
        let (idle, busy): (Vec<_>, Vec<_>) = all.into_iter().partition(is_idle);
        self.buffers().extend(busy);
        idle
    }

    fn free(session: &DeviceSession, buffer: &Buffer) -> Result<()> {
        session.return_event(buffer.event);
        session.call(|device, id| device.host_memory_deallocate(id, buffer.address, buffer.length))
    }

    /// Frees all buffers. The device has no work any more.
    pub(super) fn clear(&self, session: &DeviceSession) {
        for buffer in std::mem::take(&mut *self.buffers()) {
            // No caller is left to return a failure to.
            let _ = Self::free(session, &buffer);
        }
    }
}

impl DeviceSession {
    /// Queues work on a stream that reads `length` bytes of pinned memory; `None` if the device cannot
    /// allocate host memory.
    pub(crate) fn with_staging(
        &self,
        stream: device::Stream,
        length: usize,
        queue: impl FnOnce(HostPtr) -> Result<()>,
    ) -> Option<Result<()>> {
        let mut idle = self.staging.take_idle(self);
        let fitting = idle.iter().position(|buffer| buffer.length >= length);
        let fitting = fitting.map(|index| idle.swap_remove(index));
        let surplus = idle.split_off(idle.len().min(KEPT));
        self.staging.buffers().extend(idle);
        for buffer in surplus {
            // A failure does not concern the work that is about to be queued.
            let _ = StagingBuffers::free(self, &buffer);
        }
        let buffer = match fitting {
            Some(buffer) => buffer,
            None => match self.new_buffer(length)? {
                Ok(buffer) => buffer,
                Err(error) => return Some(Err(error)),
            },
        };
        let queued = queue(buffer.address);
        // Also after a failure, since some of the work may be queued.
        let recorded = self.call(|device, id| device.record_event(id, stream, buffer.event));
        self.staging.buffers().push(buffer);
        Some(queued.and(recorded))
    }

    fn new_buffer(&self, length: usize) -> Option<Result<Buffer>> {
        // The event first, since it is easily returned.
        let event = match self.take_event() {
            Ok(event) => event,
            Err(error) => return Some(Err(error)),
        };
        match self.call_raw(|device, id| device.host_memory_allocate(id, length)) {
            Ok(address) if !address.is_null() => Some(Ok(Buffer { address, length, event })),
            _ => {
                self.return_event(event);
                None
            }
        }
    }
}
