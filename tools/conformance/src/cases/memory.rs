//! Cases of allocating, freeing and filling memory.

use tenon::device::Function::{
    AsyncMemoryCopyD2d, DeviceMemoryAllocate, DeviceMemoryDeallocate, DeviceMemorySet, DeviceMemoryStats,
    HostMemoryAllocate, HostMemoryDeallocate, StreamAddCallback, UnifiedMemoryAllocate,
    UnifiedMemoryDeallocate,
};

use crate::case::{Case, Level, Verdict, ensure};
use crate::plugin_under_test::{Memory, MemoryKind, PluginUnderTest, StreamLatch, id, pattern, same};

/// The largest element of a tensor is a `complex128`.
const ALIGNMENT: u64 = 16;

const OUT_OF_MEMORY: &str = "When the device is out of memory, return `success` with a null address";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::written("memory.allocate.aligned", Level::Promised, aligned)
            .of([DeviceMemoryAllocate])
            .spec("device_memory_allocate", "at an address that is aligned for every data type"),
        Case::written("memory.allocate.apart", Level::Required, apart)
            .of([DeviceMemoryAllocate, DeviceMemoryDeallocate])
            .host("two tensors never share memory"),
        Case::written("memory.allocate.many", Level::Promised, many)
            .of([DeviceMemoryAllocate, DeviceMemoryDeallocate])
            .spec("device_memory_allocate", "Allocates memory on the device"),
        Case::written("memory.allocate.too-much", Level::Promised, too_much)
            .of([DeviceMemoryAllocate])
            .spec("device_memory_allocate", OUT_OF_MEMORY),
        Case::written("memory.allocate.until-full", Level::Promised, until_full)
            .of([DeviceMemoryAllocate, DeviceMemoryDeallocate])
            .uses([DeviceMemoryStats])
            .spec("device_memory_allocate", OUT_OF_MEMORY),
        Case::written("memory.free.null", Level::Promised, free_null)
            .of([DeviceMemoryDeallocate])
            .spec("device_memory_deallocate", "A null address is accepted and does nothing."),
        Case::written("memory.free.queued-work", Level::Promised, free_with_work)
            .of([DeviceMemoryDeallocate])
            .uses([StreamAddCallback, AsyncMemoryCopyD2d, DeviceMemorySet])
            .native()
            .spec(
                "device_memory_deallocate",
                "Work that was queued on any stream before the call may still use it",
            ),
        Case::written("memory.free.inside", Level::Good, free_inside).of([DeviceMemoryDeallocate]).spec(
            "device_memory_deallocate",
            "`ptr` is not the address of an allocation of `device`, or `size` differs from its length",
        ),
        Case::written("memory.free.wrong-size", Level::Good, free_wrong_size)
            .of([DeviceMemoryDeallocate])
            .spec(
                "device_memory_deallocate",
                "`ptr` is not the address of an allocation of `device`, or `size` differs from its length",
            ),
        Case::written("memory.set.every-length", Level::Promised, set_lengths)
            .of([DeviceMemorySet])
            .spec("device_memory_set", "Writes the same byte to each byte of the destination."),
        Case::written("memory.set.large", Level::Promised, set_large)
            .of([DeviceMemorySet])
            .spec("device_memory_set", "It is done when the call returns"),
        Case::written("memory.host", Level::Promised, pinned)
            .of([HostMemoryAllocate, HostMemoryDeallocate])
            .spec("host_memory_allocate", "The host uses it like any other host memory."),
        Case::written("memory.host.too-much", Level::Promised, pinned_too_much)
            .of([HostMemoryAllocate])
            .spec(
                "host_memory_allocate",
                "PaddlePaddle treats `success` with a null address as out of memory.",
            ),
        Case::written("memory.host.free-null", Level::Promised, pinned_free_null)
            .of([HostMemoryDeallocate])
            .spec("host_memory_deallocate", "A null address is accepted and does nothing."),
        Case::written("memory.unified", Level::Promised, unified)
            .of([UnifiedMemoryAllocate, UnifiedMemoryDeallocate])
            .uses([DeviceMemorySet])
            .spec("unified_memory_allocate", "after `synchronize_device` both see the same"),
        Case::written("memory.unified.free-null", Level::Promised, unified_free_null)
            .of([UnifiedMemoryDeallocate])
            .spec("unified_memory_deallocate", "A null address is accepted and does nothing."),
    ]
}

