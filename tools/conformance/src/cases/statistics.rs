//! Cases about the statistics of memory.

use tenon::device::Function::{
    self, DeviceInitAllocSize, DeviceMaxAllocSize, DeviceMaxChunkSize, DeviceMemoryStats, DeviceMinChunkSize,
    DeviceReallocSize,
};

use crate::case::{Case, Level, Verdict, ensure, skipped};
use crate::plugin_under_test::{PluginUnderTest, address, id};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::written("statistics.free-within-total", Level::Promised, within)
            .of([DeviceMemoryStats])
            .spec("device_memory_stats", "The free bytes; at most `total_memory`."),
        Case::written("statistics.allocation-counts", Level::Good, counts)
            .of([DeviceMemoryStats])
            .spec("device_memory_stats", "Returns the size of the device's memory and its free part."),
        Case::written("statistics.no-leak", Level::Good, no_leak)
            .of([DeviceMemoryStats])
            .practice("freed memory is free again"),
        Case::written("statistics.total-is-steady", Level::Good, steady)
            .of([DeviceMemoryStats])
            .practice("a device does not grow"),
        Case::written("statistics.chunk.at-least-one", Level::Promised, chunk)
            .of([DeviceMinChunkSize])
            .spec("device_min_chunk_size", "The unit in bytes, at least 1."),
        Case::written("statistics.chunk.power-of-two", Level::Good, chunk_power)
            .of([DeviceMinChunkSize])
            .spec("device_min_chunk_size", "should be a power of two that suits every kernel"),
        limit("statistics.max-alloc-within-total", DeviceMaxAllocSize, |plugin| {
            limited(plugin, DeviceMaxAllocSize)
        }),
        limit("statistics.max-chunk-within-total", DeviceMaxChunkSize, |plugin| {
            limited(plugin, DeviceMaxChunkSize)
        }),
        limit("statistics.init-alloc-within-total", DeviceInitAllocSize, |plugin| {
            limited(plugin, DeviceInitAllocSize)
        }),
        limit("statistics.realloc-within-total", DeviceReallocSize, |plugin| {
            limited(plugin, DeviceReallocSize)
        }),
    ]
}

fn limit(id: &'static str, function: Function, body: fn(&PluginUnderTest) -> Verdict) -> Case {
    Case::written(id, Level::Good, body)
        .of([function])
        .uses([DeviceMemoryStats])
        .practice("an allocator that asks for it gets it only where the device has as much")
}

/// The result of `device_memory_stats`.
pub(in crate::cases) struct Stats {
    total: usize,
    pub(in crate::cases) free: usize,
}

pub(in crate::cases) fn stats(plugin: &PluginUnderTest, device: i32) -> Verdict<Stats> {
    let (mut total, mut free) = (usize::MAX, usize::MAX);
    plugin.ok(DeviceMemoryStats, &[id(device), address(&mut total), address(&mut free)])?;
    Ok(Stats { total, free })
}

fn within(plugin: &PluginUnderTest) -> Verdict {
    for device in plugin.each_device() {
        let Stats { total, free } = stats(plugin, device)?;
        ensure!(free <= total, "device {device} has {free} bytes free of {total}");
    }
    Ok(())
}

/// Returns a piece that is large enough to be seen behind whatever unit the device allocates in.
fn piece(plugin: &PluginUnderTest) -> Verdict<usize> {
    let free = stats(plugin, 0)?.free;
    match (16 << 20).min(free / 4) {
        0 => skipped("`device_memory_stats` says that there is no free memory"),
        piece => Ok(piece),
    }
}

fn counts(plugin: &PluginUnderTest) -> Verdict {
    let piece = piece(plugin)?;
    let before = stats(plugin, 0)?.free;
    let memory = plugin.allocate(0, piece)?;
    let during = stats(plugin, 0)?.free;
    plugin.free(memory)?;
    plugin.synchronize_device(0)?;
    let after = stats(plugin, 0)?.free;
    ensure!(
        before.saturating_sub(during) >= piece,
        "{piece} bytes were allocated, and the free memory went from {before} to {during}"
    );
    ensure!(after >= before, "{piece} bytes were freed, and the free memory went from {before} to {after}");
    Ok(())
}

fn no_leak(plugin: &PluginUnderTest) -> Verdict {
    let piece = piece(plugin)? / 16;
    let before = stats(plugin, 0)?.free;
    for _ in 0..64 {
        let memory = plugin.allocate(0, piece)?;
        plugin.free(memory)?;
    }
    plugin.synchronize_device(0)?;
    let after = stats(plugin, 0)?.free;
    ensure!(
        before.saturating_sub(after) < 8 * piece,
        "{piece} bytes, allocated and freed 64 times, took {} bytes of the free memory",
        before - after
    );
    Ok(())
}

fn steady(plugin: &PluginUnderTest) -> Verdict {
    let before = stats(plugin, 0)?.total;
    let memory = plugin.allocate(0, 1 << 16)?;
    let after = stats(plugin, 0)?.total;
    ensure!(before == after, "the device had {before} bytes, and {after} after an allocation");
    plugin.free(memory)
}

fn number(plugin: &PluginUnderTest, function: Function, device: i32) -> Verdict<usize> {
    let mut number = 0;
    plugin.ok(function, &[id(device), address(&mut number)])?;
    Ok(number)
}

fn chunk(plugin: &PluginUnderTest) -> Verdict {
    for device in plugin.each_device() {
        ensure!(number(plugin, DeviceMinChunkSize, device)? >= 1, "the unit of device {device} is 0 bytes");
    }
    Ok(())
}

fn chunk_power(plugin: &PluginUnderTest) -> Verdict {
    let unit = number(plugin, DeviceMinChunkSize, 0)?;
    ensure!(unit.is_power_of_two(), "the unit is {unit} bytes");
    Ok(())
}

fn limited(plugin: &PluginUnderTest, function: Function) -> Verdict {
    let total = stats(plugin, 0)?.total;
    if total == 0 {
        return skipped("`device_memory_stats` says nothing of the memory");
    }
    let most = number(plugin, function, 0)?;
    ensure!(most <= total, "`{}` says {most} bytes on a device with {total}", function.name());
    Ok(())
}
