//! Tests when streams may reuse freed blocks: on the CPU device with blocked streams, and on the mock device.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use tenon::support::Mutex;

use tenon::DevicePtr;
use tenon::device::{CaptureMode, Device, Stream};
use tenon_cpu::{Config, Cpu};

use super::mock::Mock;
use super::{ID, MIB, pool};
use crate::pool::Pool;

fn cpu() -> (Arc<Cpu>, Pool) {
    let cpu = Arc::new(Cpu::with_config(Config { devices: 1, memory: 256 * MIB, threads: 2 }));
    let pool = Pool::new(cpu.clone(), ID).unwrap();
    (cpu, pool)
}

/// Blocks a stream until the sender is used or dropped.
fn hold(cpu: &Cpu, stream: Stream) -> Sender<()> {
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let body = move || {
        // Using and dropping the sender both unblock the stream.
        let _ = gate.lock().recv();
        Ok(())
    };
    cpu.launch_callback(ID, stream, body).unwrap();
    open
}

#[test]
fn reuse_on_another_stream_waits_for_the_free() {
    for size in [100, 70_000, MIB, 3 * MIB] {
        let mock = Arc::new(Mock::default());
        let pool = pool(&mock);
        let [a, b] = [7, 8].map(Stream::from_addr);
        let block = pool.allocate(size, a).unwrap();
        mock.work(a);
        pool.free(block, a).unwrap();
        let meanwhile: Vec<DevicePtr> = (0..8).map(|_| pool.allocate(size, b).unwrap()).collect();
        assert!(!meanwhile.contains(&block), "{size}: stream a still uses the block");
        assert_eq!(pool.allocate(size, a), Ok(block), "{size}: stream a may reuse its own block at once");
        pool.free(block, a).unwrap();
        mock.run(a);
        let before = pool.statistics();
        // Fresh blocks of the same slab may come first.
        let found = (0..2000).any(|_| pool.allocate(size, b).unwrap() == block);
        assert!(found, "{size}: stream a has passed the free, but b does not get the block");
        assert_eq!(pool.statistics().misses, before.misses, "{size}: no memory was allocated");
    }
}

#[test]
fn reuse_on_another_stream_waits_for_the_free_on_cpu() {
    let (cpu, pool) = cpu();
    for size in [100, 3 * MIB] {
        let [a, b] = [0; 2].map(|_| Device::create_stream(&*cpu, ID).unwrap());
        let block = pool.allocate(size, a).unwrap();
        let gate = hold(&cpu, a);
        pool.free(block, a).unwrap();
        let meanwhile: Vec<DevicePtr> = (0..8).map(|_| pool.allocate(size, b).unwrap()).collect();
        assert!(!meanwhile.contains(&block), "{size}: stream a still uses the block");
        gate.send(()).unwrap();
        // The pool records its event when b allocates, and a worker thread completes it. Each allocation waits for
        // the worker, so that the next one finds the event complete.
        let found = (0..2000).any(|_| {
            let given = pool.allocate(size, b).unwrap();
            Device::synchronize_stream(&*cpu, ID, a).unwrap();
            given == block
        });
        assert!(found, "{size}: stream a has passed the free, but b does not get the block");
    }
}

#[test]
fn free_on_the_default_stream_has_an_epoch() {
    let (cpu, pool) = cpu();
    let other = Device::create_stream(&*cpu, ID).unwrap();
    let block = pool.allocate(3 * MIB, Stream::NULL).unwrap();
    let gate = hold(&cpu, Stream::NULL);
    pool.free(block, Stream::NULL).unwrap();
    assert_ne!(pool.allocate(3 * MIB, other), Ok(block));
    drop(gate);
    Device::synchronize_stream(&*cpu, ID, Stream::NULL).unwrap();
    assert_eq!(pool.allocate(3 * MIB, other), Ok(block));
}

#[test]
fn callback_may_allocate_and_free() {
    let (cpu, pool) = cpu();
    let pool = Arc::new(pool);
    let stream = Device::create_stream(&*cpu, ID).unwrap();
    let inside = pool.clone();
    let body = move || {
        let block = inside.allocate(3 * MIB, stream).map_err(|error| error.to_string())?;
        inside.free(block, stream).map_err(|error| error.to_string())
    };
    cpu.launch_callback(ID, stream, body).unwrap();
    Device::synchronize_stream(&*cpu, ID, stream).unwrap();
    assert_eq!(pool.statistics().misses, 1);
}