fn aligned(plugin: &PluginUnderTest) -> Verdict {
    let mut held = Vec::new();
    for len in [1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 63, 64, 65, 100, 127, 255, 257, 1000, 4095, 4097] {
        let memory = plugin.allocate(0, len)?;
        let rest = memory.address % ALIGNMENT;
        ensure!(rest == 0, "{len} bytes came at {:#x}, {rest} bytes past a multiple of 16", memory.address);
        held.push(memory);
    }
    held.into_iter().try_for_each(|memory| plugin.free(memory))
}

fn apart(plugin: &PluginUnderTest) -> Verdict {
    for device in plugin.each_device() {
        let fill = |index: u64, len: usize| Ok((index, plugin.filled(device, &pattern(len, index))?));
        let lens = [1, 64, 3, 4096, 256, 17, 70_000, 5];
        let held: Vec<(u64, Memory)> =
            (1..).zip(lens).map(|(index, len)| fill(index, len)).collect::<Verdict<_>>()?;
        for (index, memory) in &held {
            plugin.expect(memory, 0, &pattern(memory.len, *index), "memory that others were made beside")?;
        }
        held.into_iter().try_for_each(|(_, memory)| plugin.free(memory))?;
    }
    Ok(())
}

fn many(plugin: &PluginUnderTest) -> Verdict {
    for _ in 0..10 {
        let held: Vec<Memory> = (0..1000).map(|_| plugin.allocate(0, 512)).collect::<Verdict<_>>()?;
        let mut addresses: Vec<u64> = held.iter().map(|memory| memory.address).collect();
        addresses.sort_unstable();
        let overlap = addresses.windows(2).find(|pair| pair[1] - pair[0] < 512);
        ensure!(overlap.is_none(), "two live pieces of 512 bytes lie at {overlap:#x?}");
        held.into_iter().try_for_each(|memory| plugin.free(memory))?;
    }
    Ok(())
}

/// More than any machine has.
const TOO_MUCH: [usize; 4] = [1 << 52, 1 << 60, isize::MAX as usize, usize::MAX - 4095];

fn refuses_too_much(plugin: &PluginUnderTest, kind: MemoryKind) -> Verdict {
    for len in TOO_MUCH {
        let made = plugin.try_allocate(kind, 0, len)?;
        ensure!(made.is_none(), "{len:#x} bytes were to be had, which no machine has");
    }
    Ok(())
}

fn too_much(plugin: &PluginUnderTest) -> Verdict {
    refuses_too_much(plugin, MemoryKind::Device)?;
    let memory = plugin.filled(0, &pattern(100, 1))?;
    plugin.expect(&memory, 0, &pattern(100, 1), "memory that was made after a request that was too large")?;
    plugin.free(memory)
}

fn until_full(plugin: &PluginUnderTest) -> Verdict {
    let free = super::statistics::stats(plugin, 0)?.free;
    if free == 0 {
        return crate::case::skipped("`device_memory_stats` says that there is no free memory");
    }
    let piece = free / 8 + 1;
    let mut held = Vec::new();
    // Others may free memory at the same time, so the end may come late, but not that late.
    while held.len() < 64 {
        match plugin.try_allocate(MemoryKind::Device, 0, piece)? {
            Some(memory) => held.push(memory),
            None => break,
        }
    }
    let count = held.len();
    ensure!(count < 64, "64 pieces of an eighth of the free memory were to be had");
    held.into_iter().try_for_each(|memory| plugin.free(memory))?;
    plugin.synchronize_device(0)?;
    let again = plugin.allocate(0, piece)?;
    plugin.free(again)
}

fn free_null(plugin: &PluginUnderTest) -> Verdict {
    for len in [0, 64] {
        plugin.ok(DeviceMemoryDeallocate, &[id(0), 0, len])?;
    }
    Ok(())
}

fn pinned_free_null(plugin: &PluginUnderTest) -> Verdict {
    plugin.ok(HostMemoryDeallocate, &[id(0), 0, 0])
}

fn unified_free_null(plugin: &PluginUnderTest) -> Verdict {
    plugin.ok(UnifiedMemoryDeallocate, &[id(0), 0, 0])
}

