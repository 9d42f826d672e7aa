//! The rules of a capture, and the mistakes that end one.
#![cfg(not(loom))]

mod common;

use common::{block, cpu};
use std::sync::Arc;
use std::thread;
use tenon::device::{CaptureMode, CaptureStatus, Graph, GraphExec, Stream};
use tenon_cpu::{Cpu, Error};

fn begin(cpu: &Cpu) -> Stream {
    let stream = cpu.create_stream(0).unwrap();
    cpu.stream_begin_capture(0, stream, CaptureMode::GLOBAL).unwrap();
    stream
}

#[test]
fn what_a_capture_tells_of_itself() {
    let cpu = cpu();
    let plain = cpu.create_stream(0).unwrap();
    assert_eq!(cpu.stream_capture_info(0, plain).unwrap().status, CaptureStatus::NONE);
    let stream = begin(&cpu);
    let info = cpu.stream_capture_info(0, stream).unwrap();
    assert!(info.status == CaptureStatus::ACTIVE && info.id != 0 && info.dependencies.is_empty());
    cpu.launch_kernel(0, stream, "k", || Ok(())).unwrap();
    let info = cpu.stream_capture_info(0, stream).unwrap();
    let graph = cpu.stream_end_capture(0, stream).unwrap();
    assert_eq!(info.dependencies, [cpu.graph_get_nodes(graph).unwrap()[0].handle]);
    assert_eq!(cpu.stream_capture_info(0, stream).unwrap().id, 0);
}

#[test]
fn calls_that_cannot_be_captured_end_the_capture() {
    let cpu = cpu();
    type Call<'a> = &'a dyn Fn(Stream) -> Result<(), Error>;
    let calls: [(&str, Call); 3] = [
        ("synchronize_stream", &|stream| cpu.synchronize_stream(0, stream)),
        ("query_stream", &|stream| cpu.query_stream(0, stream).map(drop)),
        ("synchronize_device", &|_| cpu.synchronize_device(0)),
    ];
    for (name, call) in calls {
        let stream = begin(&cpu);
        assert_eq!(call(stream), Err(Error::CaptureUnsupported { call: name }), "{name}");
        assert_eq!(cpu.stream_capture_info(0, stream).unwrap().status, CaptureStatus::INVALIDATED);
        assert!(matches!(
            cpu.launch_kernel(0, stream, "k", || Ok(())),
            Err(Error::CaptureInvalidated { .. })
        ));
        assert!(matches!(cpu.stream_end_capture(0, stream), Err(Error::CaptureInvalidated { .. })));
        // The stream is usable again.
        cpu.synchronize_stream(0, stream).unwrap();
    }
}

#[test]
fn events_of_a_capture_and_events_outside() {
    let cpu = cpu();
    let (inside, outside) = (cpu.create_event(0).unwrap(), cpu.create_event(0).unwrap());
    let plain = cpu.create_stream(0).unwrap();
    cpu.record_event(0, plain, outside).unwrap();

    let stream = begin(&cpu);
    cpu.record_event(0, stream, inside).unwrap();
    let captured = Error::CapturedEvent { event: inside.addr() };
    assert_eq!(cpu.query_event(0, inside), Err(captured.clone()));
    assert_eq!(cpu.synchronize_event(0, inside), Err(captured.clone()));
    assert_eq!(cpu.event_time_ns(inside), Err(captured.clone()));
    cpu.stream_end_capture(0, stream).unwrap();
    assert_eq!(cpu.stream_wait_event(0, plain, inside), Err(captured), "the capture is over");
    cpu.record_event(0, plain, inside).unwrap();
    assert!(cpu.query_event(0, inside).unwrap(), "a new record makes it a plain event");

    let _gate = block(&cpu, 0, plain);
    for pending in [false, true] {
        if pending {
            cpu.record_event(0, plain, outside).unwrap();
        }
        let stream = begin(&cpu);
        assert_eq!(
            cpu.stream_wait_event(0, stream, outside),
            Err(Error::CaptureIsolation { event: outside.addr() })
        );
        assert!(matches!(cpu.stream_end_capture(0, stream), Err(Error::CaptureInvalidated { .. })));
    }
}

