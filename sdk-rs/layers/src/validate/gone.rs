//! What was destroyed of late, and by which call.

use std::collections::VecDeque;

use super::handle::Key;
use super::hash::Map;
use super::origin::Origin;

/// What was destroyed of late.
#[derive(Default)]
pub(super) struct Gone {
    pub(super) handles: Map<Key, Origin>,
    order: VecDeque<Key>,
    pub(super) memory: VecDeque<GoneMemory>,
}

/// Memory that was freed.
#[derive(Clone)]
pub(super) struct GoneMemory {
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) by: Origin,
}

impl Gone {
    const HANDLES: usize = 4096;
    const MEMORY: usize = 1024;

    pub(super) fn add_handle(&mut self, key: Key, by: Origin) {
        if self.order.len() >= Self::HANDLES
            && let Some(oldest) = self.order.pop_front()
        {
            self.handles.remove(&oldest);
        }
        self.handles.insert(key, by);
        self.order.push_back(key);
    }

    pub(super) fn add_memory(&mut self, memory: GoneMemory) {
        if self.memory.len() >= Self::MEMORY {
            self.memory.pop_front();
        }
        self.memory.push_back(memory);
    }
}
