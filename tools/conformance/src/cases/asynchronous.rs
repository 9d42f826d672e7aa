//! Copies that are queued.

use tenon::device::Function::{
    AsyncMemoryCopyD2d, AsyncMemoryCopyD2h, AsyncMemoryCopyH2d, AsyncMemoryFill, HostMemoryAllocate,
    HostMemoryDeallocate, StreamAddCallback, SynchronizeStream,
};
use tenon::device::Status;

use crate::case::{Case, Level, Verdict, ensure};
use crate::plugin_under_test::{
    GuardedBuffer, PluginUnderTest, StreamLatch, id, linger_briefly, pattern, same, status_text,
};

const LEN: usize = (1 << 20) + 7;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::written("async.h2d.pageable", Level::Required, h2d_pageable).of([AsyncMemoryCopyH2d]).spec(
            "async_memory_copy_h2d",
            "From pageable memory the device must read the source before it returns",
        ),
        Case::written("async.h2d.pageable.held", Level::Required, h2d_pageable_held)
            .of([AsyncMemoryCopyH2d])
            .uses([StreamAddCallback])
            .native()
            .spec(
                "async_memory_copy_h2d",
                "From pageable memory the device must read the source before it returns",
            ),
        Case::written("async.d2h.pageable.held", Level::Required, d2h_pageable_held)
            .of([AsyncMemoryCopyD2h])
            .uses([StreamAddCallback, AsyncMemoryCopyD2d])
            .native()
            .spec("async_memory_copy_d2h", "A copy to pageable memory must be done when the call returns"),
        Case::written("async.d2h.pageable", Level::Required, d2h_pageable)
            .of([AsyncMemoryCopyD2h])
            .spec("async_memory_copy_d2h", "A copy to pageable memory must be done when the call returns"),
        Case::written("async.d2h.pageable.behind-work", Level::Required, d2h_behind_work)
            .of([AsyncMemoryCopyD2h])
            .uses([AsyncMemoryCopyD2d])
            .spec("async_memory_copy_d2h", "the copy runs after all that was queued on the stream before"),
        Case::written("async.d2h.unknown-stream", Level::Promised, d2h_unknown_stream)
            .of([AsyncMemoryCopyD2h])
            .uses([AsyncMemoryCopyD2d])
            .spec(
                "async_memory_copy_d2h",
                "If it is not found, wait for all work of the device and copy before the call returns.",
            ),
        Case::written("async.h2d.pinned", Level::Promised, h2d_pinned)
            .of([AsyncMemoryCopyH2d])
            .uses([HostMemoryAllocate, HostMemoryDeallocate])
            .spec("async_memory_copy_h2d", "the copy runs after all that was queued on the stream before"),
        Case::written("async.d2h.pinned", Level::Promised, d2h_pinned)
            .of([AsyncMemoryCopyD2h])
            .uses([HostMemoryAllocate, HostMemoryDeallocate])
            .spec("async_memory_copy_d2h", "holds the bytes only once the stream has passed the copy"),
        Case::written("async.d2d", Level::Required, d2d)
            .of([AsyncMemoryCopyD2d, SynchronizeStream])
            .spec("async_memory_copy_d2d", "the copy runs after all that was queued on the stream before"),
        Case::written("async.d2d.not-early", Level::Promised, d2d_not_early)
            .of([AsyncMemoryCopyD2d])
            .uses([StreamAddCallback])
            .native()
            .spec("async_memory_copy_d2d", "the copy runs after all that was queued on the stream before"),
        Case::written("async.d2h.not-early", Level::Promised, d2h_not_early)
            .of([AsyncMemoryCopyD2h])
            .uses([StreamAddCallback, HostMemoryAllocate, HostMemoryDeallocate])
            .native()
            .spec("async_memory_copy_d2h", "the copy runs after all that was queued on the stream before"),
        Case::written("async.h2d.not-early", Level::Promised, h2d_not_early)
            .of([AsyncMemoryCopyH2d])
            .uses([StreamAddCallback, HostMemoryAllocate, HostMemoryDeallocate])
            .native()
            .spec("async_memory_copy_h2d", "the copy runs after all that was queued on the stream before"),
        Case::written("async.fill.every-length", Level::Required, fill_lengths).of([AsyncMemoryFill]).spec(
            "async_memory_fill",
            "The memory gets the pattern again and again, from its start to its end.",
        ),
        Case::written("async.fill.large", Level::Required, fill_large).of([AsyncMemoryFill]).spec(
            "async_memory_fill",
            "The memory gets the pattern again and again, from its start to its end.",
        ),
        Case::written("async.fill.in-order", Level::Required, fill_in_order)
            .of([AsyncMemoryFill])
            .uses([AsyncMemoryCopyD2d])
            .spec("async_memory_fill", "it runs after all that was queued on the stream before"),
        Case::written("async.fill.not-early", Level::Promised, fill_not_early)
            .of([AsyncMemoryFill])
            .uses([StreamAddCallback])
            .native()
            .spec("async_memory_fill", "it runs after all that was queued on the stream before"),
        Case::written("async.fill.nothing", Level::Promised, fill_nothing)
            .of([AsyncMemoryFill])
            .spec("async_memory_fill", "A fill of 0 bytes does nothing, and then a null address is allowed."),
        Case::written("async.fill.wrong-lengths", Level::Good, fill_wrong_lengths)
            .of([AsyncMemoryFill])
            .spec("async_memory_fill", "The bytes of one element: 1, 2, 4, 8 or 16."),
    ]
}

