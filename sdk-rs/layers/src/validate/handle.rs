//! Handles that a plugin has given out.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::early::Event;
use super::hash::fold;
use super::origin::Origin;
use super::registry::NO_DEVICE;
use super::work::StreamWork;

/// A handle, and its kind in the upper byte. Addresses have no such bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(pub(super) u64);

impl Key {
    #[inline]
    pub(super) fn new(kind: u8, address: u64) -> Self {
        Self(address ^ (u64::from(kind) << 56))
    }

    #[inline]
    pub(super) fn shard(self) -> usize {
        // The map takes other bits.
        (fold(self.0) >> 40) as usize % 16
    }
}

/// A handle that is alive.
pub(super) struct Handle {
    pub(super) known: Arc<Known>,
    /// How often it was given out: a device may have one event for all.
    pub(super) count: u32,
    /// Whether it belongs to something else, and so is no leak.
    pub(super) lent: bool,
    /// Whether it was already reported as a leak.
    pub(super) told: AtomicBool,
}

/// What is known of a handle.
pub(super) struct Known {
    pub(super) kind: u8,
    pub(super) address: u64,
    pub(super) device: i32,
    pub(super) origin: Origin,
    pub(super) state: State,
}

/// What handles of some kinds remember.
#[derive(Clone)]
pub(super) enum State {
    Plain,
    Stream(Arc<StreamWork>),
    Event(Arc<Event>),
}

impl Handle {
    pub(super) fn new(known: Known, lent: bool) -> Self {
        Self { known: Arc::new(known), count: 1, lent, told: AtomicBool::new(false) }
    }
}

impl Known {
    pub(super) fn on_any_device(&self) -> Arc<Self> {
        let (origin, state) = (self.origin.clone(), self.state.clone());
        Arc::new(Self { kind: self.kind, address: self.address, device: NO_DEVICE, origin, state })
    }

    pub(super) fn stream(&self) -> Option<&Arc<StreamWork>> {
        match &self.state {
            State::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    /// Its records and waits, where it is an event.
    pub(super) fn event(&self) -> Option<&Arc<Event>> {
        match &self.state {
            State::Event(event) => Some(event),
            _ => None,
        }
    }
}
