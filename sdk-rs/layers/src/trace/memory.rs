//! Counts the memory in use from the calls.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tenon::device::reflection::FUNCTIONS;
use tenon::reflect::{Extent, FunctionInfo, Kind, Length, Role, Space};

/// Effect of a function on the memory in use. Parameters are indices.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pointer: usize,
    size: usize,
    device: usize,
    space: usize,
    more: bool,
}

const NAMES: [&str; 3] = ["device memory", "host memory", "unified memory"];

static CHANGES: LazyLock<Vec<Option<Change>>> = LazyLock::new(|| FUNCTIONS.iter().map(of).collect());

/// Returns the effect of each function on the memory in use. The first call allocates; [`prepare`] makes it.
#[inline]
pub(super) fn change(function: u16) -> Option<&'static Change> {
    CHANGES.get(usize::from(function))?.as_ref()
}

/// Makes the allocations that a signal handler must not make.
pub(super) fn prepare() {
    LazyLock::force(&CHANGES);
}

fn of(info: &FunctionInfo) -> Option<Change> {
    let is_memory = |role| {
        info.params.iter().position(|param| {
            matches!(param.kind, Kind::Pointer) && param.role == role && param.space.is_some()
        })
    };
    let (pointer, more) = match (is_memory(Role::Creates), is_memory(Role::Destroys)) {
        (Some(pointer), _) => (pointer, true),
        (None, Some(pointer)) => (pointer, false),
        (None, None) => return None,
    };
    let Some(Length::Bytes(Extent::Param(size))) = info.params[pointer].length else { return None };
    let space = match info.params[pointer].space? {
        Space::Device | Space::Any => 0,
        Space::Host => 1,
        Space::Unified => 2,
    };
    Some(Change { pointer, size, device: info.params[pointer].of?, space, more })
}

impl Change {
    pub(super) fn name(&self) -> &'static str {
        NAMES[self.space]
    }

    pub(super) fn device(&self, arguments: &[u64]) -> u64 {
        arguments.get(self.device).copied().unwrap_or(0)
    }
}

/// The bytes in use of a plugin, by device and space.
pub(super) struct InUse([[AtomicU64; 3]; 64]);

impl InUse {
    pub(super) const fn new() -> Self {
        Self([const { [const { AtomicU64::new(0) }; 3] }; 64])
    }

    /// Counts a call that has succeeded. Returns the bytes in use.
    pub(super) fn count(&self, change: &Change, arguments: &[u64]) -> Option<u64> {
        if arguments[change.pointer] == 0 {
            return None;
        }
        let counter = &self.0.get(change.device(arguments) as usize)?[change.space];
        let size = arguments[change.size];
        Some(if change.more {
            counter.fetch_add(size, Ordering::Relaxed) + size
        } else {
            // Memory that was allocated before the trace began was never counted.
            let less = |used: u64| Some(used.saturating_sub(size));
            let before = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
            before.unwrap_or(0).saturating_sub(size)
        })
    }
}
