//! Functions of the host that a stream calls.

use tenon::device::Function::{
    AsyncMemoryCopyD2d, AsyncMemoryCopyD2h, CreateStream, HostMemoryAllocate, HostMemoryDeallocate,
    StreamAddCallback,
};
use tenon::device::Status;

use crate::case::{Case, Level, Stop, Verdict, ensure};
use crate::subject::{Gate, Journal, Subject, id, linger, pattern, soon, told};

pub(super) fn cases() -> Vec<Case> {
    let case = |id, level, body| Case::written(id, level, body).of([StreamAddCallback]);
    vec![
        case("callback.once", Level::Required, once).spec(
            "stream_add_callback",
            "PaddlePaddle's callback frees `user_data`, so it must be called exactly once",
        ),
        case("callback.in-order", Level::Promised, in_order)
            .spec("stream_add_callback", "called once when all work before it on the stream is done"),
        case("callback.arguments", Level::Promised, arguments)
            .spec("stream_add_callback", "Handed on as it is."),
        case("callback.status", Level::Promised, status).spec(
            "StreamCallback",
            "The caller sets it to `success` first, since PaddlePaddle's callback never writes it.",
        ),
        case("callback.after-work", Level::Required, after_work)
            .uses([HostMemoryAllocate, HostMemoryDeallocate, AsyncMemoryCopyD2h])
            .spec("stream_add_callback", "called once when all work before it on the stream is done"),
        case("callback.before-later-work", Level::Promised, before_later_work)
            .uses([AsyncMemoryCopyD2d])
            .native()
            .spec("stream_add_callback", "work after it waits until it has returned"),
        case("callback.own-thread", Level::Good, own_thread).spec(
            "stream_add_callback",
            "It runs in a thread of the plugin and must not call functions of this table.",
        ),
        case("callback.refused", Level::Promised, refused)
            .spec("stream_add_callback", "and not at all if the answer is a failure"),
        case("callback.many-streams", Level::Promised, many_streams)
            .uses([CreateStream])
            .spec("stream", "Queues of work that a device runs in order."),
    ]
}

const COUNT: usize = 500;

fn once(subject: &Subject) -> Verdict {
    let (stream, journal) = (subject.stream(0)?, Journal::new());
    for number in 0..COUNT {
        journal.queue(subject, 0, stream, number)?;
    }
    subject.synchronize_stream(0, stream)?;
    let at_once = journal.len();
    // One that is called too often may be called late.
    linger(|| journal.len() > COUNT);
    let mut calls = vec![0; COUNT];
    for entry in journal.entries() {
        calls[entry.number] += 1;
    }
    let wrong = calls.iter().enumerate().find(|(_, calls)| **calls != 1);
    ensure!(
        wrong.is_none(),
        "callback {} was called {} times",
        wrong.map_or(0, |w| w.0),
        wrong.map_or(0, |w| *w.1)
    );
    ensure!(
        at_once == COUNT,
        "`synchronize_stream` returned when {at_once} of {COUNT} callbacks were called"
    );
    subject.destroy_stream(0, stream)
}

fn in_order(subject: &Subject) -> Verdict {
    let (stream, journal) = (subject.stream(0)?, Journal::new());
    // They pile up behind the gate, where there can be one: a queue of one has no order.
    let gate = match Gate::close(subject, 0, stream) {
        Ok(gate) => Some(gate),
        Err(Stop::Skipped(_)) => None,
        Err(failed) => return Err(failed),
    };
    for number in 0..COUNT {
        journal.queue(subject, 0, stream, number)?;
    }
    drop(gate);
    subject.synchronize_stream(0, stream)?;
    let entries = journal.entries();
    let wrong = entries.windows(2).find(|pair| pair[0].number + 1 != pair[1].number);
    ensure!(
        wrong.is_none(),
        "callback {} was called right after callback {}",
        wrong.map_or(0, |pair| pair[1].number),
        wrong.map_or(0, |pair| pair[0].number)
    );
    subject.destroy_stream(0, stream)
}

fn arguments(subject: &Subject) -> Verdict {
    for device in subject.each_device() {
        let (stream, journal) = (subject.stream(device)?, Journal::new());
        journal.queue(subject, device, stream, 17)?;
        subject.synchronize_stream(device, stream)?;
        let [entry] = journal.entries()[..] else {
            return crate::case::failed(format!("one callback was called {} times", journal.len()));
        };
        ensure!(entry.device == Some(device), "called with device {:?}, on device {device}", entry.device);
        ensure!(entry.stream == stream, "called with stream {:#x}, on stream {stream:#x}", entry.stream);
        subject.destroy_stream(device, stream)?;
    }
    Ok(())
}

