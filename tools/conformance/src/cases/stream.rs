//! The life of streams, and waiting for them.

use tenon::device::Function::{
    AsyncMemoryCopyD2d, CreateStream, DestroyStream, QueryStream, StreamAddCallback, SynchronizeDevice,
    SynchronizeStream,
};

use crate::case::{Case, Level, Verdict, ensure};
use crate::subject::{Gate, Memory, Subject, id, pattern};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::written("stream.distinct", Level::Promised, distinct)
            .of([CreateStream])
            .spec("create_stream", "Makes an empty stream on the device."),
        Case::written("stream.empty", Level::Promised, empty).of([SynchronizeStream, CreateStream]).spec(
            "synchronize_stream",
            "Waits until all work that was queued on the stream before the call is done.",
        ),
        Case::written("stream.many", Level::Promised, many)
            .of([CreateStream, DestroyStream])
            .uses([AsyncMemoryCopyD2d])
            .spec("create_stream", "and for each stream that a user makes"),
        Case::written("stream.made-and-destroyed", Level::Promised, again)
            .of([CreateStream, DestroyStream])
            .spec("destroy_stream", "Gives a stream back."),
        Case::written("stream.destroy.null", Level::Promised, destroy_null)
            .of([DestroyStream])
            .spec("destroy_stream", "A null stream is accepted and left alone."),
        Case::written("stream.destroy.queued-work", Level::Promised, destroy_with_work)
            .of([DestroyStream])
            .uses([CreateStream, AsyncMemoryCopyD2d, StreamAddCallback])
            .native()
            .spec("destroy_stream", "Work that is still queued runs to its end before the stream is gone"),
        Case::written("stream.query.idle", Level::Promised, query_idle)
            .of([QueryStream])
            .spec("query_stream", "all work that was queued before the call is done"),
        Case::written("stream.query.held", Level::Promised, query_held)
            .of([QueryStream])
            .uses([StreamAddCallback])
            .native()
            .spec("query_stream", "some of it is not done yet"),
        Case::written("stream.synchronize.waits", Level::Required, synchronize_waits)
            .of([SynchronizeStream])
            .uses([StreamAddCallback])
            .native()
            .spec(
                "synchronize_stream",
                "Waits until all work that was queued on the stream before the call is done.",
            ),
        Case::written("stream.synchronize-device.waits", Level::Required, device_waits)
            .of([SynchronizeDevice])
            .uses([StreamAddCallback, CreateStream])
            .native()
            .spec("synchronize_device", "is done, on all of its streams"),
        Case::written("stream.default.order", Level::Promised, default_order)
            .of([AsyncMemoryCopyD2d, SynchronizeStream])
            .spec("device", "A null stream stands for the default stream of the device"),
    ]
}

fn distinct(subject: &Subject) -> Verdict {
    let mut streams: Vec<u64> = (0..16).map(|_| subject.stream(0)).collect::<Verdict<_>>()?;
    let made = streams.clone();
    streams.sort_unstable();
    streams.dedup();
    let same = made.len() - streams.len();
    let all_null = streams == [0];
    ensure!(
        same == 0 || all_null,
        "of {} streams {same} have a handle that another live one has",
        made.len()
    );
    made.into_iter().try_for_each(|stream| subject.destroy_stream(0, stream))
}

fn empty(subject: &Subject) -> Verdict {
    for device in subject.each_device() {
        let stream = subject.stream(device)?;
        for _ in 0..3 {
            subject.synchronize_stream(device, stream)?;
        }
        subject.destroy_stream(device, stream)?;
    }
    Ok(())
}

fn many(subject: &Subject) -> Verdict {
    const LEN: usize = 10_000;
    let mut held = Vec::new();
    for seed in 0..64 {
        let bytes = pattern(LEN, seed);
        let (from, to) = (subject.filled(0, &bytes)?, subject.filled(0, &[0; LEN])?);
        held.push((subject.stream(0)?, bytes, from, to));
    }
    for _ in 0..4 {
        for (stream, _, from, to) in &held {
            subject.queue_copy(*stream, to, from)?;
        }
    }
    for (stream, bytes, from, to) in held {
        subject.synchronize_stream(0, stream)?;
        subject.expect(&to, 0, &bytes, "the work of one of 64 streams")?;
        subject.free(from)?;
        subject.free(to)?;
        subject.destroy_stream(0, stream)?;
    }
    Ok(())
}

