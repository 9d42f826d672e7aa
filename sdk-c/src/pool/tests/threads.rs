//! Tests of one pool used by several threads.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use tenon::DevicePtr;
use tenon::device::{Device, Stream};
use tenon_cpu::{Config, Cpu};

use super::mock::Mock;
use super::{ID, MIB, pool};
use crate::pool::{Pool, PoolError};

/// Writes a mark to both ends of a block.
fn mark(at: DevicePtr, size: usize, mark: u8) {
    for offset in [0, size - 1] {
        // SAFETY: the CPU device's memory is host memory, and this thread owns the block.
        unsafe { at.as_ptr().cast::<u8>().add(offset).write_volatile(mark) };
    }
}

fn has_mark(at: DevicePtr, size: usize, mark: u8) -> bool {
    // SAFETY: as above.
    unsafe {
        [0, size - 1].iter().all(|&offset| at.as_ptr().cast::<u8>().add(offset).read_volatile() == mark)
    }
}

#[test]
fn allocate_never_returns_a_block_twice() {
    const THREADS: usize = 8;
    const SIZES: [usize; 6] = [1, 64, 1000, 20_000, 300_000, 2 * MIB];
    let cpu = Arc::new(Cpu::with_config(Config { devices: 1, memory: 512 * MIB, threads: 1 }));
    let pool = Pool::new(cpu.clone(), ID).unwrap();
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..THREADS).map(|_| sync_channel::<(DevicePtr, usize, u8)>(20)).unzip();
    thread::scope(|scope| {
        for (index, receiver) in receivers.into_iter().enumerate() {
            let (pool, cpu) = (&pool, &cpu);
            let next = senders[(index + 1) % THREADS].clone();
            scope.spawn(move || {
                let streams = [0; 2].map(|_| Device::create_stream(&**cpu, ID).unwrap());
                let mut held = Vec::new();
                let mut random = index as u64 + 1;
                for round in 0..4000 {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let pick = (random >> 33) as usize;
                    let (size, stream) = (SIZES[pick % SIZES.len()], streams[pick / 7 % 2]);
                    let at = pool.allocate(size, stream).unwrap();
                    mark(at, size, index as u8);
                    held.push((at, size, index as u8));
                    if held.len() > 20 {
                        let block = held.swap_remove(pick / 11 % held.len());
                        assert!(
                            has_mark(block.0, block.1, block.2),
                            "another thread has written to {:?}",
                            block.0
                        );
                        // Some blocks are freed by the thread that allocated them, some by the next one.
                        if !(pick / 17).is_multiple_of(3) || next.try_send(block).is_err() {
                            pool.free(block.0, stream).unwrap();
                        }
                    }
                    for (at, size, of) in receiver.try_iter() {
                        assert!(has_mark(at, size, of), "another thread has written to {at:?}");
                        pool.free(at, streams[0]).unwrap();
                    }
                    if round % 1000 == 999 {
                        pool.trim(MIB).unwrap();
                        let statistics = pool.statistics();
                        assert!(statistics.from_device <= 512 * MIB);
                    }
                }
                drop(next);
                for (at, size, of) in held.into_iter().chain(receiver.try_iter()) {
                    assert!(has_mark(at, size, of), "another thread has written to {at:?}");
                    pool.free(at, streams[0]).unwrap();
                }
                for stream in streams {
                    pool.retire(stream);
                    Device::destroy_stream(&**cpu, ID, stream).unwrap();
                }
                receiver
            });
        }
        drop(senders);
    });
    let statistics = pool.statistics();
    assert_eq!(statistics.hits + statistics.misses, THREADS as u64 * 4000);
    drop(pool);
    let stats = Device::device_memory_stats(&*cpu, ID).unwrap();
    assert_eq!(stats.free_memory, stats.total_memory);
}

#[test]
fn free_on_two_threads_succeeds_once() {
    const ROUNDS: usize = 10_000;
    let mock = Arc::new(Mock::default());
    let pool = pool(&mock);
    let block = pool.allocate(2 * MIB, Stream::NULL).unwrap();
    let [round, done, freed] = [const { AtomicUsize::new(0) }; 3];
    let wait = |figure: &AtomicUsize, least: usize| {
        for spins in 1_usize.. {
            match figure.load(Ordering::Acquire) >= least {
                true => return,
                false if spins % 64 == 0 => thread::yield_now(),
                false => spin_loop(),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for this in 1..=ROUNDS {
                    wait(&round, this);
                    freed.fetch_add(usize::from(pool.free(block, Stream::NULL).is_ok()), Ordering::Relaxed);
                    done.fetch_add(1, Ordering::Release);
                }
            });
        }
        for this in 1..=ROUNDS {
            round.store(this, Ordering::Release);
            wait(&done, 2 * this);
            if freed.load(Ordering::Relaxed) != this {
                // Lets the threads end.
                round.store(ROUNDS, Ordering::Release);
                panic!("the block was freed twice in round {this}");
            }
            assert_eq!(pool.allocate(2 * MIB, Stream::NULL), Ok(block));
        }
    });
}

#[test]
fn free_races_with_trim() {
    let mock = Arc::new(Mock::default());
    let pool = pool(&mock);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..2000 {
                    let block = pool.allocate(2 * MIB, Stream::NULL).unwrap();
                    // At the second free, the block is free, in use by the other thread, or freed with its slab.
                    for _ in 0..2 {
                        let freed = pool.free(block, Stream::NULL);
                        let expected = [
                            Ok(()),
                            Err(PoolError::Free { ptr: block }),
                            Err(PoolError::Unknown { ptr: block }),
                        ];
                        assert!(expected.contains(&freed), "{freed:?}");
                    }
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..2000 {
                pool.trim(0).unwrap();
            }
        });
    });
}

#[test]
fn allocate_takes_from_other_thread_caches_before_the_device() {
    let mock = Arc::new(Mock::default());
    let pool = pool(&mock);
    let block = pool.allocate(MIB, Stream::NULL).unwrap();
    pool.free(block, Stream::NULL).unwrap();
    let elsewhere = thread::scope(|scope| scope.spawn(|| pool.allocate(MIB, Stream::NULL)).join().unwrap());
    assert_eq!(elsewhere, Ok(block));
    assert_eq!(pool.statistics().misses, 1);
}
