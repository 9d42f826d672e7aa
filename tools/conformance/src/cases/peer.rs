//! Cases of copies between devices.

use tenon::device::Function::{AsyncMemoryCopyD2d, AsyncMemoryCopyP2p, MemoryCopyP2p, StreamAddCallback};

use crate::case::{Case, Level, Verdict};
use crate::plugin_under_test::{Memory, PluginUnderTest, StreamLatch, id, pattern};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::written("peer.copy", Level::Required, copies).of([MemoryCopyP2p]).spec(
            "memory_copy_p2p",
            "Copies from one device to another of the same type and returns when the bytes are there.",
        ),
        Case::written("peer.copy.same-device", Level::Promised, same_device)
            .of([MemoryCopyP2p])
            .spec("memory_copy_p2p", "Both devices may be the same."),
        Case::written("peer.async", Level::Required, queued).of([AsyncMemoryCopyP2p]).spec(
            "async_memory_copy_p2p",
            "the copy runs after all that was queued on the stream before, which is a stream of either device",
        ),
        Case::written("peer.async.source-first", Level::Required, source_first)
            .of([AsyncMemoryCopyP2p])
            .uses([AsyncMemoryCopyD2d, StreamAddCallback])
            .native()
            .spec(
                "async_memory_copy_p2p",
                "a device with asynchronous work must run the copy after work that is queued on the source",
            ),
    ]
}

const LEN: usize = (1 << 20) + 3;

fn copy(plugin: &PluginUnderTest, to: &Memory, from: &Memory, stream: Option<u64>) -> Verdict {
    let (there, here) = (to.device, from.device);
    let len = to.len.min(from.len) as u64;
    match stream {
        None => plugin.ok(MemoryCopyP2p, &[id(there), id(here), to.address, from.address, len]),
        Some(stream) => {
            plugin.ok(AsyncMemoryCopyP2p, &[id(there), id(here), stream, to.address, from.address, len])
        }
    }
}

fn copies(plugin: &PluginUnderTest) -> Verdict {
    let other = plugin.second_device()?;
    for (there, here) in [(other, 0), (0, other)] {
        for len in [1, 7, 63, 4097, LEN] {
            let bytes = pattern(len, u64::from(len as u32));
            let (from, to) = (plugin.filled(here, &bytes)?, plugin.filled(there, &vec![0; len + 1])?);
            copy(plugin, &to, &from, None)?;
            let mut expected = bytes.clone();
            expected.push(0);
            plugin.expect(
                &to,
                0,
                &expected,
                &format!("{len} bytes copied from device {here} to device {there}"),
            )?;
            plugin.free(from)?;
            plugin.free(to)?;
        }
    }
    Ok(())
}

fn same_device(plugin: &PluginUnderTest) -> Verdict {
    let bytes = pattern(LEN, 1);
    let (from, to) = (plugin.filled(0, &bytes)?, plugin.filled(0, &vec![0; LEN])?);
    copy(plugin, &to, &from, None)?;
    plugin.expect(&to, 0, &bytes, "a copy from device 0 to device 0")?;
    plugin.free(from)?;
    plugin.free(to)
}

fn queued(plugin: &PluginUnderTest) -> Verdict {
    let other = plugin.second_device()?;
    // A stream of the destination, as PaddlePaddle has it, and one of the source.
    for home in [other, 0] {
        let stream = plugin.stream(home)?;
        let bytes = pattern(LEN, 2);
        let (first, middle) = (plugin.filled(0, &bytes)?, plugin.filled(other, &vec![0; LEN])?);
        let last = plugin.filled(0, &vec![0; LEN])?;
        copy(plugin, &middle, &first, Some(stream))?;
        copy(plugin, &last, &middle, Some(stream))?;
        plugin.synchronize_stream(home, stream)?;
        plugin.expect(&last, 0, &bytes, "a copy to another device and back")?;
        for memory in [first, middle, last] {
            plugin.free(memory)?;
        }
        plugin.destroy_stream(home, stream)?;
    }
    Ok(())
}

fn source_first(plugin: &PluginUnderTest) -> Verdict {
    let other = plugin.second_device()?;
    let (here, there) = (plugin.stream(0)?, plugin.stream(other)?);
    let bytes = pattern(LEN, 3);
    let (first, middle) = (plugin.filled(0, &bytes)?, plugin.filled(0, &vec![0; LEN])?);
    let last = plugin.filled(other, &vec![0; LEN])?;
    let latch = StreamLatch::close(plugin, 0, here)?;
    plugin.queue_copy(here, &middle, &first)?;
    // It may wait for the source, which is held.
    plugin.beside(&latch, |this| {
        copy(this, &last, &middle, Some(there))?;
        this.synchronize_stream(other, there)
    })?;
    plugin.expect(&last, 0, &bytes, "a copy of what work on the source device was still to write")?;
    plugin.synchronize_stream(0, here)?;
    for memory in [first, middle, last] {
        plugin.free(memory)?;
    }
    plugin.destroy_stream(0, here)?;
    plugin.destroy_stream(other, there)
}