#[test]
fn captures_that_meet_or_do_not_join() {
    let cpu = cpu();
    let event = cpu.create_event(0).unwrap();
    let (a, b) = (begin(&cpu), begin(&cpu));
    cpu.record_event(0, a, event).unwrap();
    assert_eq!(cpu.stream_wait_event(0, b, event), Err(Error::CaptureMerge { event: event.addr() }));
    for stream in [a, b] {
        assert!(matches!(cpu.stream_end_capture(0, stream), Err(Error::CaptureInvalidated { .. })));
    }

    let (stream, side) = (begin(&cpu), cpu.create_stream(0).unwrap());
    cpu.record_event(0, stream, event).unwrap();
    cpu.stream_wait_event(0, side, event).unwrap();
    cpu.launch_kernel(0, side, "lost", || Ok(())).unwrap();
    assert!(matches!(cpu.stream_end_capture(0, side), Err(Error::CaptureWrongStream { .. })));
    assert_eq!(cpu.stream_end_capture(0, stream), Err(Error::CaptureUnjoined));
    cpu.synchronize_stream(0, side).unwrap();
    assert!(matches!(cpu.stream_end_capture(0, stream), Err(Error::NotCapturing { .. })));

    let stream = begin(&cpu);
    assert!(matches!(
        cpu.stream_begin_capture(0, stream, CaptureMode::GLOBAL),
        Err(Error::AlreadyCapturing { .. })
    ));
    cpu.stream_end_capture(0, stream).unwrap();
    assert!(matches!(
        cpu.stream_begin_capture(0, Stream::NULL, CaptureMode::GLOBAL),
        Err(Error::DefaultStream { .. })
    ));
}

#[test]
fn destroying_a_captured_stream() {
    let cpu = cpu();
    let event = cpu.create_event(0).unwrap();
    let (stream, side) = (begin(&cpu), cpu.create_stream(0).unwrap());
    cpu.record_event(0, stream, event).unwrap();
    cpu.stream_wait_event(0, side, event).unwrap();
    cpu.destroy_stream(0, side).unwrap();
    assert!(matches!(cpu.stream_end_capture(0, stream), Err(Error::CaptureInvalidated { .. })));

    let (stream, side) = (begin(&cpu), cpu.create_stream(0).unwrap());
    cpu.record_event(0, stream, event).unwrap();
    cpu.stream_wait_event(0, side, event).unwrap();
    cpu.destroy_stream(0, stream).unwrap();
    cpu.synchronize_stream(0, side).unwrap();
    cpu.synchronize_device(0).unwrap();
}

#[test]
fn modes_of_capture() {
    let cpu = Arc::new(cpu());
    let synchronize_elsewhere = |mode: Option<CaptureMode>| {
        let cpu = cpu.clone();
        thread::spawn(move || {
            if let Some(mode) = mode {
                assert_eq!(cpu.thread_exchange_capture_mode(mode), Ok(CaptureMode::GLOBAL));
            }
            cpu.synchronize_device(0)
        })
        .join()
        .unwrap()
    };
    let stream = cpu.create_stream(0).unwrap();
    for (captured, thread, allowed) in [
        (CaptureMode::GLOBAL, None, false),
        (CaptureMode::GLOBAL, Some(CaptureMode::THREAD_LOCAL), true),
        (CaptureMode::GLOBAL, Some(CaptureMode::RELAXED), true),
        (CaptureMode::THREAD_LOCAL, None, true),
        (CaptureMode::RELAXED, None, true),
    ] {
        cpu.stream_begin_capture(0, stream, captured).unwrap();
        assert_eq!(synchronize_elsewhere(thread).is_ok(), allowed, "{captured:?} {thread:?}");
        assert_eq!(cpu.stream_end_capture(0, stream).is_ok(), allowed);
    }
    cpu.stream_begin_capture(0, stream, CaptureMode::THREAD_LOCAL).unwrap();
    assert!(cpu.synchronize_device(0).is_err(), "the capturing thread itself");
    assert!(cpu.stream_end_capture(0, stream).is_err());
    for (mode, ends) in [(CaptureMode::GLOBAL, false), (CaptureMode::RELAXED, true)] {
        cpu.stream_begin_capture(0, stream, mode).unwrap();
        let other = cpu.clone();
        let result = thread::spawn(move || other.stream_end_capture(0, stream)).join().unwrap();
        assert_eq!(result.is_ok(), ends);
        assert!(ends || matches!(result, Err(Error::CaptureWrongThread { .. })));
        assert_eq!(cpu.stream_end_capture(0, stream).is_ok(), !ends);
    }
}

#[test]
fn handles_that_are_no_good() {
    let cpu = cpu();
    let stream = begin(&cpu);
    let graph = cpu.stream_end_capture(0, stream).unwrap();
    let exec = cpu.graph_instantiate(graph).unwrap();
    cpu.graph_launch(0, exec, stream).unwrap();
    for bad in [0, usize::MAX, stream.addr(), exec.addr()] {
        assert!(matches!(cpu.graph_instantiate(Graph::from_addr(bad)), Err(Error::InvalidHandle { .. })));
        assert!(matches!(cpu.graph_destroy(Graph::from_addr(bad)), Err(Error::InvalidHandle { .. })));
    }
    assert!(cpu.graph_launch(0, GraphExec::from_addr(graph.addr()), stream).is_err());
    let elsewhere = cpu.create_stream(1).unwrap();
    assert!(matches!(cpu.graph_launch(1, exec, elsewhere), Err(Error::WrongDevice { .. })));
    assert!(matches!(cpu.stream_end_capture(0, stream), Err(Error::NotCapturing { .. })));
    cpu.graph_exec_destroy(exec).unwrap();
    assert!(cpu.graph_exec_destroy(exec).is_err());
}
