//! Handles that a plugin has created.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::groups::Member;
use super::hash::fold;
use super::stream_progress::StreamProgress;
use crate::validate::call_site::CallSite;
use crate::validate::checks::early_wait::EventState;

/// For objects without a device, or of an unknown device.
pub const NO_DEVICE: i32 = i32::MIN;

/// A handle, and its kind in the upper byte. Addresses have no such bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(pub u64);

impl Key {
    #[inline]
    pub fn new(kind: u8, address: u64) -> Self {
        Self(address ^ (u64::from(kind) << 56))
    }

    #[inline]
    pub fn shard(self) -> usize {
        // The hash map of a shard uses other bits.
        (fold(self.0) >> 40) as usize % 16
    }
}

/// A handle that is alive.
pub struct Handle {
    pub known: Arc<HandleInfo>,
    /// The number of times that the plugin returned it: a device may use one event for all.
    pub count: u32,
    /// True if it belongs to another object, and so is not a leak.
    pub lent: bool,
    /// True once it was reported as a leak.
    pub reported: AtomicBool,
}

/// The description of a handle.
pub struct HandleInfo {
    pub kind: u8,
    pub address: u64,
    pub device: i32,
    pub created_by: CallSite,
    pub state: State,
}

/// The state of handles of some kinds.
#[derive(Clone)]
pub enum State {
    Plain,
    Stream(Arc<StreamProgress>),
    Event(Arc<EventState>),
    Member(Arc<Member>),
}

impl Handle {
    pub fn new(known: HandleInfo, lent: bool) -> Self {
        Self { known: Arc::new(known), count: 1, lent, reported: AtomicBool::new(false) }
    }
}

impl HandleInfo {
    pub fn on_any_device(&self) -> Arc<Self> {
        let (created_by, state) = (self.created_by.clone(), self.state.clone());
        Arc::new(Self { kind: self.kind, address: self.address, device: NO_DEVICE, created_by, state })
    }

    pub fn stream(&self) -> Option<&Arc<StreamProgress>> {
        match &self.state {
            State::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    /// Returns the membership, if it is a communicator.
    pub fn member(&self) -> Option<&Arc<Member>> {
        match &self.state {
            State::Member(member) => Some(member),
            _ => None,
        }
    }

    /// Returns its records and waits, if it is an event.
    pub fn event(&self) -> Option<&Arc<EventState>> {
        match &self.state {
            State::Event(event) => Some(event),
            _ => None,
        }
    }
}
