//! The progress of streams as far as the host knows it: which copies to the host are complete.

use std::collections::{HashMap, HashSet};

use super::super::call::ObjectId;

/// A stream; the null stream of a device has the number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StreamKey {
    pub(super) plugin: u32,
    pub(super) device: u64,
    pub(super) stream: ObjectId,
}

/// A point in the work of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    stream: StreamKey,
    /// The number of operations before it.
    position: u64,
}

/// A queued copy to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueuedCopy {
    pub(super) call: u64,
    pub(super) param: u8,
    pub(super) address: u64,
    pub(super) length: u64,
}

impl QueuedCopy {
    fn overlaps(&self, address: u64, length: u64) -> bool {
        self.address < address.saturating_add(length) && address < self.address.saturating_add(self.length)
    }
}

#[derive(Default)]
pub(super) struct Progress {
    positions: HashMap<StreamKey, u64>,
    /// The point of each recorded event.
    events: HashMap<ObjectId, Point>,
    /// Waits for events: the first point comes after the second.
    waits: Vec<(Point, Point)>,
    copies: Vec<(Point, QueuedCopy)>,
    /// Streams whose work is captured into a graph and does not run yet.
    captured: HashSet<StreamKey>,
}

impl Progress {
    fn end(&self, stream: StreamKey) -> Point {
        Point { stream, position: self.positions.get(&stream).copied().unwrap_or(0) }
    }

    /// Queues a copy to the host.
    pub(super) fn queue(&mut self, stream: StreamKey, copy: QueuedCopy) {
        if self.captured.contains(&stream) {
            return;
        }
        *self.positions.entry(stream).or_default() += 1;
        self.copies.push((self.end(stream), copy));
    }

    pub(super) fn record_event(&mut self, stream: StreamKey, event: ObjectId) {
        let point = self.end(stream);
        self.events.insert(event, point);
    }

    pub(super) fn wait_event(&mut self, stream: StreamKey, event: ObjectId) {
        if let Some(before) = self.events.get(&event).copied() {
            *self.positions.entry(stream).or_default() += 1;
            self.waits.push((self.end(stream), before));
        }
    }

    pub(super) fn set_captured(&mut self, stream: StreamKey, captured: bool) {
        if captured {
            self.captured.insert(stream)
        } else {
            self.captured.remove(&stream)
        };
    }

    /// Forgets the copies of a stream, and those that it has waited for, because the host may learn of their completion in
    /// another way.
    pub(super) fn forget_stream(&mut self, stream: StreamKey) {
        self.complete_stream(stream);
    }

    /// Forgets the copies to memory that is freed.
    pub(super) fn forget_memory(&mut self, address: u64, length: u64) {
        self.copies.retain(|(_, copy)| !copy.overlaps(address, length));
    }

    /// Returns true if a queued copy writes to this memory.
    pub(super) fn is_written(&self, address: u64, length: u64) -> bool {
        self.copies.iter().any(|(_, copy)| copy.overlaps(address, length))
    }

    /// Takes the copies that are complete when a stream is.
    pub(super) fn complete_stream(&mut self, stream: StreamKey) -> Vec<QueuedCopy> {
        self.complete(self.end(stream))
    }

    /// Takes the copies that are complete when an event is.
    pub(super) fn complete_event(&mut self, event: ObjectId) -> Vec<QueuedCopy> {
        self.events.get(&event).copied().map(|point| self.complete(point)).unwrap_or_default()
    }

    /// Takes the copies of all streams of a device.
    pub(super) fn complete_device(&mut self, plugin: u32, device: u64) -> Vec<QueuedCopy> {
        let is_of = |stream: &StreamKey| stream.plugin == plugin && stream.device == device;
        let streams: Vec<StreamKey> = self.positions.keys().copied().filter(is_of).collect();
        streams.into_iter().flat_map(|stream| self.complete_stream(stream)).collect()
    }

    fn complete(&mut self, point: Point) -> Vec<QueuedCopy> {
        let mut done = Vec::new();
        let mut open = vec![point];
        while let Some(point) = open.pop() {
            let is_before = |other: &Point| other.stream == point.stream && other.position <= point.position;
            self.copies.retain(|(at, copy)| {
                let is_done = is_before(at);
                done.extend(is_done.then_some(*copy));
                !is_done
            });
            self.waits.retain(|(at, before)| {
                let is_done = is_before(at);
                open.extend(is_done.then_some(*before));
                !is_done
            });
        }
        done.sort_by_key(|copy| copy.call);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(stream: ObjectId) -> StreamKey {
        StreamKey { plugin: 0, device: 0, stream }
    }

    fn copy(call: u64) -> QueuedCopy {
        QueuedCopy { call, param: 2, address: 1000 * call, length: 10 }
    }

    #[test]
    fn event_completes_what_was_queued_before_it() {
        let mut progress = Progress::default();
        progress.queue(stream(1), copy(1));
        progress.record_event(stream(1), 9);
        progress.queue(stream(1), copy(2));
        assert_eq!(progress.complete_event(9), [copy(1)]);
        assert!(progress.is_written(2005, 1));
        assert!(!progress.is_written(2010, 10) && !progress.is_written(1000, 10));
        assert_eq!(progress.complete_stream(stream(1)), [copy(2)]);
        assert_eq!(progress.complete_stream(stream(1)), []);
    }

    #[test]
    fn copies_to_any_part_of_freed_memory_are_forgotten() {
        let mut progress = Progress::default();
        (1..=3).for_each(|call| progress.queue(stream(1), copy(call)));
        progress.forget_memory(1900, 500);
        assert_eq!(progress.complete_stream(stream(1)), [copy(1), copy(3)]);
    }

    #[test]
    fn wait_for_an_event_completes_the_other_stream() {
        let mut progress = Progress::default();
        progress.queue(stream(1), copy(1));
        progress.record_event(stream(1), 9);
        progress.wait_event(stream(2), 9);
        progress.queue(stream(2), copy(2));
        assert_eq!(progress.complete_stream(stream(2)), [copy(1), copy(2)]);
    }

    #[test]
    fn copies_before_a_callback_are_forgotten() {
        let mut progress = Progress::default();
        progress.queue(stream(1), copy(1));
        progress.record_event(stream(1), 9);
        progress.queue(stream(1), copy(2));
        progress.wait_event(stream(2), 9);
        progress.forget_stream(stream(2));
        assert_eq!(progress.complete_device(0, 0), [copy(2)]);
    }

    #[test]
    fn captured_work_is_never_complete() {
        let mut progress = Progress::default();
        progress.set_captured(stream(1), true);
        progress.queue(stream(1), copy(1));
        progress.set_captured(stream(1), false);
        assert_eq!(progress.complete_device(0, 0), []);
    }
}
