//! Cases with many threads.

use tenon::device::Function::{
    AsyncMemoryCopyD2d, CreateEvent, CreateStream, DestroyEvent, DeviceMemoryAllocate,
    DeviceMemoryDeallocate, RecordEvent, StreamWaitEvent, SynchronizeEvent,
};

use crate::case::{Case, Level, Verdict, failed};
use crate::plugin_under_test::{PluginUnderTest, pattern};

const THREADS: u64 = 8;

pub(super) fn cases() -> Vec<Case> {
    let case = |id, body| {
        Case::written(id, Level::Required, body).spec("device", "The host calls from many threads")
    };
    vec![
        case("threads.memory", memory).of([DeviceMemoryAllocate, DeviceMemoryDeallocate]),
        case("threads.streams", streams).of([CreateStream, AsyncMemoryCopyD2d]),
        case("threads.one-stream", one_stream).of([AsyncMemoryCopyD2d]),
        case("threads.events", events)
            .of([CreateEvent, RecordEvent, SynchronizeEvent, DestroyEvent])
            .uses([StreamWaitEvent]),
    ]
}

/// Runs the body on many threads, and returns the first failure.
fn on_all(body: impl Fn(u64) -> Verdict + Sync) -> Verdict {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|index| {
                scope.spawn({
                    let body = &body;
                    move || body(index)
                })
            })
            .collect();
        let mut result = Ok(());
        for thread in threads {
            let ended = thread.join().unwrap_or_else(|_| failed("the case itself panicked"));
            result = result.and(ended);
        }
        result
    })
}

fn memory(plugin: &PluginUnderTest) -> Verdict {
    on_all(|index| {
        let device = i32::try_from(index).unwrap_or_default() % plugin.device_count();
        plugin.set_device(device)?;
        for round in 0..100 {
            let bytes = pattern(1 + (round as usize * 97) % 5000, index * 1000 + round);
            let memory = plugin.filled(device, &bytes)?;
            let found = plugin.get_device()?;
            crate::case::ensure!(found == device, "the thread set device {device}, and {found} is current");
            plugin.expect(&memory, 0, &bytes, "memory of one of 8 threads")?;
            plugin.free(memory)?;
        }
        Ok(())
    })
}

fn streams(plugin: &PluginUnderTest) -> Verdict {
    on_all(|index| {
        for round in 0..20 {
            let stream = plugin.stream(0)?;
            let bytes = pattern(20_000, index * 1000 + round);
            let (from, to) = (plugin.filled(0, &bytes)?, plugin.filled(0, &[0; 20_000])?);
            let middle = plugin.allocate(0, 20_000)?;
            plugin.queue_copy(stream, &middle, &from)?;
            plugin.queue_copy(stream, &to, &middle)?;
            plugin.synchronize_stream(0, stream)?;
            plugin.expect(&to, 0, &bytes, "the stream of one of 8 threads")?;
            for memory in [from, middle, to] {
                plugin.free(memory)?;
            }
            plugin.destroy_stream(0, stream)?;
        }
        Ok(())
    })
}

fn one_stream(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    on_all(|index| {
        for round in 0..20 {
            let bytes = pattern(3000, index * 1000 + round);
            let (from, to) = (plugin.filled(0, &bytes)?, plugin.filled(0, &[0; 3000])?);
            let middle = plugin.allocate(0, 3000)?;
            plugin.queue_copy(stream, &middle, &from)?;
            plugin.queue_copy(stream, &to, &middle)?;
            plugin.synchronize_stream(0, stream)?;
            plugin.expect(&to, 0, &bytes, "a stream that 8 threads use")?;
            for memory in [from, middle, to] {
                plugin.free(memory)?;
            }
        }
        Ok(())
    })?;
    plugin.destroy_stream(0, stream)
}

fn events(plugin: &PluginUnderTest) -> Verdict {
    let streams = [plugin.stream(0)?, plugin.stream(0)?];
    on_all(|index| {
        for round in 0..100 {
            let here = streams[(index + round) as usize % 2];
            let there = streams[(index + round + 1) as usize % 2];
            let event = plugin.event(0)?;
            plugin.record(0, here, event)?;
            plugin.wait_event(0, there, event)?;
            plugin.synchronize_event(0, event)?;
            plugin.destroy_event(0, event)?;
        }
        Ok(())
    })?;
    for stream in streams {
        plugin.synchronize_stream(0, stream)?;
        plugin.destroy_stream(0, stream)?;
    }
    Ok(())
}
