//! Events: what they say, and who waits for them.

use tenon::device::Function::{
    AsyncMemoryCopyD2d, CreateEvent, CreateStream, DestroyEvent, QueryEvent, RecordEvent, StreamAddCallback,
    StreamWaitEvent, SynchronizeEvent,
};

use crate::case::{Case, Failure, Level, Stop, Verdict, ensure};
use crate::subject::{Gate, Subject, pattern, soon};

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
            .spec(
                "query_event",
                "Says at once whether the last record of the event is done, without waiting",
            ),
        Case::written("event.query.recorded-again", Level::Promised, query_again)
            .of([QueryEvent, RecordEvent])
            .uses([StreamAddCallback])
            .native()
            .spec(
                "record_event",
                "Recording an event again moves it to the new place, for everyone who asks from then on",
            ),
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
        Case::written("event.ten-thousand", Level::Good, ten_thousand)
            .of([CreateEvent, RecordEvent, DestroyEvent])
            .practice("a program that runs for long has thousands of events"),
    ]
}

fn fresh_synchronize(subject: &Subject) -> Verdict {
    for device in subject.each_device() {
        let event = subject.event(device)?;
        subject.synchronize_event(device, event)?;
        subject.destroy_event(device, event)?;
    }
    Ok(())
}

fn fresh_query(subject: &Subject) -> Verdict {
    let event = subject.event(0)?;
    ensure!(subject.question(QueryEvent, 0, event)?, "an event that was never recorded is not done");
    let stream = subject.stream(0)?;
    subject.record(0, stream, event)?;
    subject.synchronize_stream(0, stream)?;
    ensure!(subject.question(QueryEvent, 0, event)?, "an event whose stream was waited for is not done");
    subject.destroy_event(0, event)?;
    subject.destroy_stream(0, stream)
}

fn fresh_wait(subject: &Subject) -> Verdict {
    let (stream, event) = (subject.stream(0)?, subject.event(0)?);
    let (from, to) = (subject.filled(0, &pattern(100, 1))?, subject.filled(0, &[0; 100])?);
    subject.wait_event(0, stream, event)?;
    subject.queue_copy(stream, &to, &from)?;
    subject.synchronize_stream(0, stream)?;
    subject.expect(&to, 0, &pattern(100, 1), "a copy behind an event that was never recorded")?;
    subject.free(from)?;
    subject.free(to)?;
    subject.destroy_event(0, event)?;
    subject.destroy_stream(0, stream)
}

fn query_held(subject: &Subject) -> Verdict {
    let (stream, event) = (subject.stream(0)?, subject.event(0)?);
    let gate = Gate::close(subject, 0, stream)?;
    subject.record(0, stream, event)?;
    let (done, at_once) = subject.meanwhile(&gate, |this| this.question(QueryEvent, 0, event))?;
    ensure!(at_once, "`query_event` waited, where it has to answer at once");
    ensure!(!done, "an event was said to be done while the callback before it ran");
    subject.synchronize_event(0, event)?;
    ensure!(subject.question(QueryEvent, 0, event)?, "an event that was waited for is not done");
    subject.destroy_event(0, event)?;
    subject.destroy_stream(0, stream)
}

fn query_again(subject: &Subject) -> Verdict {
    let (stream, event) = (subject.stream(0)?, subject.event(0)?);
    subject.record(0, stream, event)?;
    subject.synchronize_event(0, event)?;
    let gate = Gate::close(subject, 0, stream)?;
    subject.record(0, stream, event)?;
    let (done, at_once) = subject.meanwhile(&gate, |this| this.question(QueryEvent, 0, event))?;
    ensure!(at_once, "`query_event` waited, where it has to answer at once");
    ensure!(!done, "an event that was recorded again was said to be done, as its first record was");
    subject.synchronize_event(0, event)?;
    subject.destroy_event(0, event)?;
    subject.destroy_stream(0, stream)
}

/// Fails unless a call returned while a stream was held.
fn at_once(function: &str, returned: bool) -> Verdict {
    ensure!(returned, "`{function}` returned only when the stream went on");
    Ok(())
}