#[test]
fn retired_handle_reused_is_a_new_stream() {
    for size in [64, 3 * MIB] {
        let mock = Arc::new(Mock::default());
        let pool = pool(&mock);
        let stream = Stream::from_addr(7);
        let block = pool.allocate(size, stream).unwrap();
        mock.work(stream);
        pool.free(block, stream).unwrap();
        pool.retire(stream);
        assert_ne!(pool.allocate(size, stream), Ok(block), "the work of the old stream is not complete");
        mock.run(stream);
        let found = (0..2000).any(|_| pool.allocate(size, stream) == Ok(block));
        assert!(found, "the work of the old stream is complete");
    }
}

#[test]
fn retire_stream_without_events_waits() {
    let mock = Arc::new(Mock::default());
    let pool = pool(&mock);
    let stream = Stream::from_addr(7);
    let block = pool.allocate(3 * MIB, stream).unwrap();
    mock.work(stream);
    pool.free(block, stream).unwrap();
    mock.fail_in(1);
    pool.retire(stream);
    assert_eq!(mock.progress(stream), (1, 1));
    assert_eq!(pool.allocate(3 * MIB, Stream::NULL), Ok(block));
}

#[test]
fn single_stream_creates_no_events() {
    let mock = Arc::new(Mock::default());
    let pool = pool(&mock);
    for round in 0..1000 {
        let block = pool.allocate(round * 5000, Stream::from_addr(7)).unwrap();
        pool.free(block, Stream::from_addr(7)).unwrap();
    }
    assert_eq!(mock.events(), 0);
}

#[test]
fn retired_streams_do_not_accumulate() {
    for trim in [false, true] {
        let mock = Arc::new(Mock::default());
        let pool = pool(&mock);
        for handle in 1..1000 {
            let stream = Stream::from_addr(handle);
            let block = pool.allocate(3 * MIB, stream).unwrap();
            mock.work(stream);
            pool.free(block, stream).unwrap();
            pool.retire(stream);
            mock.run(stream);
            if trim {
                pool.trim(0).unwrap();
            }
        }
        assert!(
            mock.events() <= 4 && mock.bytes() <= 2 * 3 * MIB,
            "{} events, {} bytes",
            mock.events(),
            mock.bytes()
        );
        assert!(
            pool.central().epochs.count() <= 4,
            "{} streams have an entry",
            pool.central().epochs.count()
        );
    }
}

#[test]
fn captured_stream_records_no_event_until_the_capture_ends() {
    let (cpu, pool) = cpu();
    let [a, b] = [0; 2].map(|_| Device::create_stream(&*cpu, ID).unwrap());
    let block = pool.allocate(3 * MIB, a).unwrap();
    cpu.cuda_stream_begin_capture(ID, a, CaptureMode::RELAXED).unwrap();
    pool.free(block, a).unwrap();
    assert_ne!(pool.allocate(3 * MIB, b), Ok(block), "stream a has not run");
    let graph = cpu.cuda_stream_end_capture(ID, a).unwrap();
    let mut nodes = 0;
    cpu.cuda_graph_get_nodes(graph, None, &mut nodes).unwrap();
    assert_eq!(nodes, 0, "the graph contains only the user's work");
    Device::synchronize_stream(&*cpu, ID, a).unwrap();
    let found = (0..8).any(|_| pool.allocate(3 * MIB, b) == Ok(block));
    assert!(found, "stream a has passed the free, but b does not get the block");
}

#[test]
fn failed_query_replaces_the_event() {
    let mock = Arc::new(Mock::default());
    let pool = pool(&mock);
    let [a, b] = [7, 8].map(Stream::from_addr);
    let block = pool.allocate(3 * MIB, a).unwrap();
    mock.work(a);
    pool.free(block, a).unwrap();
    pool.allocate(3 * MIB, b).unwrap();
    assert_eq!(mock.events(), 1);
    mock.run(a);
    // The first device call of the next allocation.
    mock.fail_in(1);
    assert_ne!(pool.allocate(3 * MIB, b), Ok(block));
    assert_eq!(mock.events(), 0);
    assert_eq!(pool.allocate(3 * MIB, b), Ok(block));
}
