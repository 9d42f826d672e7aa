//! What begins and ends with a call, and what the call says of work.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tenon::device::{DeviceId, Result, Stream};

use super::early::EarlyWait;
use super::handle::{Handle, Known, State};
use super::memory::Allocation;
use super::plan::{Act, HandleParam, KINDS, Life, MemoryParam};
use super::ranges::text;
use super::registry::Taken;
use super::rules::Rule;
use super::values::Seen;
use super::work::Use;
use super::{Check, Problem};

impl Check<'_> {
    /// The last steps before the call. The number comes back after it.
    pub(super) fn begin(&self, seen: &Seen) -> Result<u64> {
        if self.plan.ends {
            return self.end();
        }
        let stream = || seen.stream.map_or(0, Use::pack);
        Ok(match self.plan.act {
            Act::SynchronizeStream | Act::QueryStream => stream(),
            Act::WaitEvent | Act::QueryEvent => {
                self.note_early_wait(seen);
                seen.record
            }
            Act::RecordEvent => {
                self.is_late(seen)?;
                seen.record
            }
            Act::StreamWaitEvent => {
                self.note_early_wait(seen);
                if let (Some(stream), Some(work), Some(record)) =
                    (&seen.waiting, seen.work, Use::unpack(seen.record))
                {
                    self.plugin.work.wait(stream, work, record);
                }
                0
            }
            Act::BeginCapture => {
                self.plugin.begin_capture();
                0
            }
            Act::None | Act::SynchronizeDevice | Act::EndCapture | Act::DeinitDevice | Act::Finalize => 0,
        })
    }

    /// Keeps a wait for an event that was not recorded yet.
    fn note_early_wait(&self, seen: &Seen) {
        if let (0, Some(event)) = (seen.record, &seen.event) {
            event.set_early(EarlyWait::new(self, seen.waiting.as_ref().map(|stream| stream.id)));
        }
    }

    /// Reports a record that comes too late for the wait before it.
    fn is_late(&self, seen: &Seen) -> Result<()> {
        let (Some(event), Some(record)) = (&seen.event, seen.work) else { return Ok(()) };
        let Some(wait) = event.take_early().filter(|wait| wait.missed(record)) else { return Ok(()) };
        let Some(param) = self.event_param() else { return Ok(()) };
        let message = format!(
            "the work that this records in Event {:#x} was queued before {}, which waited for nothing, as the event was \
             not recorded yet",
            self.argument(param.param),
            wait.by.text()
        );
        self.object(
            Problem::new(Rule::NeverRecorded, param.name, message).with_place(wait.by.place("waited for")),
        )
    }

    fn event_param(&self) -> Option<&'static HandleParam> {
        self.plan.handles.iter().find(|handle| KINDS[usize::from(handle.kind)] == "Event")
    }

    fn end(&self) -> Result<u64> {
        if let Some(handle) = self.plan.handles.iter().find(|handle| handle.life == Life::Ends) {
            return self.end_handle(handle);
        }
        match self.plan.memory.iter().find(|part| part.life == Life::Ends) {
            Some(part) => self.end_memory(part),
            None => Ok(0),
        }
    }

    /// Takes the handle out before the plugin can give it out again.
    fn end_handle(&self, param: &HandleParam) -> Result<u64> {
        let address = self.argument(param.param);
        if address == 0 || !param.ours {
            return Ok(0);
        }
        self.stream_in_flight(param, address)?;
        match self.plugin.take_handle(param.kind, address, self.origin()) {
            Some(taken) => {
                if let Taken::Handle(handle) = &taken {
                    if let Some(stream) = handle.known.stream() {
                        self.plugin.work.end(stream.id);
                    }
                    if let Some(wait) = handle.known.event().and_then(|event| event.waited_in_vain()) {
                        self.object(never_recorded(address, &wait, Some(param.name)))?;
                    }
                }
                Ok(self.plugin.keep(taken))
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
        self.object(Problem::new(Rule::DestroyedInFlight, param.name, message))
    }

    fn end_memory(&self, part: &MemoryParam) -> Result<u64> {
        let (address, size) = (self.argument(part.param), self.bytes(part).unwrap_or(0));
        if address == 0 {
            return Ok(0);
        }
        let whose = (self.device(part.of), part.space);
        let Some(taken) = self.plugin.take_memory(whose, address, size, self.origin()) else {
            self.bad_free(part, address, size)?;
            return Ok(0);
        };
        if let Some(work) = taken.uses().find(|work| !self.is_done(*work)) {
            let stream = self.plugin.work.get(work.stream()).map_or(0, |stream| stream.address);
            let message = match stream {
                0 => format!("work on the default stream uses {} and {}", text(&taken), self.not_done()),
                _ => format!("work on Stream {stream:#x} uses {} and {}", text(&taken), self.not_done()),
            };
            self.object(Problem::new(Rule::FreedInFlight, part.name, message))?;
        }
        Ok(self.plugin.keep(Taken::Memory(taken)))
    }

    fn not_done(&self) -> &'static str {
        if self.validate.asks { "is not done yet" } else { "was not waited for" }
    }

    /// Whether work is done, as far as is known or the plugin says without waiting.
    pub(super) fn is_done(&self, work: Use) -> bool {
        if self.plugin.work.is_done(work) || self.plugin.is_capturing() {
            return true;
        }
        let Some(stream) = self.plugin.work.get(work.stream()) else { return true };
        if !self.validate.asks {
            return false;
        }
        let now = stream.until_now();
        let handle = Stream::from_addr(stream.address as usize);
        match self.next.query_stream(DeviceId(stream.device), handle) {
            Ok(true) => {
                self.plugin.work.finish(now);
                true
            }
            Ok(false) => false,
            // Whatever is wrong with the stream, it is not this.
            Err(_) => true,
        }
    }

    /// The call has succeeded.
    pub(super) fn done(&self, note: u64, answer: Option<bool>) {
        if self.plan.ends {
            drop(self.plugin.kept(note));
        }
        for handle in self.plan.handles.iter().filter(|one| matches!(one.life, Life::Begins | Life::Lent)) {
            self.begin_handle(handle);
        }
        for part in self.plan.memory.iter().filter(|part| part.life == Life::Begins) {
            self.begin_memory(part);
        }
        match self.plan.act {
            Act::QueryStream | Act::QueryEvent if answer != Some(true) => {}
            Act::SynchronizeStream | Act::QueryStream | Act::WaitEvent | Act::QueryEvent => {
                if let Some(work) = Use::unpack(note) {
                    self.plugin.work.finish(work);
                }
            }
            Act::SynchronizeDevice => {
                // What another thread has queued meanwhile is taken for done, too: better than to doubt what is.
                for stream in self.plugin.work.of_device(self.device(self.plan.device)) {
                    self.plugin.work.finish(stream.until_now());
                }
            }
            Act::EndCapture => self.plugin.end_capture(),
            Act::DeinitDevice => {
                self.validate.report_leaks(self.call.function.name, Some(self.device(self.plan.device)));
            }
            Act::Finalize => {
                self.validate.report_leaks(self.call.function.name, None);
                self.plugin.clear(&self.origin());
            }
            Act::None | Act::RecordEvent | Act::StreamWaitEvent | Act::BeginCapture => {}
        }
    }

    /// The call has failed: what it was to end is still alive.
    pub(super) fn undo(&self, note: u64) {
        if self.plan.ends
            && let Some(taken) = self.plugin.kept(note)
        {
            self.plugin.restore(taken);
        }
        match self.plan.act {
            // A capture that was spoilt is over, too.
            Act::BeginCapture | Act::EndCapture => self.plugin.end_capture(),
            Act::RecordEvent => {
                for event in &self.plan.handles {
                    self.plugin.handle(event.kind, self.argument(event.param), |handle| {
                        handle.event().map(|event| event.record.store(note, Ordering::Relaxed))
                    });
                }
            }
            _ => {}
        }
    }

    fn begin_handle(&self, param: &HandleParam) {
        let (address, lent) = (self.argument(param.param), param.life == Life::Lent);
        if address == 0 {
            if !param.null && !lent {
                let kind = KINDS[usize::from(param.kind)];
                let message = format!("the plugin answered with success and yielded no {kind}");
                let _ = self.object(Problem::new(Rule::NoHandle, param.name, message));
            }
            return;
        }
        let device = self.device(param.of);
        let state = match KINDS[usize::from(param.kind)] {
            "Stream" => State::Stream(self.plugin.work.begin(device, address)),
            "Event" => State::Event(Arc::default()),
            _ => State::Plain,
        };
        let known = Known { kind: param.kind, address, device, origin: self.origin(), state };
        let unused = self.plugin.add_handle(Handle::new(known, lent));
        if let Some(stream) = unused.as_ref().and_then(|handle| handle.known.stream()) {
            self.plugin.work.end(stream.id);
        }
    }

    fn begin_memory(&self, part: &MemoryParam) {
        let (address, size) = (self.argument(part.param), self.bytes(part).unwrap_or(0));
        if address == 0 {
            return;
        }
        let allocation = Allocation::new(address, size, self.device(part.of), part.space, self.origin());
        let overlapped = self.plugin.add_memory(Arc::new(allocation));
        if let Some(other) = overlapped {
            let message = format!("{size} bytes at {address:#x} overlap {}, which are alive", text(&other));
            let _ = self.object(Problem::new(Rule::MemoryGivenTwice, part.name, message));
        }
    }
}

/// What is reported of an event that was waited for and whose life ends without a record.
pub(super) fn never_recorded(address: u64, wait: &EarlyWait, parameter: Option<&'static str>) -> Problem {
    let message = format!(
        "Event {address:#x} was waited for by {} and never recorded: nothing was waited for",
        wait.by.text()
    );
    Problem { rule: Rule::NeverRecorded, parameter, message, place: wait.by.place("waited for") }
}
