//! Handles in use, gone, or made up; work that fails, and calls that work may not make.
#![cfg(not(loom))]

mod common;

use common::{Log, block, cpu};
use std::sync::Arc;
use tenon::DevicePtr;
use tenon::device::{Event, Stream};
use tenon_cpu::{Cpu, Error, ErrorKind, HandleKind};

#[test]
fn waiting_calls_are_refused_inside_work() {
    let cpu = Arc::new(cpu());
    let stream = cpu.create_stream(0).unwrap();
    let event = cpu.create_event(0).unwrap();
    let ptr = cpu.device_memory_allocate(0, 8).unwrap();
    let calls: Arc<dyn Fn(&Cpu) -> usize + Send + Sync> = Arc::new(move |cpu: &Cpu| {
        let results = [
            cpu.synchronize_stream(0, stream),
            cpu.synchronize_device(0),
            cpu.synchronize_event(0, event),
            cpu.memory_copy_h2d(0, ptr, b"x"),
            cpu.memory_copy_d2h(0, &mut [0], ptr),
            cpu.memory_copy_d2d(0, ptr, ptr, 1),
            cpu.memory_copy_p2p(0, 1, ptr, ptr, 1),
            cpu.device_memory_set(0, ptr, 1, 1),
            cpu.shutdown(),
        ];
        results.iter().filter(|r| matches!(r, Err(Error::BlockingInCallback { .. }))).count()
    });
    let seen = Log::default();
    for kernel in [false, true] {
        let (inner, calls, seen) = (cpu.clone(), calls.clone(), seen.clone());
        let body = move || {
            seen.push(calls(&inner));
            // What does not wait is allowed.
            inner.launch_kernel(0, stream, "nested", || Ok(())).map_err(|e| e.to_string())?;
            inner.query_event(0, event).map_err(|e| e.to_string()).map(drop)
        };
        if kernel {
            cpu.launch_kernel(0, stream, "kernel", body).unwrap();
        } else {
            cpu.stream_add_callback(0, stream, body).unwrap();
        }
    }
    cpu.synchronize_stream(0, stream).unwrap();
    assert_eq!(seen.read(), [9, 9]);
    // The flag is gone again.
    cpu.synchronize_device(0).unwrap();
}

#[test]
fn a_failure_is_reported_once_and_by_its_own_stream() {
    let (cpu, log) = (cpu(), Log::default());
    let (bad, good) = (cpu.create_stream(0).unwrap(), cpu.create_stream(0).unwrap());
    cpu.launch_kernel(0, bad, "panics", || panic!("on {}", "purpose")).unwrap();
    cpu.stream_add_callback(0, bad, || Err("a second failure".to_owned())).unwrap();
    cpu.launch_kernel(0, bad, "goes on", log.writer(1)).unwrap();
    cpu.launch_kernel(0, good, "good", log.writer(2)).unwrap();
    cpu.synchronize_stream(0, good).unwrap();
    let error = cpu.synchronize_stream(0, bad).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(
        matches!(&error, Error::TaskFailed { task: "kernel", stream, message }
        if *stream == bad.addr() && message.contains("on purpose")),
        "{error}"
    );
    assert!(log.read().contains(&1), "later work is done");
    cpu.synchronize_stream(0, bad).unwrap();
    cpu.stream_add_callback(0, bad, || panic!("again")).unwrap();
    assert!(matches!(cpu.synchronize_device(0), Err(Error::TaskFailed { task: "callback", .. })));
    cpu.synchronize_device(0).unwrap();
}

#[test]
fn destroying_a_busy_stream_finishes_its_work() {
    let (cpu, log) = (cpu(), Log::default());
    let stream = cpu.create_stream(0).unwrap();
    let event = cpu.create_event(0).unwrap();
    let gate = block(&cpu, 0, stream);
    cpu.launch_kernel(0, stream, "late", log.writer(1)).unwrap();
    cpu.record_event(0, stream, event).unwrap();
    cpu.destroy_stream(0, stream).unwrap();
    assert!(matches!(cpu.synchronize_stream(0, stream), Err(Error::InvalidHandle { .. })));
    assert_eq!(log.read(), [0; 0]);
    gate.open();
    cpu.synchronize_device(0).unwrap();
    assert_eq!(log.read(), [1], "synchronize_device waits for destroyed streams");
    cpu.synchronize_event(0, event).unwrap();
}

