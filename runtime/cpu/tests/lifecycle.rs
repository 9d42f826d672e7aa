//! Start, shutdown, start again; the current device; tracing.
#![cfg(not(loom))]

mod common;

use common::{Log, block, cpu, cpu_with, download, fails, upload};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tenon::DevicePtr;
use tenon::device::{self, CaptureMode, Device, DeviceId, Stream};
use tenon_cpu::{Activity, Config, CopyKind, Cpu, Error, INLINE_BYTES, Trace};

fn threads_of_this_process() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

#[test]
fn it_starts_by_itself_and_may_live_in_a_static() {
    static CPU: Cpu = Cpu::with_config(Config { devices: 3, memory: 1 << 20, threads: 1 });
    assert_eq!(CPU.device_count(), Ok(3));
    CPU.initialize().unwrap();
    assert_eq!(CPU.config().unwrap().memory, 1 << 20);
    CPU.shutdown().unwrap();
    assert_eq!(CPU.device_count(), Err(Error::ShutDown));
}

#[test]
fn threads_share_work_and_each_part_is_done_once() {
    for threads in [1, 2, 5] {
        let cpu = Cpu::with_config(Config { devices: 1, memory: 1 << 20, threads });
        let done: Vec<AtomicUsize> = (0..20).map(|_| AtomicUsize::new(0)).collect();
        let workers = Mutex::new(HashSet::new());
        let work = |part: usize| {
            done[part].fetch_add(1, Ordering::Relaxed);
            workers.lock().unwrap().insert(thread::current().id());
            thread::sleep(Duration::from_millis(1));
        };
        let mut rounds = 0;
        // At first, the threads of the device are still starting, and do not help.
        while rounds == 0 || workers.lock().unwrap().len() < threads.min(2) {
            cpu.share(done.len(), &work);
            rounds += 1;
            assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == rounds));
            assert!(rounds < 1000, "no thread helps");
        }
        assert!(workers.lock().unwrap().len() <= threads);
        cpu.share(0, &work);
        cpu.shutdown().unwrap();
        cpu.share(done.len(), &work);
        assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == rounds + 1));
    }
}

#[test]
fn nothing_is_started_to_be_shut_down() {
    let cpu = Cpu::new();
    cpu.shutdown().unwrap();
    assert!(cpu.device_count().unwrap() >= 1);
}

#[test]
fn shutdown_finishes_work_and_everything_is_gone() {
    let (cpu, log) = (cpu(), Log::default());
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let destroyed = cpu.create_stream(DeviceId(1)).unwrap();
    let event = cpu.create_event(DeviceId(0)).unwrap();
    let ptr = upload(&cpu, 0, b"data");
    let captured = cpu.create_stream(DeviceId(0)).unwrap();
    cpu.cuda_stream_begin_capture(DeviceId(0), captured, CaptureMode::GLOBAL).unwrap();
    for value in 0..100 {
        cpu.launch_kernel(DeviceId(0), stream, "k", log.writer(value)).unwrap();
    }
    cpu.launch_callback(DeviceId(1), destroyed, log.writer(100)).unwrap();
    cpu.destroy_stream(DeviceId(1), destroyed).unwrap();
    cpu.shutdown().unwrap();
    assert_eq!(log.read().len(), 101);
    cpu.shutdown().unwrap();
    assert_eq!(cpu.synchronize_stream(DeviceId(0), stream), Err(Error::ShutDown.into()));
    assert_eq!(cpu.device_memory_allocate(DeviceId(0), 1), Err(Error::ShutDown));
    assert_eq!(cpu.memory_copy_h2d(DeviceId(0), ptr, b"x"), Err(Error::ShutDown.into()));

    cpu.initialize().unwrap();
    assert!(fails(cpu.synchronize_stream(DeviceId(0), stream), "is not a live"));
    assert!(fails(cpu.query_event(DeviceId(0), event), "is not a live"));
    assert!(fails(cpu.device_memory_deallocate(DeviceId(0), ptr, 4), "lies in no live allocation"));
    let stats = cpu.device_memory_stats(DeviceId(0)).unwrap();
    assert_eq!((stats.used, stats.allocations), (0, 0));
    let again = cpu.create_stream(DeviceId(0)).unwrap();
    assert_ne!(again, stream);
    let ptr = upload(&cpu, 0, b"more");
    cpu.async_memory_fill(DeviceId(0), again, ptr, b"M", 1).unwrap();
    cpu.launch_kernel(DeviceId(0), again, "k", log.writer(0)).unwrap();
    cpu.synchronize_stream(DeviceId(0), again).unwrap();
    assert_eq!(download(&cpu, 0, ptr, 4), b"More");
}

