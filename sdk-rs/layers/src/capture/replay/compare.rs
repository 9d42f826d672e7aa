//! Compares the results of repeated calls with the recorded ones.

use tenon::StatusCode as _;
use tenon::device::{Error, Function};
use tenon::reflect::{FallbackKind, Kind};

use super::super::access::{Origin, Range, origin};
use super::super::call::{Argument, Arrival, Call, ObjectId, Position};
use super::super::format::Hash;
use super::{Replay, ReplayError};

/// Host memory that a copy in stream order writes.
pub(super) struct Destination {
    address: u64,
    length: u64,
    /// The hash that the recorded calls determine.
    expected: Option<Hash>,
    source: Option<Position>,
    /// The device and the stream whose work writes it; no stream: the null stream.
    pub(super) queue: (Option<u64>, Option<ObjectId>),
    /// True once the work has been waited for.
    pub(super) is_complete: bool,
    /// The block of the plugin that contains the memory.
    pub(super) block: Option<ObjectId>,
    /// The memory, if it is not the plugin's.
    _buffer: Option<Vec<u8>>,
}

impl Replay<'_> {
    pub(super) fn compare_status(&mut self, call: &Call, error: Option<&Error>) {
        let Some(outcome) = &call.outcome else { return };
        let status = error.map_or(0, |error| error.status.code());
        if status == outcome.status {
            return;
        }
        let is_missing = !self.device.0.provides(call.function)
            && call
                .function
                .info()
                .fallback
                .as_ref()
                .is_none_or(|fallback| fallback.kind == FallbackKind::Refuse);
        match error {
            Some(_) if is_missing => {
                self.report.skip(call.function, "the device does not have it".to_owned())
            }
            Some(error) => {
                self.report.differ(call, format!("status {status} instead of {}: {error}", outcome.status));
            }
            None => self.report.differ(call, format!("success instead of status {}", outcome.status)),
        }
    }

    /// Compares what the call has written to the host, or remembers where work in stream order will write it.
    pub(super) fn compare_contents(
        &mut self,
        call: &Call,
        words: &[u64],
        succeeded: bool,
    ) -> Result<(), ReplayError> {
        for (index, argument) in call.arguments.iter().enumerate() {
            let Argument::Destination { length, position } = argument else { continue };
            if !succeeded {
                continue;
            }
            let buffer = self.held.take_buffer();
            let block = position.filter(|_| buffer.is_none()).map(|position| position.block);
            let source = match origin(call, index) {
                Origin::Memory(source) => Some(source),
                _ => None,
            };
            let expected = match source {
                Some(source) => self.shadow.hash(self.recording, source, *length)?,
                None => None,
            };
            let (address, length) = (words[index], *length);
            let info = call.function.info();
            let destination = Destination {
                address,
                length,
                expected,
                source,
                queue: queue(call),
                is_complete: info.stream_ordered.is_none(),
                block,
                _buffer: buffer,
            };
            let param = index as u8;
            let hash = call.outcome.iter().flat_map(|outcome| &outcome.hashes).find(|(at, _)| *at == param);
            match hash {
                Some((_, hash)) => self.compare(call, &destination, *hash),
                None if info.stream_ordered.is_some() => {
                    self.destinations.insert((call.number, param), destination);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Compares what a copy in stream order has written.
    pub(super) fn arrive(&mut self, call: &Call, arrival: &Arrival) {
        let key = (arrival.call, arrival.param);
        // Here the work may take longer, or was waited for in another way.
        let is_complete = |replay: &Self| replay.destinations.get(&key).is_some_and(|one| one.is_complete);
        if self.destinations.contains_key(&key) && !is_complete(self) {
            self.wait();
        }
        // What cannot be waited for is still written, so it stays.
        if is_complete(self)
            && let Some(destination) = self.destinations.remove(&key)
        {
            self.compare(call, &destination, arrival.hash);
        }
    }

    /// Marks what is complete after a call that waits.
    pub(super) fn complete(&mut self, call: &Call) {
        let (device, stream) = queue(call);
        let is_done = |destination: &Destination| match call.function {
            Function::SynchronizeDevice => destination.queue.0 == device,
            Function::SynchronizeStream => destination.queue == (device, stream),
            _ => false,
        };
        self.destinations.values_mut().filter(|destination| is_done(destination)).for_each(|destination| {
            destination.is_complete = true;
        });
    }

    fn compare(&mut self, call: &Call, destination: &Destination, recorded: Hash) {
        // SAFETY: the memory is held, or is a block of host memory that is alive, and the copy is complete.
        let bytes = unsafe {
            tenon::HostPtr::from_addr(destination.address as usize).bytes(destination.length as usize)
        };
        if Hash::of(bytes) == recorded {
            self.report.equal_contents += 1;
        } else if destination.expected == Some(recorded) {
            self.report.differ(call, format!("other bytes in a copy of {} bytes to the host", bytes.len()));
        } else {
            self.report.undetermined_contents += 1;
            if let Some(position) = destination.source {
                self.shadow.forget(Range { position, length: Some(destination.length) });
            }
        }
    }
}

/// Returns the device of a call and its stream.
fn queue(call: &Call) -> (Option<u64>, Option<ObjectId>) {
    let params = call.function.info().params.iter().zip(&call.arguments);
    let mut stream = params.filter_map(|(param, argument)| match (param.kind, argument) {
        (Kind::Handle { name: "Stream", .. }, Argument::Handle(id)) => Some(*id),
        _ => None,
    });
    (call.number_of("device"), stream.next())
}