#[test]
fn destroying_an_awaited_event_leaves_the_wait() {
    let (cpu, log) = (cpu(), Log::default());
    let (a, b) = (cpu.create_stream(0).unwrap(), cpu.create_stream(0).unwrap());
    let event = cpu.create_event(0).unwrap();
    let gate = block(&cpu, 0, a);
    cpu.launch_kernel(0, a, "1", log.writer(1)).unwrap();
    cpu.record_event(0, a, event).unwrap();
    cpu.stream_wait_event(0, b, event).unwrap();
    cpu.launch_kernel(0, b, "2", log.writer(2)).unwrap();
    cpu.destroy_event(0, event).unwrap();
    cpu.destroy_stream(0, a).unwrap();
    cpu.destroy_stream(0, b).unwrap();
    gate.open();
    cpu.synchronize_device(0).unwrap();
    assert_eq!(log.read(), [1, 2]);
}

#[test]
fn handles_that_are_no_good() {
    let cpu = cpu();
    let stream = cpu.create_stream(0).unwrap();
    let event = cpu.create_event(0).unwrap();
    let stale = cpu.create_stream(0).unwrap();
    cpu.destroy_stream(0, stale).unwrap();
    let reused = cpu.create_stream(0).unwrap();
    assert_ne!(stale, reused);
    for bad in
        [stale.addr(), 1, 7, usize::MAX, event.addr(), stream.addr() + (1 << 32), &raw const cpu as usize]
    {
        let handle = Stream::from_addr(bad);
        let expected = Error::InvalidHandle { kind: HandleKind::Stream, handle: bad };
        assert_eq!(cpu.synchronize_stream(0, handle), Err(expected.clone()));
        assert_eq!(cpu.query_stream(0, handle), Err(expected.clone()));
        assert_eq!(cpu.destroy_stream(0, handle), Err(expected.clone()));
        assert_eq!(cpu.record_event(0, handle, event), Err(expected.clone()));
        assert_eq!(cpu.stream_wait_event(0, handle, event), Err(expected.clone()));
        assert_eq!(cpu.stream_add_callback(0, handle, || Ok(())), Err(expected.clone()));
        assert_eq!(cpu.async_device_memory_set(0, handle, DevicePtr::from_addr(8), 0, 0), Err(expected));
    }
    for bad in [0, 1, usize::MAX, stream.addr()] {
        let handle = Event::from_addr(bad);
        let expected = Error::InvalidHandle { kind: HandleKind::Event, handle: bad };
        assert_eq!(cpu.query_event(0, handle), Err(expected.clone()));
        assert_eq!(cpu.synchronize_event(0, handle), Err(expected.clone()));
        assert_eq!(cpu.record_event(0, stream, handle), Err(expected.clone()));
        assert_eq!(cpu.stream_wait_event(0, stream, handle), Err(expected.clone()));
        assert_eq!(cpu.destroy_event(0, handle), Err(expected));
    }
    assert!(matches!(cpu.synchronize_stream(1, stream), Err(Error::WrongDevice { owner: 0, device: 1, .. })));
    assert!(matches!(cpu.destroy_stream(1, stream), Err(Error::WrongDevice { .. })));
    assert!(matches!(cpu.record_event(1, Stream::NULL, event), Err(Error::WrongDevice { .. })));
    assert!(matches!(cpu.destroy_event(1, event), Err(Error::WrongDevice { .. })));
    assert_eq!(cpu.create_stream(2), Err(Error::UnknownDevice { device: 2, count: 2 }));
    assert!(matches!(cpu.destroy_stream(0, Stream::NULL), Err(Error::DefaultStream { .. })));
    cpu.synchronize_stream(0, stream).unwrap();
    cpu.destroy_event(0, event).unwrap();
    assert!(cpu.destroy_event(0, event).is_err());
}

#[test]
fn library_handles() {
    use tenon_cpu::Library;
    let cpu = cpu();
    let stream = cpu.create_stream(1).unwrap();
    let handle = cpu.create_library_handle(1, Library::Blas, stream).unwrap();
    assert_eq!(cpu.library_handle_info(1, handle), Ok((Library::Blas, stream)));
    cpu.set_math_mode(1, handle, 3).unwrap();
    assert_eq!(cpu.math_mode(1, handle), Ok(3));
    assert!(matches!(cpu.math_mode(0, handle), Err(Error::WrongDevice { .. })));
    assert!(matches!(cpu.destroy_library_handle(0, handle), Err(Error::WrongDevice { .. })));
    assert!(matches!(cpu.create_library_handle(0, Library::Eigen, stream), Err(Error::WrongDevice { .. })));
    cpu.destroy_library_handle(1, handle).unwrap();
    assert!(matches!(cpu.math_mode(1, handle), Err(Error::InvalidHandle { .. })));
    assert!(cpu.destroy_library_handle(1, stream.addr()).is_err());
}