#[test]
fn shutdown_joins_every_thread() {
    // Other tests run beside this one, so count in a separate process.
    const VARIABLE: &str = "TENON_CPU_TEST_COUNT_THREADS";
    if std::env::var_os(VARIABLE).is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["shutdown_joins_every_thread", "--exact", "--test-threads=1"])
            .env(VARIABLE, "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let before = threads_of_this_process();
    let cpu = Cpu::with_config(Config { devices: 1, memory: 1 << 20, threads: 5 });
    for _ in 0..3 {
        cpu.initialize().unwrap();
        cpu.launch_kernel(DeviceId(0), Stream::NULL, "k", || Ok(())).unwrap();
        if before > 0 {
            assert_eq!(threads_of_this_process(), before + 6);
        }
        cpu.shutdown().unwrap();
        assert_eq!(threads_of_this_process(), before);
    }
}

#[test]
fn shutdown_while_others_are_at_work() {
    for _ in 0..20 {
        let cpu = Arc::new(cpu_with(1 << 20));
        cpu.initialize().unwrap();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let cpu = cpu.clone();
                thread::spawn(move || -> device::Error {
                    let busy = || -> device::Result<()> {
                        loop {
                            let stream = cpu.create_stream(DeviceId(0))?;
                            let event = cpu.create_event(DeviceId(0))?;
                            let ptr = cpu.device_memory_allocate(DeviceId(0), 1000)?;
                            cpu.launch_kernel(DeviceId(0), stream, "k", || Ok(()))?;
                            cpu.record_event(DeviceId(0), stream, event)?;
                            cpu.stream_wait_event(DeviceId(0), Stream::NULL, event)?;
                            cpu.launch_callback(DeviceId(0), stream, || Ok(()))?;
                            cpu.async_memory_fill(DeviceId(0), stream, ptr, &[1], 1000)?;
                            cpu.device_memory_deallocate(DeviceId(0), ptr, 1000)?;
                            cpu.synchronize_stream(DeviceId(0), stream)?;
                            cpu.destroy_stream(DeviceId(0), stream)?;
                        }
                    };
                    busy().unwrap_err()
                })
            })
            .collect();
        thread::yield_now();
        cpu.shutdown().unwrap();
        for thread in threads {
            let error = thread.join().unwrap();
            let expected =
                ["is shut down", "is not a live", "lies in no live allocation", "is already freed"];
            assert!(expected.iter().any(|text| error.message.contains(text)), "{error}");
        }
        cpu.initialize().unwrap();
        cpu.synchronize_device(DeviceId(0)).unwrap();
    }
}

#[test]
fn many_threads_may_be_the_first() {
    let cpu = Arc::new(cpu());
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let cpu = cpu.clone();
            thread::spawn(move || cpu.create_stream(DeviceId(0)).unwrap())
        })
        .collect();
    let handles: HashSet<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(handles.len(), 8);
}

#[test]
fn the_last_owner_may_be_a_callback() {
    let cpu = Arc::new(cpu());
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let gate = block(&cpu, 0, stream);
    let mut last = Some(cpu.clone());
    let log = Log::default();
    let done = log.clone();
    cpu.launch_callback(DeviceId(0), stream, move || {
        drop(last.take());
        done.push(1);
        Ok(())
    })
    .unwrap();
    drop(cpu);
    gate.open();
    while log.read().is_empty() {
        thread::yield_now();
    }
}

#[test]
fn the_current_device_is_per_thread() {
    let cpu = Arc::new(cpu());
    assert_eq!(cpu.get_device(), Ok(DeviceId(0)));
    cpu.set_device(DeviceId(1)).unwrap();
    assert_eq!(
        cpu.set_device(DeviceId(2)),
        Err(Error::UnknownDevice { device: DeviceId(2), count: 2 }.into())
    );
    assert_eq!(cpu.get_device(), Ok(DeviceId(1)));
    let other = cpu.clone();
    assert_eq!(thread::spawn(move || other.get_device()).join().unwrap(), Ok(DeviceId(0)));
    let single = Cpu::with_config(Config { devices: 1, memory: 1 << 20, threads: 1 });
    assert_eq!(single.get_device(), Ok(DeviceId(0)));
}

#[test]
fn chunk_sizes() {
    let cpu = cpu_with(1 << 20);
    assert_eq!(cpu.device_min_chunk_size(DeviceId(0)), Ok(64));
    assert_eq!(cpu.device_max_alloc_size(DeviceId(1)), Ok(1 << 20));
    cpu.device_memory_allocate(DeviceId(1), 4096).unwrap();
    assert!(cpu.device_min_chunk_size(DeviceId(2)).is_err());
    // A host takes a chunk for its first request: most of the memory stays free for requests that are larger.
    assert_eq!(cpu.device_max_chunk_size(DeviceId(1)), Ok((1 << 20) / 16));
    let most = (1 << 20) - 4096;
    assert!(cpu.device_memory_allocate(DeviceId(1), most + 1).is_err());
    assert!(cpu.device_memory_allocate(DeviceId(1), most - 4096).is_ok());
    assert_eq!(cpu.device_max_chunk_size(DeviceId(1)), Ok(4096));
    let large = Cpu::with_config(Config { devices: 1, memory: 8 << 30, threads: 1 });
    assert_eq!(large.device_max_chunk_size(DeviceId(0)), Ok(64 << 20));
}