fn record_at_once(subject: &Subject) -> Verdict {
    let (stream, event) = (subject.stream(0)?, subject.event(0)?);
    let gate = Gate::close(subject, 0, stream)?;
    let ((), returned) = subject.meanwhile(&gate, |this| this.record(0, stream, event))?;
    at_once("record_event", returned)?;
    subject.synchronize_stream(0, stream)?;
    subject.destroy_event(0, event)?;
    subject.destroy_stream(0, stream)
}

fn wait_at_once(subject: &Subject) -> Verdict {
    let (stream, other, event) = (subject.stream(0)?, subject.stream(0)?, subject.event(0)?);
    let gate = Gate::close(subject, 0, stream)?;
    subject.record(0, stream, event)?;
    let ((), returned) = subject.meanwhile(&gate, |this| this.wait_event(0, other, event))?;
    at_once("stream_wait_event", returned)?;
    for stream in [stream, other] {
        subject.synchronize_stream(0, stream)?;
        subject.destroy_stream(0, stream)?;
    }
    subject.destroy_event(0, event)
}

fn destroy_at_once(subject: &Subject) -> Verdict {
    let (stream, event) = (subject.stream(0)?, subject.event(0)?);
    let gate = Gate::close(subject, 0, stream)?;
    subject.record(0, stream, event)?;
    let ((), returned) = subject.meanwhile(&gate, |this| this.destroy_event(0, event))?;
    at_once("destroy_event", returned)?;
    subject.synchronize_stream(0, stream)?;
    subject.destroy_stream(0, stream)
}

fn synchronize_waits(subject: &Subject) -> Verdict {
    let (stream, event) = (subject.stream(0)?, subject.event(0)?);
    let gate = Gate::close(subject, 0, stream)?;
    subject.record(0, stream, event)?;
    let ((), early) = subject.beside(&gate, |this| this.synchronize_event(0, event))?;
    ensure!(!early, "`synchronize_event` returned while the callback before the event ran");
    subject.destroy_event(0, event)?;
    subject.destroy_stream(0, stream)
}

fn no_further(subject: &Subject) -> Verdict {
    let (stream, event) = (subject.stream(0)?, subject.event(0)?);
    subject.record(0, stream, event)?;
    let gate = Gate::close(subject, 0, stream)?;
    let ((), returned) = subject.meanwhile(&gate, |this| this.synchronize_event(0, event))?;
    ensure!(returned, "`synchronize_event` waited for a callback that was queued after the event");
    subject.synchronize_stream(0, stream)?;
    subject.destroy_event(0, event)?;
    subject.destroy_stream(0, stream)
}

fn after_work(subject: &Subject) -> Verdict {
    const LEN: usize = (1 << 20) + 1;
    let (stream, event) = (subject.stream(0)?, subject.event(0)?);
    let to = subject.filled(0, &vec![0; LEN])?;
    for round in 0..4 {
        let from = subject.filled(0, &pattern(LEN, round))?;
        subject.queue_copy(stream, &to, &from)?;
        subject.record(0, stream, event)?;
        subject.synchronize_event(0, event)?;
        subject.expect(&to, 0, &pattern(LEN, round), "a copy before an event that was waited for")?;
        subject.free(from)?;
    }
    subject.free(to)?;
    subject.destroy_event(0, event)?;
    subject.destroy_stream(0, stream)
}

fn ten_thousand(subject: &Subject) -> Verdict {
    let stream = subject.stream(0)?;
    let mut events = Vec::new();
    for made in 0..10_000 {
        match subject.event(0) {
            Ok(event) => events.push(event),
            Err(Stop::Failed(failure)) => {
                let message = format!("after {made} events: {}", failure.message);
                return Err(Stop::Failed(Failure { message, ..failure }));
            }
            Err(skipped) => return Err(skipped),
        }
    }
    for event in &events {
        subject.record(0, stream, *event)?;
    }
    subject.synchronize_stream(0, stream)?;
    for event in events {
        subject.synchronize_event(0, event)?;
        if subject.answers(QueryEvent) {
            let done = || subject.question(QueryEvent, 0, event) != Ok(false);
            ensure!(soon(done), "one of 10,000 events is not done although its stream is");
        }
        subject.destroy_event(0, event)?;
    }
    subject.destroy_stream(0, stream)
}
