//! Handles that a plugin has created.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::call_site::CallSite;
use super::early_wait::EventState;
use super::hash::fold;
use super::stream_progress::StreamProgress;

/// For objects without a device, or of an unknown device.
pub(super) const NO_DEVICE: i32 = i32::MIN;

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
    pub(super) known: Arc<HandleInfo>,
    /// Number of times that it was created: a device may have one event for all.
    pub(super) count: u32,
    /// True if it belongs to another object, and so is not a leak.
    pub(super) lent: bool,
    /// True once it was reported as a leak.
    pub(super) reported: AtomicBool,
}

/// The description of a handle.
pub(super) struct HandleInfo {
    pub(super) kind: u8,
    pub(super) address: u64,
    pub(super) device: i32,
    pub(super) created_by: CallSite,
    pub(super) state: State,
}

/// The state of handles of some kinds.
#[derive(Clone)]
pub(super) enum State {
    Plain,
    Stream(Arc<StreamProgress>),
    Event(Arc<EventState>),
}

impl Handle {
    pub(super) fn new(known: HandleInfo, lent: bool) -> Self {
        Self { known: Arc::new(known), count: 1, lent, reported: AtomicBool::new(false) }
    }
}

impl HandleInfo {
    pub(super) fn on_any_device(&self) -> Arc<Self> {
        let (created_by, state) = (self.created_by.clone(), self.state.clone());
        Arc::new(Self { kind: self.kind, address: self.address, device: NO_DEVICE, created_by, state })
    }

    pub(super) fn stream(&self) -> Option<&Arc<StreamProgress>> {
        match &self.state {
            State::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    /// Returns its records and waits, if it is an event.
    pub(super) fn event(&self) -> Option<&Arc<EventState>> {
        match &self.state {
            State::Event(event) => Some(event),
            _ => None,
        }
    }
}