/// The lengths that a pattern may have.
const PATTERN_LENS: [usize; 5] = [1, 2, 4, 8, 16];

fn fill_lengths(plugin: &PluginUnderTest) -> Verdict {
    const LEN: usize = 200;
    let (stream, before) = (plugin.stream(0)?, pattern(LEN, 3));
    let memory = plugin.filled(0, &before)?;
    for pattern_len in PATTERN_LENS {
        let element = pattern(pattern_len, 5);
        for (offset, count) in [(0, 1), (1, 3), (7, 4), (16, 5), (24, 11)] {
            plugin.write(&memory, 0, &before)?;
            plugin.queue_fill(stream, &memory, offset, &element, count * pattern_len)?;
            plugin.synchronize_stream(0, stream)?;
            let mut expected = before.clone();
            expected[offset..offset + count * pattern_len].copy_from_slice(&element.repeat(count));
            let what = format!("{count} elements of {pattern_len} bytes from offset {offset} on");
            plugin.expect(&memory, 0, &expected, &what)?;
        }
    }
    plugin.free(memory)?;
    plugin.destroy_stream(0, stream)
}

fn fill_large(plugin: &PluginUnderTest) -> Verdict {
    const LEN: usize = (3 << 20) + 48;
    let stream = plugin.stream(0)?;
    let memory = plugin.allocate(0, LEN)?;
    for pattern_len in PATTERN_LENS {
        let element = pattern(pattern_len, 7);
        plugin.queue_fill(stream, &memory, 0, &element, LEN)?;
        plugin.synchronize_stream(0, stream)?;
        let what = format!("{LEN} bytes filled with {pattern_len} bytes");
        plugin.expect(&memory, 0, &element.repeat(LEN / pattern_len), &what)?;
    }
    plugin.free(memory)?;
    plugin.destroy_stream(0, stream)
}

fn fill_in_order(plugin: &PluginUnderTest) -> Verdict {
    const LEN: usize = 1 << 18;
    let stream = plugin.stream(0)?;
    let [first, second] = [plugin.filled(0, &[0; LEN])?, plugin.filled(0, &[0; LEN])?];
    for round in 0..4 {
        let element = [round, 1];
        plugin.queue_fill(stream, &first, 0, &element, LEN)?;
        plugin.queue_copy(stream, &second, &first)?;
        plugin.queue_fill(stream, &first, 0, &[0xEE], LEN)?;
        plugin.synchronize_stream(0, stream)?;
        plugin.expect(&second, 0, &element.repeat(LEN / 2), "a copy between two fills of its source")?;
        plugin.expect(&first, 0, &[0xEE; LEN], "the fill after the copy")?;
    }
    plugin.free(first)?;
    plugin.free(second)?;
    plugin.destroy_stream(0, stream)
}

fn fill_not_early(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let memory = plugin.filled(0, &[1; 4096])?;
    let latch = StreamLatch::close(plugin, 0, stream)?;
    plugin.queue_fill(stream, &memory, 0, &[2], 4096)?;
    let seen = plugin.peek(&latch, &memory)?;
    plugin.synchronize_stream(0, stream)?;
    let early = seen.is_some_and(|bytes| bytes.contains(&2));
    ensure!(!early, "the fill ran although a callback before it on the stream had not returned");
    plugin.expect(&memory, 0, &[2; 4096], "the fill, after all")?;
    plugin.free(memory)?;
    plugin.destroy_stream(0, stream)
}

fn fill_nothing(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let memory = plugin.filled(0, &[1; 64])?;
    plugin.queue_fill(stream, &memory, 0, &[2], 0)?;
    let mut element = GuardedBuffer::of(&[3]);
    plugin.ok(AsyncMemoryFill, &[id(0), stream, 0, element.address(), 1, 0])?;
    plugin.synchronize_stream(0, stream)?;
    plugin.expect(&memory, 0, &[1; 64], "a fill of 0 bytes")?;
    plugin.free(memory)?;
    plugin.destroy_stream(0, stream)
}

