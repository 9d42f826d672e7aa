//! Cases of events: their state, and waits for them.

use tenon::device::Function::{
    AsyncMemoryCopyD2d, CreateEvent, CreateStream, DestroyEvent, EventElapsedTime, QueryEvent, RecordEvent,
    StreamAddCallback, StreamWaitEvent, SynchronizeEvent,
};
use tenon::device::Status;

use crate::case::{Case, Failure, Level, Stop, Verdict, ensure};
use crate::plugin_under_test::{PluginUnderTest, StreamLatch, address, id, pattern, soon, status_text};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::written("event.fresh.synchronize", Level::Promised, fresh_synchronize)
            .of([SynchronizeEvent, CreateEvent])
            .spec("synchronize_event", "An event that was never recorded is done already."),
        Case::written("event.fresh.query", Level::Promised, fresh_query)
            .of([QueryEvent])
            .spec("query_event", "an event that was never recorded is done"),
        Case::written("event.fresh.wait", Level::Promised, fresh_wait)
            .of([StreamWaitEvent])
            .uses([AsyncMemoryCopyD2d])
            .spec("stream_wait_event", "An event that was never recorded counts as done."),
        Case::written("event.query.held", Level::Promised, query_held)
            .of([QueryEvent])
            .uses([StreamAddCallback])
            .native()
            .spec("query_event", "Returns at once whether the last record of the event is done"),
        Case::written("event.query.recorded-again", Level::Promised, query_again)
            .of([QueryEvent, RecordEvent])
            .uses([StreamAddCallback])
            .native()
            .spec("record_event", "Recording an event again moves it to the new point, for all later calls"),
        Case::written("event.record.at-once", Level::Promised, record_at_once)
            .of([RecordEvent])
            .uses([StreamAddCallback])
            .native()
            .spec("record_event", "The call does not wait."),
        Case::written("event.wait.at-once", Level::Promised, wait_at_once)
            .of([StreamWaitEvent])
            .uses([StreamAddCallback, CreateStream])
            .native()
            .spec("stream_wait_event", "without making the caller wait"),
        Case::written("event.destroy.at-once", Level::Promised, destroy_at_once)
            .of([DestroyEvent])
            .uses([StreamAddCallback])
            .native()
            .spec("destroy_event", "The call itself does not wait."),
        Case::written("event.synchronize.waits", Level::Required, synchronize_waits)
            .of([SynchronizeEvent])
            .uses([StreamAddCallback])
            .native()
            .spec("synchronize_event", "Waits until the last record of the event before the call is done."),
        Case::written("event.synchronize.no-further", Level::Promised, no_further)
            .of([SynchronizeEvent])
            .uses([StreamAddCallback])
            .native()
            .spec("synchronize_event", "Work that was queued after the record is not waited for."),
        Case::written("event.synchronize.after-work", Level::Required, after_work)
            .of([SynchronizeEvent, RecordEvent])
            .uses([AsyncMemoryCopyD2d])
            .spec("record_event", "it is done when all work that was queued there before the call is done"),
        Case::written("event.elapsed.in-order", Level::Promised, elapsed_in_order)
            .of([EventElapsedTime])
            .uses([AsyncMemoryCopyD2d])
            .spec(
                "event_elapsed_time",
                "The time is at least 0 if both events were recorded on one stream, `start` first.",
            ),
        Case::written("event.elapsed.never-recorded", Level::Promised, elapsed_never_recorded)
            .of([EventElapsedTime])
            .native()
            .spec("event_elapsed_time", "one is of another device or was never recorded"),
        Case::written("event.elapsed.pending", Level::Promised, elapsed_pending)
            .of([EventElapsedTime])
            .uses([StreamAddCallback])
            .native()
            .spec("event_elapsed_time", "Both records must have completed; the call does not wait."),
        Case::written("event.ten-thousand", Level::Good, ten_thousand)
            .of([CreateEvent, RecordEvent, DestroyEvent])
            .practice("a program that runs for long has thousands of events"),
    ]
}

fn fresh_synchronize(plugin: &PluginUnderTest) -> Verdict {
    for device in plugin.each_device() {
        let event = plugin.event(device)?;
        plugin.synchronize_event(device, event)?;
        plugin.destroy_event(device, event)?;
    }
    Ok(())
}

fn fresh_query(plugin: &PluginUnderTest) -> Verdict {
    let event = plugin.event(0)?;
    ensure!(plugin.question(QueryEvent, 0, event)?, "an event that was never recorded is not done");
    let stream = plugin.stream(0)?;
    plugin.record(0, stream, event)?;
    plugin.synchronize_stream(0, stream)?;
    ensure!(plugin.question(QueryEvent, 0, event)?, "an event whose stream was waited for is not done");
    plugin.destroy_event(0, event)?;
    plugin.destroy_stream(0, stream)
}

