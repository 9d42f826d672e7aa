//! How far streams have come: what was freed on one may be given to another once it has passed the free.
//!
//! Each stream counts epochs. What is freed belongs to the epoch that is open; an event closes it, and once the event
//! is done, all that was freed in that epoch or an earlier one is anybody's. Nothing here calls the device: it says
//! what is to be called, so that no lock is held meanwhile.

use std::collections::{HashMap, VecDeque};

use tenon::device::{Event, Stream};

/// The index of a stream that the pool has met.
pub(super) type Slot = usize;

/// So many events wait on one stream at most; then it is only asked how far it has come.
const MOST_EVENTS: usize = 4;

/// Every stream that the pool has met.
#[derive(Default)]
pub(super) struct Marks {
    streams: Vec<Mark>,
    by_handle: HashMap<Stream, Slot>,
    /// Events that are not in use.
    spare: Vec<Event>,
}

#[derive(Default)]
struct Mark {
    /// Null for the default stream, and nothing once the stream has been destroyed.
    stream: Option<Stream>,
    /// What is freed now belongs to this epoch.
    open: u64,
    /// Whether something was freed in it.
    touched: bool,
    /// Everything before this epoch has been passed.
    passed: u64,
    /// Epochs that were closed, each with its event, oldest first.
    closed: VecDeque<(u64, Event)>,
    /// Blocks that the store holds of this stream.
    stored: usize,
    /// Somebody is asking the device about this stream.
    asking: bool,
}

/// What is to be done next about a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Ask whether the event is done, and tell [`Marks::answered`].
    Query(Event),
    /// Record an event, a new one if there is none, and tell [`Marks::recorded`].
    Record(Stream, Option<Event>),
    /// Nothing.
    Rest,
}

impl Marks {
    /// The slot of a stream, from now on if it had none.
    pub(super) fn slot(&mut self, stream: Stream) -> Slot {
        if let Some(&slot) = self.by_handle.get(&stream) {
            return slot;
        }
        let vacant = |mark: &Mark| mark.stream.is_none() && mark.stored == 0 && !mark.asking;
        let slot = self.streams.iter().position(vacant).unwrap_or_else(|| {
            self.streams.push(Mark::default());
            self.streams.len() - 1
        });
        // Nothing waits for them any more.
        self.spare.extend(self.streams[slot].closed.drain(..).map(|(_, event)| event));
        // The epochs go on, so that nothing of the stream before is taken for this one's.
        self.streams[slot].stream = Some(stream);
        self.by_handle.insert(stream, slot);
        slot
    }

    /// The slot of a stream that may not be known.
    pub(super) fn known(&self, stream: Stream) -> Option<Slot> {
        self.by_handle.get(&stream).copied()
    }

    /// Enters a block that was freed on a stream; answers the epoch that it belongs to.
    pub(super) fn enter(&mut self, slot: Slot) -> u64 {
        let mark = &mut self.streams[slot];
        mark.touched = true;
        mark.stored += 1;
        mark.open
    }

    /// Forgets a block that was entered.
    pub(super) fn leave(&mut self, slot: Slot) {
        self.streams[slot].stored -= 1;
    }

    /// Whether a stream has passed an epoch.
    pub(super) fn has_passed(&self, slot: Slot, epoch: u64) -> bool {
        epoch < self.streams[slot].passed
    }

    /// Begins to ask about a stream, unless somebody does already.
    pub(super) fn begin(&mut self, slot: Slot) -> bool {
        !std::mem::replace(&mut self.streams[slot].asking, true)
    }

    /// Ends what [`Marks::begin`] began.
    pub(super) fn end(&mut self, slot: Slot) {
        self.streams[slot].asking = false;
    }

    /// The first thing to do about a stream.
    pub(super) fn first(&mut self, slot: Slot) -> Step {
        match self.streams[slot].closed.front() {
            Some(&(_, event)) => Step::Query(event),
            None => self.close(slot),
        }
    }

    fn close(&mut self, slot: Slot) -> Step {
        if self.streams[slot].closed.len() < MOST_EVENTS { self.last(slot) } else { Step::Rest }
    }

    /// Closes the open epoch, if something belongs to it and the stream still is one.
    pub(super) fn last(&mut self, slot: Slot) -> Step {
        let mark = &mut self.streams[slot];
        match mark.stream {
            Some(stream) if mark.touched => {
                mark.open += 1;
                mark.touched = false;
                Step::Record(stream, self.spare.pop())
            }
            _ => Step::Rest,
        }
    }

    /// Takes the answer to a query of the oldest event; says what is next.
    pub(super) fn answered(&mut self, slot: Slot, done: bool) -> Step {
        let mark = &mut self.streams[slot];
        if !done {
            return self.close(slot);
        }
        if let Some((epoch, event)) = mark.closed.pop_front() {
            mark.passed = mark.passed.max(epoch);
            self.spare.push(event);
        }
        self.first(slot)
    }

    /// The oldest event cannot be asked, and may never be; answers it. What waits for it waits for a later one.
    pub(super) fn unanswered(&mut self, slot: Slot) -> Option<Event> {
        let mark = &mut self.streams[slot];
        let (_, event) = mark.closed.pop_front()?;
        mark.touched = true;
        Some(event)
    }

    /// An event that nothing waits for and the device still has.
    pub(super) fn keep_event(&mut self, event: Event) {
        self.spare.push(event);
    }

    /// Takes the event that was recorded when the epoch was closed; says what is next.
    pub(super) fn recorded(&mut self, slot: Slot, event: Event) -> Step {
        let mark = &mut self.streams[slot];
        mark.closed.push_back((mark.open, event));
        // Behind an older event that is not done, this one is not done either.
        if mark.closed.len() == 1 { Step::Query(event) } else { Step::Rest }
    }

    /// The event could not be recorded. What is in the epoch waits for a later one.
    pub(super) fn not_recorded(&mut self, slot: Slot, event: Option<Event>) {
        self.streams[slot].touched = true;
        self.spare.extend(event);
    }

    /// Everything on the stream is done, whatever its events say.
    pub(super) fn all_passed(&mut self, slot: Slot) {
        let mark = &mut self.streams[slot];
        mark.open += 1;
        mark.passed = mark.open;
        mark.touched = false;
    }

    /// From now on the handle is that of another stream, if it is one.
    pub(super) fn forget(&mut self, slot: Slot) {
        if let Some(stream) = self.streams[slot].stream.take() {
            self.by_handle.remove(&stream);
        }
    }

    /// How many streams are remembered.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.streams.len()
    }

    /// Every event, for the end.
    pub(super) fn drain_events(&mut self) -> Vec<Event> {
        let closed = self.streams.iter_mut().flat_map(|mark| mark.closed.drain(..)).map(|(_, event)| event);
        let mut events: Vec<Event> = closed.collect();
        events.append(&mut self.spare);
        events
    }
}
