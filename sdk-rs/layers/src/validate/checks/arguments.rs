//! Numbers, enums and handles.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tenon::device::Result;

use super::early_wait::EventState;
use super::functions::{Effect, HandleParam, KINDS, Lifecycle};
use crate::validate::objects::groups::Member;
use crate::validate::objects::handles::{HandleInfo, NO_DEVICE};
use crate::validate::objects::stream_progress::{StreamProgress, WorkId};
use crate::validate::rules::Rule;
use crate::validate::{CallCheck, Violation};

/// The streams and events among the handles of a call.
#[derive(Default)]
pub struct HandlesOfCall {
    /// The work that the call puts into a stream.
    pub work: Option<WorkId>,
    /// The stream of the call, as far as it was found.
    pub stream: Option<WorkId>,
    /// The stream that the call makes wait.
    pub waiting: Option<Arc<StreamProgress>>,
    /// The last record of the event in the call, from before it; 0: none.
    pub record: u64,
    /// The event, where the call waits before its first record, or records after such a wait.
    pub event: Option<Arc<EventState>>,
    /// The membership of the communicator in the call.
    pub member: Option<Arc<Member>>,
}

/// An event that was recorded in a capture: recorded, but on no stream that is known.
const CAPTURED: u64 = 1;

impl CallCheck<'_> {
    #[inline]
    pub fn values(&self) -> Result<()> {
        for &param in &self.checks.devices {
            let device = self.argument(param).cast_signed();
            if device < 0 || device >= self.device_count() {
                self.no_such_device(param, device)?;
            }
        }
        for &param in &self.checks.filled {
            if self.argument(param) == 0 {
                let name = self.call.function.params[param].name;
                self.report(Violation::new(Rule::Null, name, "null".to_owned()))?;
            }
        }
        for &(param, values) in &self.checks.enums {
            let given = self.argument(param).cast_signed();
            if !values.iter().any(|(value, _)| *value == given) {
                self.no_such_value(param, given, values)?;
            }
        }
        Ok(())
    }

    fn device_count(&self) -> i64 {
        match self.plugin.devices.load(Ordering::Relaxed) {
            0 => self.ask_device_count(),
            count => count as i64,
        }
    }

    /// Returns the number of devices; the largest number while the plugin does not know it.
    #[cold]
    fn ask_device_count(&self) -> i64 {
        match self.next.get_device_count() {
            Ok(count) if count > 0 => {
                self.plugin.devices.store(count, Ordering::Relaxed);
                count as i64
            }
            _ => i64::MAX,
        }
    }

    #[cold]
    fn no_such_device(&self, param: usize, device: i64) -> Result<()> {
        let count = self.plugin.devices.load(Ordering::Relaxed);
        let message = match count {
            0 => format!("there is no device {device}"),
            1 => format!("there is no device {device}, only device 0"),
            _ => format!("there is no device {device}, only 0 to {}", count - 1),
        };
        self.report(Violation::new(Rule::UnknownDevice, self.call.function.params[param].name, message))
    }

    #[cold]
    fn no_such_value(&self, param: usize, given: i64, values: &[(i64, &str)]) -> Result<()> {
        let known: Vec<String> = values.iter().map(|(value, name)| format!("{value} ({name})")).collect();
        let message = format!("{given} is none of {}", known.join(", "));
        self.report(Violation::new(Rule::UnknownValue, self.call.function.params[param].name, message))
    }

    #[inline]
    pub fn handles(&self) -> Result<HandlesOfCall> {
        let mut seen = HandlesOfCall::default();
        for handle in &self.checks.handles {
            if matches!(handle.lifecycle, Lifecycle::Begins | Lifecycle::Lent) {
                continue;
            }
            match self.argument(handle.param) {
                0 if handle.null => self.default_stream(handle, &mut seen),
                0 => self.report(Violation::new(Rule::Null, handle.name, "null".to_owned()))?,
                address if handle.ours => self.handle(handle, address, &mut seen)?,
                _ => {}
            }
        }
        Ok(seen)
    }

    #[inline]
    fn handle(&self, param: &HandleParam, address: u64, seen: &mut HandlesOfCall) -> Result<()> {
        let device = self.device(param.of);
        let known = self.plugin.handle(param.kind, address, |handle| {
            let fits = handle.device == device || self.fits_anyway(param, handle.device);
            if fits {
                self.look(param, handle, seen);
            }
            (handle.device, fits)
        });
        match known {
            Some((_, true)) => Ok(()),
            Some((known, false)) => self.of_other_device(param, address, known),
            None => self.unknown_handle(param, address),
        }
    }

    /// Returns true if the handle has no device, or if its parameter states none and the handle is of a device of the
    /// call.
    fn fits_anyway(&self, param: &HandleParam, known: i32) -> bool {
        known == NO_DEVICE
            || param.of.is_none()
                && (self.checks.devices.is_empty()
                    || self.checks.devices.iter().any(|&param| self.device(Some(param)) == known))
    }

    #[inline]
    fn look(&self, param: &HandleParam, handle: &HandleInfo, seen: &mut HandlesOfCall) {
        if let Some(stream) = handle.stream() {
            self.look_at_stream(param, stream, seen);
        } else if let Some(event) = handle.event() {
            let is_record = self.checks.effect == Effect::RecordEvent;
            seen.record = if is_record {
                event.record.swap(seen.work.map_or(CAPTURED, WorkId::pack), Ordering::Relaxed)
            } else {
                event.record.load(Ordering::Relaxed)
            };
            if event.has_early() || !is_record && seen.record == 0 {
                seen.event = Some(event.clone());
            }
        } else if let Some(member) = handle.member() {
            seen.member = Some(member.clone());
        }
    }

    #[inline]
    fn look_at_stream(&self, param: &HandleParam, stream: &Arc<StreamProgress>, seen: &mut HandlesOfCall) {
        if self.checks.stream != Some(param.param) {
            seen.stream = Some(stream.until_now());
        } else if !self.plugin.is_capturing() {
            seen.work = Some(stream.queue());
            if self.checks.effect == Effect::StreamWaitEvent {
                seen.waiting = Some(stream.clone());
            }
        }
    }

    #[inline]
    fn default_stream(&self, param: &HandleParam, seen: &mut HandlesOfCall) {
        let device = self.device(param.of.or(self.checks.device));
        if KINDS[usize::from(param.kind)] == "Stream" {
            self.plugin.default_stream(device, |stream| self.look_at_stream(param, stream, seen));
        }
    }

    #[cold]
    fn of_other_device(&self, param: &HandleParam, address: u64, known: i32) -> Result<()> {
        let kind = KINDS[usize::from(param.kind)];
        let message = format!("{kind} {address:#x} belongs to device {known}");
        let violation = Violation::new(Rule::HandleOfOtherDevice, param.name, message);
        let made =
            self.plugin.handle(param.kind, address, |handle| handle.created_by.place("made")).flatten();
        self.report(violation.with_place(made))
    }

    #[cold]
    fn unknown_handle(&self, param: &HandleParam, address: u64) -> Result<()> {
        let (index, name) = (usize::from(param.kind), param.name);
        let kind = KINDS[index];
        if let Some(by) = self.plugin.destroyed_handle(param.kind, address) {
            let rule = match param.lifecycle {
                Lifecycle::Ends => Rule::DestroyedTwice,
                _ => Rule::DestroyedHandle,
            };
            let message = format!("{kind} {address:#x} was destroyed by {}", by.text());
            return self.report(Violation::new(rule, name, message).with_place(by.place("destroyed")));
        }
        let is_kind = |kind: &usize| self.plugin.handle(*kind as u8, address, |_| ()).is_some();
        if let Some(other) = (0..KINDS.len()).find(is_kind) {
            let message = format!("{address:#x} is not of type {kind} but {}", KINDS[other]);
            return self.report(Violation::new(Rule::HandleOfOtherKind, name, message));
        }
        let owner = self
            .plugin
            .others(|other| other.handle(param.kind, address, |_| ()).map(|()| other.name.clone()));
        if let Some(owner) = owner {
            let message = format!("{kind} {address:#x} belongs to the plugin {owner}");
            return self.report(Violation::new(Rule::HandleOfOtherPlugin, name, message));
        }
        let message = format!("no call returned {kind} {address:#x}");
        self.report(Violation::new(Rule::UnknownHandle, name, message))
    }
}
