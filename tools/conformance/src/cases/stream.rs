//! Cases of the lifecycle of streams, and of waits for them.

use tenon::device::Function::{
    AsyncMemoryCopyD2d, CreateStream, DestroyStream, QueryStream, StreamAddCallback, SynchronizeDevice,
    SynchronizeStream,
};

use crate::case::{Case, Level, Verdict, ensure};
use crate::plugin_under_test::{Memory, PluginUnderTest, StreamLatch, id, pattern};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::written("stream.distinct", Level::Promised, distinct)
            .of([CreateStream])
            .spec("create_stream", "Creates an empty stream on the device."),
        Case::written("stream.empty", Level::Promised, empty).of([SynchronizeStream, CreateStream]).spec(
            "synchronize_stream",
            "Waits until all work that was queued on the stream before the call is done.",
        ),
        Case::written("stream.many", Level::Promised, many)
            .of([CreateStream, DestroyStream])
            .uses([AsyncMemoryCopyD2d])
            .spec("create_stream", "and for each stream that a user creates"),
        Case::written("stream.made-and-destroyed", Level::Promised, again)
            .of([CreateStream, DestroyStream])
            .spec("destroy_stream", "Destroys a stream."),
        Case::written("stream.destroy.null", Level::Promised, destroy_null)
            .of([DestroyStream])
            .spec("destroy_stream", "A null stream is accepted and does nothing."),
        Case::written("stream.destroy.queued-work", Level::Promised, destroy_with_work)
            .of([DestroyStream])
            .uses([CreateStream, AsyncMemoryCopyD2d, StreamAddCallback])
            .native()
            .spec("destroy_stream", "Queued work still completes"),
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
            .spec("device", "A null stream is the default stream of the device"),
    ]
}

fn distinct(plugin: &PluginUnderTest) -> Verdict {
    let mut streams: Vec<u64> = (0..16).map(|_| plugin.stream(0)).collect::<Verdict<_>>()?;
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
    made.into_iter().try_for_each(|stream| plugin.destroy_stream(0, stream))
}

fn empty(plugin: &PluginUnderTest) -> Verdict {
    for device in plugin.each_device() {
        let stream = plugin.stream(device)?;
        for _ in 0..3 {
            plugin.synchronize_stream(device, stream)?;
        }
        plugin.destroy_stream(device, stream)?;
    }
    Ok(())
}

fn many(plugin: &PluginUnderTest) -> Verdict {
    const LEN: usize = 10_000;
    let mut held = Vec::new();
    for seed in 0..64 {
        let bytes = pattern(LEN, seed);
        let (from, to) = (plugin.filled(0, &bytes)?, plugin.filled(0, &[0; LEN])?);
        held.push((plugin.stream(0)?, bytes, from, to));
    }
    for _ in 0..4 {
        for (stream, _, from, to) in &held {
            plugin.queue_copy(*stream, to, from)?;
        }
    }
    for (stream, bytes, from, to) in held {
        plugin.synchronize_stream(0, stream)?;
        plugin.expect(&to, 0, &bytes, "the work of one of 64 streams")?;
        plugin.free(from)?;
        plugin.free(to)?;
        plugin.destroy_stream(0, stream)?;
    }
    Ok(())
}

fn again(plugin: &PluginUnderTest) -> Verdict {
    for _ in 0..2000 {
        let stream = plugin.stream(0)?;
        plugin.destroy_stream(0, stream)?;
    }
    Ok(())
}

fn destroy_null(plugin: &PluginUnderTest) -> Verdict {
    plugin.ok(DestroyStream, &[id(0), 0])
}

/// Returns a pair of pieces of which one is copied to the other.
fn pair(plugin: &PluginUnderTest, device: i32) -> Verdict<(Memory, Memory)> {
    Ok((plugin.filled(device, &pattern(4096, 7))?, plugin.filled(device, &[0; 4096])?))
}

fn destroy_with_work(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let (from, to) = pair(plugin, 0)?;
    let latch = StreamLatch::close(plugin, 0, stream)?;
    plugin.queue_copy(stream, &to, &from)?;
    plugin.beside(&latch, |this| this.destroy_stream(0, stream))?;
    plugin.synchronize_device(0)?;
    plugin.expect(&to, 0, &pattern(4096, 7), "a copy that was queued when its stream was destroyed")?;
    plugin.free(from)?;
    plugin.free(to)
}

fn query_idle(plugin: &PluginUnderTest) -> Verdict {
    for device in plugin.each_device() {
        let stream = plugin.stream(device)?;
        ensure!(plugin.question(QueryStream, device, stream)?, "an empty stream is not done");
        plugin.synchronize_stream(device, stream)?;
        ensure!(plugin.question(QueryStream, device, stream)?, "a stream that was waited for is not done");
        plugin.destroy_stream(device, stream)?;
    }
    Ok(())
}

fn query_held(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let latch = StreamLatch::close(plugin, 0, stream)?;
    let (done, at_once) = plugin.meanwhile(&latch, |this| this.question(QueryStream, 0, stream))?;
    ensure!(at_once, "`query_stream` waited, where it has to answer at once");
    ensure!(!done, "a stream was said to be done while its callback ran");
    plugin.synchronize_stream(0, stream)?;
    ensure!(plugin.question(QueryStream, 0, stream)?, "a stream that was waited for is not done");
    plugin.destroy_stream(0, stream)
}

fn synchronize_waits(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let latch = StreamLatch::close(plugin, 0, stream)?;
    let ((), early) = plugin.beside(&latch, |this| this.synchronize_stream(0, stream))?;
    ensure!(!early, "`synchronize_stream` returned while a callback of the stream ran");
    plugin.destroy_stream(0, stream)
}

fn device_waits(plugin: &PluginUnderTest) -> Verdict {
    for device in plugin.each_device() {
        let streams = [plugin.stream(device)?, plugin.stream(device)?, plugin.stream(device)?];
        for held in streams {
            let latch = StreamLatch::close(plugin, device, held)?;
            let ((), early) = plugin.beside(&latch, |this| this.synchronize_device(device))?;
            ensure!(!early, "`synchronize_device` returned while a callback of one of its streams ran");
        }
        for stream in streams {
            plugin.destroy_stream(device, stream)?;
        }
    }
    Ok(())
}

fn default_order(plugin: &PluginUnderTest) -> Verdict {
    let (from, to) = pair(plugin, 0)?;
    let middle = plugin.filled(0, &[9; 4096])?;
    plugin.queue_copy(0, &middle, &from)?;
    plugin.queue_copy(0, &to, &middle)?;
    plugin.synchronize_stream(0, 0)?;
    plugin.expect(&to, 0, &pattern(4096, 7), "two copies on the default stream")?;
    for memory in [from, middle, to] {
        plugin.free(memory)?;
    }
    Ok(())
}
