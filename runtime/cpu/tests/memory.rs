//! Budgets, the registry, and copies in every direction.
#![cfg(not(loom))]

mod common;

use common::{Gate, MIB, block, cpu, cpu_with, download, fails, pattern, upload};
use std::sync::Arc;
use std::thread;
use tenon::device::{Device, DeviceId, Stream};
use tenon::{DevicePtr, HostPtr, UnifiedPtr};
use tenon_cpu::{Config, Cpu, Error, ErrorKind, INLINE_BYTES, Space};

fn device_view(ptr: UnifiedPtr) -> DevicePtr {
    DevicePtr::from_addr(ptr.addr())
}

fn assert_adds_up(cpu: &Cpu) {
    for device in 0..2 {
        let stats = cpu.device_memory_stats(DeviceId(device)).unwrap();
        assert_eq!(stats.used + stats.free, stats.total);
        assert!(stats.peak >= stats.used && stats.peak <= stats.total);
    }
}

#[test]
fn allocations_are_aligned_apart_and_counted() {
    let cpu = cpu();
    let sizes = [0, 1, 63, 64, 65, 1000, 4096, 100_000, MIB, MIB + 1, 5 * MIB];
    let ptrs: Vec<_> = sizes.map(|size| cpu.device_memory_allocate(DeviceId(0), size).unwrap()).into();
    for (&size, ptr) in sizes.iter().zip(&ptrs) {
        assert_eq!(ptr.addr() % if size >= MIB { 4096 } else { 64 }, 0);
        let info = cpu.pointer_info(ptr.addr()).unwrap();
        assert_eq!(
            (info.base, info.size, info.device, info.space),
            (ptr.addr(), size, DeviceId(0), Space::Device)
        );
    }
    let mut ranges: Vec<_> =
        sizes.iter().zip(&ptrs).map(|(&size, ptr)| (ptr.addr(), ptr.addr() + size.max(1))).collect();
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    let stats = cpu.device_memory_stats(DeviceId(0)).unwrap();
    assert!(stats.used >= sizes.iter().sum() && stats.allocations == sizes.len());
    assert_eq!(cpu.device_memory_stats(DeviceId(1)).unwrap().used, 0);
    assert_adds_up(&cpu);
    for (&size, &ptr) in sizes.iter().zip(&ptrs) {
        cpu.device_memory_deallocate(DeviceId(0), ptr, size).unwrap();
    }
    let stats = cpu.device_memory_stats(DeviceId(0)).unwrap();
    assert_eq!((stats.used, stats.allocations), (0, 0));
    assert_adds_up(&cpu);
}

