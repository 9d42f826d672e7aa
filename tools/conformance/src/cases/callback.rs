//! Cases of host functions that a stream calls.

use tenon::device::Function::{
    AsyncMemoryCopyD2d, AsyncMemoryCopyD2h, CreateStream, HostMemoryAllocate, HostMemoryDeallocate,
    StreamAddCallback,
};
use tenon::device::Status;

use crate::case::{Case, Level, Stop, Verdict, ensure};
use crate::plugin_under_test::{
    CallbackLog, PluginUnderTest, StreamLatch, id, linger, pattern, soon, status_text,
};

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
            .spec("stream_add_callback", "Passed on unchanged."),
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
            .spec("stream_add_callback", "or never if the function fails"),
        case("callback.many-streams", Level::Promised, many_streams)
            .uses([CreateStream])
            .spec("stream", "Queues of work that a device runs in order."),
    ]
}

const COUNT: usize = 500;

fn once(plugin: &PluginUnderTest) -> Verdict {
    let (stream, log) = (plugin.stream(0)?, CallbackLog::new());
    for number in 0..COUNT {
        log.queue(plugin, 0, stream, number)?;
    }
    plugin.synchronize_stream(0, stream)?;
    let at_once = log.len();
    // One that is called too often may be called late.
    linger(|| log.len() > COUNT);
    let mut calls = vec![0; COUNT];
    for entry in log.entries() {
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
    plugin.destroy_stream(0, stream)
}

fn in_order(plugin: &PluginUnderTest) -> Verdict {
    let (stream, log) = (plugin.stream(0)?, CallbackLog::new());
    // They queue up behind the latch, if there is one: a queue of one callback has no order.
    let latch = match StreamLatch::close(plugin, 0, stream) {
        Ok(latch) => Some(latch),
        Err(Stop::Skipped(_)) => None,
        Err(failed) => return Err(failed),
    };
    for number in 0..COUNT {
        log.queue(plugin, 0, stream, number)?;
    }
    drop(latch);
    plugin.synchronize_stream(0, stream)?;
    let entries = log.entries();
    let wrong = entries.windows(2).find(|pair| pair[0].number + 1 != pair[1].number);
    ensure!(
        wrong.is_none(),
        "callback {} was called right after callback {}",
        wrong.map_or(0, |pair| pair[1].number),
        wrong.map_or(0, |pair| pair[0].number)
    );
    plugin.destroy_stream(0, stream)
}

fn arguments(plugin: &PluginUnderTest) -> Verdict {
    for device in plugin.each_device() {
        let (stream, log) = (plugin.stream(device)?, CallbackLog::new());
        log.queue(plugin, device, stream, 17)?;
        plugin.synchronize_stream(device, stream)?;
        let [entry] = log.entries()[..] else {
            return crate::case::failed(format!("one callback was called {} times", log.len()));
        };
        ensure!(entry.device == Some(device), "called with device {:?}, on device {device}", entry.device);
        ensure!(entry.stream == stream, "called with stream {:#x}, on stream {stream:#x}", entry.stream);
        plugin.destroy_stream(device, stream)?;
    }
    Ok(())
}

fn status(plugin: &PluginUnderTest) -> Verdict {
    let (stream, log) = (plugin.stream(0)?, CallbackLog::new());
    log.queue(plugin, 0, stream, 0)?;
    plugin.synchronize_stream(0, stream)?;
    let found = log.entries().first().map(|entry| entry.status);
    match found {
        Some(Some(Status::SUCCESS)) => {}
        Some(Some(status)) => {
            return crate::case::failed(format!("the status was {} before the call", status_text(status)));
        }
        Some(None) => return crate::case::failed("the address of the status was null"),
        None => return crate::case::failed("the callback was not called"),
    }
    // A second wait shows whether a callback that wrote nothing was taken for a failure.
    plugin.synchronize_stream(0, stream)?;
    plugin.destroy_stream(0, stream)
}

fn after_work(plugin: &PluginUnderTest) -> Verdict {
    const LEN: usize = (2 << 20) + 1;
    let stream = plugin.stream(0)?;
    let (from, to) = (plugin.filled(0, &vec![7; LEN])?, plugin.pinned(0, LEN)?);
    for _ in 0..4 {
        to.write_here(&vec![1; LEN]);
        let log = CallbackLog::new();
        plugin.queue_download(stream, to.address, &from)?;
        log.watch(plugin, 0, stream, to.at(LEN - 1))?;
        plugin.synchronize_stream(0, stream)?;
        let seen = log.entries().first().and_then(|entry| entry.seen);
        ensure!(seen == Some(7), "a callback behind a copy to the host saw {seen:?} where the copy brings 7");
    }
    plugin.free(from)?;
    plugin.free(to)?;
    plugin.destroy_stream(0, stream)
}

fn before_later_work(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let (from, to) = (plugin.filled(0, &pattern(512, 1))?, plugin.filled(0, &[0; 512])?);
    let log = CallbackLog::new();
    let latch = StreamLatch::close(plugin, 0, stream)?;
    plugin.queue_copy(stream, &to, &from)?;
    log.queue(plugin, 0, stream, 0)?;
    let called = linger(|| log.len() > 0);
    let seen = plugin.peek(&latch, &to)?;
    ensure!(!called, "a second callback was called before the first had returned");
    ensure!(
        seen.is_none_or(|bytes| bytes == [0; 512]),
        "a copy ran before the callback in front of it had returned"
    );
    plugin.synchronize_stream(0, stream)?;
    plugin.expect(&to, 0, &pattern(512, 1), "a copy behind a callback")?;
    ensure!(log.len() == 1, "a callback behind the copy was called {} times", log.len());
    plugin.free(from)?;
    plugin.free(to)?;
    plugin.destroy_stream(0, stream)
}

fn own_thread(plugin: &PluginUnderTest) -> Verdict {
    let (stream, log) = (plugin.stream(0)?, CallbackLog::new());
    log.queue(plugin, 0, stream, 0)?;
    plugin.synchronize_stream(0, stream)?;
    let here = std::thread::current().id();
    let is_here = log.entries().first().is_some_and(|entry| entry.thread == here);
    ensure!(!is_here, "the callback ran in the thread that queued it, which may hold locks of the host");
    plugin.destroy_stream(0, stream)
}

fn refused(plugin: &PluginUnderTest) -> Verdict {
    let log = CallbackLog::new();
    for device in [-1, plugin.device_count()] {
        let [function, context] = log.callback(0, None);
        let arguments = [id(device), 0, function, context];
        plugin.refused(StreamAddCallback, &arguments, &format!("device {device}"))?;
    }
    let called = linger(|| log.len() > 0);
    ensure!(!called, "`stream_add_callback` failed, and the callback was called");
    Ok(())
}

fn many_streams(plugin: &PluginUnderTest) -> Verdict {
    let streams: Vec<u64> = (0..16).map(|_| plugin.stream(0)).collect::<Verdict<_>>()?;
    let journals: Vec<CallbackLog> = streams.iter().map(|_| CallbackLog::new()).collect();
    for number in 0..100 {
        for (stream, log) in streams.iter().zip(&journals) {
            log.queue(plugin, 0, *stream, number)?;
        }
    }
    plugin.synchronize_device(0)?;
    ensure!(
        soon(|| journals.iter().all(|log| log.len() >= 100)),
        "`synchronize_device` returned, and callbacks of its streams were not called"
    );
    for log in &journals {
        let numbers: Vec<usize> = log.entries().iter().map(|entry| entry.number).collect();
        ensure!(
            numbers == (0..100).collect::<Vec<_>>(),
            "the callbacks of one of 16 streams came as {numbers:?}"
        );
    }
    streams.into_iter().try_for_each(|stream| plugin.destroy_stream(0, stream))
}
