//! The order of streams, events and callbacks.
#![cfg(not(loom))]

mod common;

use common::{Gate, Log, begin_capture, block, cpu, download, fails, upload};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use tenon::device::{Device, DeviceId, Stream};
use tenon_cpu::{Config, Cpu, Error};

#[test]
fn a_stream_keeps_its_order() {
    let (cpu, log) = (cpu(), Log::default());
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    for value in 0..1000 {
        if value % 3 == 0 {
            cpu.launch_callback(DeviceId(0), stream, log.writer(value)).unwrap();
        } else {
            cpu.launch_kernel(DeviceId(0), stream, "log", log.writer(value)).unwrap();
        }
    }
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    assert_eq!(log.read(), (0..1000).collect::<Vec<_>>());
}

#[test]
fn a_short_copy_does_not_overtake_queued_work() {
    let cpu = cpu();
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let (a, b) = (upload(&cpu, 0, b"first"), upload(&cpu, 0, b"....."));
    let gate = block(&cpu, 0, stream);
    cpu.async_memory_copy_d2d(DeviceId(0), stream, b, a, 5).unwrap();
    cpu.async_memory_fill(DeviceId(0), stream, b, b"x", 1).unwrap();
    assert_eq!(download(&cpu, 0, b, 5), b".....");
    assert!(!cpu.query_stream(DeviceId(0), stream).unwrap());
    gate.open();
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    assert_eq!(download(&cpu, 0, b, 5), b"xirst");
    assert!(cpu.query_stream(DeviceId(0), stream).unwrap());
}

#[test]
fn only_streams_without_work_and_failures_are_idle() {
    let cpu = cpu();
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    assert!(cpu.is_idle(DeviceId(0), stream) && cpu.is_idle(DeviceId(0), Stream::NULL));
    assert!(!cpu.is_idle(DeviceId(1), stream), "the stream belongs to device 0");
    let gate = block(&cpu, 0, stream);
    assert!(!cpu.is_idle(DeviceId(0), stream));
    cpu.launch_kernel(DeviceId(0), stream, "broken", || Err("it broke".into())).unwrap();
    gate.open();
    while !cpu.query_stream(DeviceId(0), stream).unwrap() {
        std::thread::yield_now();
    }
    assert!(!cpu.is_idle(DeviceId(0), stream), "the failure is not reported yet");
    assert!(fails(cpu.synchronize_stream(DeviceId(0), stream), "it broke"));
    assert!(cpu.is_idle(DeviceId(0), stream));
    assert!(!cpu.is_idle(DeviceId(0), begin_capture(&cpu)));
    cpu.destroy_stream(DeviceId(0), stream).unwrap();
    assert!(!cpu.is_idle(DeviceId(0), stream));
}

#[test]
fn a_failure_reaches_the_streams_that_wait_for_it() {
    for waits_first in [true, false] {
        let cpu = cpu();
        let (a, b) = (cpu.create_stream(DeviceId(0)).unwrap(), cpu.create_stream(DeviceId(0)).unwrap());
        let event = cpu.create_event(DeviceId(0)).unwrap();
        let gate = block(&cpu, 0, a);
        cpu.launch_kernel(DeviceId(0), a, "broken", || Err("it broke".into())).unwrap();
        cpu.record_event(DeviceId(0), a, event).unwrap();
        if !waits_first {
            gate.open();
            while !cpu.query_event(DeviceId(0), event).unwrap() {
                thread::yield_now();
            }
        }
        cpu.stream_wait_event(DeviceId(0), b, event).unwrap();
        gate.open();
        assert!(fails(cpu.synchronize_stream(DeviceId(0), b), "it broke"), "{waits_first}");
        assert!(cpu.synchronize_stream(DeviceId(0), b).is_ok(), "a failure is reported once");
        assert!(fails(cpu.synchronize_stream(DeviceId(0), a), "it broke"), "the stream itself has it too");
        cpu.record_event(DeviceId(0), a, event).unwrap();
        cpu.stream_wait_event(DeviceId(0), b, event).unwrap();
        assert!(cpu.synchronize_stream(DeviceId(0), b).is_ok(), "what was read is not handed on");
    }
}