fn again(subject: &Subject) -> Verdict {
    for _ in 0..2000 {
        let stream = subject.stream(0)?;
        subject.destroy_stream(0, stream)?;
    }
    Ok(())
}

fn destroy_null(subject: &Subject) -> Verdict {
    subject.ok(DestroyStream, &[id(0), 0])
}

/// A pair of pieces of which one is copied to the other.
fn pair(subject: &Subject, device: i32) -> Verdict<(Memory, Memory)> {
    Ok((subject.filled(device, &pattern(4096, 7))?, subject.filled(device, &[0; 4096])?))
}

fn destroy_with_work(subject: &Subject) -> Verdict {
    let stream = subject.stream(0)?;
    let (from, to) = pair(subject, 0)?;
    let gate = Gate::close(subject, 0, stream)?;
    subject.queue_copy(stream, &to, &from)?;
    subject.beside(&gate, |this| this.destroy_stream(0, stream))?;
    subject.synchronize_device(0)?;
    subject.expect(&to, 0, &pattern(4096, 7), "a copy that was queued when its stream was destroyed")?;
    subject.free(from)?;
    subject.free(to)
}

fn query_idle(subject: &Subject) -> Verdict {
    for device in subject.each_device() {
        let stream = subject.stream(device)?;
        ensure!(subject.question(QueryStream, device, stream)?, "an empty stream is not done");
        subject.synchronize_stream(device, stream)?;
        ensure!(subject.question(QueryStream, device, stream)?, "a stream that was waited for is not done");
        subject.destroy_stream(device, stream)?;
    }
    Ok(())
}

fn query_held(subject: &Subject) -> Verdict {
    let stream = subject.stream(0)?;
    let gate = Gate::close(subject, 0, stream)?;
    let (done, at_once) = subject.meanwhile(&gate, |this| this.question(QueryStream, 0, stream))?;
    ensure!(at_once, "`query_stream` waited, where it has to answer at once");
    ensure!(!done, "a stream was said to be done while its callback ran");
    subject.synchronize_stream(0, stream)?;
    ensure!(subject.question(QueryStream, 0, stream)?, "a stream that was waited for is not done");
    subject.destroy_stream(0, stream)
}

fn synchronize_waits(subject: &Subject) -> Verdict {
    let stream = subject.stream(0)?;
    let gate = Gate::close(subject, 0, stream)?;
    let ((), early) = subject.beside(&gate, |this| this.synchronize_stream(0, stream))?;
    ensure!(!early, "`synchronize_stream` returned while a callback of the stream ran");
    subject.destroy_stream(0, stream)
}

fn device_waits(subject: &Subject) -> Verdict {
    for device in subject.each_device() {
        let streams = [subject.stream(device)?, subject.stream(device)?, subject.stream(device)?];
        for held in streams {
            let gate = Gate::close(subject, device, held)?;
            let ((), early) = subject.beside(&gate, |this| this.synchronize_device(device))?;
            ensure!(!early, "`synchronize_device` returned while a callback of one of its streams ran");
        }
        for stream in streams {
            subject.destroy_stream(device, stream)?;
        }
    }
    Ok(())
}

fn default_order(subject: &Subject) -> Verdict {
    let (from, to) = pair(subject, 0)?;
    let middle = subject.filled(0, &[9; 4096])?;
    subject.queue_copy(0, &middle, &from)?;
    subject.queue_copy(0, &to, &middle)?;
    subject.synchronize_stream(0, 0)?;
    subject.expect(&to, 0, &pattern(4096, 7), "two copies on the default stream")?;
    for memory in [from, middle, to] {
        subject.free(memory)?;
    }
    Ok(())
}
