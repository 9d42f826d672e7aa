//! Cases of the order of work: in a stream, and between streams by events.

use tenon::device::Function::{
    AsyncMemoryCopyD2d, CreateStream, RecordEvent, StreamAddCallback, StreamWaitEvent,
};

use crate::case::{Case, Level, Verdict};
use crate::plugin_under_test::{Memory, PluginUnderTest, StreamLatch, pattern};

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
            .spec("stream", "A stream is a queue of work, which runs in the order in which it was queued"),
        held("order.streams", across).spec(
            "stream_wait_event",
            "Makes work that is queued on the stream from now on wait for the event, without making the caller wait.",
        ),
        held("order.streams.chain", chain).spec(
            "stream_wait_event",
            "The event may have been recorded on any stream of the device.",
        ),
        held("order.streams.fork-and-join", fork)
            .spec("stream_wait_event", "This call and `record_event` are the only means to order streams."),
        held("order.rerecord", rerecord).spec(
            "record_event",
            "PaddlePaddle reuses events, so an error here causes wrong results from time to time.",
        ),
        held("order.event-destroyed", destroyed).spec(
            "destroy_event",
            "the stream still waits for the record, although the handle is invalid",
        ),
        Case::written("order.streams.unheld", Level::Required, unheld)
            .of([StreamWaitEvent, RecordEvent])
            .uses([AsyncMemoryCopyD2d])
            .spec("event", "An event is a point in a stream. It is complete once the stream has passed it."),
    ]
}

const LEN: usize = 50_000;

fn along(plugin: &PluginUnderTest) -> Verdict {
    for device in plugin.each_device() {
        let stream = plugin.stream(device)?;
        let ring: Vec<Memory> =
            (0..5).map(|seed| plugin.filled(device, &pattern(LEN, seed))).collect::<Verdict<_>>()?;
        let mut model: Vec<u64> = (0..5).collect();
        // Each copy depends on the ones before; any two that change places show at the end.
        let mut state = 7_usize;
        for _ in 0..300 {
            state = (state * 1_103_515_245 + 12_345) % (1 << 31);
            let (to, from) = ((state >> 8) % 5, (state >> 16) % 5);
            plugin.queue_copy(stream, &ring[to], &ring[from])?;
            model[to] = model[from];
            if model.iter().all(|seed| *seed == model[0]) {
                plugin.synchronize_stream(device, stream)?;
                for (seed, memory) in (0..).zip(&ring) {
                    plugin.write(memory, 0, &pattern(LEN, seed))?;
                }
                model = (0..5).collect();
            }
        }
        plugin.synchronize_stream(device, stream)?;
        for (memory, seed) in ring.iter().zip(&model) {
            plugin.expect(memory, 0, &pattern(LEN, *seed), "300 copies that depend on each other")?;
        }
        ring.into_iter().try_for_each(|memory| plugin.free(memory))?;
        plugin.destroy_stream(device, stream)?;
    }
    Ok(())
}

fn large_before_small(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let large = (8 << 20) + 1;
    let (from, to) = (plugin.filled(0, &vec![1; large])?, plugin.filled(0, &vec![0; large])?);
    let mark = plugin.filled(0, &[2; 3])?;
    for round in 0..4 {
        let start = Memory { len: 3, ..to };
        plugin.queue_copy(stream, &to, &from)?;
        plugin.queue_copy(stream, &start, &mark)?;
        plugin.synchronize_stream(0, stream)?;
        let what = format!("a small copy onto the start of a large one before it, round {round}");
        plugin.expect(&to, 0, &[2, 2, 2, 1, 1], &what)?;
    }
    for memory in [from, to, mark] {
        plugin.free(memory)?;
    }
    plugin.destroy_stream(0, stream)
}

/// Three allocations, of which only the first has content.
struct Relay {
    bytes: Vec<u8>,
    memory: [Memory; 3],
}