fn fresh_wait(plugin: &PluginUnderTest) -> Verdict {
    let (stream, event) = (plugin.stream(0)?, plugin.event(0)?);
    let (from, to) = (plugin.filled(0, &pattern(100, 1))?, plugin.filled(0, &[0; 100])?);
    plugin.wait_event(0, stream, event)?;
    plugin.queue_copy(stream, &to, &from)?;
    plugin.synchronize_stream(0, stream)?;
    plugin.expect(&to, 0, &pattern(100, 1), "a copy behind an event that was never recorded")?;
    plugin.free(from)?;
    plugin.free(to)?;
    plugin.destroy_event(0, event)?;
    plugin.destroy_stream(0, stream)
}

fn query_held(plugin: &PluginUnderTest) -> Verdict {
    let (stream, event) = (plugin.stream(0)?, plugin.event(0)?);
    let latch = StreamLatch::close(plugin, 0, stream)?;
    plugin.record(0, stream, event)?;
    let (done, at_once) = plugin.meanwhile(&latch, |this| this.question(QueryEvent, 0, event))?;
    ensure!(at_once, "`query_event` waited, where it has to answer at once");
    ensure!(!done, "an event was said to be done while the callback before it ran");
    plugin.synchronize_event(0, event)?;
    ensure!(plugin.question(QueryEvent, 0, event)?, "an event that was waited for is not done");
    plugin.destroy_event(0, event)?;
    plugin.destroy_stream(0, stream)
}

fn query_again(plugin: &PluginUnderTest) -> Verdict {
    let (stream, event) = (plugin.stream(0)?, plugin.event(0)?);
    plugin.record(0, stream, event)?;
    plugin.synchronize_event(0, event)?;
    let latch = StreamLatch::close(plugin, 0, stream)?;
    plugin.record(0, stream, event)?;
    let (done, at_once) = plugin.meanwhile(&latch, |this| this.question(QueryEvent, 0, event))?;
    ensure!(at_once, "`query_event` waited, where it has to answer at once");
    ensure!(!done, "an event that was recorded again was said to be done, as its first record was");
    plugin.synchronize_event(0, event)?;
    plugin.destroy_event(0, event)?;
    plugin.destroy_stream(0, stream)
}

/// Fails unless a call returned while a stream was held.
fn at_once(function: &str, returned: bool) -> Verdict {
    ensure!(returned, "`{function}` returned only when the stream went on");
    Ok(())
}

fn record_at_once(plugin: &PluginUnderTest) -> Verdict {
    let (stream, event) = (plugin.stream(0)?, plugin.event(0)?);
    let latch = StreamLatch::close(plugin, 0, stream)?;
    let ((), returned) = plugin.meanwhile(&latch, |this| this.record(0, stream, event))?;
    at_once("record_event", returned)?;
    plugin.synchronize_stream(0, stream)?;
    plugin.destroy_event(0, event)?;
    plugin.destroy_stream(0, stream)
}

fn wait_at_once(plugin: &PluginUnderTest) -> Verdict {
    let (stream, other, event) = (plugin.stream(0)?, plugin.stream(0)?, plugin.event(0)?);
    let latch = StreamLatch::close(plugin, 0, stream)?;
    plugin.record(0, stream, event)?;
    let ((), returned) = plugin.meanwhile(&latch, |this| this.wait_event(0, other, event))?;
    at_once("stream_wait_event", returned)?;
    for stream in [stream, other] {
        plugin.synchronize_stream(0, stream)?;
        plugin.destroy_stream(0, stream)?;
    }
    plugin.destroy_event(0, event)
}

fn destroy_at_once(plugin: &PluginUnderTest) -> Verdict {
    let (stream, event) = (plugin.stream(0)?, plugin.event(0)?);
    let latch = StreamLatch::close(plugin, 0, stream)?;
    plugin.record(0, stream, event)?;
    let ((), returned) = plugin.meanwhile(&latch, |this| this.destroy_event(0, event))?;
    at_once("destroy_event", returned)?;
    plugin.synchronize_stream(0, stream)?;
    plugin.destroy_stream(0, stream)
}

fn synchronize_waits(plugin: &PluginUnderTest) -> Verdict {
    let (stream, event) = (plugin.stream(0)?, plugin.event(0)?);
    let latch = StreamLatch::close(plugin, 0, stream)?;
    plugin.record(0, stream, event)?;
    let ((), early) = plugin.beside(&latch, |this| this.synchronize_event(0, event))?;
    ensure!(!early, "`synchronize_event` returned while the callback before the event ran");
    plugin.destroy_event(0, event)?;
    plugin.destroy_stream(0, stream)
}

fn no_further(plugin: &PluginUnderTest) -> Verdict {
    let (stream, event) = (plugin.stream(0)?, plugin.event(0)?);
    plugin.record(0, stream, event)?;
    let latch = StreamLatch::close(plugin, 0, stream)?;
    let ((), returned) = plugin.meanwhile(&latch, |this| this.synchronize_event(0, event))?;
    ensure!(returned, "`synchronize_event` waited for a callback that was queued after the event");
    plugin.synchronize_stream(0, stream)?;
    plugin.destroy_event(0, event)?;
    plugin.destroy_stream(0, stream)
}

