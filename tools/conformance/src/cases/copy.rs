//! Cases of synchronous copies.

use tenon::device::Function::{MemoryCopyD2d, MemoryCopyD2h, MemoryCopyH2d};

use crate::case::{Case, Level, Verdict};
use crate::plugin_under_test::{GuardedBuffer, Memory, PluginUnderTest, id, pattern, same};

/// Around the widths of registers and of pages.
const LENS: [usize; 20] =
    [1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 33, 63, 65, 127, 129, 255, 1000, 4095, 4097, 65_537];

const LARGE: usize = (3 << 20) + 3;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::written("copy.h2d.odd-lengths", Level::Required, h2d_lengths).of([MemoryCopyH2d]).spec(
            "memory_copy_h2d",
            "Copies from the host to the device and returns when the bytes are there",
        ),
        Case::written("copy.h2d.source-may-go", Level::Promised, h2d_source)
            .of([MemoryCopyH2d])
            .spec("memory_copy_h2d", "the source may then be changed or freed"),
        Case::written("copy.h2d.middle", Level::Required, h2d_middle)
            .of([MemoryCopyH2d])
            .spec("memory", "passes addresses inside an allocation"),
        Case::written("copy.d2h.odd-lengths", Level::Required, d2h_lengths).of([MemoryCopyD2h]).spec(
            "memory_copy_d2h",
            "Copies from the device to the host and returns when the bytes are there.",
        ),
        Case::written("copy.round-trip.large", Level::Required, large)
            .of([MemoryCopyH2d, MemoryCopyD2h])
            .spec(
                "memory_copy_d2h",
                "Copies from the device to the host and returns when the bytes are there.",
            ),
        Case::written("copy.d2d.odd-lengths", Level::Required, d2d_lengths).of([MemoryCopyD2d]).spec(
            "memory_copy_d2d",
            "Copies within the memory of one device and returns when the bytes are there.",
        ),
        Case::written("copy.d2d.one-allocation", Level::Promised, d2d_within).of([MemoryCopyD2d]).spec(
            "memory_copy_d2d",
            "Copies within the memory of one device and returns when the bytes are there.",
        ),
        Case::written("copy.d2d.onto-itself", Level::Promised, d2d_itself)
            .of([MemoryCopyD2d])
            .spec("memory_copy_d2d", "Source and destination do not overlap, unless they are equal."),
        Case::written("copy.d2d.large", Level::Required, d2d_large).of([MemoryCopyD2d]).spec(
            "memory_copy_d2d",
            "Copies within the memory of one device and returns when the bytes are there.",
        ),
        beyond("copy.h2d.past-the-end", |plugin| {
            let (mut bytes, memory) = (GuardedBuffer::new(PAST, 0), plugin.allocate(0, 100)?);
            let arguments = [id(0), memory.address, bytes.address(), PAST as u64];
            plugin.refused(MemoryCopyH2d, &arguments, "a destination that is too short")
        })
        .of([MemoryCopyH2d])
        .spec("memory_copy_h2d", "`dst` and `size` do not lie within one allocation of `device`"),
        beyond("copy.d2h.past-the-end", |plugin| {
            let (mut bytes, memory) = (GuardedBuffer::new(PAST, 0), plugin.allocate(0, 100)?);
            let arguments = [id(0), bytes.address(), memory.address, PAST as u64];
            plugin.refused(MemoryCopyD2h, &arguments, "a source that is too short")
        })
        .of([MemoryCopyD2h])
        .spec("memory_copy_d2h", "`src` and `size` do not lie within one allocation of `device`"),
        beyond("copy.d2d.past-the-end", |plugin| {
            let (long, short) = (plugin.allocate(0, PAST)?, plugin.allocate(0, 100)?);
            for (to, from) in [(short, long), (long, short)] {
                let arguments = [id(0), to.address, from.address, PAST as u64];
                plugin.refused(MemoryCopyD2d, &arguments, "memory that is too short")?;
            }
            Ok(())
        })
        .of([MemoryCopyD2d])
        .spec(
            "memory_copy_d2d",
            "`dst` or `src`, with `size`, does not lie within one allocation of `device`",
        ),
    ]
}

/// Further than any unit that an allocation is rounded up to.
const PAST: usize = 8 << 20;

fn beyond(id: &'static str, body: fn(&PluginUnderTest) -> Verdict) -> Case {
    Case::written(id, Level::Good, body)
}

/// Offsets that make the address odd.
const OFFSETS: [usize; 4] = [0, 1, 13, 62];

fn h2d_lengths(plugin: &PluginUnderTest) -> Verdict {
    let before = pattern(70_000, 1);
    let memory = plugin.allocate(0, before.len())?;
    for len in LENS {
        for offset in OFFSETS {
            plugin.write(&memory, 0, &before)?;
            let bytes = pattern(len, 2);
            plugin.write(&memory, offset, &bytes)?;
            let mut expected = before.clone();
            expected[offset..offset + len].copy_from_slice(&bytes);
            let shown = (offset + len + 64).min(expected.len());
            plugin.expect(
                &memory,
                0,
                &expected[..shown],
                &format!("{len} bytes written at offset {offset}"),
            )?;
        }
    }
    plugin.free(memory)
}

