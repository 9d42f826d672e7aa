//! The order of the calls and of the queued work that use the same memory.

use tenon::device::Result;
use tenon::reflect::Space;

use super::functions::{Lifecycle, MemoryParam};
use super::memory::text;
use crate::validate::objects::accesses::Access;
use crate::validate::objects::allocations::Allocation;
use crate::validate::objects::handles::NO_DEVICE;
use crate::validate::objects::lookup_cache;
use crate::validate::objects::registry::all_changes;
use crate::validate::objects::stream_progress::WorkId;
use crate::validate::rules::Rule;
use crate::validate::{CallCheck, Violation};

impl CallCheck<'_> {
    /// Notes the memory that a call uses, now or by the work that it queues, and reports earlier work without an order
    /// to it.
    #[inline]
    pub fn order(&self, work: Option<WorkId>) -> Result<()> {
        if self.checks.memory.is_empty() || self.plugin.is_capturing() {
            return Ok(());
        }
        for part in &self.checks.memory {
            let is_tracked = if self.checks.stream.is_some() { work.is_some() && part.held } else { true };
            if !is_tracked || part.lifecycle != Lifecycle::Goes {
                continue;
            }
            if let Some(Some(violation)) = self.used_memory(part, |memory| self.note(part, work, memory)) {
                self.report(violation)?;
            }
        }
        Ok(())
    }

    /// Removes work that was not queued after all.
    #[cold]
    pub fn forget_accesses(&self, work: WorkId) {
        for part in self.checks.memory.iter().filter(|part| part.held) {
            self.used_memory(part, |memory| memory.accesses.forget(work));
        }
    }

    #[inline]
    fn note(&self, part: &MemoryParam, work: Option<WorkId>, memory: &Allocation) -> Option<Violation> {
        if let Some(work) = work {
            memory.note_use(work);
        }
        if !self.validate.checker.checks_order {
            return None;
        }
        let start = self.argument(part.param);
        let end = start + self.bytes(part).unwrap_or(0);
        let access = Access { start, end, writes: part.writes, work };
        let earlier = memory.accesses.add(access, &self.plugin.progress)?;
        Some(self.not_ordered(part, memory, &access, &earlier))
    }

    #[cold]
    fn not_ordered(
        &self,
        part: &MemoryParam,
        memory: &Allocation,
        access: &Access,
        earlier: &Access,
    ) -> Violation {
        let verb = |writes| if writes { "writes" } else { "reads" };
        let stream = earlier.work.and_then(|work| self.plugin.progress.get(work.stream()));
        let stream = stream.map(|stream| stream.text()).unwrap_or_default();
        let (start, end) = (access.start.max(earlier.start), access.end.min(earlier.end));
        let message = format!(
            "{} {} bytes at {start:#x} that earlier work on {stream} {}, and no order between the two is known: {}",
            verb(access.writes),
            end - start,
            verb(earlier.writes),
            text(memory)
        );
        Violation::new(Rule::Unordered, part.name, message)
    }

    /// Looks at the allocation that a parameter points into; `None`: there is none.
    #[inline]
    fn used_memory<T>(&self, part: &MemoryParam, look: impl FnOnce(&Allocation) -> T) -> Option<T> {
        let (address, device) = (self.argument(part.param), self.device(part.of));
        if address == 0 || self.bytes(part).is_none_or(|bytes| bytes == 0) {
            return None;
        }
        let mut look = Some(look);
        let mut seen = |found: &Allocation| look.take().map(|look| look(found));
        let version = self.plugin.memory_version();
        match part.space {
            Space::Any => None,
            Space::Host if lookup_cache::is_clear((version.0, all_changes()), address) => None,
            Space::Host => {
                let memory = self.plugin.memory();
                let found = memory.on_any_device(address).or_else(|| memory.on_host(address));
                found.and_then(|found| seen(found))
            }
            Space::Device | Space::Unified => {
                if let Some(result) = lookup_cache::memory(version, device, address, &mut seen) {
                    return result;
                }
                let memory = self.plugin.memory();
                let found = match device {
                    NO_DEVICE => memory.on_any_device(address),
                    device => memory.on_device(device, address),
                };
                found.and_then(|found| seen(found))
            }
        }
    }
}