#[test]
fn a_wait_holds_until_the_record() {
    let (cpu, log) = (cpu(), Log::default());
    let (a, b) = (cpu.create_stream(DeviceId(0)).unwrap(), cpu.create_stream(DeviceId(0)).unwrap());
    let event = cpu.create_event(DeviceId(0)).unwrap();
    let gate = block(&cpu, 0, a);
    cpu.launch_kernel(DeviceId(0), a, "a", log.writer(1)).unwrap();
    cpu.record_event(DeviceId(0), a, event).unwrap();
    cpu.launch_kernel(DeviceId(0), b, "b before", log.writer(0)).unwrap();
    cpu.synchronize_stream(DeviceId(0), b).unwrap();
    cpu.stream_wait_event(DeviceId(0), b, event).unwrap();
    cpu.launch_kernel(DeviceId(0), b, "b after", log.writer(2)).unwrap();
    assert!(!cpu.query_event(DeviceId(0), event).unwrap());
    assert!(!cpu.query_stream(DeviceId(0), b).unwrap());
    assert_eq!(log.read(), [0]);
    gate.open();
    cpu.synchronize_stream(DeviceId(0), b).unwrap();
    assert_eq!(log.read(), [0, 1, 2]);
    assert!(cpu.query_event(DeviceId(0), event).unwrap());
}

#[test]
fn a_wait_before_any_record_does_not_hold() {
    let (cpu, log) = (cpu(), Log::default());
    let (a, b) = (cpu.create_stream(DeviceId(0)).unwrap(), cpu.create_stream(DeviceId(0)).unwrap());
    let event = cpu.create_event(DeviceId(0)).unwrap();
    assert!(cpu.query_event(DeviceId(0), event).unwrap());
    cpu.synchronize_event(DeviceId(0), event).unwrap();
    cpu.stream_wait_event(DeviceId(0), b, event).unwrap();
    let _gate = block(&cpu, 0, a);
    cpu.record_event(DeviceId(0), a, event).unwrap();
    cpu.launch_kernel(DeviceId(0), b, "b", log.writer(1)).unwrap();
    cpu.synchronize_stream(DeviceId(0), b).unwrap();
    assert_eq!(log.read(), [1]);
}

#[test]
fn a_wait_is_for_the_record_at_the_time_of_the_call() {
    let cpu = cpu();
    let [a, b, c] = [0; 3].map(|_| cpu.create_stream(DeviceId(0)).unwrap());
    let event = cpu.create_event(DeviceId(0)).unwrap();
    let gate = block(&cpu, 0, a);
    cpu.record_event(DeviceId(0), a, event).unwrap();
    cpu.stream_wait_event(DeviceId(0), b, event).unwrap();
    // Idle: complete at once, and from now on the event's record.
    cpu.record_event(DeviceId(0), c, event).unwrap();
    assert!(cpu.query_event(DeviceId(0), event).unwrap());
    assert!(!cpu.query_stream(DeviceId(0), b).unwrap(), "b still waits for the first record");
    gate.open();
    cpu.synchronize_stream(DeviceId(0), b).unwrap();
}

#[test]
fn streams_may_wait_for_each_other_in_turn() {
    let (cpu, log) = (cpu(), Log::default());
    let (a, b) = (cpu.create_stream(DeviceId(0)).unwrap(), cpu.create_stream(DeviceId(1)).unwrap());
    let (ea, eb) = (cpu.create_event(DeviceId(0)).unwrap(), cpu.create_event(DeviceId(1)).unwrap());
    for round in 0..500 {
        cpu.launch_kernel(DeviceId(0), a, "a", log.writer(2 * round)).unwrap();
        cpu.record_event(DeviceId(0), a, ea).unwrap();
        cpu.stream_wait_event(DeviceId(1), b, ea).unwrap();
        cpu.launch_kernel(DeviceId(1), b, "b", log.writer(2 * round + 1)).unwrap();
        cpu.record_event(DeviceId(1), b, eb).unwrap();
        cpu.stream_wait_event(DeviceId(0), a, eb).unwrap();
    }
    cpu.synchronize_stream(DeviceId(0), a).unwrap();
    assert_eq!(log.read(), (0..1000).collect::<Vec<_>>());
}

#[test]
fn a_stream_may_wait_for_itself() {
    let (cpu, log) = (cpu(), Log::default());
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let event = cpu.create_event(DeviceId(0)).unwrap();
    cpu.launch_kernel(DeviceId(0), stream, "1", log.writer(1)).unwrap();
    cpu.record_event(DeviceId(0), stream, event).unwrap();
    cpu.stream_wait_event(DeviceId(0), stream, event).unwrap();
    cpu.launch_kernel(DeviceId(0), stream, "2", log.writer(2)).unwrap();
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    assert_eq!(log.read(), [1, 2]);
}