impl Relay {
    fn new(plugin: &PluginUnderTest, seed: u64) -> Verdict<Self> {
        let bytes = pattern(LEN, seed);
        let memory = [
            plugin.filled(0, &bytes)?,
            plugin.filled(0, &vec![0xE1; LEN])?,
            plugin.filled(0, &vec![0xE2; LEN])?,
        ];
        Ok(Self { bytes, memory })
    }

    /// Waits for both, and looks at the last piece.
    fn end(self, plugin: &PluginUnderTest, streams: &[u64], latch: &StreamLatch, what: &str) -> Verdict {
        // Gives work that would run too early the time to do so.
        crate::plugin_under_test::linger(|| false);
        latch.open();
        for stream in streams.iter().rev() {
            plugin.synchronize_stream(0, *stream)?;
        }
        plugin.expect(&self.memory[2], 0, &self.bytes, what)?;
        self.memory.into_iter().try_for_each(|memory| plugin.free(memory))?;
        streams.iter().try_for_each(|stream| plugin.destroy_stream(0, *stream))
    }
}

fn across(plugin: &PluginUnderTest) -> Verdict {
    let (relay, streams) = (Relay::new(plugin, 1)?, [plugin.stream(0)?, plugin.stream(0)?]);
    let event = plugin.event(0)?;
    let latch = StreamLatch::close(plugin, 0, streams[0])?;
    plugin.queue_copy(streams[0], &relay.memory[1], &relay.memory[0])?;
    plugin.record(0, streams[0], event)?;
    plugin.wait_event(0, streams[1], event)?;
    plugin.queue_copy(streams[1], &relay.memory[2], &relay.memory[1])?;
    relay.end(plugin, &streams, &latch, "a copy behind the event of another stream")?;
    plugin.destroy_event(0, event)
}

fn chain(plugin: &PluginUnderTest) -> Verdict {
    let relay = Relay::new(plugin, 2)?;
    let streams: Vec<u64> = (0..8).map(|_| plugin.stream(0)).collect::<Verdict<_>>()?;
    let events: Vec<u64> = (0..8).map(|_| plugin.event(0)).collect::<Verdict<_>>()?;
    let latch = StreamLatch::close(plugin, 0, streams[0])?;
    plugin.queue_copy(streams[0], &relay.memory[1], &relay.memory[0])?;
    for (index, event) in events.iter().enumerate().take(7) {
        plugin.record(0, streams[index], *event)?;
        plugin.wait_event(0, streams[index + 1], *event)?;
    }
    plugin.queue_copy(streams[7], &relay.memory[2], &relay.memory[1])?;
    relay.end(plugin, &streams, &latch, "a copy behind seven events, one after the other")?;
    events.into_iter().try_for_each(|event| plugin.destroy_event(0, event))
}

fn fork(plugin: &PluginUnderTest) -> Verdict {
    let relay = Relay::new(plugin, 3)?;
    let streams: Vec<u64> = (0..4).map(|_| plugin.stream(0)).collect::<Verdict<_>>()?;
    let (start, ends) = (plugin.event(0)?, [plugin.event(0)?, plugin.event(0)?, plugin.event(0)?]);
    let latch = StreamLatch::close(plugin, 0, streams[0])?;
    plugin.record(0, streams[0], start)?;
    // Each of three streams brings a third.
    for (index, end) in ends.iter().enumerate() {
        let (from, len) = (index * (LEN / 3), if index == 2 { LEN - 2 * (LEN / 3) } else { LEN / 3 });
        let part = |memory: &Memory| Memory { address: memory.at(from), len, ..*memory };
        plugin.wait_event(0, streams[index + 1], start)?;
        plugin.queue_copy(streams[index + 1], &part(&relay.memory[1]), &part(&relay.memory[0]))?;
        plugin.record(0, streams[index + 1], *end)?;
    }
    for end in ends {
        plugin.wait_event(0, streams[0], end)?;
    }
    plugin.queue_copy(streams[0], &relay.memory[2], &relay.memory[1])?;
    relay.end(plugin, &streams, &latch, "a copy behind the work of three other streams")?;
    ends.into_iter().chain([start]).try_for_each(|event| plugin.destroy_event(0, event))
}