#[test]
fn out_of_memory_and_recovery() {
    let cpu = cpu_with(8 * MIB);
    let whole = cpu.device_memory_allocate(DeviceId(0), 8 * MIB).unwrap();
    let error = cpu.device_memory_allocate(DeviceId(0), 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert_eq!(
        error,
        Error::OutOfMemory {
            space: Space::Device,
            device: DeviceId(0),
            requested: 1,
            free: 0,
            total: 8 * MIB
        }
    );
    assert_eq!(cpu.device_max_chunk_size(DeviceId(0)).unwrap(), 0);
    let other = cpu.device_memory_allocate(DeviceId(1), 8 * MIB).unwrap();
    cpu.device_memory_deallocate(DeviceId(1), other, 8 * MIB).unwrap();
    cpu.device_memory_deallocate(DeviceId(0), whole, 8 * MIB).unwrap();
    let halves = [0; 2].map(|_| cpu.device_memory_allocate(DeviceId(0), 4 * MIB).unwrap());
    assert!(cpu.device_memory_allocate(DeviceId(0), 1).is_err());
    assert_adds_up(&cpu);
    for half in halves {
        cpu.device_memory_deallocate(DeviceId(0), half, 4 * MIB).unwrap();
    }
    assert_eq!(cpu.device_memory_stats(DeviceId(0)).unwrap().free, 8 * MIB);
}

#[test]
fn budget_larger_than_the_machine_takes_memory_on_use() {
    const SIZE: usize = 4 << 40;
    let cpu = cpu_with(2 * SIZE);
    let memory = cpu.device_memory_allocate(DeviceId(0), SIZE).unwrap();
    let last = DevicePtr::from_addr(memory.addr() + SIZE - 1);
    for (place, byte) in [(memory, 3), (last, 4)] {
        cpu.memory_copy_h2d(DeviceId(0), place, &[byte]).unwrap();
        let mut back = [0];
        cpu.memory_copy_d2h(DeviceId(0), &mut back, place).unwrap();
        assert_eq!(back, [byte]);
    }
    cpu.device_memory_deallocate(DeviceId(0), memory, SIZE).unwrap();
}

#[test]
fn sizes_that_cannot_be() {
    let cpu = cpu();
    for size in [usize::MAX, usize::MAX - 63, isize::MAX as usize, usize::MAX / 2 + 1, 65 * MIB] {
        for result in [
            cpu.device_memory_allocate(DeviceId(0), size),
            cpu.unified_memory_allocate(DeviceId(0), size).map(device_view),
        ] {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::OutOfMemory, "{size}");
        }
    }
    for size in [usize::MAX, isize::MAX as usize] {
        assert_eq!(cpu.host_memory_allocate(DeviceId(0), size).unwrap_err().kind(), ErrorKind::OutOfMemory);
    }
    let ptr = cpu.device_memory_allocate(DeviceId(0), 64).unwrap();
    for size in [65, usize::MAX, usize::MAX - ptr.addr() + 1] {
        assert!(fails(cpu.device_memory_set(DeviceId(0), ptr, 0, size), "leave the allocation"));
        let stream = Stream::NULL;
        assert!(fails(
            cpu.async_memory_copy_d2d(DeviceId(0), stream, ptr, ptr, size),
            "leave the allocation"
        ));
    }
    // SAFETY: refused, so nothing is read.
    let wraps = unsafe {
        cpu.async_memory_copy_h2d(DeviceId(0), Stream::NULL, ptr, HostPtr::from_addr(1), usize::MAX)
    };
    assert!(fails(wraps, "leave the allocation"));
    assert_adds_up(&cpu);
}

#[test]
fn zero_sizes() {
    let cpu = cpu();
    let (a, b) = (
        cpu.device_memory_allocate(DeviceId(0), 0).unwrap(),
        cpu.device_memory_allocate(DeviceId(0), 0).unwrap(),
    );
    assert!(a != b && a.addr() != 0);
    for ptr in [a, DevicePtr::from_addr(0), DevicePtr::from_addr(17)] {
        cpu.memory_copy_h2d(DeviceId(0), ptr, &[]).unwrap();
        cpu.memory_copy_d2h(DeviceId(0), &mut [], ptr).unwrap();
        cpu.memory_copy_d2d(DeviceId(0), ptr, ptr, 0).unwrap();
        cpu.memory_copy_p2p(DeviceId(0), DeviceId(1), ptr, ptr, 0).unwrap();
        cpu.device_memory_set(DeviceId(0), ptr, 1, 0).unwrap();
        cpu.async_memory_fill(DeviceId(0), Stream::NULL, ptr, &[1], 0).unwrap();
    }
    assert!(fails(cpu.memory_copy_h2d(DeviceId(0), a, b"x"), "leave the allocation"));
    assert!(fails(cpu.memory_copy_h2d(DeviceId(7), a, b""), "there is no device"));
    cpu.device_memory_deallocate(DeviceId(0), a, 0).unwrap();
    assert!(cpu.device_memory_deallocate(DeviceId(0), a, 0).is_err());
}

