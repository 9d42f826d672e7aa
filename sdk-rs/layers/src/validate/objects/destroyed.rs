//! Recently destroyed handles and memory, with the call that destroyed each.

use std::collections::VecDeque;

use super::handles::Key;
use super::hash::Map;
use crate::validate::call_site::CallSite;

/// Recently destroyed handles and memory.
#[derive(Default)]
pub struct Destroyed {
    pub handles: Map<Key, CallSite>,
    order: VecDeque<Key>,
    pub memory: VecDeque<FreedMemory>,
}

/// Memory that was freed.
#[derive(Clone)]
pub struct FreedMemory {
    pub start: u64,
    pub size: u64,
    pub by: CallSite,
}

impl Destroyed {
    const HANDLES: usize = 4096;
    const MEMORY: usize = 1024;

    pub fn add_handle(&mut self, key: Key, by: CallSite) {
        if self.order.len() >= Self::HANDLES
            && let Some(oldest) = self.order.pop_front()
        {
            self.handles.remove(&oldest);
        }
        self.handles.insert(key, by);
        self.order.push_back(key);
    }

    pub fn add_memory(&mut self, memory: FreedMemory) {
        if self.memory.len() >= Self::MEMORY {
            self.memory.pop_front();
        }
        self.memory.push_back(memory);
    }
}
