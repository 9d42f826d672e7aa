//! Host memory that queued copies read from, until they are made.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tenon::{HostPtr, device};

use crate::error::Result;
use crate::home::Unit;

/// How many pieces are kept for the next time.
const KEPT: usize = 4;

/// Pinned memory, and a mark behind the work that uses it.
struct Piece {
    address: HostPtr,
    length: usize,
    mark: device::Event,
}

/// The pieces of a device.
#[derive(Default)]
pub(crate) struct Scratch(Mutex<Vec<Piece>>);

impl Scratch {
    fn pieces(&self) -> MutexGuard<'_, Vec<Piece>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes those that no work uses any more.
    fn idle(&self, unit: &Unit) -> Vec<Piece> {
        // Not asked while the lock is held.
        let all = std::mem::take(&mut *self.pieces());
        let is_idle =
            |piece: &Piece| unit.on(|device, id| device.query_event(id, piece.mark)).unwrap_or(false);
        let (idle, busy): (Vec<_>, Vec<_>) = all.into_iter().partition(is_idle);
        self.pieces().extend(busy);
        idle
    }

    fn free(unit: &Unit, piece: &Piece) -> Result<()> {
        unit.give_mark(piece.mark);
        unit.on(|device, id| device.host_memory_deallocate(id, piece.address, piece.length))
    }

    /// Gives all of it back; the device has no work any more.
    pub(crate) fn clear(&self, unit: &Unit) {
        for piece in std::mem::take(&mut *self.pieces()) {
            // There is nobody left whom a failure would concern.
            let _ = Self::free(unit, &piece);
        }
    }
}

impl Unit {
    /// Queues work on a stream that reads pinned memory of a length; `None` if the device has no such memory.
    pub(crate) fn with_scratch(
        &self,
        stream: device::Stream,
        length: usize,
        queue: impl FnOnce(HostPtr) -> Result<()>,
    ) -> Option<Result<()>> {
        let mut idle = self.scratch.idle(self);
        let fitting = idle.iter().position(|piece| piece.length >= length);
        let fitting = fitting.map(|index| idle.swap_remove(index));
        let surplus = idle.split_off(idle.len().min(KEPT));
        self.scratch.pieces().extend(idle);
        for piece in surplus {
            // It does not concern the work that is to be queued.
            let _ = Scratch::free(self, &piece);
        }
        let piece = match fitting {
            Some(piece) => piece,
            None => match self.new_piece(length)? {
                Ok(piece) => piece,
                Err(error) => return Some(Err(error)),
            },
        };
        let queued = queue(piece.address);
        // Also where only some of it is queued.
        let marked = self.on(|device, id| device.record_event(id, stream, piece.mark));
        self.scratch.pieces().push(piece);
        Some(queued.and(marked))
    }

    fn new_piece(&self, length: usize) -> Option<Result<Piece>> {
        // First, since it is easily given back.
        let mark = match self.take_mark() {
            Ok(mark) => mark,
            Err(error) => return Some(Err(error)),
        };
        match self.ask(|device, id| device.host_memory_allocate(id, length)) {
            Ok(address) if !address.is_null() => Some(Ok(Piece { address, length, mark })),
            _ => {
                self.give_mark(mark);
                None
            }
        }
    }
}
