//! Tracks the objects that a call creates and destroys, and the work that it queues or waits for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tenon::device::{DeviceId, Result, Stream};

use crate::own_callback;
use crate::validate::checks::arguments::HandlesOfCall;
use crate::validate::checks::collectives::COMMUNICATOR;
use crate::validate::checks::early_wait::EarlyWait;
use crate::validate::checks::functions::{Effect, HandleParam, KINDS, Lifecycle, MemoryParam};
use crate::validate::checks::memory::text;
use crate::validate::objects::allocations::Allocation;
use crate::validate::objects::handles::{Handle, HandleInfo, State};
use crate::validate::objects::registry::Removed;
use crate::validate::objects::stream_progress::WorkId;
use crate::validate::rules::Rule;
use crate::validate::{CallCheck, Violation};

impl CallCheck<'_> {
    /// Performs the last steps before the call. Returns the note for `done` or `undo`.
    pub(super) fn begin(&self, seen: &HandlesOfCall) -> Result<u64> {
        if self.checks.ends {
            return self.end();
        }
        let stream = || seen.stream.map_or(0, WorkId::pack);
        Ok(match self.checks.effect {
            Effect::SynchronizeStream | Effect::QueryStream => stream(),
            Effect::WaitEvent | Effect::QueryEvent => {
                self.note_early_wait(seen);
                seen.record
            }
            Effect::RecordEvent => {
                self.is_late(seen)?;
                seen.record
            }
            Effect::StreamWaitEvent => {
                self.note_early_wait(seen);
                if let (Some(stream), Some(work), Some(record)) =
                    (&seen.waiting, seen.work, WorkId::unpack(seen.record))
                {
                    self.plugin.progress.wait(stream, work, record);
                }
                0
            }
            Effect::BeginCapture => {
                self.plugin.begin_capture();
                0
            }
            Effect::AddCallback => {
                if let Some(work) = seen.work.filter(|_| !own_callback::is_queued()) {
                    self.plugin.progress.announce(work);
                }
                0
            }
            Effect::None => seen.work.map_or(0, WorkId::pack),
            Effect::SynchronizeDevice | Effect::EndCapture | Effect::DeinitDevice | Effect::Finalize => 0,
        })
    }

    /// Stores a wait for an event that was not recorded yet.
    fn note_early_wait(&self, seen: &HandlesOfCall) {
        if let (0, Some(event)) = (seen.record, &seen.event) {
            event.set_early(EarlyWait::new(self, seen.waiting.as_ref().map(|stream| stream.id)));
        }
    }

    /// Reports a record that comes too late for the wait before it.
    fn is_late(&self, seen: &HandlesOfCall) -> Result<()> {
        let (Some(event), Some(record)) = (&seen.event, seen.work) else { return Ok(()) };
        let Some(wait) = event.take_early().filter(|wait| wait.missed(record)) else { return Ok(()) };
        let Some(param) = self.event_param() else { return Ok(()) };
        let message = format!(
            "the work that this records in Event {:#x} was queued before {}, which returned at once, because the event was \
             not recorded yet",
            self.argument(param.param),
            wait.by.text()
        );
        self.report(
            Violation::new(Rule::NeverRecorded, param.name, message).with_place(wait.by.place("waited for")),
        )
    }

    fn event_param(&self) -> Option<&'static HandleParam> {
        self.checks.handles.iter().find(|handle| KINDS[usize::from(handle.kind)] == "Event")
    }

    fn end(&self) -> Result<u64> {
        if let Some(handle) = self.checks.handles.iter().find(|handle| handle.lifecycle == Lifecycle::Ends) {
            return self.end_handle(handle);
        }
        match self.checks.memory.iter().find(|part| part.lifecycle == Lifecycle::Ends) {
            Some(part) => self.end_memory(part),
            None => Ok(0),
        }
    }

    /// Removes the handle from the registry before the plugin can reuse it.
    fn end_handle(&self, param: &HandleParam) -> Result<u64> {
        let address = self.argument(param.param);
        if address == 0 || !param.ours {
            return Ok(0);
        }
        self.stream_in_flight(param, address)?;
        match self.plugin.remove_handle(param.kind, address, self.call_site()) {
            Some(removed) => {
                if let Removed::Handle(handle) = &removed {
                    if let Some(stream) = handle.known.stream() {
                        self.plugin.progress.end(stream.id);
                    }
                    if let Some(wait) = handle.known.event().and_then(|event| event.waited_in_vain()) {
                        self.report(never_recorded(address, &wait, Some(param.name)))?;
                    }
                }
                Ok(self.plugin.keep(removed))
            }
            None => Ok(0),
        }
    }

    fn stream_in_flight(&self, param: &HandleParam, address: u64) -> Result<()> {
        let stream = self.plugin.handle(param.kind, address, |handle| handle.stream().cloned()).flatten();
        let Some(stream) = stream.filter(|stream| !stream.is_done()) else { return Ok(()) };
        if self.is_done(stream.until_now()) {
            return Ok(());
        }
        let message = format!("Stream {address:#x} has work that {}", self.not_done());
        self.report(Violation::new(Rule::DestroyedInFlight, param.name, message))
    }

    fn end_memory(&self, part: &MemoryParam) -> Result<u64> {
        let (address, size) = (self.argument(part.param), self.bytes(part).unwrap_or(0));
        if address == 0 {
            return Ok(0);
        }
        let whose = (self.device(part.of), part.space);
        let Some(removed) = self.plugin.remove_memory(whose, address, size, self.call_site()) else {
            self.bad_free(part, address, size)?;
            return Ok(0);
        };
        if let Some(work) = removed.uses().find(|work| !self.is_done(*work)) {
            let stream =
                self.plugin.progress.get(work.stream()).map(|stream| stream.text()).unwrap_or_default();
            let message = format!("work on {stream} uses {} and {}", text(&removed), self.not_done());
            self.report(Violation::new(Rule::FreedInFlight, part.name, message))?;
        }
        Ok(self.plugin.keep(Removed::Memory(removed)))
    }

    fn not_done(&self) -> &'static str {
        if self.validate.can_query_streams { "is not done yet" } else { "was not waited for" }
    }

    /// Returns true if work is known to be done, or the plugin reports it without waiting.
    pub(super) fn is_done(&self, work: WorkId) -> bool {
        if self.plugin.progress.is_done(work) || self.plugin.is_capturing() {
            return true;
        }
        let Some(stream) = self.plugin.progress.get(work.stream()) else { return true };
        if self.plugin.progress.is_announced(work) {
            return true;
        }
        if !self.validate.can_query_streams {
            return false;
        }
        let now = stream.until_now();
        let handle = Stream::from_addr(stream.address as usize);
        match self.next.query_stream(DeviceId(stream.device), handle) {
            Ok(true) => {
                self.plugin.progress.finish(now);
                true
            }
            Ok(false) => false,
            // Another check reports errors of the stream.
            Err(_) => true,
        }
    }

    /// Applies the effects of a call that has succeeded.
    pub(super) fn done(&self, note: u64, answer: Option<bool>) {
        if self.checks.ends {
            drop(self.plugin.kept(note));
        }
        for handle in self
            .checks
            .handles
            .iter()
            .filter(|one| matches!(one.lifecycle, Lifecycle::Begins | Lifecycle::Lent))
        {
            self.begin_handle(handle);
        }
        for part in self.checks.memory.iter().filter(|part| part.lifecycle == Lifecycle::Begins) {
            self.begin_memory(part);
        }
        match self.checks.effect {
            Effect::QueryStream | Effect::QueryEvent if answer != Some(true) => {}
            Effect::SynchronizeStream | Effect::QueryStream | Effect::WaitEvent | Effect::QueryEvent => {
                if let Some(work) = WorkId::unpack(note) {
                    self.plugin.progress.finish(work);
                }
            }
            Effect::SynchronizeDevice => {
                // Work that another thread has queued meanwhile counts as done too, to avoid false reports.
                for stream in self.plugin.progress.of_device(self.device(self.checks.device)) {
                    self.plugin.progress.finish(stream.until_now());
                }
            }
            Effect::EndCapture => self.plugin.end_capture(),
            Effect::DeinitDevice => {
                self.validate.report_leaks(self.call.function.name, Some(self.device(self.checks.device)));
            }
            Effect::Finalize => {
                self.validate.report_leaks(self.call.function.name, None);
                self.plugin.clear(&self.call_site());
            }
            Effect::None
            | Effect::RecordEvent
            | Effect::StreamWaitEvent
            | Effect::BeginCapture
            | Effect::AddCallback => {}
        }
    }

    /// Reverts the effects of a call that has failed: the object that it would have destroyed is still alive.
    pub(super) fn undo(&self, note: u64) {
        if self.checks.ends
            && let Some(removed) = self.plugin.kept(note)
        {
            self.plugin.restore(removed);
        }
        if self.checks.collective.is_some() {
            for handle in &self.checks.handles {
                self.plugin.handle(handle.kind, self.argument(handle.param), |handle| {
                    handle.member().map(|member| member.stop())
                });
            }
        }
        match self.checks.effect {
            // An invalidated capture has ended too.
            Effect::BeginCapture | Effect::EndCapture => self.plugin.end_capture(),
            Effect::RecordEvent => {
                for event in &self.checks.handles {
                    self.plugin.handle(event.kind, self.argument(event.param), |handle| {
                        handle.event().map(|event| event.record.store(note, Ordering::Relaxed))
                    });
                }
            }
            Effect::None => {
                if let Some(work) = WorkId::unpack(note) {
                    self.forget_accesses(work);
                }
            }
            _ => {}
        }
    }

    fn begin_handle(&self, param: &HandleParam) {
        let (address, lent) = (self.argument(param.param), param.lifecycle == Lifecycle::Lent);
        if address == 0 {
            if !param.null && !lent {
                let kind = KINDS[usize::from(param.kind)];
                let message = format!("the plugin reported success but returned no {kind}");
                let _ = self.report(Violation::new(Rule::NoHandle, param.name, message));
            }
            return;
        }
        let device = self.device(param.of);
        let state = match KINDS[usize::from(param.kind)] {
            "Stream" => State::Stream(self.plugin.progress.begin(device, address)),
            "Event" => State::Event(Arc::default()),
            COMMUNICATOR => self.joined().map_or(State::Plain, State::Member),
            _ => State::Plain,
        };
        let known = HandleInfo { kind: param.kind, address, device, created_by: self.call_site(), state };
        let unused = self.plugin.add_handle(Handle::new(known, lent));
        if let Some(stream) = unused.as_ref().and_then(|handle| handle.known.stream()) {
            self.plugin.progress.end(stream.id);
        }
    }

    fn begin_memory(&self, part: &MemoryParam) {
        let (address, size) = (self.argument(part.param), self.bytes(part).unwrap_or(0));
        if address == 0 {
            return;
        }
        let allocation = Allocation::new(address, size, self.device(part.of), part.space, self.call_site());
        let overlapped = self.plugin.add_memory(Arc::new(allocation));
        if let Some(other) = overlapped {
            let message = format!("{size} bytes at {address:#x} overlap {}, which are in use", text(&other));
            let _ = self.report(Violation::new(Rule::MemoryGivenTwice, part.name, message));
        }
    }
}

/// Returns the report for an event that was waited for and then destroyed without a record.
pub(super) fn never_recorded(address: u64, wait: &EarlyWait, parameter: Option<&'static str>) -> Violation {
    let message = format!(
        "Event {address:#x} was waited for by {} and never recorded: the wait had no effect",
        wait.by.text()
    );
    Violation { rule: Rule::NeverRecorded, parameter, message, place: wait.by.place("waited for") }
}