#[test]
fn frees_that_are_no_good() {
    let cpu = cpu();
    let ptr = cpu.device_memory_allocate(DeviceId(0), 100).unwrap();
    let free = |device, ptr, size| cpu.device_memory_deallocate(DeviceId(device), ptr, size);
    assert_eq!(
        free(0, ptr, 99),
        Err(Error::SizeMismatch { ptr: ptr.addr(), given: 99, allocated: 100 }.into())
    );
    assert_eq!(
        free(1, ptr, 100),
        Err(Error::PointerOnOtherDevice { ptr: ptr.addr(), owner: DeviceId(0), device: DeviceId(1) }.into())
    );
    assert_eq!(
        free(0, ptr.checked_add(8).unwrap(), 100),
        Err(Error::NotStart { ptr: ptr.addr() + 8, base: ptr.addr() }.into())
    );
    assert_eq!(free(0, DevicePtr::NULL, 100), Ok(()), "as in C, to free null does nothing");
    assert_eq!(free(0, DevicePtr::from_addr(4096), 1), Err(Error::UnknownPointer { ptr: 4096 }.into()));
    assert!(fails(
        cpu.unified_memory_deallocate(DeviceId(0), UnifiedPtr::from_addr(ptr.addr()), 100),
        "memory is needed"
    ));
    free(0, ptr, 100).unwrap();
    assert_eq!(free(0, ptr, 100), Err(Error::UnknownPointer { ptr: ptr.addr() }.into()));
    assert_eq!(
        free(0, ptr.checked_add(8).unwrap(), 100),
        Err(Error::UnknownPointer { ptr: ptr.addr() + 8 }.into())
    );
    assert_adds_up(&cpu);
}

#[test]
fn copies_that_are_no_good() {
    let cpu = cpu();
    let (ptr, other) = (upload(&cpu, 0, &[1; 100]), upload(&cpu, 1, &[2; 100]));
    let host = cpu.host_memory_allocate(DeviceId(0), 100).unwrap();
    let s = Stream::NULL;
    assert_eq!(
        cpu.memory_copy_h2d(DeviceId(0), ptr.checked_add(50).unwrap(), &[0; 51]),
        Err(Error::OutOfBounds { ptr: ptr.addr() + 50, size: 51, base: ptr.addr(), capacity: 100 }.into())
    );
    assert!(fails(cpu.memory_copy_d2h(DeviceId(0), &mut [0; 101], ptr), "leave the allocation"));
    assert!(fails(cpu.memory_copy_h2d(DeviceId(0), other, b"x"), "is memory of device"));
    assert!(fails(cpu.memory_copy_d2d(DeviceId(0), ptr, other, 1), "is memory of device"));
    assert!(fails(cpu.memory_copy_p2p(DeviceId(1), DeviceId(0), ptr, other, 1), "is memory of device"));
    assert!(fails(cpu.memory_copy_p2p(DeviceId(0), DeviceId(2), ptr, other, 1), "there is no device"));
    assert!(fails(
        cpu.async_memory_copy_p2p(DeviceId(0), DeviceId(2), s, ptr, other, 1),
        "there is no device"
    ));
    assert!(fails(
        cpu.memory_copy_d2d(DeviceId(0), ptr, DevicePtr::from_addr(host.addr()), 1),
        "memory is needed"
    ));
    assert_eq!(
        cpu.memory_copy_d2d(DeviceId(0), ptr, DevicePtr::from_addr(0), 1),
        Err(Error::NullPointer { size: 1 }.into())
    );
    let local = 0_u8;
    assert!(fails(
        cpu.memory_copy_d2d(DeviceId(0), ptr, DevicePtr::from_addr(&raw const local as usize), 1),
        "lies in no live allocation"
    ));
    // SAFETY: each of these is refused, so nothing is read or written.
    unsafe {
        assert_eq!(
            cpu.async_memory_copy_h2d(DeviceId(0), s, ptr, HostPtr::NULL, 1),
            Err(Error::NullPointer { size: 1 })
        );
        assert!(matches!(
            cpu.async_memory_copy_h2d(DeviceId(0), s, ptr, HostPtr::from_addr(other.addr()), 1),
            Err(Error::WrongSpace { expected: Space::Host, actual: Space::Device, .. })
        ));
        assert!(matches!(
            cpu.async_memory_copy_h2d(DeviceId(0), s, ptr, host.checked_add(60).unwrap(), 41),
            Err(Error::OutOfBounds { .. })
        ));
    }
    cpu.device_memory_deallocate(DeviceId(0), ptr, 100).unwrap();
    assert_eq!(
        cpu.memory_copy_h2d(DeviceId(0), ptr, b"x"),
        Err(Error::UnknownPointer { ptr: ptr.addr() }.into())
    );
    assert_eq!(
        cpu.device_memory_set(DeviceId(0), ptr.checked_add(4).unwrap(), 0, 1),
        Err(Error::UnknownPointer { ptr: ptr.addr() + 4 }.into())
    );
    assert_eq!(download(&cpu, 1, other, 100), [2; 100], "nothing was written");
}

