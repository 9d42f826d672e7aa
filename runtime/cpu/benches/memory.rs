//! The cost of allocations next to `malloc`, and of copies next to `memcpy`.
//!
//! `cargo bench -p tenon-cpu --bench memory`

mod common;

use common::{compare, head, size_name};
use std::hint::black_box;
use tenon::device::{Device, DeviceId};
use tenon_cpu::{Config, Cpu, tuning};

fn main() {
    let cpu = Cpu::with_config(Config { memory: 2 << 30, ..Config::default() });
    allocations(&cpu);
    copies(&cpu);
    split();
}

fn allocations(cpu: &Cpu) {
    for touched in [false, true] {
        let title = if touched { "allocate, write each page, free" } else { "allocate and free" };
        head(title, "device", "malloc");
        for bits in (6..=28).step_by(2) {
            let size = 1_usize << bits;
            compare(
                &size_name(size),
                1,
                || {
                    let ptr = cpu.device_memory_allocate(DeviceId(0), size).unwrap();
                    if touched {
                        // SAFETY: the memory is allocated.
                        unsafe { touch(ptr.addr() as *mut u8, size) };
                    }
                    cpu.device_memory_deallocate(DeviceId(0), ptr, size).unwrap();
                },
                || {
                    // SAFETY: the block is written within its bounds and freed once.
                    unsafe {
                        let ptr = libc::malloc(size);
                        if touched {
                            touch(ptr.cast(), size);
                        }
                        libc::free(black_box(ptr));
                    }
                },
            );
        }
    }
}

/// # Safety
/// The memory must be allocated.
unsafe fn touch(ptr: *mut u8, size: usize) {
    for at in (0..size).step_by(4096) {
        // SAFETY: `at` is less than the size.
        unsafe { ptr.add(at).write_volatile(1) };
    }
}

fn copies(cpu: &Cpu) {
    head("copy within a device, and what one core does", "d2d", "memcpy");
    for bits in (12..=28).step_by(2) {
        let size = 1_usize << bits;
        let dst = cpu.device_memory_allocate(DeviceId(0), size).unwrap();
        let src = cpu.device_memory_allocate(DeviceId(0), size).unwrap();
        let (mut to, from) = (vec![1_u8; size], vec![1_u8; size]);
        cpu.device_memory_set(DeviceId(0), src, 1, size).unwrap();
        let (ours, theirs) = compare(
            &size_name(size),
            1,
            || cpu.memory_copy_d2d(DeviceId(0), dst, src, size).unwrap(),
            || black_box(&mut to).copy_from_slice(black_box(&from)),
        );
        println!("{:<44} {:>9.1} GB/s {:>9.1} GB/s", "", size as f64 / ours, size as f64 / theirs);
        cpu.device_memory_deallocate(DeviceId(0), dst, size).unwrap();
        cpu.device_memory_deallocate(DeviceId(0), src, size).unwrap();
    }
}

/// Measures from which size a second core is faster; `SPLIT_BYTES` was chosen by this.
fn split() {
    let pool = tuning::Pool::start();
    for fill in [false, true] {
        head(if fill { "fill, shared out or not" } else { "copy, shared out or not" }, "shared", "alone");
        for bits in 17..=27 {
            let size = 1_usize << bits;
            let (mut to, from) = (vec![1_u8; size], vec![2_u8; size]);
            let mut other = to.clone();
            let name = size_name(size);
            if fill {
                compare(&name, 1, || pool.fill(&mut to, true), || pool.fill(&mut other, false));
            } else {
                compare(&name, 1, || pool.copy(&mut to, &from, true), || pool.copy(&mut other, &from, false));
            }
        }
    }
}
