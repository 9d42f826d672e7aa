//! The order of work: along a stream, and between streams by events.

use tenon::device::Function::{
    AsyncMemoryCopyD2d, CreateStream, RecordEvent, StreamAddCallback, StreamWaitEvent,
};

use crate::case::{Case, Level, Verdict};
use crate::subject::{Gate, Memory, Subject, pattern};

pub(super) fn cases() -> Vec<Case> {
    let held = |id, body| {
        Case::written(id, Level::Required, body)
            .of([StreamWaitEvent, RecordEvent])
            .uses([StreamAddCallback, AsyncMemoryCopyD2d, CreateStream])
            .native()
    };
    vec![
        Case::written("order.stream", Level::Required, along)
            .of([AsyncMemoryCopyD2d])
            .spec("device", "Work on one stream runs in the order of the calls."),
        Case::written("order.stream.large-before-small", Level::Required, large_before_small)
            .of([AsyncMemoryCopyD2d])
            .spec("stream", "what is put into it runs in the order in which it was put, one piece after the other"),
        held("order.streams", across).spec(
            "stream_wait_event",
            "Makes work that is queued on the stream from now on wait for the event, without making the caller wait.",
        ),
        held("order.streams.chain", chain).spec(
            "stream_wait_event",
            "The event may have been recorded on any stream of the device.",
        ),
        held("order.streams.fork-and-join", fork)
            .spec("stream_wait_event", "This call and `record_event` are all the order that there is between streams."),
        held("order.rerecord", rerecord).spec(
            "record_event",
            "PaddlePaddle reuses events, so a device that gets this wrong computes wrong results now and then.",
        ),
        held("order.event-destroyed", destroyed).spec(
            "destroy_event",
            "the stream still waits for the record that it saw, although the handle is gone",
        ),
        Case::written("order.streams.unheld", Level::Required, unheld)
            .of([StreamWaitEvent, RecordEvent])
            .uses([AsyncMemoryCopyD2d])
            .spec("event", "An event is a mark that is put into a stream and done once the stream has passed it."),
    ]
}

const LEN: usize = 50_000;

fn along(subject: &Subject) -> Verdict {
    for device in subject.each_device() {
        let stream = subject.stream(device)?;
        let ring: Vec<Memory> =
            (0..5).map(|seed| subject.filled(device, &pattern(LEN, seed))).collect::<Verdict<_>>()?;
        let mut model: Vec<u64> = (0..5).collect();
        // Each copy depends on the ones before; any two that change places show at the end.
        let mut state = 7_usize;
        for _ in 0..300 {
            state = (state * 1_103_515_245 + 12_345) % (1 << 31);
            let (to, from) = ((state >> 8) % 5, (state >> 16) % 5);
            subject.queue_copy(stream, &ring[to], &ring[from])?;
            model[to] = model[from];
            if model.iter().all(|seed| *seed == model[0]) {
                subject.synchronize_stream(device, stream)?;
                for (seed, memory) in (0..).zip(&ring) {
                    subject.write(memory, 0, &pattern(LEN, seed))?;
                }
                model = (0..5).collect();
            }
        }
        subject.synchronize_stream(device, stream)?;
        for (memory, seed) in ring.iter().zip(&model) {
            subject.expect(memory, 0, &pattern(LEN, *seed), "300 copies that depend on each other")?;
        }
        ring.into_iter().try_for_each(|memory| subject.free(memory))?;
        subject.destroy_stream(device, stream)?;
    }
    Ok(())
}

fn large_before_small(subject: &Subject) -> Verdict {
    let stream = subject.stream(0)?;
    let large = (8 << 20) + 1;
    let (from, to) = (subject.filled(0, &vec![1; large])?, subject.filled(0, &vec![0; large])?);
    let mark = subject.filled(0, &[2; 3])?;
    for round in 0..4 {
        let start = Memory { len: 3, ..to };
        subject.queue_copy(stream, &to, &from)?;
        subject.queue_copy(stream, &start, &mark)?;
        subject.synchronize_stream(0, stream)?;
        let what = format!("a small copy onto the start of a large one before it, round {round}");
        subject.expect(&to, 0, &[2, 2, 2, 1, 1], &what)?;
    }
    for memory in [from, to, mark] {
        subject.free(memory)?;
    }
    subject.destroy_stream(0, stream)
}