fn fill_wrong_lengths(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let memory = plugin.filled(0, &[1; 96])?;
    let mut element = GuardedBuffer::of(&[2; 32]);
    for (pattern_len, len) in [(0, 96), (3, 96), (32, 96), (4, 6), (16, 8)] {
        let arguments = [id(0), stream, memory.address, element.address(), pattern_len, len];
        let status = plugin.call(AsyncMemoryFill, &arguments)?;
        ensure!(
            status == Status::ERROR,
            "a fill of {len} bytes with {pattern_len} answered {}",
            status_text(status)
        );
    }
    plugin.synchronize_stream(0, stream)?;
    plugin.expect(&memory, 0, &[1; 96], "memory whose fills were refused")?;
    plugin.free(memory)?;
    plugin.destroy_stream(0, stream)
}

fn h2d_pageable(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let memory = plugin.filled(0, &vec![0; LEN])?;
    for round in 0..4 {
        let bytes = pattern(LEN, round);
        let mut source = GuardedBuffer::of(&bytes);
        plugin.queue_upload(stream, &memory, source.address())?;
        source.bytes_mut().fill(0xDD);
        drop(source);
        plugin.synchronize_stream(0, stream)?;
        plugin.expect(&memory, 0, &bytes, "a copy whose source was changed when the call had returned")?;
    }
    plugin.free(memory)?;
    plugin.destroy_stream(0, stream)
}

fn h2d_pageable_held(plugin: &PluginUnderTest) -> Verdict {
    const LEN: usize = 4096;
    let (stream, bytes) = (plugin.stream(0)?, pattern(LEN, 1));
    let memory = plugin.filled(0, &[0; LEN])?;
    let latch = StreamLatch::close(plugin, 0, stream)?;
    // The device waits for the stream, or takes a copy; in either case the source may change afterwards.
    plugin.beside(&latch, |this| {
        let mut source = GuardedBuffer::of(&bytes);
        this.queue_upload(stream, &memory, source.address())?;
        source.bytes_mut().fill(0xDD);
        // Kept, so that a wrong plugin reads other bytes and does not crash.
        std::mem::forget(source);
        Ok(())
    })?;
    plugin.synchronize_stream(0, stream)?;
    plugin.expect(&memory, 0, &bytes, "a copy whose source was changed when the call had returned")?;
    plugin.free(memory)?;
    plugin.destroy_stream(0, stream)
}

fn d2h_pageable_held(plugin: &PluginUnderTest) -> Verdict {
    const LEN: usize = 4096;
    let (stream, bytes) = (plugin.stream(0)?, pattern(LEN, 1));
    let (from, memory) = (plugin.filled(0, &bytes)?, plugin.filled(0, &[0; LEN])?);
    let latch = StreamLatch::close(plugin, 0, stream)?;
    plugin.queue_copy(stream, &memory, &from)?;
    let (seen, _) = plugin.beside(&latch, |this| {
        let mut target = GuardedBuffer::new(LEN, 0);
        this.queue_download(stream, target.address(), &memory)?;
        let seen = target.bytes();
        std::mem::forget(target);
        Ok(seen)
    })?;
    plugin.synchronize_stream(0, stream)?;
    same(&seen, &bytes, "the destination, looked at when the call had returned")?;
    plugin.free(from)?;
    plugin.free(memory)?;
    plugin.destroy_stream(0, stream)
}

fn d2h_pageable(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let bytes = pattern(LEN, 3);
    let memory = plugin.filled(0, &bytes)?;
    for _ in 0..4 {
        let mut target = GuardedBuffer::new(LEN, 0);
        plugin.queue_download(stream, target.address(), &memory)?;
        target.intact("the destination of `async_memory_copy_d2h`")?;
        same(&target.bytes(), &bytes, "the destination, looked at when the call had returned")?;
    }
    plugin.free(memory)?;
    plugin.destroy_stream(0, stream)
}

fn d2h_behind_work(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let memory = plugin.filled(0, &vec![0; LEN])?;
    for round in 1..5 {
        let bytes = pattern(LEN, round);
        let from = plugin.filled(0, &bytes)?;
        plugin.queue_copy(stream, &memory, &from)?;
        let mut target = GuardedBuffer::new(LEN, 0);
        plugin.queue_download(stream, target.address(), &memory)?;
        same(&target.bytes(), &bytes, "a copy to the host behind one on the device")?;
        plugin.free(from)?;
    }
    plugin.free(memory)?;
    plugin.destroy_stream(0, stream)
}

fn d2h_unknown_stream(plugin: &PluginUnderTest) -> Verdict {
    let (stream, bytes) = (plugin.stream(0)?, pattern(LEN, 5));
    let (from, memory) = (plugin.filled(0, &bytes)?, plugin.filled(0, &vec![0; LEN])?);
    // Not a handle, but memory of this test.
    let mut nothing = GuardedBuffer::new(64, 0);
    plugin.queue_copy(stream, &memory, &from)?;
    let mut target = GuardedBuffer::new(LEN, 0);
    plugin.queue_download(nothing.address(), target.address(), &memory)?;
    target.intact("the destination of `async_memory_copy_d2h`")?;
    same(&target.bytes(), &bytes, "a copy to the host in the order of no stream, behind one on the device")?;
    plugin.free(from)?;
    plugin.free(memory)?;
    plugin.destroy_stream(0, stream)
}