#[test]
fn copies_in_every_direction_and_size() {
    let cpu = cpu_with(256 * MIB);
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    for size in [1, 100, INLINE_BYTES, INLINE_BYTES + 1, MIB, 4 * MIB, 9 * MIB + 13] {
        let bytes = pattern(size, size);
        let (a, b) = (upload(&cpu, 0, &bytes), cpu.device_memory_allocate(DeviceId(0), size).unwrap());
        let peer = cpu.device_memory_allocate(DeviceId(1), size).unwrap();
        cpu.memory_copy_d2d(DeviceId(0), b, a, size).unwrap();
        cpu.memory_copy_p2p(DeviceId(1), DeviceId(0), peer, b, size).unwrap();
        assert!(download(&cpu, 1, peer, size) == bytes, "{size}");
        cpu.device_memory_set(DeviceId(1), peer, 0xa5, size).unwrap();
        assert!(download(&cpu, 1, peer, size).iter().all(|&byte| byte == 0xa5));

        let (mut back, second) = (vec![0; size], pattern(size, 99));
        // SAFETY: both buffers live until the stream is synchronised, and nobody else uses them.
        unsafe {
            cpu.async_memory_copy_h2d(DeviceId(0), stream, a, HostPtr::from_ptr(second.as_ptr()), size)
                .unwrap()
        };
        cpu.async_memory_copy_d2d(DeviceId(0), stream, b, a, size).unwrap();
        cpu.async_memory_copy_p2p(DeviceId(1), DeviceId(0), stream, peer, b, size).unwrap();
        cpu.async_memory_copy_p2p(DeviceId(0), DeviceId(1), stream, a, peer, size).unwrap();
        cpu.async_memory_fill(DeviceId(0), stream, a, &[7], 1).unwrap();
        // SAFETY: as above.
        unsafe {
            cpu.async_memory_copy_d2h(DeviceId(0), stream, HostPtr::from_ptr(back.as_mut_ptr()), a, size)
                .unwrap()
        };
        cpu.synchronize_stream(DeviceId(0), stream).unwrap();
        assert!(back[0] == 7 && back[1..] == second[1..], "{size}");
        for (device, ptr) in [(0, a), (0, b), (1, peer)] {
            cpu.device_memory_deallocate(DeviceId(device), ptr, size).unwrap();
        }
    }
}

#[test]
fn the_ends_of_a_large_copy_are_exact() {
    let cpu = cpu_with(64 * MIB);
    let size = 8 * MIB + 5;
    let ptr = cpu.device_memory_allocate(DeviceId(0), size + 2).unwrap();
    cpu.device_memory_set(DeviceId(0), ptr, 1, size + 2).unwrap();
    cpu.device_memory_set(DeviceId(0), ptr.checked_add(1).unwrap(), 2, size).unwrap();
    let bytes = download(&cpu, 0, ptr, size + 2);
    assert!(bytes[0] == 1 && bytes[size + 1] == 1 && bytes[1..=size].iter().all(|&byte| byte == 2));
}