#[test]
fn ten_thousand_streams_wait_without_a_pool_thread() {
    const STREAMS: usize = 10_000;
    let cpu = cpu();
    let ran = Arc::new(AtomicUsize::new(0));
    let first = cpu.create_stream(DeviceId(0)).unwrap();
    let event = cpu.create_event(DeviceId(0)).unwrap();
    let gate = block(&cpu, 0, first);
    cpu.record_event(DeviceId(0), first, event).unwrap();
    let streams: Vec<_> = (0..STREAMS).map(|_| cpu.create_stream(DeviceId(0)).unwrap()).collect();
    for &stream in &streams {
        cpu.stream_wait_event(DeviceId(0), stream, event).unwrap();
        let ran = ran.clone();
        cpu.launch_kernel(DeviceId(0), stream, "count", move || {
            ran.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
    }
    // All threads of the pool wait, and it still works for a stream that does not.
    let free = cpu.create_stream(DeviceId(0)).unwrap();
    let log = Log::default();
    cpu.launch_kernel(DeviceId(0), free, "free", log.writer(1)).unwrap();
    cpu.synchronize_stream(DeviceId(0), free).unwrap();
    assert_eq!((log.read(), ran.load(Ordering::Relaxed)), (vec![1], 0));
    gate.open();
    cpu.synchronize_device(DeviceId(0)).unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), STREAMS);
    for stream in streams {
        cpu.destroy_stream(DeviceId(0), stream).unwrap();
    }
}

#[test]
fn ten_thousand_events() {
    let (cpu, log) = (cpu(), Log::default());
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let gate = block(&cpu, 0, stream);
    let events: Vec<_> = (0..10_000).map(|_| cpu.create_event(DeviceId(0)).unwrap()).collect();
    for (value, &event) in events.iter().enumerate() {
        cpu.record_event(DeviceId(0), stream, event).unwrap();
        if value % 1000 == 0 {
            cpu.launch_kernel(DeviceId(0), stream, "log", log.writer(value)).unwrap();
        }
    }
    assert!(events.iter().all(|&event| !cpu.query_event(DeviceId(0), event).unwrap()));
    gate.open();
    cpu.synchronize_event(DeviceId(0), events[5000]).unwrap();
    assert!(events[..=5000].iter().all(|&event| cpu.query_event(DeviceId(0), event).unwrap()));
    assert!(log.read().len() >= 5);
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    for pair in events.windows(2) {
        assert!(cpu.event_elapsed_time(DeviceId(0), pair[0], pair[1]).unwrap() >= 0);
    }
    events.into_iter().for_each(|event| cpu.destroy_event(DeviceId(0), event).unwrap());
}

#[test]
fn a_slow_callback_holds_up_no_other_stream() {
    let (cpu, log) = (cpu(), Log::default());
    let streams: Vec<_> = (0..8).map(|_| cpu.create_stream(DeviceId(0)).unwrap()).collect();
    let gates: Vec<_> = streams.iter().map(|&stream| block(&cpu, 0, stream)).collect();
    let free = cpu.create_stream(DeviceId(0)).unwrap();
    cpu.launch_kernel(DeviceId(0), free, "free", log.writer(1)).unwrap();
    cpu.synchronize_stream(DeviceId(0), free).unwrap();
    assert_eq!(log.read(), [1]);
    drop(gates);
    cpu.synchronize_device(DeviceId(0)).unwrap();
}

#[test]
fn a_host_thread_waits_for_an_event_that_is_recorded_again() {
    let cpu = Arc::new(cpu());
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let event = cpu.create_event(DeviceId(0)).unwrap();
    let first = block(&cpu, 0, stream);
    cpu.record_event(DeviceId(0), stream, event).unwrap();
    let waiting = Gate::default();
    let waiter = {
        let (cpu, waiting) = (cpu.clone(), waiting.clone());
        thread::spawn(move || {
            waiting.open();
            cpu.synchronize_event(DeviceId(0), event).unwrap();
        })
    };
    waiting.pass();
    cpu.record_event(DeviceId(0), stream, event).unwrap();
    first.open();
    waiter.join().unwrap();
    cpu.synchronize_event(DeviceId(0), event).unwrap();
}

#[test]
fn times_of_events() {
    let cpu = cpu();
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let [start, end, never] = [0; 3].map(|_| cpu.create_event(DeviceId(0)).unwrap());
    let before = cpu.now_ns().unwrap();
    cpu.record_event(DeviceId(0), stream, start).unwrap();
    let gate = block(&cpu, 0, stream);
    cpu.record_event(DeviceId(0), stream, end).unwrap();
    let elapsed = |start, end| cpu.event_elapsed_time(DeviceId(0), start, end);
    let not_ready = Error::EventNotReady { event: end.addr() };
    assert_eq!(elapsed(start, end), Err(not_ready.into()));
    let never_recorded = Error::EventNotRecorded { event: never.addr() };
    assert_eq!(cpu.event_time_ns(never), Err(never_recorded.clone()));
    gate.open();
    cpu.synchronize_event(DeviceId(0), end).unwrap();
    let time = elapsed(start, end).unwrap();
    assert!(time >= 0);
    assert_eq!(elapsed(end, start), Ok(-time));
    assert_eq!(elapsed(start, start), Ok(0));
    assert_eq!(elapsed(never, end), Err(never_recorded.clone().into()));
    assert_eq!(elapsed(start, never), Err(never_recorded.into()));
    assert!(fails(cpu.event_elapsed_time(DeviceId(1), start, end), "belongs to device 0, not to device 1"));
    assert!(before <= cpu.event_time_ns(start).unwrap());
    assert!(cpu.event_time_ns(end).unwrap() <= cpu.now_ns().unwrap());
}