/// Three pieces of memory: the first with content, the others without.
struct Relay {
    bytes: Vec<u8>,
    memory: [Memory; 3],
}

impl Relay {
    fn new(subject: &Subject, seed: u64) -> Verdict<Self> {
        let bytes = pattern(LEN, seed);
        let memory = [
            subject.filled(0, &bytes)?,
            subject.filled(0, &vec![0xE1; LEN])?,
            subject.filled(0, &vec![0xE2; LEN])?,
        ];
        Ok(Self { bytes, memory })
    }

    /// Waits for both, and looks at the last piece.
    fn end(self, subject: &Subject, streams: &[u64], gate: &Gate, what: &str) -> Verdict {
        // Whoever is to go first without waiting gets the time for it.
        crate::subject::linger(|| false);
        gate.open();
        for stream in streams.iter().rev() {
            subject.synchronize_stream(0, *stream)?;
        }
        subject.expect(&self.memory[2], 0, &self.bytes, what)?;
        self.memory.into_iter().try_for_each(|memory| subject.free(memory))?;
        streams.iter().try_for_each(|stream| subject.destroy_stream(0, *stream))
    }
}

fn across(subject: &Subject) -> Verdict {
    let (relay, streams) = (Relay::new(subject, 1)?, [subject.stream(0)?, subject.stream(0)?]);
    let event = subject.event(0)?;
    let gate = Gate::close(subject, 0, streams[0])?;
    subject.queue_copy(streams[0], &relay.memory[1], &relay.memory[0])?;
    subject.record(0, streams[0], event)?;
    subject.wait_event(0, streams[1], event)?;
    subject.queue_copy(streams[1], &relay.memory[2], &relay.memory[1])?;
    relay.end(subject, &streams, &gate, "a copy behind the event of another stream")?;
    subject.destroy_event(0, event)
}

fn chain(subject: &Subject) -> Verdict {
    let relay = Relay::new(subject, 2)?;
    let streams: Vec<u64> = (0..8).map(|_| subject.stream(0)).collect::<Verdict<_>>()?;
    let events: Vec<u64> = (0..8).map(|_| subject.event(0)).collect::<Verdict<_>>()?;
    let gate = Gate::close(subject, 0, streams[0])?;
    subject.queue_copy(streams[0], &relay.memory[1], &relay.memory[0])?;
    for (index, event) in events.iter().enumerate().take(7) {
        subject.record(0, streams[index], *event)?;
        subject.wait_event(0, streams[index + 1], *event)?;
    }
    subject.queue_copy(streams[7], &relay.memory[2], &relay.memory[1])?;
    relay.end(subject, &streams, &gate, "a copy behind seven events, one after the other")?;
    events.into_iter().try_for_each(|event| subject.destroy_event(0, event))
}

fn fork(subject: &Subject) -> Verdict {
    let relay = Relay::new(subject, 3)?;
    let streams: Vec<u64> = (0..4).map(|_| subject.stream(0)).collect::<Verdict<_>>()?;
    let (start, ends) = (subject.event(0)?, [subject.event(0)?, subject.event(0)?, subject.event(0)?]);
    let gate = Gate::close(subject, 0, streams[0])?;
    subject.record(0, streams[0], start)?;
    // Each of three streams brings a third.
    for (index, end) in ends.iter().enumerate() {
        let (from, len) = (index * (LEN / 3), if index == 2 { LEN - 2 * (LEN / 3) } else { LEN / 3 });
        let part = |memory: &Memory| Memory { address: memory.at(from), len, ..*memory };
        subject.wait_event(0, streams[index + 1], start)?;
        subject.queue_copy(streams[index + 1], &part(&relay.memory[1]), &part(&relay.memory[0]))?;
        subject.record(0, streams[index + 1], *end)?;
    }
    for end in ends {
        subject.wait_event(0, streams[0], end)?;
    }
    subject.queue_copy(streams[0], &relay.memory[2], &relay.memory[1])?;
    relay.end(subject, &streams, &gate, "a copy behind the work of three other streams")?;
    ends.into_iter().chain([start]).try_for_each(|event| subject.destroy_event(0, event))
}

