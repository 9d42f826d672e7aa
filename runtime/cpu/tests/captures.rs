//! The rules of a capture, and the errors that end one.
#![cfg(not(loom))]

mod common;

use common::{begin_capture, block, cpu, fails};
use std::sync::Arc;
use std::thread;
use tenon::device::{self, CaptureMode, CaptureStatus, Device, DeviceId, Graph, GraphExec, Stream};
use tenon_cpu::Error;

#[test]
fn what_a_capture_tells_of_itself() {
    let cpu = cpu();
    let plain = cpu.create_stream(DeviceId(0)).unwrap();
    assert_eq!(cpu.stream_capture_info(DeviceId(0), plain).unwrap().status, CaptureStatus::NONE);
    let stream = begin_capture(&cpu);
    let info = cpu.stream_capture_info(DeviceId(0), stream).unwrap();
    assert!(info.status == CaptureStatus::ACTIVE && info.id != 0 && info.dependencies.is_empty());
    cpu.launch_kernel(DeviceId(0), stream, "k", || Ok(())).unwrap();
    let info = cpu.stream_capture_info(DeviceId(0), stream).unwrap();
    let graph = cpu.cuda_stream_end_capture(DeviceId(0), stream).unwrap();
    assert_eq!(info.dependencies, [cpu.graph_get_nodes(graph).unwrap()[0].handle]);
    assert_eq!(cpu.stream_capture_info(DeviceId(0), stream).unwrap().id, 0);
}

#[test]
fn calls_that_cannot_be_captured_end_the_capture() {
    let cpu = cpu();
    type Call<'a> = &'a dyn Fn(Stream) -> device::Result<()>;
    let calls: [(&str, Call); 3] = [
        ("synchronize_stream", &|stream| cpu.synchronize_stream(DeviceId(0), stream)),
        ("query_stream", &|stream| cpu.query_stream(DeviceId(0), stream).map(drop)),
        ("synchronize_device", &|_| cpu.synchronize_device(DeviceId(0))),
    ];
    for (name, call) in calls {
        let stream = begin_capture(&cpu);
        assert_eq!(call(stream), Err(Error::CaptureUnsupported { call: name }.into()), "{name}");
        assert_eq!(cpu.stream_capture_info(DeviceId(0), stream).unwrap().status, CaptureStatus::INVALIDATED);
        assert!(matches!(
            cpu.launch_kernel(DeviceId(0), stream, "k", || Ok(())),
            Err(Error::CaptureInvalidated { .. })
        ));
        assert!(fails(cpu.cuda_stream_end_capture(DeviceId(0), stream), "the capture is invalid"));
        // The stream is usable again.
        cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    }
}

#[test]
fn events_of_a_capture_and_events_outside() {
    let cpu = cpu();
    let (inside, outside) = (cpu.create_event(DeviceId(0)).unwrap(), cpu.create_event(DeviceId(0)).unwrap());
    let plain = cpu.create_stream(DeviceId(0)).unwrap();
    cpu.record_event(DeviceId(0), plain, outside).unwrap();

    let stream = begin_capture(&cpu);
    cpu.record_event(DeviceId(0), stream, inside).unwrap();
    let captured = Error::CapturedEvent { event: inside.addr() };
    assert_eq!(cpu.query_event(DeviceId(0), inside), Err(captured.clone().into()));
    assert_eq!(cpu.synchronize_event(DeviceId(0), inside), Err(captured.clone().into()));
    assert_eq!(cpu.event_time_ns(inside), Err(captured.clone()));
    cpu.cuda_stream_end_capture(DeviceId(0), stream).unwrap();
    assert_eq!(
        cpu.stream_wait_event(DeviceId(0), plain, inside),
        Err(captured.into()),
        "the capture is over"
    );
    cpu.record_event(DeviceId(0), plain, inside).unwrap();
    assert!(cpu.query_event(DeviceId(0), inside).unwrap(), "a new record makes it a plain event");

    let _gate = block(&cpu, 0, plain);
    for pending in [false, true] {
        if pending {
            cpu.record_event(DeviceId(0), plain, outside).unwrap();
        }
        let stream = begin_capture(&cpu);
        assert_eq!(
            cpu.stream_wait_event(DeviceId(0), stream, outside),
            Err(Error::CaptureIsolation { event: outside.addr() }.into())
        );
        assert!(fails(cpu.cuda_stream_end_capture(DeviceId(0), stream), "the capture is invalid"));
    }
}

#[test]
fn captures_that_meet_or_do_not_join() {
    let cpu = cpu();
    let event = cpu.create_event(DeviceId(0)).unwrap();
    let (a, b) = (begin_capture(&cpu), begin_capture(&cpu));
    cpu.record_event(DeviceId(0), a, event).unwrap();
    assert_eq!(
        cpu.stream_wait_event(DeviceId(0), b, event),
        Err(Error::CaptureMerge { event: event.addr() }.into())
    );
    for stream in [a, b] {
        assert!(fails(cpu.cuda_stream_end_capture(DeviceId(0), stream), "the capture is invalid"));
    }

    let (stream, side) = (begin_capture(&cpu), cpu.create_stream(DeviceId(0)).unwrap());
    cpu.record_event(DeviceId(0), stream, event).unwrap();
    cpu.stream_wait_event(DeviceId(0), side, event).unwrap();
    cpu.launch_kernel(DeviceId(0), side, "lost", || Ok(())).unwrap();
    assert!(fails(cpu.cuda_stream_end_capture(DeviceId(0), side), "began on stream"));
    assert_eq!(cpu.cuda_stream_end_capture(DeviceId(0), stream), Err(Error::CaptureUnjoined.into()));
    cpu.synchronize_stream(DeviceId(0), side).unwrap();
    assert!(fails(cpu.cuda_stream_end_capture(DeviceId(0), stream), "is not being captured"));

    let stream = begin_capture(&cpu);
    assert!(fails(
        cpu.cuda_stream_begin_capture(DeviceId(0), stream, CaptureMode::GLOBAL),
        "is being captured already"
    ));
    cpu.cuda_stream_end_capture(DeviceId(0), stream).unwrap();
    assert!(fails(
        cpu.cuda_stream_begin_capture(DeviceId(0), Stream::NULL, CaptureMode::GLOBAL),
        "cannot be used on the default stream"
    ));
}