fn h2d_source(plugin: &PluginUnderTest) -> Verdict {
    let bytes = pattern(LARGE, 5);
    let memory = plugin.allocate(0, LARGE)?;
    let mut source = GuardedBuffer::of(&bytes);
    plugin.ok(MemoryCopyH2d, &[id(0), memory.address, source.address(), LARGE as u64])?;
    source.bytes_mut().fill(0);
    drop(source);
    plugin.expect(&memory, 0, &bytes, "memory whose source was changed after the copy")?;
    plugin.free(memory)
}

fn h2d_middle(plugin: &PluginUnderTest) -> Verdict {
    let memory = plugin.filled(0, &pattern(4096, 1))?;
    let mut expected = pattern(4096, 1);
    for offset in [256, 512, 1280, 3840] {
        let bytes = pattern(256, offset as u64);
        plugin.write(&memory, offset, &bytes)?;
        expected[offset..offset + 256].copy_from_slice(&bytes);
    }
    plugin.expect(&memory, 0, &expected, "memory written in pieces")?;
    for offset in [0, 300, 2049] {
        plugin.expect(
            &memory,
            offset,
            &expected[offset..],
            &format!("memory read from offset {offset} on"),
        )?;
    }
    plugin.free(memory)
}

fn d2h_lengths(plugin: &PluginUnderTest) -> Verdict {
    let bytes = pattern(70_000, 3);
    let memory = plugin.filled(0, &bytes)?;
    for len in LENS {
        for offset in OFFSETS {
            let mut target = GuardedBuffer::new(len + 1, 0xEE);
            // One further, so that the destination is odd too.
            let arguments = [id(0), target.address() + 1, memory.at(offset), len as u64];
            plugin.ok(MemoryCopyD2h, &arguments)?;
            let what = format!("{len} bytes read from offset {offset}");
            target.intact(&what)?;
            same(&target.bytes()[..1], &[0xEE], &format!("the byte before {what}"))?;
            same(&target.bytes()[1..], &bytes[offset..offset + len], &what)?;
        }
    }
    plugin.free(memory)
}

fn large(plugin: &PluginUnderTest) -> Verdict {
    for device in plugin.each_device() {
        let bytes = pattern(LARGE, 9);
        let memory = plugin.filled(device, &bytes)?;
        plugin.expect(&memory, 0, &bytes, &format!("{LARGE} bytes there and back"))?;
        plugin.free(memory)?;
    }
    Ok(())
}

fn copy(plugin: &PluginUnderTest, to: (&Memory, usize), from: (&Memory, usize), len: usize) -> Verdict {
    plugin.ok(MemoryCopyD2d, &[id(to.0.device), to.0.at(to.1), from.0.at(from.1), len as u64])
}

fn d2d_lengths(plugin: &PluginUnderTest) -> Verdict {
    let (bytes, before) = (pattern(70_000, 3), pattern(70_000, 4));
    let (from, to) = (plugin.filled(0, &bytes)?, plugin.allocate(0, before.len())?);
    for len in LENS {
        for (start, offset) in [(0, 0), (1, 0), (0, 13), (62, 7)] {
            plugin.write(&to, 0, &before)?;
            copy(plugin, (&to, offset), (&from, start), len)?;
            let mut expected = before.clone();
            expected[offset..offset + len].copy_from_slice(&bytes[start..start + len]);
            let shown = (offset + len + 64).min(expected.len());
            let what = format!("{len} bytes copied from offset {start} to offset {offset}");
            plugin.expect(&to, 0, &expected[..shown], &what)?;
        }
    }
    plugin.expect(&from, 0, &bytes, "the source of copies")?;
    plugin.free(from)?;
    plugin.free(to)
}

fn d2d_within(plugin: &PluginUnderTest) -> Verdict {
    let mut expected = pattern(3000, 6);
    let memory = plugin.filled(0, &expected)?;
    copy(plugin, (&memory, 1500), (&memory, 10), 1490)?;
    expected.copy_within(10..1500, 1500);
    copy(plugin, (&memory, 3), (&memory, 1600), 1400)?;
    expected.copy_within(1600..3000, 3);
    plugin.expect(&memory, 0, &expected, "one allocation, copied within")?;
    plugin.free(memory)
}

fn d2d_itself(plugin: &PluginUnderTest) -> Verdict {
    let bytes = pattern(5000, 8);
    let memory = plugin.filled(0, &bytes)?;
    copy(plugin, (&memory, 0), (&memory, 0), bytes.len())?;
    plugin.expect(&memory, 0, &bytes, "memory that was copied onto itself")?;
    plugin.free(memory)
}

fn d2d_large(plugin: &PluginUnderTest) -> Verdict {
    let bytes = pattern(LARGE, 2);
    let (from, to) = (plugin.filled(0, &bytes)?, plugin.allocate(0, LARGE)?);
    copy(plugin, (&to, 0), (&from, 0), LARGE)?;
    plugin.expect(&to, 0, &bytes, "a large copy")?;
    plugin.free(from)?;
    plugin.free(to)
}