#[test]
fn overlapping_copies() {
    let cpu = cpu_with(64 * MIB);
    for size in [1000, 9 * MIB] {
        let bytes = pattern(size, 3);
        let ptr = upload(&cpu, 0, &bytes);
        cpu.memory_copy_d2d(DeviceId(0), ptr.checked_add(100).unwrap(), ptr, size - 100).unwrap();
        assert!(download(&cpu, 0, ptr, size)[100..] == bytes[..size - 100]);
        cpu.memory_copy_d2d(DeviceId(0), ptr, ptr.checked_add(100).unwrap(), size - 100).unwrap();
        assert!(download(&cpu, 0, ptr, size - 100) == bytes[..size - 100]);
        cpu.device_memory_deallocate(DeviceId(0), ptr, size).unwrap();
    }
}

#[test]
fn unified_memory_is_for_the_host_and_all_devices() {
    let cpu = cpu();
    let ptr = cpu.unified_memory_allocate(DeviceId(0), 4).unwrap();
    assert_eq!(cpu.pointer_info(ptr.addr()).unwrap().space, Space::Unified);
    assert_eq!(cpu.device_memory_stats(DeviceId(0)).unwrap().used, 64);
    cpu.memory_copy_h2d(DeviceId(1), device_view(ptr), b"unit").unwrap();
    // SAFETY: four bytes that nobody else uses.
    let seen = unsafe { std::slice::from_raw_parts(ptr.addr() as *const u8, 4) };
    assert_eq!(seen, b"unit");
    let device = upload(&cpu, 1, b"....");
    // SAFETY: unified memory is host memory too, and stays allocated.
    unsafe {
        cpu.async_memory_copy_h2d(DeviceId(1), Stream::NULL, device, HostPtr::from_addr(ptr.addr()), 4)
            .unwrap()
    };
    assert_eq!(download(&cpu, 1, device, 4), b"unit");
    assert!(fails(cpu.device_memory_deallocate(DeviceId(0), device_view(ptr), 4), "memory is needed"));
    assert!(fails(cpu.unified_memory_deallocate(DeviceId(1), ptr, 4), "is memory of device"));
    cpu.unified_memory_deallocate(DeviceId(0), ptr, 4).unwrap();
    assert_eq!(cpu.device_memory_stats(DeviceId(0)).unwrap().used, 0);
}

#[test]
fn host_memory_is_pinned_or_says_that_it_is_not() {
    let cpu = cpu();
    let ptr = cpu.host_memory_allocate(DeviceId(1), 10_000).unwrap();
    assert_eq!(ptr.addr() % 4096, 0);
    // SAFETY: the memory is allocated and nobody else uses it.
    unsafe { ptr.as_ptr().write_bytes(3, 10_000) };
    let stats = cpu.host_memory_stats(DeviceId(1)).unwrap();
    assert_eq!((stats.used, stats.allocations), (3 * 4096, 1));
    let pinned = cpu.pointer_info(ptr.addr()).unwrap().pinned;
    assert_eq!(stats.pinned, if pinned { 3 * 4096 } else { 0 });
    assert_eq!(cpu.device_memory_stats(DeviceId(1)).unwrap().used, 0);
    assert!(fails(cpu.host_memory_deallocate(DeviceId(0), ptr, 10_000), "is memory of device"));
    assert!(fails(cpu.host_memory_deallocate(DeviceId(1), ptr, 1), "was allocated with"));
    cpu.host_memory_deallocate(DeviceId(1), ptr, 10_000).unwrap();
    let stats = cpu.host_memory_stats(DeviceId(1)).unwrap();
    assert_eq!((stats.used, stats.pinned), (0, 0));
}