#[test]
fn traces_tell_what_ran() {
    let cpu = cpu();
    let stream = cpu.create_stream(DeviceId(1)).unwrap();
    let size = INLINE_BYTES + 1;
    let ptr = cpu.device_memory_allocate(DeviceId(1), size).unwrap();
    cpu.launch_kernel(DeviceId(1), stream, "unseen", || Ok(())).unwrap();
    cpu.synchronize_stream(DeviceId(1), stream).unwrap();
    cpu.profiler_start().unwrap();
    let start = cpu.now_ns().unwrap();
    cpu.async_memory_fill(DeviceId(1), stream, ptr, &[0], 8).unwrap();
    cpu.launch_kernel(DeviceId(1), stream, "seen", || Ok(())).unwrap();
    cpu.async_memory_fill(DeviceId(1), stream, ptr, &[0], size).unwrap();
    cpu.launch_callback(DeviceId(1), stream, || Ok(())).unwrap();
    cpu.synchronize_stream(DeviceId(1), stream).unwrap();
    cpu.memory_copy_h2d(DeviceId(1), ptr, b"x").unwrap();
    cpu.profiler_stop().unwrap();
    cpu.device_memory_set(DeviceId(1), ptr, 0, 8).unwrap();
    let trace = cpu.profiler_drain().unwrap();
    let seen: Vec<_> = trace.records.iter().map(|r| (r.activity, r.name, r.stream)).collect();
    assert_eq!(
        seen,
        [
            (Activity::Fill, "fill", stream.addr()),
            (Activity::Kernel, "seen", stream.addr()),
            (Activity::Fill, "fill", stream.addr()),
            (Activity::Callback, "callback", stream.addr()),
            (Activity::Copy(CopyKind::HostToDevice), "copy h2d", 0),
        ]
    );
    let mut last = start;
    for record in &trace.records {
        assert!(record.device == DeviceId(1) && record.start_ns >= last && record.end_ns >= record.start_ns);
        last = record.end_ns;
    }
    assert_eq!((trace.dropped, cpu.profiler_drain()), (0, Ok(Trace::default())));
}

#[test]
fn calls_are_recorded_while_tracing_is_on() {
    let cpu = cpu();
    assert_eq!(cpu.profiler_time(), None);
    cpu.profiler_start().unwrap();
    let begun = cpu.profiler_time().unwrap();
    cpu.profiler_add(Activity::Call, "add", DeviceId(1), Stream::NULL, begun);
    let records = cpu.profiler_drain().unwrap().records;
    let found: Vec<_> =
        records.iter().map(|record| (record.activity, record.name, record.start_ns)).collect();
    assert_eq!(found, [(Activity::Call, "add", begun)]);
    assert!(records[0].end_ns >= begun);
}

#[test]
fn made_up_pointers_name_nothing() {
    let cpu = cpu();
    let ptr = upload(&cpu, 0, &[0; 64]);
    for bad in [0, 1, usize::MAX, ptr.addr() - 1, ptr.addr() + 65, 0xdead_beef] {
        assert!(cpu.pointer_info(bad).is_err(), "{bad:#x}");
        assert!(cpu.device_memory_set(DeviceId(0), DevicePtr::from_addr(bad), 0, 1).is_err(), "{bad:#x}");
    }
}

#[test]
fn shutdown_returns_a_failure_that_nobody_read() {
    let broken = || Err("it broke".to_owned());
    let unread = cpu();
    unread.launch_kernel(DeviceId(1), Stream::NULL, "k", broken).unwrap();
    assert!(fails(unread.finalize(), "it broke"));
    assert_eq!(unread.finalize(), Ok(()), "the device is shut down");
    unread.initialize().unwrap();
    assert_eq!(unread.synchronize_device(DeviceId(1)), Ok(()), "the failure was returned");

    let of_destroyed = cpu();
    let stream = of_destroyed.create_stream(DeviceId(0)).unwrap();
    of_destroyed.launch_kernel(DeviceId(0), stream, "k", broken).unwrap();
    of_destroyed.destroy_stream(DeviceId(0), stream).unwrap();
    assert!(fails(of_destroyed.finalize(), "it broke"));

    let read = cpu();
    read.launch_kernel(DeviceId(0), Stream::NULL, "k", broken).unwrap();
    assert!(fails(read.synchronize_stream(DeviceId(0), Stream::NULL), "it broke"));
    assert_eq!(read.finalize(), Ok(()));
}
