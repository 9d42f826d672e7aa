//! Cases from load to unload, each in a separate process.

use tenon::device::Function::{
    self, DeinitDevice, DeviceExtraPaddingSize, DeviceMinChunkSize, Finalize, GetDeviceCount, GetDeviceList,
    InitDevice, Initialize, SetDevice,
};

use crate::case::{Case, Level, Verdict, ensure, skipped};
use crate::plugin_under_test::{GuardedBuffer, PluginUnderTest, address, id, pattern, soon};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::written("lifecycle.host-order", Level::Required, host_order)
            .of([Initialize, InitDevice, DeinitDevice, Finalize])
            .fresh()
            .lenient()
            .host("the calls of a program that makes a tensor, reads it and ends, in PaddlePaddle's order"),
        Case::written("lifecycle.set-device-first", Level::Required, set_device_first)
            .of([SetDevice])
            .fresh()
            .spec("device", "`set_device` may come before `init_device`."),
        Case::written("lifecycle.threads-end", Level::Promised, threads_end)
            .of([Finalize])
            .fresh()
            .spec("finalize", "so every thread of the plugin must have ended"),
        Case::written("lifecycle.end-with-handles", Level::Promised, end_with_handles)
            .of([Finalize])
            .fresh()
            .spec("finalize", "Handles and memory that still exist become invalid."),
        Case::written("lifecycle.exit", Level::Required, host_order)
            .of([Finalize])
            .exit()
            .lenient()
            .host("a program ends with the exit code that it chose: exit handlers and destructors neither crash nor hang"),
    ]
}

/// Calls a function if it exists. PaddlePaddle skips a missing one.
fn if_there(plugin: &PluginUnderTest, function: Function, arguments: &[u64]) -> Verdict {
    if plugin.answers(function) { plugin.ok(function, arguments) } else { Ok(()) }
}

fn list(plugin: &PluginUnderTest) -> Verdict<i32> {
    let mut count = 0_usize;
    plugin.ok(GetDeviceCount, &[address(&mut count)])?;
    let mut numbers = GuardedBuffer::new(count * size_of::<usize>(), 0);
    plugin.ok(GetDeviceList, &[numbers.address()])?;
    plugin.devices()
}

fn host_order(plugin: &PluginUnderTest) -> Verdict {
    if_there(plugin, Initialize, &[])?;
    let count = list(plugin)?;
    if count == 0 {
        return skipped("the plugin has no devices");
    }
    let (mut padding, mut chunk) = (0_usize, 0_usize);
    plugin.set_device(0)?;
    plugin.set_device(0)?;
    for _ in 0..2 {
        if_there(plugin, DeviceExtraPaddingSize, &[id(0), address(&mut padding)])?;
        if_there(plugin, DeviceMinChunkSize, &[id(0), address(&mut chunk)])?;
    }
    plugin.set_device(0)?;
    if_there(plugin, InitDevice, &[id(0)])?;
    let len = (64 + padding).next_multiple_of(chunk.max(1));
    let memory = plugin.allocate(0, len)?;
    plugin.set_device(0)?;
    let stream = plugin.stream(0)?;
    let bytes = pattern(64, 1);
    plugin.synchronize_stream(0, stream)?;
    plugin.write(&memory, 0, &bytes)?;
    plugin.synchronize_stream(0, stream)?;
    plugin.expect(&memory, 0, &bytes, "a tensor, read back")?;
    plugin.free(memory)?;
    plugin.set_device(0)?;
    plugin.destroy_stream(0, stream)?;
    if_there(plugin, DeinitDevice, &[id(0)])?;
    if_there(plugin, Finalize, &[])
}

fn set_device_first(plugin: &PluginUnderTest) -> Verdict {
    if_there(plugin, Initialize, &[])?;
    for device in (0..list(plugin)?).rev() {
        plugin.set_device(device)?;
        let found = plugin.get_device()?;
        ensure!(found == device, "`get_device` gave {found} after `set_device` of {device}");
    }
    Ok(())
}

/// Returns the threads of this process, or `None` if the system does not list them.
fn threads() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}

fn threads_end(plugin: &PluginUnderTest) -> Verdict {
    let Some(before) = threads() else { return skipped("the system does not count threads") };
    plugin.start()?;
    if plugin.devices()? > 0 {
        let stream = plugin.stream(0)?;
        plugin.synchronize_stream(0, stream)?;
        plugin.destroy_stream(0, stream)?;
    }
    plugin.ok(Finalize, &[])?;
    // A thread that has been joined may stand in the list for a moment.
    let ended = soon(|| threads().is_none_or(|now| now <= before));
    let left = threads().unwrap_or_default().saturating_sub(before);
    ensure!(ended, "{left} threads of the plugin are left after `finalize`");
    Ok(())
}

fn end_with_handles(plugin: &PluginUnderTest) -> Verdict {
    plugin.start()?;
    for device in plugin.each_device() {
        let (stream, event) = (plugin.stream(device)?, plugin.event(device)?);
        plugin.filled(device, &pattern(100, 1))?;
        plugin.record(device, stream, event)?;
    }
    plugin.ok(Finalize, &[])
}