#[test]
fn devices_have_their_own_default_stream() {
    let (cpu, log) = (cpu(), Log::default());
    let gate = block(&cpu, 0, Stream::NULL);
    cpu.launch_kernel(DeviceId(1), Stream::NULL, "other", log.writer(1)).unwrap();
    cpu.synchronize_device(DeviceId(1)).unwrap();
    assert!(!cpu.query_stream(DeviceId(0), Stream::NULL).unwrap());
    gate.open();
    cpu.synchronize_device(DeviceId(0)).unwrap();
    assert_eq!(log.read(), [1]);
}

#[test]
fn a_copy_without_a_stream_waits_for_the_default_stream() {
    let cpu = cpu();
    let ptr = upload(&cpu, 0, b"old");
    let gate = Gate::default();
    let held = gate.clone();
    cpu.launch_kernel(DeviceId(0), Stream::NULL, "write", move || {
        held.pass();
        // SAFETY: the three bytes stay allocated until the test has read them.
        unsafe { std::ptr::copy_nonoverlapping(b"new".as_ptr(), ptr.addr() as *mut u8, 3) };
        Ok(())
    })
    .unwrap();
    let opener = thread::spawn(move || gate.open());
    assert_eq!(download(&cpu, 0, ptr, 3), b"new");
    opener.join().unwrap();
}

#[test]
fn many_threads_on_shared_streams() {
    let cpu = Arc::new(cpu());
    let streams: Vec<_> = (0..4).map(|_| cpu.create_stream(DeviceId(0)).unwrap()).collect();
    let ran = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..8)
        .map(|seed: usize| {
            let (cpu, streams, ran) = (cpu.clone(), streams.clone(), ran.clone());
            thread::spawn(move || {
                let event = cpu.create_event(DeviceId(0)).unwrap();
                for round in 0..500 {
                    let stream = streams[(seed + round) % 4];
                    let ran = ran.clone();
                    cpu.launch_kernel(DeviceId(0), stream, "count", move || {
                        ran.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    })
                    .unwrap();
                    cpu.record_event(DeviceId(0), stream, event).unwrap();
                    cpu.stream_wait_event(DeviceId(0), streams[(seed * 3 + round) % 4], event).unwrap();
                    match round % 50 {
                        0 => cpu.synchronize_stream(DeviceId(0), stream).unwrap(),
                        1 => cpu.synchronize_event(DeviceId(0), event).unwrap(),
                        2 => cpu.synchronize_device(DeviceId(0)).unwrap(),
                        3 => {
                            let own = cpu.create_stream(DeviceId(0)).unwrap();
                            cpu.stream_wait_event(DeviceId(0), own, event).unwrap();
                            cpu.destroy_stream(DeviceId(0), own).unwrap();
                        }
                        _ => {}
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    cpu.synchronize_device(DeviceId(0)).unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 8 * 500);
}

#[test]
fn a_stream_that_never_runs_dry_lets_others_have_their_turn() {
    let cpu = Arc::new(Cpu::with_config(Config { devices: 1, memory: 1 << 20, threads: 1 }));
    let (busy, other) = (cpu.create_stream(DeviceId(0)).unwrap(), cpu.create_stream(DeviceId(0)).unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    fn again(cpu: &Arc<Cpu>, stream: Stream, stop: &Arc<AtomicBool>) -> Result<(), Error> {
        let (own, flag) = (cpu.clone(), stop.clone());
        cpu.launch_kernel(DeviceId(0), stream, "again", move || {
            if flag.load(Ordering::Acquire) {
                return Ok(());
            }
            again(&own, stream, &flag).map_err(|error| error.to_string())
        })
    }
    again(&cpu, busy, &stop).unwrap();
    let end = cpu.create_event(DeviceId(0)).unwrap();
    let flag = stop.clone();
    cpu.launch_kernel(DeviceId(0), other, "stop", move || {
        flag.store(true, Ordering::Release);
        Ok(())
    })
    .unwrap();
    cpu.record_event(DeviceId(0), other, end).unwrap();
    // Asked, not waited for: who waits would run the other stream by himself.
    while !cpu.query_event(DeviceId(0), end).unwrap() {
        thread::yield_now();
    }
    cpu.synchronize_stream(DeviceId(0), busy).unwrap();
}