#[test]
fn memory_freed_under_queued_work_is_not_handed_out_again() {
    let cpu = cpu_with(8 * MIB);
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let (a, b) = (upload(&cpu, 0, b"keep"), upload(&cpu, 0, b"...."));
    let gate = block(&cpu, 0, stream);
    cpu.async_memory_copy_d2d(DeviceId(0), stream, b, a, 4).unwrap();
    cpu.device_memory_deallocate(DeviceId(0), a, 4).unwrap();
    assert!(cpu.memory_copy_h2d(DeviceId(0), a, b"x").is_err(), "freed is freed");
    assert_eq!(
        cpu.device_memory_deallocate(DeviceId(0), a, 4),
        Err(Error::DoubleFree { ptr: a.addr() }.into())
    );
    let next = upload(&cpu, 0, b"over");
    assert_ne!(next, a);
    assert_eq!(cpu.device_memory_stats(DeviceId(0)).unwrap().used, 3 * 64);
    gate.open();
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    assert_eq!(download(&cpu, 0, b, 4), b"keep");
    assert_eq!(cpu.device_memory_stats(DeviceId(0)).unwrap().used, 2 * 64);
    assert_adds_up(&cpu);
}

#[test]
fn memory_freed_behind_a_kernel_stays_until_the_kernel_is_done() {
    let cpu = cpu_with(8 * MIB);
    let (stream, bystander) =
        (cpu.create_stream(DeviceId(0)).unwrap(), cpu.create_stream(DeviceId(1)).unwrap());
    let ptr = upload(&cpu, 0, b"....");
    let gate = block(&cpu, 0, stream);
    let blocked = block(&cpu, 1, bystander);
    cpu.launch_kernel(DeviceId(0), stream, "write", move || {
        // SAFETY: freed after the launch, so it is kept until the kernel is done.
        unsafe { (ptr.addr() as *mut u8).write_bytes(9, 4) };
        Ok(())
    })
    .unwrap();
    cpu.destroy_stream(DeviceId(0), stream).unwrap();
    cpu.device_memory_deallocate(DeviceId(0), ptr, 4).unwrap();
    let next = upload(&cpu, 0, b"mine");
    assert_ne!(next, ptr);
    gate.open();
    cpu.synchronize_device(DeviceId(0)).unwrap();
    assert_eq!(download(&cpu, 0, next, 4), b"mine");
    assert_eq!(
        cpu.device_memory_stats(DeviceId(0)).unwrap().used,
        64,
        "the other device's work does not hold it"
    );
    drop(blocked);
}

#[test]
fn an_allocation_waits_for_memory_that_work_holds_back() {
    let cpu = Cpu::with_config(Config { devices: 2, memory: 8 * MIB, threads: 1 });
    // The only thread is held up elsewhere, so that the work is done by the waiting allocation or
    // not at all.
    let (gate, arrived) = (Gate::default(), Gate::default());
    let (held, there) = (gate.clone(), arrived.clone());
    cpu.launch_kernel(DeviceId(1), Stream::NULL, "hold", move || {
        there.open();
        held.pass();
        Ok(())
    })
    .unwrap();
    arrived.pass();
    let all = cpu.device_memory_allocate(DeviceId(0), 8 * MIB).unwrap();
    cpu.launch_kernel(DeviceId(0), Stream::NULL, "use", || Ok(())).unwrap();
    cpu.device_memory_deallocate(DeviceId(0), all, 8 * MIB).unwrap();
    let kept = cpu.device_memory_stats(DeviceId(0)).unwrap().free;
    let again = cpu.device_memory_allocate(DeviceId(0), 8 * MIB);
    gate.open();
    assert_eq!((kept, again.is_ok()), (0, true));
}

