//! Compares the results of repeated calls with the recorded ones.

use tenon::StatusCode as _;
use tenon::device::Error;
use tenon::reflect::FallbackKind;

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
            let destination = Destination { address, length, expected, source, block, _buffer: buffer };
            let param = index as u8;
            let hash = call.outcome.iter().flat_map(|outcome| &outcome.hashes).find(|(at, _)| *at == param);
            match hash {
                Some((_, hash)) => self.compare(call, &destination, *hash),
                None if call.function.info().stream_ordered.is_some() => {
                    self.destinations.insert((call.number, param), destination);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Compares what a copy in stream order has written.
    pub(super) fn arrive(&mut self, call: &Call, arrival: &Arrival) {
        let Some(destination) = self.destinations.remove(&(arrival.call, arrival.param)) else { return };
        if arrival.by_query {
            // Here the work may take longer.
            self.wait();
        }
        self.compare(call, &destination, arrival.hash);
    }

    fn compare(&mut self, call: &Call, destination: &Destination, recorded: Hash) {
        // SAFETY: the memory is held, or is a block of the device that is alive, and the copy is complete.
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
