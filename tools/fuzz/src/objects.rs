//! The objects that a program has made and not yet destroyed, and those that it has destroyed.

use std::collections::BTreeMap;

use tenon::reflect::Space;

use crate::choices::Choices;

/// A handle.
#[derive(Clone, Copy)]
struct Object {
    value: u64,
    /// The device that it was made with; 0 without one.
    device: u64,
}

/// An allocation.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub address: u64,
    pub size: u64,
    pub space: Space,
    pub device: u64,
}

/// Number of destroyed objects that are remembered, for each type.
const REMEMBERED: usize = 64;

/// The objects of a program. Handles are grouped by the name of their type.
#[derive(Default)]
pub struct Objects {
    handles: BTreeMap<&'static str, Vec<Object>>,
    destroyed: BTreeMap<&'static str, Vec<u64>>,
    memory: Vec<Memory>,
    freed: Vec<u64>,
}

impl Objects {
    pub fn add_handle(&mut self, name: &'static str, value: u64, device: u64) {
        self.handles.entry(name).or_default().push(Object { value, device });
    }

    pub fn remove_handle(&mut self, name: &'static str, value: u64) {
        let handles = self.handles.entry(name).or_default();
        if let Some(index) = handles.iter().position(|handle| handle.value == value) {
            handles.swap_remove(index);
            remember(self.destroyed.entry(name).or_default(), value);
        }
    }

    pub fn add_memory(&mut self, memory: Memory) {
        self.memory.push(memory);
    }

    pub fn remove_memory(&mut self, address: u64) {
        if let Some(index) = self.memory.iter().position(|memory| memory.address == address) {
            self.memory.swap_remove(index);
            remember(&mut self.freed, address);
        }
    }

    /// Returns a live handle of a type. If a device is given, it is one of that device, unless there is none.
    pub fn handle(&self, choices: &mut Choices, name: &str, device: Option<u64>) -> Option<u64> {
        let handles = self.handles.get(name)?;
        let of_device: Vec<u64> = handles
            .iter()
            .filter(|handle| device.is_none_or(|device| handle.device == device))
            .map(|handle| handle.value)
            .collect();
        choices.one_of(&of_device).copied()
    }

    /// Returns a live handle of any other type.
    pub fn other_handle(&self, choices: &mut Choices, name: &str) -> Option<u64> {
        let others: Vec<u64> = self
            .handles
            .iter()
            .filter(|(other, _)| **other != name)
            .flat_map(|(_, handles)| handles.iter().map(|handle| handle.value))
            .collect();
        choices.one_of(&others).copied()
    }

    /// Returns a handle that was destroyed.
    pub fn destroyed_handle(&self, choices: &mut Choices, name: &str) -> Option<u64> {
        choices.one_of(self.destroyed.get(name)?).copied()
    }

    /// Returns a live allocation. If a device is given, it is one of that device.
    pub fn memory(&self, choices: &mut Choices, space: Space, device: Option<u64>) -> Option<Memory> {
        let fits = |memory: &&Memory| {
            device.is_none_or(|device| memory.device == device)
                && (space == Space::Any || memory.space == space)
        };
        let fitting: Vec<Memory> = self.memory.iter().filter(fits).copied().collect();
        choices.one_of(&fitting).copied()
    }

    /// Returns the address of memory that was freed.
    pub fn freed(&self, choices: &mut Choices) -> Option<u64> {
        choices.one_of(&self.freed).copied()
    }

    /// Returns the number of live objects of a type.
    pub fn count(&self, name: &str) -> usize {
        self.handles.get(name).map_or(0, Vec::len)
    }

    /// Returns the number of live allocations.
    pub fn memory_count(&self) -> usize {
        self.memory.len()
    }
}

fn remember(values: &mut Vec<u64>, value: u64) {
    if values.len() == REMEMBERED {
        values.remove(0);
    }
    values.push(value);
}