/// A wait that moved on to the second record would wait for work that comes after itself: that never ends.
fn rerecord(subject: &Subject) -> Verdict {
    let (relay, streams) = (Relay::new(subject, 4)?, [subject.stream(0)?, subject.stream(0)?]);
    let (event, back) = (subject.event(0)?, subject.event(0)?);
    let later = subject.filled(0, &vec![0xE3; LEN])?;
    let gate = Gate::close(subject, 0, streams[0])?;
    subject.queue_copy(streams[0], &relay.memory[1], &relay.memory[0])?;
    subject.record(0, streams[0], event)?;
    subject.wait_event(0, streams[1], event)?;
    subject.queue_copy(streams[1], &relay.memory[2], &relay.memory[1])?;
    subject.record(0, streams[1], back)?;
    subject.wait_event(0, streams[0], back)?;
    subject.queue_copy(streams[0], &relay.memory[1], &later)?;
    subject.record(0, streams[0], event)?;
    relay.end(subject, &streams, &gate, "a copy behind an event that was then recorded again")?;
    subject.free(later)?;
    subject.destroy_event(0, event)?;
    subject.destroy_event(0, back)
}

fn destroyed(subject: &Subject) -> Verdict {
    let (relay, streams) = (Relay::new(subject, 5)?, [subject.stream(0)?, subject.stream(0)?]);
    let event = subject.event(0)?;
    let gate = Gate::close(subject, 0, streams[0])?;
    subject.queue_copy(streams[0], &relay.memory[1], &relay.memory[0])?;
    subject.record(0, streams[0], event)?;
    subject.wait_event(0, streams[1], event)?;
    subject.queue_copy(streams[1], &relay.memory[2], &relay.memory[1])?;
    subject.destroy_event(0, event)?;
    // Another one may get the handle; it is not recorded.
    let next = subject.event(0)?;
    relay.end(subject, &streams, &gate, "a copy behind an event that was then destroyed")?;
    subject.destroy_event(0, next)
}

fn unheld(subject: &Subject) -> Verdict {
    let streams = [subject.stream(0)?, subject.stream(0)?];
    let events = [subject.event(0)?, subject.event(0)?];
    let ring: Vec<Memory> =
        (0..3).map(|seed| subject.filled(0, &pattern(LEN, seed))).collect::<Verdict<_>>()?;
    let mut model = [0_u64, 1, 2];
    for round in 0..60_usize {
        let (here, there) = (round % 2, (round + 1) % 2);
        let (to, from) = ((round + 1) % 3, round % 3);
        subject.queue_copy(streams[here], &ring[to], &ring[from])?;
        model[to] = model[from];
        subject.record(0, streams[here], events[here])?;
        subject.wait_event(0, streams[there], events[here])?;
        if round % 3 == 2 {
            subject.synchronize_stream(0, streams[there])?;
            for (seed, memory) in (0..).zip(&ring) {
                subject.expect(memory, 0, &pattern(LEN, model[seed]), "copies on two streams by turns")?;
                subject.write(memory, 0, &pattern(LEN, (round + seed) as u64))?;
                model[seed] = (round + seed) as u64;
            }
        }
    }
    for stream in streams {
        subject.synchronize_stream(0, stream)?;
        subject.destroy_stream(0, stream)?;
    }
    events.into_iter().try_for_each(|event| subject.destroy_event(0, event))?;
    ring.into_iter().try_for_each(|memory| subject.free(memory))
}