fn free_with_work(plugin: &PluginUnderTest) -> Verdict {
    const LEN: usize = 4096;
    let stream = plugin.stream(0)?;
    let (bytes, from) = (pattern(LEN, 1), plugin.filled(0, &pattern(LEN, 1))?);
    let to = plugin.filled(0, &[0; LEN])?;
    let latch = StreamLatch::close(plugin, 0, stream)?;
    plugin.queue_copy(stream, &to, &from)?;
    // The call may wait for the stream, and then the memory is used up by then.
    plugin.beside(&latch, |this| {
        this.free(from)?;
        let next: Vec<Memory> = (0..16).map(|_| this.allocate(0, LEN)).collect::<Verdict<_>>()?;
        next.iter().try_for_each(|memory| fill(this, memory, 0, 0xEE, LEN))?;
        next.into_iter().try_for_each(|memory| this.free(memory))
    })?;
    plugin.synchronize_stream(0, stream)?;
    plugin.expect(&to, 0, &bytes, "a queued copy whose source was freed after it was queued")?;
    plugin.free(to)?;
    plugin.destroy_stream(0, stream)
}

fn free_inside(plugin: &PluginUnderTest) -> Verdict {
    let memory = plugin.allocate(0, 4096)?;
    plugin.refused(
        DeviceMemoryDeallocate,
        &[id(0), memory.at(64), 4032],
        "an address inside an allocation",
    )?;
    plugin.free(memory)
}

fn free_wrong_size(plugin: &PluginUnderTest) -> Verdict {
    let memory = plugin.allocate(0, 4096)?;
    for size in [4095, 4097, 1 << 40] {
        plugin.refused(
            DeviceMemoryDeallocate,
            &[id(0), memory.address, size],
            &format!("{size} for the length of 4096 bytes"),
        )?;
    }
    plugin.free(memory)
}

fn fill(plugin: &PluginUnderTest, memory: &Memory, offset: usize, byte: u8, len: usize) -> Verdict {
    plugin.ok(DeviceMemorySet, &[id(memory.device), memory.at(offset), u64::from(byte), len as u64])
}

fn set_lengths(plugin: &PluginUnderTest) -> Verdict {
    const LEN: usize = 600;
    let before = pattern(LEN, 3);
    let memory = plugin.filled(0, &before)?;
    for len in (1..=67).chain([127, 128, 129, 255, 256, 257, 511, 513]) {
        for offset in [0, 1, 7, 33] {
            plugin.write(&memory, 0, &before)?;
            fill(plugin, &memory, offset, 0xB7, len)?;
            let mut expected = before.clone();
            expected[offset..offset + len].fill(0xB7);
            plugin.expect(&memory, 0, &expected, &format!("{len} bytes set from offset {offset} on"))?;
        }
    }
    plugin.free(memory)
}

fn set_large(plugin: &PluginUnderTest) -> Verdict {
    const LEN: usize = (3 << 20) + 5;
    let memory = plugin.allocate(0, LEN)?;
    for byte in [0xFF, 0, 0x5A] {
        fill(plugin, &memory, 0, byte, LEN)?;
        plugin.expect(&memory, 0, &vec![byte; LEN], &format!("{LEN} bytes set to {byte:#x}"))?;
    }
    plugin.free(memory)
}

fn pinned(plugin: &PluginUnderTest) -> Verdict {
    for device in plugin.each_device() {
        let held: Vec<Memory> = [1, 100, 4096, 1 << 20]
            .into_iter()
            .map(|len| plugin.pinned(device, len))
            .collect::<Verdict<_>>()?;
        for (seed, memory) in (0..).zip(&held) {
            memory.write_here(&pattern(memory.len, seed));
        }
        for (seed, memory) in (0..).zip(&held) {
            same(
                &memory.read_here(),
                &pattern(memory.len, seed),
                "pinned memory that others were made beside",
            )?;
        }
        held.into_iter().try_for_each(|memory| plugin.free(memory))?;
    }
    Ok(())
}

fn pinned_too_much(plugin: &PluginUnderTest) -> Verdict {
    refuses_too_much(plugin, MemoryKind::Pinned)?;
    let memory = plugin.pinned(0, 100)?;
    plugin.free(memory)
}

fn unified(plugin: &PluginUnderTest) -> Verdict {
    let memory = plugin.unified(0, 1000)?;
    memory.write_here(&pattern(1000, 1));
    plugin.synchronize_device(0)?;
    fill(plugin, &memory, 500, 0x11, 500)?;
    plugin.synchronize_device(0)?;
    let mut expected = pattern(1000, 1);
    expected[500..].fill(0x11);
    same(
        &memory.read_here(),
        &expected,
        "unified memory, half of it written by the host, half by the device",
    )?;
    plugin.free(memory)
}