fn status(subject: &Subject) -> Verdict {
    let (stream, journal) = (subject.stream(0)?, Journal::new());
    journal.queue(subject, 0, stream, 0)?;
    subject.synchronize_stream(0, stream)?;
    let found = journal.entries().first().map(|entry| entry.status);
    match found {
        Some(Some(Status::SUCCESS)) => {}
        Some(Some(status)) => {
            return crate::case::failed(format!("the status was {} before the call", told(status)));
        }
        Some(None) => return crate::case::failed("the address of the status was null"),
        None => return crate::case::failed("the callback was not called"),
    }
    // A second wait shows whether a callback that wrote nothing was taken for a failure.
    subject.synchronize_stream(0, stream)?;
    subject.destroy_stream(0, stream)
}

fn after_work(subject: &Subject) -> Verdict {
    const LEN: usize = (2 << 20) + 1;
    let stream = subject.stream(0)?;
    let (from, to) = (subject.filled(0, &vec![7; LEN])?, subject.pinned(0, LEN)?);
    for _ in 0..4 {
        to.write_here(&vec![1; LEN]);
        let journal = Journal::new();
        subject.queue_download(stream, to.address, &from)?;
        journal.watch(subject, 0, stream, to.at(LEN - 1))?;
        subject.synchronize_stream(0, stream)?;
        let seen = journal.entries().first().and_then(|entry| entry.seen);
        ensure!(seen == Some(7), "a callback behind a copy to the host saw {seen:?} where the copy brings 7");
    }
    subject.free(from)?;
    subject.free(to)?;
    subject.destroy_stream(0, stream)
}

fn before_later_work(subject: &Subject) -> Verdict {
    let stream = subject.stream(0)?;
    let (from, to) = (subject.filled(0, &pattern(512, 1))?, subject.filled(0, &[0; 512])?);
    let journal = Journal::new();
    let gate = Gate::close(subject, 0, stream)?;
    subject.queue_copy(stream, &to, &from)?;
    journal.queue(subject, 0, stream, 0)?;
    let called = linger(|| journal.len() > 0);
    let seen = subject.peek(&gate, &to)?;
    ensure!(!called, "a second callback was called before the first had returned");
    ensure!(
        seen.is_none_or(|bytes| bytes == [0; 512]),
        "a copy ran before the callback in front of it had returned"
    );
    subject.synchronize_stream(0, stream)?;
    subject.expect(&to, 0, &pattern(512, 1), "a copy behind a callback")?;
    ensure!(journal.len() == 1, "a callback behind the copy was called {} times", journal.len());
    subject.free(from)?;
    subject.free(to)?;
    subject.destroy_stream(0, stream)
}

fn own_thread(subject: &Subject) -> Verdict {
    let (stream, journal) = (subject.stream(0)?, Journal::new());
    journal.queue(subject, 0, stream, 0)?;
    subject.synchronize_stream(0, stream)?;
    let here = std::thread::current().id();
    let is_here = journal.entries().first().is_some_and(|entry| entry.thread == here);
    ensure!(!is_here, "the callback ran in the thread that queued it, which may hold locks of the host");
    subject.destroy_stream(0, stream)
}

fn refused(subject: &Subject) -> Verdict {
    let journal = Journal::new();
    for device in [-1, subject.device_count()] {
        let [function, context] = journal.callback(0, None);
        let arguments = [id(device), 0, function, context];
        subject.refused(StreamAddCallback, &arguments, &format!("device {device}"))?;
    }
    let called = linger(|| journal.len() > 0);
    ensure!(!called, "`stream_add_callback` failed, and the callback was called");
    Ok(())
}

fn many_streams(subject: &Subject) -> Verdict {
    let streams: Vec<u64> = (0..16).map(|_| subject.stream(0)).collect::<Verdict<_>>()?;
    let journals: Vec<Journal> = streams.iter().map(|_| Journal::new()).collect();
    for number in 0..100 {
        for (stream, journal) in streams.iter().zip(&journals) {
            journal.queue(subject, 0, *stream, number)?;
        }
    }
    subject.synchronize_device(0)?;
    ensure!(
        soon(|| journals.iter().all(|journal| journal.len() >= 100)),
        "`synchronize_device` returned, and callbacks of its streams were not called"
    );
    for journal in &journals {
        let numbers: Vec<usize> = journal.entries().iter().map(|entry| entry.number).collect();
        ensure!(
            numbers == (0..100).collect::<Vec<_>>(),
            "the callbacks of one of 16 streams came as {numbers:?}"
        );
    }
    streams.into_iter().try_for_each(|stream| subject.destroy_stream(0, stream))
}
