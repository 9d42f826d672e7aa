//! Addresses and sizes.

use tenon::device::Result;
use tenon::reflect::Space;

use super::functions::{Bytes, Lifecycle, MemoryParam, element_size};
use crate::validate::objects::allocations::{Allocation, Memory};
use crate::validate::objects::handles::NO_DEVICE;
use crate::validate::objects::lookup_cache;
use crate::validate::objects::registry::{TrackedPlugin, all_changes};
use crate::validate::rules::Rule;
use crate::validate::{CallCheck, Violation};

/// The problem with an address. It is boxed, so that a call without a problem needs no room for it.
enum Finding {
    TooLarge,
    Null(u64),
    /// The plugin does not know it; another may.
    Strange {
        address: u64,
        bytes: u64,
    },
    Wrong(Violation),
}

/// No object is larger.
const MOST: u64 = isize::MAX as u64;

impl CallCheck<'_> {
    #[inline]
    pub fn memory(&self) -> Result<()> {
        if self.checks.memory.is_empty() {
            return Ok(());
        }
        let mut from = 0;
        // The lock is released before anything is reported, and before another plugin is asked.
        while let Some((at, finding)) = self.look_at_memory(from) {
            from = at + 1;
            let part = &self.checks.memory[at];
            match *finding {
                Finding::TooLarge => self.too_large(part)?,
                Finding::Null(bytes) => {
                    let message = format!("null, but {bytes} bytes are accessed");
                    self.report(Violation::new(Rule::Null, part.name, message))?;
                }
                Finding::Wrong(violation) => self.report(violation)?,
                Finding::Strange { address, bytes } => self.strange(part, address, bytes)?,
            }
        }
        match self.checks.apart {
            Some((to, from)) => self.apart(&self.checks.memory[to], &self.checks.memory[from]),
            None => Ok(()),
        }
    }

    /// Returns the first memory parameter, from an index on, that breaks a rule.
    #[inline]
    fn look_at_memory(&self, from: usize) -> Option<(usize, Box<Finding>)> {
        let version = self.plugin.memory_version();
        // Locked if the cache lacks an entry, and released at the end of the call.
        let mut memory = None;
        let parts = self.checks.memory.iter().enumerate().skip(from);
        parts.into_iter().find_map(|(at, part)| {
            let Some(bytes) = self.bytes(part) else { return Some((at, Box::new(Finding::TooLarge))) };
            if part.lifecycle != Lifecycle::Goes || bytes == 0 {
                return None;
            }
            let address = self.argument(part.param);
            if address == 0 {
                return (!part.nullable).then(|| (at, Box::new(Finding::Null(bytes))));
            }
            let look = MemoryLookup { part, device: self.device(part.of), address, bytes };
            let finding = match look.recently(version) {
                Some(finding) => finding,
                None => look.anew(memory.get_or_insert_with(|| self.plugin.memory()), self.plugin),
            };
            finding.map(|finding| (at, finding))
        })
    }

    /// Returns the number of bytes that a parameter points to, at least; `None` if that exceeds the address space.
    #[inline]
    pub fn bytes(&self, part: &MemoryParam) -> Option<u64> {
        let bytes = match part.bytes {
            Bytes::Param(size) => self.argument(size),
            Bytes::Number(size) => size,
            Bytes::Elements { count, of } => {
                let (count, size) = (self.argument(count), element_size(self.argument(of)));
                count.checked_mul(size.max(1))?
            }
            Bytes::Unknown => 1,
        };
        self.argument(part.param).checked_add(bytes)?;
        (bytes <= MOST).then_some(bytes)
    }

    #[cold]
    fn too_large(&self, part: &MemoryParam) -> Result<()> {
        let message = match part.bytes {
            Bytes::Elements { count, .. } => format!("{} elements overflow", self.argument(count)),
            Bytes::Param(size) => {
                let (address, size) = (self.argument(part.param), self.argument(size));
                match address {
                    0 => format!("{size} bytes are more than there can be"),
                    _ => format!("{size} bytes from {address:#x} exceed the address space"),
                }
            }
            _ => format!("{:#x} is at the end of the address space", self.argument(part.param)),
        };
        self.report(Violation::new(Rule::SizeOverflow, part.name, message))
    }

    fn apart(&self, to: &MemoryParam, from: &MemoryParam) -> Result<()> {
        let (a, b) = (self.argument(to.param), self.argument(from.param));
        let Some(bytes) = self.bytes(to) else { return Ok(()) };
        if a == b || a.abs_diff(b) >= bytes {
            return Ok(());
        }
        let message = format!("{bytes} bytes to {a:#x} overlap those from {b:#x}");
        self.report(Violation::new(Rule::OverlappingCopy, to.name, message))
    }

    /// Returns an address that the plugin does not know.
    #[inline]
    fn strange(&self, part: &MemoryParam, address: u64, bytes: u64) -> Result<()> {
        let changes = all_changes();
        let foreign = |other: &TrackedPlugin| {
            let memory = other.memory();
            let found = memory.on_any_device(address)?;
            // Host memory may be unified memory.
            (part.space != Space::Host || found.space == Space::Device)
                .then(|| (other.name.clone(), text(found)))
        };
        match self.plugin.others(foreign) {
            Some((owner, found)) => {
                let (rule, message) = match part.space {
                    Space::Host => (
                        Rule::DeviceAsHost,
                        format!("{address:#x} is device memory of the plugin {owner}: {found}"),
                    ),
                    _ => (
                        Rule::MemoryOfOtherPlugin,
                        format!("{address:#x} belongs to the plugin {owner}: {found}"),
                    ),
                };
                self.report(Violation::new(rule, part.name, message))
            }
            None if part.space == Space::Host => {
                lookup_cache::remember_clear(
                    (self.plugin.memory_version().0, changes),
                    address,
                    |start, end| {
                        let removed =
                            |other: &TrackedPlugin| (!other.memory().is_clear(start, end)).then_some(());
                        self.plugin.memory().is_clear(start, end) && self.plugin.others(removed).is_none()
                    },
                );
                Ok(())
            }
            None => self.unknown_memory(part, address, bytes),
        }
    }

    #[cold]
    fn unknown_memory(&self, part: &MemoryParam, address: u64, bytes: u64) -> Result<()> {
        if let Some(freed) = self.plugin.freed_memory(address) {
            let (start, size) = (freed.start, freed.size);
            let message =
                format!("{address:#x} lay in {size} bytes at {start:#x}, freed by {}", freed.by.text());
            let violation = Violation::new(Rule::FreedMemory, part.name, message);
            return self.report(violation.with_place(freed.by.place("freed")));
        }
        let message = format!("{bytes} bytes at {address:#x} are in no allocation; is it a host address?");
        self.report(Violation::new(Rule::UnknownMemory, part.name, message))
    }

    /// Returns the reason why a call cannot free memory.
    #[cold]
    pub fn bad_free(&self, part: &MemoryParam, address: u64, size: u64) -> Result<()> {
        let device = self.device(part.of);
        let known = self.plugin.memory().anywhere(address).map(|found| {
            let message = if found.start != address {
                format!("{address:#x} is not the beginning of {}", text(found))
            } else if found.space != part.space {
                format!("{address:#x} is {} memory: {}", word(found.space), text(found))
            } else if found.device != device {
                format!("{address:#x} is memory of device {}: {}", found.device, text(found))
            } else {
                format!("{size} bytes are not the size of {}", text(found))
            };
            Violation::new(Rule::FreedWrongly, part.name, message).with_place(found.created_by.place("made"))
        });
        if let Some(violation) = known {
            return self.report(violation);
        }
        if let Some(freed) = self.plugin.freed_memory(address).filter(|freed| freed.start == address) {
            let message = format!("{} bytes at {address:#x} were freed by {}", freed.size, freed.by.text());
            let violation = Violation::new(Rule::FreedTwice, part.name, message);
            return self.report(violation.with_place(freed.by.place("freed")));
        }
        let is_foreign = self.plugin.others(|other| other.memory().anywhere(address).map(|_| ())).is_some();
        if is_foreign { self.strange(part, address, size) } else { self.unknown_memory(part, address, size) }
    }
}