#[test]
fn a_peer_copy_keeps_the_memory_of_an_idle_device() {
    let cpu = cpu_with(8 * MIB);
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let (far, near) = (upload(&cpu, 1, b"peer"), upload(&cpu, 0, b"...."));
    let gate = block(&cpu, 0, stream);
    cpu.async_memory_copy_p2p(DeviceId(0), DeviceId(1), stream, near, far, 4).unwrap();
    cpu.device_memory_deallocate(DeviceId(1), far, 4).unwrap();
    assert_ne!(upload(&cpu, 1, b"over"), far);
    assert_eq!(cpu.device_memory_stats(DeviceId(1)).unwrap().used, 2 * 64);
    gate.open();
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    assert_eq!(download(&cpu, 0, near, 4), b"peer");
    assert_eq!(cpu.device_memory_stats(DeviceId(1)).unwrap().used, 64);
}

#[test]
fn pinned_memory_freed_under_a_copy_is_kept() {
    let cpu = cpu();
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let (host, ptr) = (cpu.host_memory_allocate(DeviceId(0), 4).unwrap(), upload(&cpu, 0, b"...."));
    // SAFETY: four bytes that nobody else uses.
    unsafe { std::ptr::copy_nonoverlapping(b"host".as_ptr(), host.as_ptr().cast(), 4) };
    let gate = block(&cpu, 0, stream);
    // SAFETY: memory of the device is checked and kept.
    unsafe { cpu.async_memory_copy_h2d(DeviceId(0), stream, ptr, host, 4).unwrap() };
    cpu.host_memory_deallocate(DeviceId(0), host, 4).unwrap();
    assert_ne!(cpu.host_memory_allocate(DeviceId(0), 4).unwrap(), host);
    gate.open();
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    assert_eq!(download(&cpu, 0, ptr, 4), b"host");
}

#[test]
fn many_threads_allocate_copy_and_free() {
    let cpu = Arc::new(cpu_with(64 * MIB));
    let threads: Vec<_> = (0..8)
        .map(|seed: usize| {
            let cpu = cpu.clone();
            thread::spawn(move || {
                let device = i32::from(seed % 2 == 1);
                let stream = cpu.create_stream(DeviceId(device)).unwrap();
                for round in 0..300 {
                    let size = 1 + (seed * 7919 + round * 104_729) % 200_000;
                    let ptr = cpu.device_memory_allocate(DeviceId(device), size).unwrap();
                    cpu.async_memory_fill(DeviceId(device), stream, ptr, &[seed as u8], size).unwrap();
                    if round % 2 == 0 {
                        cpu.synchronize_stream(DeviceId(device), stream).unwrap();
                        assert!(download(&cpu, device, ptr, size).iter().all(|&b| b == seed as u8));
                    }
                    cpu.device_memory_deallocate(DeviceId(device), ptr, size).unwrap();
                    assert!(cpu.device_memory_deallocate(DeviceId(device), ptr, usize::MAX).is_err());
                }
                cpu.synchronize_stream(DeviceId(device), stream).unwrap();
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    for device in 0..2 {
        cpu.synchronize_device(DeviceId(device)).unwrap();
        let stats = cpu.device_memory_stats(DeviceId(device)).unwrap();
        assert_eq!((stats.used, stats.allocations), (0, 0));
    }
    assert_adds_up(&cpu);
}

#[test]
fn fill_that_is_split_repeats_its_pattern_throughout() {
    let cpu = cpu_with(64 * MIB);
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    for element in [&b"x"[..], b"ab", b"abcd", b"abcdefgh", b"0123456789abcdef"] {
        let count = (5 * MIB) / element.len() + 1;
        let size = count * element.len();
        let ptr = upload(&cpu, 0, &vec![b'.'; size + 4]);
        let start = ptr.checked_add(3).unwrap();
        cpu.async_memory_fill(DeviceId(0), stream, start, element, size).unwrap();
        cpu.synchronize_stream(DeviceId(0), stream).unwrap();
        let expected = [b"...", &element.repeat(count)[..], b"."].concat();
        assert!(download(&cpu, 0, ptr, size + 4) == expected, "{element:?}");
        cpu.device_memory_deallocate(DeviceId(0), ptr, size + 4).unwrap();
    }
}