fn h2d_pinned(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let (source, memory) = (plugin.pinned(0, LEN)?, plugin.filled(0, &vec![0; LEN])?);
    for round in 0..3 {
        source.write_here(&pattern(LEN, round));
        plugin.queue_upload(stream, &memory, source.address)?;
        plugin.synchronize_stream(0, stream)?;
        plugin.expect(&memory, 0, &pattern(LEN, round), "a copy from pinned memory")?;
    }
    plugin.free(memory)?;
    plugin.free(source)?;
    plugin.destroy_stream(0, stream)
}

fn d2h_pinned(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let target = plugin.pinned(0, LEN)?;
    for round in 0..3 {
        let memory = plugin.filled(0, &pattern(LEN, round))?;
        target.write_here(&vec![0; LEN]);
        plugin.queue_download(stream, target.address, &memory)?;
        plugin.synchronize_stream(0, stream)?;
        same(&target.read_here(), &pattern(LEN, round), "a copy to pinned memory")?;
        plugin.free(memory)?;
    }
    plugin.free(target)?;
    plugin.destroy_stream(0, stream)
}

fn d2d(plugin: &PluginUnderTest) -> Verdict {
    for device in plugin.each_device() {
        let stream = plugin.stream(device)?;
        let bytes = pattern(LEN, 1);
        let first = plugin.filled(device, &bytes)?;
        let [second, third] = [plugin.filled(device, &vec![0; LEN])?, plugin.filled(device, &vec![1; LEN])?];
        plugin.queue_copy(stream, &second, &first)?;
        plugin.queue_copy(stream, &third, &second)?;
        plugin.synchronize_stream(device, stream)?;
        plugin.expect(&third, 0, &bytes, "two copies, one behind the other")?;
        for memory in [first, second, third] {
            plugin.free(memory)?;
        }
        plugin.destroy_stream(device, stream)?;
    }
    Ok(())
}

fn d2d_not_early(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let (from, to) = (plugin.filled(0, &[2; 4096])?, plugin.filled(0, &[1; 4096])?);
    let latch = StreamLatch::close(plugin, 0, stream)?;
    plugin.queue_copy(stream, &to, &from)?;
    let seen = plugin.peek(&latch, &to)?;
    plugin.synchronize_stream(0, stream)?;
    let early = seen.is_some_and(|bytes| bytes.contains(&2));
    ensure!(!early, "the copy ran although a callback before it on the stream had not returned");
    plugin.expect(&to, 0, &[2; 4096], "the copy, after all")?;
    plugin.free(from)?;
    plugin.free(to)?;
    plugin.destroy_stream(0, stream)
}

fn d2h_not_early(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let (from, target) = (plugin.filled(0, &[2; 4096])?, plugin.pinned(0, 4096)?);
    target.write_here(&[1; 4096]);
    let latch = StreamLatch::close(plugin, 0, stream)?;
    let queued = plugin.beside(&latch, |this| {
        this.queue_download(stream, target.address, &from)?;
        Ok(linger_briefly(|| target.read_here().contains(&2)))
    });
    // If the device waits in the call, the query came after the latch was opened.
    let (was_seen, was_held) = queued?;
    let early = was_seen && was_held;
    plugin.synchronize_stream(0, stream)?;
    ensure!(!early, "the copy ran although a callback before it on the stream had not returned");
    same(&target.read_here(), &[2; 4096], "the copy, after all")?;
    plugin.free(from)?;
    plugin.free(target)?;
    plugin.destroy_stream(0, stream)
}

fn h2d_not_early(plugin: &PluginUnderTest) -> Verdict {
    let stream = plugin.stream(0)?;
    let (source, to) = (plugin.pinned(0, 4096)?, plugin.filled(0, &[1; 4096])?);
    source.write_here(&[2; 4096]);
    let latch = StreamLatch::close(plugin, 0, stream)?;
    let (seen, was_held) = plugin.beside(&latch, |this| {
        this.queue_upload(stream, &to, source.address)?;
        this.read(&to, 0, 4096)
    })?;
    plugin.synchronize_stream(0, stream)?;
    let early = was_held && seen.contains(&2);
    ensure!(!early, "the copy ran although a callback before it on the stream had not returned");
    plugin.expect(&to, 0, &[2; 4096], "the copy, after all")?;
    plugin.free(source)?;
    plugin.free(to)?;
    plugin.destroy_stream(0, stream)
}