/// Returns a wait that moved on to the second record would wait for work that comes after itself: that never ends.
fn rerecord(plugin: &PluginUnderTest) -> Verdict {
    let (relay, streams) = (Relay::new(plugin, 4)?, [plugin.stream(0)?, plugin.stream(0)?]);
    let (event, back) = (plugin.event(0)?, plugin.event(0)?);
    let later = plugin.filled(0, &vec![0xE3; LEN])?;
    let latch = StreamLatch::close(plugin, 0, streams[0])?;
    plugin.queue_copy(streams[0], &relay.memory[1], &relay.memory[0])?;
    plugin.record(0, streams[0], event)?;
    plugin.wait_event(0, streams[1], event)?;
    plugin.queue_copy(streams[1], &relay.memory[2], &relay.memory[1])?;
    plugin.record(0, streams[1], back)?;
    plugin.wait_event(0, streams[0], back)?;
    plugin.queue_copy(streams[0], &relay.memory[1], &later)?;
    plugin.record(0, streams[0], event)?;
    relay.end(plugin, &streams, &latch, "a copy behind an event that was then recorded again")?;
    plugin.free(later)?;
    plugin.destroy_event(0, event)?;
    plugin.destroy_event(0, back)
}

fn destroyed(plugin: &PluginUnderTest) -> Verdict {
    let (relay, streams) = (Relay::new(plugin, 5)?, [plugin.stream(0)?, plugin.stream(0)?]);
    let event = plugin.event(0)?;
    let latch = StreamLatch::close(plugin, 0, streams[0])?;
    plugin.queue_copy(streams[0], &relay.memory[1], &relay.memory[0])?;
    plugin.record(0, streams[0], event)?;
    plugin.wait_event(0, streams[1], event)?;
    plugin.queue_copy(streams[1], &relay.memory[2], &relay.memory[1])?;
    plugin.destroy_event(0, event)?;
    // Another one may get the handle; it is not recorded.
    let next = plugin.event(0)?;
    relay.end(plugin, &streams, &latch, "a copy behind an event that was then destroyed")?;
    plugin.destroy_event(0, next)
}

fn unheld(plugin: &PluginUnderTest) -> Verdict {
    let streams = [plugin.stream(0)?, plugin.stream(0)?];
    let events = [plugin.event(0)?, plugin.event(0)?];
    let ring: Vec<Memory> =
        (0..3).map(|seed| plugin.filled(0, &pattern(LEN, seed))).collect::<Verdict<_>>()?;
    let mut model = [0_u64, 1, 2];
    for round in 0..60_usize {
        let (here, there) = (round % 2, (round + 1) % 2);
        let (to, from) = ((round + 1) % 3, round % 3);
        plugin.queue_copy(streams[here], &ring[to], &ring[from])?;
        model[to] = model[from];
        plugin.record(0, streams[here], events[here])?;
        plugin.wait_event(0, streams[there], events[here])?;
        if round % 3 == 2 {
            plugin.synchronize_stream(0, streams[there])?;
            for (seed, memory) in (0..).zip(&ring) {
                plugin.expect(memory, 0, &pattern(LEN, model[seed]), "copies on two streams by turns")?;
                plugin.write(memory, 0, &pattern(LEN, (round + seed) as u64))?;
                model[seed] = (round + seed) as u64;
            }
        }
    }
    for stream in streams {
        plugin.synchronize_stream(0, stream)?;
        plugin.destroy_stream(0, stream)?;
    }
    events.into_iter().try_for_each(|event| plugin.destroy_event(0, event))?;
    ring.into_iter().try_for_each(|memory| plugin.free(memory))
}