fn after_work(plugin: &PluginUnderTest) -> Verdict {
    const LEN: usize = (1 << 20) + 1;
    let (stream, event) = (plugin.stream(0)?, plugin.event(0)?);
    let to = plugin.filled(0, &vec![0; LEN])?;
    for round in 0..4 {
        let from = plugin.filled(0, &pattern(LEN, round))?;
        plugin.queue_copy(stream, &to, &from)?;
        plugin.record(0, stream, event)?;
        plugin.synchronize_event(0, event)?;
        plugin.expect(&to, 0, &pattern(LEN, round), "a copy before an event that was waited for")?;
        plugin.free(from)?;
    }
    plugin.free(to)?;
    plugin.destroy_event(0, event)?;
    plugin.destroy_stream(0, stream)
}

fn elapsed_in_order(plugin: &PluginUnderTest) -> Verdict {
    const LEN: usize = 1 << 18;
    let stream = plugin.stream(0)?;
    let (from, to) = (plugin.filled(0, &pattern(LEN, 1))?, plugin.filled(0, &[0; LEN])?);
    let events = [plugin.event(0)?, plugin.event(0)?, plugin.event(0)?];
    for event in events {
        plugin.queue_copy(stream, &to, &from)?;
        plugin.record(0, stream, event)?;
    }
    plugin.synchronize_stream(0, stream)?;
    let [first, second, third] = events;
    let time = plugin.elapsed_time(first, second)?;
    ensure!(time >= 0, "the time between two events of one stream, in order, is {time} ns");
    let longer = plugin.elapsed_time(first, third)?;
    ensure!(longer >= time, "the second event came after {time} ns, and the third after {longer} ns");
    let back = plugin.elapsed_time(third, first)?;
    ensure!(back <= 0, "the time from an event to an earlier one is {back} ns");
    let none = plugin.elapsed_time(first, first)?;
    ensure!(none == 0, "the time from an event to itself is {none} ns");
    for event in events {
        plugin.destroy_event(0, event)?;
    }
    plugin.free(from)?;
    plugin.free(to)?;
    plugin.destroy_stream(0, stream)
}

/// Fails unless the time between two events is refused with a status.
fn has_no_time(plugin: &PluginUnderTest, [start, end]: [u64; 2], expected: Status, what: &str) -> Verdict {
    let mut elapsed = 0_i64;
    let status = plugin.call(EventElapsedTime, &[id(0), start, end, address(&mut elapsed)])?;
    ensure!(
        status == expected,
        "`event_elapsed_time` answered {} for an event that {what}, where it has to answer {}",
        status_text(status),
        status_text(expected)
    );
    Ok(())
}

fn elapsed_never_recorded(plugin: &PluginUnderTest) -> Verdict {
    let (stream, recorded, never) = (plugin.stream(0)?, plugin.event(0)?, plugin.event(0)?);
    plugin.record(0, stream, recorded)?;
    plugin.synchronize_event(0, recorded)?;
    for events in [[recorded, never], [never, recorded], [never, never]] {
        has_no_time(plugin, events, Status::ERROR, "was never recorded")?;
    }
    plugin.destroy_event(0, recorded)?;
    plugin.destroy_event(0, never)?;
    plugin.destroy_stream(0, stream)
}

fn elapsed_pending(plugin: &PluginUnderTest) -> Verdict {
    let (stream, start, end) = (plugin.stream(0)?, plugin.event(0)?, plugin.event(0)?);
    plugin.record(0, stream, start)?;
    plugin.record(0, stream, end)?;
    plugin.synchronize_event(0, end)?;
    let latch = StreamLatch::close(plugin, 0, stream)?;
    plugin.record(0, stream, end)?;
    let ((), at_once) = plugin.meanwhile(&latch, |this| {
        has_no_time(this, [start, end], Status::FAILED, "has not completed")?;
        has_no_time(this, [end, start], Status::FAILED, "has not completed")
    })?;
    ensure!(at_once, "`event_elapsed_time` waited, where it has to answer at once");
    plugin.synchronize_event(0, end)?;
    let time = plugin.elapsed_time(start, end)?;
    ensure!(time >= 0, "the time between two events of one stream, in order, is {time} ns");
    plugin.destroy_event(0, start)?;
    plugin.destroy_event(0, end)?;
    plugin.destroy_stream(0, stream)
}

fn ten_thousand(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let mut events = Vec::new();
    for made in 0..10_000 {
        match plugin.event(0) {
            Ok(event) => events.push(event),
            Err(Stop::Failed(failure)) => {
                let message = format!("after {made} events: {}", failure.message);
                return Err(Stop::Failed(Failure { message, ..failure }));
            }
            Err(skipped) => return Err(skipped),
        }
    }
    for event in &events {
        plugin.record(0, stream, *event)?;
    }
    plugin.synchronize_stream(0, stream)?;
    for event in events {
        plugin.synchronize_event(0, event)?;
        if plugin.answers(QueryEvent) {
            let done = || plugin.question(QueryEvent, 0, event) != Ok(false);
            ensure!(soon(done), "one of 10,000 events is not done although its stream is");
        }
        plugin.destroy_event(0, event)?;
    }
    plugin.destroy_stream(0, stream)
}
