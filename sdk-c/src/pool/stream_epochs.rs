//! Stream epochs, which determine when a block that was freed on one stream can be reused on another.
//!
//! Each stream counts epochs. A freed block belongs to the open epoch of its stream. An event closes the
//! epoch; once the event is complete, all blocks of that epoch and of earlier ones can be used on any stream.
//! The methods do not call the device: they return the next call as a [`Step`], so that no lock is held during the
//! call.

use std::collections::{HashMap, VecDeque};

use tenon::device::{Event, Stream};

/// The index of a stream in [`StreamEpochs`].
pub(super) type StreamIndex = usize;

/// Most pending events per stream. While a stream has that many, no epoch is closed.
const MAX_PENDING_EVENTS: usize = 4;

/// The epochs of every stream that the pool has seen.
#[derive(Default)]
pub(super) struct StreamEpochs {
    streams: Vec<Epochs>,
    by_handle: HashMap<Stream, StreamIndex>,
    /// Pooled events that are not in use.
    spare_events: Vec<Event>,
}

/// The epochs of one stream.
#[derive(Default)]
struct Epochs {
    /// The null stream is the default stream; `None` once the stream has been destroyed.
    stream: Option<Stream>,
    /// The epoch that freed blocks belong to now.
    open: u64,
    /// True if a block was freed in the open epoch.
    is_used: bool,
    /// The first epoch that is not complete; all earlier ones are.
    complete: u64,
    /// Closed epochs with their events, oldest first.
    closed: VecDeque<(u64, Event)>,
    /// Number of blocks of this stream in the central free list.
    blocks: usize,
    /// True while a thread polls the stream.
    is_polled: bool,
}

/// The next device call for a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Query the event, and pass the result to [`StreamEpochs::queried`].
    Query(Event),
    /// Record the event, or a new one for `None`, and pass it to [`StreamEpochs::recorded`].
    Record(Stream, Option<Event>),
    /// No call.
    Done,
}

impl StreamEpochs {
    /// Returns the index of a stream; assigns one to a new stream.
    pub(super) fn index(&mut self, stream: Stream) -> StreamIndex {
        if let Some(&index) = self.by_handle.get(&stream) {
            return index;
        }
        let is_vacant = |epochs: &Epochs| epochs.stream.is_none() && epochs.blocks == 0 && !epochs.is_polled;
        let index = self.streams.iter().position(is_vacant).unwrap_or_else(|| {
            self.streams.push(Epochs::default());
            self.streams.len() - 1
        });
        // No block depends on these events any more.
        self.spare_events.extend(self.streams[index].closed.drain(..).map(|(_, event)| event));
        // The epoch numbers continue, so that blocks of the previous stream are not mistaken for blocks of this one.
        self.streams[index].stream = Some(stream);
        self.by_handle.insert(stream, index);
        index
    }

    /// Returns the index of a stream, if it has one.
    pub(super) fn known(&self, stream: Stream) -> Option<StreamIndex> {
        self.by_handle.get(&stream).copied()
    }

    /// Adds a block that was freed on a stream; returns the epoch that it belongs to.
    pub(super) fn add_block(&mut self, index: StreamIndex) -> u64 {
        let epochs = &mut self.streams[index];
        epochs.is_used = true;
        epochs.blocks += 1;
        epochs.open
    }

    /// Removes a block of a stream.
    pub(super) fn remove_block(&mut self, index: StreamIndex) {
        self.streams[index].blocks -= 1;
    }

    /// Returns true if an epoch of a stream is complete.
    pub(super) fn is_complete(&self, index: StreamIndex, epoch: u64) -> bool {
        epoch < self.streams[index].complete
    }

    /// Starts polling a stream; returns false if another thread polls it.
    pub(super) fn begin_poll(&mut self, index: StreamIndex) -> bool {
        !std::mem::replace(&mut self.streams[index].is_polled, true)
    }

    /// Ends a poll that [`StreamEpochs::begin_poll`] started.
    pub(super) fn end_poll(&mut self, index: StreamIndex) {
        self.streams[index].is_polled = false;
    }

    /// Returns the first step of a poll.
    pub(super) fn first_step(&mut self, index: StreamIndex) -> Step {
        match self.streams[index].closed.front() {
            Some(&(_, event)) => Step::Query(event),
            None => self.close_if_room(index),
        }
    }

    fn close_if_room(&mut self, index: StreamIndex) -> Step {
        if self.streams[index].closed.len() < MAX_PENDING_EVENTS {
            self.close_open(index)
        } else {
            Step::Done
        }
    }

    /// Closes the open epoch, if it has blocks and the stream still exists.
    pub(super) fn close_open(&mut self, index: StreamIndex) -> Step {
        let epochs = &mut self.streams[index];
        match epochs.stream {
            Some(stream) if epochs.is_used => {
                epochs.open += 1;
                epochs.is_used = false;
                Step::Record(stream, self.spare_events.pop())
            }
            _ => Step::Done,
        }
    }

    /// Takes the result of a query of the oldest event; returns the next step.
    pub(super) fn queried(&mut self, index: StreamIndex, is_complete: bool) -> Step {
        let epochs = &mut self.streams[index];
        if !is_complete {
            return self.close_if_room(index);
        }
        if let Some((epoch, event)) = epochs.closed.pop_front() {
            epochs.complete = epochs.complete.max(epoch);
            self.spare_events.push(event);
        }
        self.first_step(index)
    }

    /// Drops the oldest event after a failed query, and returns it. Its blocks wait for a later event.
    pub(super) fn query_failed(&mut self, index: StreamIndex) -> Option<Event> {
        let epochs = &mut self.streams[index];
        let (_, event) = epochs.closed.pop_front()?;
        epochs.is_used = true;
        Some(event)
    }

    /// Adds an unused event to the pooled ones.
    pub(super) fn add_spare_event(&mut self, event: Event) {
        self.spare_events.push(event);
    }

    /// Takes the event that was recorded for the closed epoch; returns the next step.
    pub(super) fn recorded(&mut self, index: StreamIndex, event: Event) -> Step {
        let epochs = &mut self.streams[index];
        epochs.closed.push_back((epochs.open, event));
        // An event after one that is not complete is not complete either.
        if epochs.closed.len() == 1 { Step::Query(event) } else { Step::Done }
    }

    /// Reopens the epoch whose event could not be recorded. Its blocks wait for a later event.
    pub(super) fn record_failed(&mut self, index: StreamIndex, event: Option<Event>) {
        self.streams[index].is_used = true;
        self.spare_events.extend(event);
    }

    /// Completes all epochs of a stream.
    pub(super) fn complete_all(&mut self, index: StreamIndex) {
        let epochs = &mut self.streams[index];
        epochs.open += 1;
        epochs.complete = epochs.open;
        epochs.is_used = false;
    }

    /// Removes the handle of a stream. A later stream may have the same handle.
    pub(super) fn forget(&mut self, index: StreamIndex) {
        if let Some(stream) = self.streams[index].stream.take() {
            self.by_handle.remove(&stream);
        }
    }

    /// Returns the number of streams with an entry.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.streams.len()
    }

    /// Takes all events, when the pool is dropped.
    pub(super) fn drain_events(&mut self) -> Vec<Event> {
        let closed =
            self.streams.iter_mut().flat_map(|epochs| epochs.closed.drain(..)).map(|(_, event)| event);
        let mut events: Vec<Event> = closed.collect();
        events.append(&mut self.spare_events);
        events
    }
}