#[test]
fn destroying_a_captured_stream() {
    let cpu = cpu();
    let event = cpu.create_event(DeviceId(0)).unwrap();
    let (stream, side) = (begin_capture(&cpu), cpu.create_stream(DeviceId(0)).unwrap());
    cpu.record_event(DeviceId(0), stream, event).unwrap();
    cpu.stream_wait_event(DeviceId(0), side, event).unwrap();
    cpu.destroy_stream(DeviceId(0), side).unwrap();
    assert!(fails(cpu.cuda_stream_end_capture(DeviceId(0), stream), "the capture is invalid"));

    let (stream, side) = (begin_capture(&cpu), cpu.create_stream(DeviceId(0)).unwrap());
    cpu.record_event(DeviceId(0), stream, event).unwrap();
    cpu.stream_wait_event(DeviceId(0), side, event).unwrap();
    cpu.destroy_stream(DeviceId(0), stream).unwrap();
    cpu.synchronize_stream(DeviceId(0), side).unwrap();
    cpu.synchronize_device(DeviceId(0)).unwrap();
}

#[test]
fn modes_of_capture() {
    let cpu = Arc::new(cpu());
    let synchronize_elsewhere = |mode: Option<CaptureMode>| {
        let cpu = cpu.clone();
        thread::spawn(move || {
            if let Some(mut mode) = mode {
                cpu.cuda_thread_exchange_stream_capture_mode(&mut mode).unwrap();
                assert_eq!(mode, CaptureMode::GLOBAL);
            }
            cpu.synchronize_device(DeviceId(0))
        })
        .join()
        .unwrap()
    };
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    for (captured, thread, allowed) in [
        (CaptureMode::GLOBAL, None, false),
        (CaptureMode::GLOBAL, Some(CaptureMode::THREAD_LOCAL), true),
        (CaptureMode::GLOBAL, Some(CaptureMode::RELAXED), true),
        (CaptureMode::THREAD_LOCAL, None, true),
        (CaptureMode::RELAXED, None, true),
    ] {
        cpu.cuda_stream_begin_capture(DeviceId(0), stream, captured).unwrap();
        assert_eq!(synchronize_elsewhere(thread).is_ok(), allowed, "{captured:?} {thread:?}");
        assert_eq!(cpu.cuda_stream_end_capture(DeviceId(0), stream).is_ok(), allowed);
    }
    cpu.cuda_stream_begin_capture(DeviceId(0), stream, CaptureMode::THREAD_LOCAL).unwrap();
    assert!(cpu.synchronize_device(DeviceId(0)).is_err(), "the capturing thread itself");
    assert!(cpu.cuda_stream_end_capture(DeviceId(0), stream).is_err());
    for (mode, ends) in [(CaptureMode::GLOBAL, false), (CaptureMode::RELAXED, true)] {
        cpu.cuda_stream_begin_capture(DeviceId(0), stream, mode).unwrap();
        let other = cpu.clone();
        let result =
            thread::spawn(move || other.cuda_stream_end_capture(DeviceId(0), stream)).join().unwrap();
        assert_eq!(result.is_ok(), ends);
        assert!(ends || fails(result, "was begun by another thread"));
        assert_eq!(cpu.cuda_stream_end_capture(DeviceId(0), stream).is_ok(), !ends);
    }
}

#[test]
fn handles_that_are_no_good() {
    let cpu = cpu();
    let stream = begin_capture(&cpu);
    let graph = cpu.cuda_stream_end_capture(DeviceId(0), stream).unwrap();
    let exec = cpu.graph_instantiate(graph).unwrap();
    cpu.cuda_graph_launch(DeviceId(0), exec, stream).unwrap();
    for bad in [0, usize::MAX, stream.addr(), exec.addr()] {
        assert!(matches!(cpu.graph_instantiate(Graph::from_addr(bad)), Err(Error::InvalidHandle { .. })));
        assert!(fails(cpu.cuda_graph_destroy(Graph::from_addr(bad)), "is not a live"));
    }
    assert!(cpu.cuda_graph_launch(DeviceId(0), GraphExec::from_addr(graph.addr()), stream).is_err());
    let elsewhere = cpu.create_stream(DeviceId(1)).unwrap();
    assert!(fails(cpu.cuda_graph_launch(DeviceId(1), exec, elsewhere), "belongs to device"));
    assert!(fails(cpu.cuda_stream_end_capture(DeviceId(0), stream), "is not being captured"));
    cpu.cuda_graph_exec_destroy(exec).unwrap();
    assert!(cpu.cuda_graph_exec_destroy(exec).is_err());
}