/// A range that a call names.
struct MemoryLookup<'a> {
    part: &'a MemoryParam,
    device: i32,
    address: u64,
    bytes: u64,
}

impl MemoryLookup<'_> {
    /// Checks with this thread's cache. `None` if it has no entry.
    #[inline]
    fn recently(&self, version: (u32, u64)) -> Option<Option<Box<Finding>>> {
        match self.part.space {
            Space::Any => Some(None),
            Space::Host if lookup_cache::is_clear((version.0, all_changes()), self.address) => Some(None),
            Space::Host => None,
            Space::Device | Space::Unified => {
                lookup_cache::memory(version, self.device, self.address, |found| self.within(found))
            }
        }
    }

    fn anew(&self, memory: &Memory, of: &TrackedPlugin) -> Option<Box<Finding>> {
        if self.part.space == Space::Host {
            return self.on_host(memory);
        }
        let found = match self.device {
            NO_DEVICE => memory.on_any_device(self.address),
            device => memory.on_device(device, self.address),
        };
        let Some(found) = found else { return self.wrong_device(memory) };
        // The lock is held, so the version belongs to the entry that was found.
        lookup_cache::remember_memory(of.memory_version(), self.device, self.address, found);
        self.within(found)
    }

    #[cold]
    fn wrong_device(&self, memory: &Memory) -> Option<Box<Finding>> {
        let Self { address, device, bytes, .. } = *self;
        if let Some(found) = memory.on_any_device(address) {
            let whose = found.device;
            let message =
                format!("{address:#x} is memory of device {whose}, not of {device}: {}", text(found));
            return self.wrong(Rule::MemoryOfOtherDevice, message);
        }
        match memory.on_host(address) {
            Some(found) => {
                self.wrong(Rule::HostAsDevice, format!("{address:#x} is host memory: {}", text(found)))
            }
            None => Some(Box::new(Finding::Strange { address, bytes })),
        }
    }

    /// Checks host memory, as far as the layer knows it.
    fn on_host(&self, memory: &Memory) -> Option<Box<Finding>> {
        let Self { address, bytes, .. } = *self;
        match memory.on_any_device(address).or_else(|| memory.on_host(address)) {
            Some(found) if found.space == Space::Device => {
                let message = format!("{address:#x} is memory of device {}: {}", found.device, text(found));
                self.wrong(Rule::DeviceAsHost, message)
            }
            Some(found) => self.within(found),
            None => Some(Box::new(Finding::Strange { address, bytes })),
        }
    }

    #[inline]
    fn within(&self, found: &Allocation) -> Option<Box<Finding>> {
        let room = found.end() - self.address;
        if self.bytes > room {
            return self.outside(found, room);
        }
        None
    }

    #[cold]
    fn outside(&self, found: &Allocation, room: u64) -> Option<Box<Finding>> {
        let (address, bytes, over) = (self.address, self.bytes, self.bytes - room);
        let message =
            format!("{bytes} bytes from {address:#x} run {over} bytes past the end of {}", text(found));
        let violation = Violation::new(Rule::OutsideAllocation, self.part.name, message);
        Some(Box::new(Finding::Wrong(violation.with_place(found.created_by.place("made")))))
    }

    fn wrong(&self, rule: Rule, message: String) -> Option<Box<Finding>> {
        Some(Box::new(Finding::Wrong(Violation::new(rule, self.part.name, message))))
    }
}

/// Returns a description such as «64 bytes at 0x1000 (`device_memory_allocate`, 2.1 ms ago)».
pub fn text(allocation: &Allocation) -> String {
    format!("{} bytes at {:#x} ({})", allocation.size, allocation.start, allocation.created_by.text())
}

pub fn word(space: Space) -> &'static str {
    match space {
        Space::Host => "host",
        Space::Device => "device",
        Space::Unified => "unified",
        Space::Any => "some",
    }
}
