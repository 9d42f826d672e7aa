//! Live, destroyed and invalid handles; work that fails, and calls that work may not make.
#![cfg(not(loom))]

mod common;

use common::{Log, block, cpu, fails};
use std::sync::Arc;
use tenon::DevicePtr;
use tenon::device::{self, BlasHandle, Device, DeviceId, Event, Status, Stream};
use tenon_cpu::{Cpu, Error, HandleKind};

#[test]
fn waiting_calls_are_refused_inside_work() {
    let cpu = Arc::new(cpu());
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let event = cpu.create_event(DeviceId(0)).unwrap();
    let ptr = cpu.device_memory_allocate(DeviceId(0), 8).unwrap();
    let calls: Arc<dyn Fn(&Cpu) -> usize + Send + Sync> = Arc::new(move |cpu: &Cpu| {
        let results = [
            cpu.synchronize_stream(DeviceId(0), stream),
            cpu.synchronize_device(DeviceId(0)),
            cpu.synchronize_event(DeviceId(0), event),
            cpu.memory_copy_h2d(DeviceId(0), ptr, b"x"),
            cpu.memory_copy_d2h(DeviceId(0), &mut [0], ptr),
            cpu.memory_copy_d2d(DeviceId(0), ptr, ptr, 1),
            cpu.memory_copy_p2p(DeviceId(0), DeviceId(1), ptr, ptr, 1),
            cpu.device_memory_set(DeviceId(0), ptr, 1, 1),
            cpu.finalize(),
        ];
        results
            .into_iter()
            .filter(|result| fails(result.clone(), "must not be called from a callback"))
            .count()
    });
    let seen = Log::default();
    for kernel in [false, true] {
        let (inner, calls, seen) = (cpu.clone(), calls.clone(), seen.clone());
        let body = move || {
            seen.push(calls(&inner));
            // Calls that do not wait are allowed.
            inner.launch_kernel(DeviceId(0), stream, "nested", || Ok(())).map_err(|e| e.to_string())?;
            inner.query_event(DeviceId(0), event).map_err(|e| e.to_string()).map(drop)
        };
        if kernel {
            cpu.launch_kernel(DeviceId(0), stream, "kernel", body).unwrap();
        } else {
            cpu.launch_callback(DeviceId(0), stream, body).unwrap();
        }
    }
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    assert_eq!(seen.read(), [9, 9]);
    // The flag is cleared again.
    cpu.synchronize_device(DeviceId(0)).unwrap();
}

#[test]
fn a_failure_is_reported_once_and_by_its_own_stream() {
    let (cpu, log) = (cpu(), Log::default());
    let (bad, good) = (cpu.create_stream(DeviceId(0)).unwrap(), cpu.create_stream(DeviceId(0)).unwrap());
    cpu.launch_kernel(DeviceId(0), bad, "panics", || panic!("on {}", "purpose")).unwrap();
    cpu.launch_callback(DeviceId(0), bad, || Err("a second failure".to_owned())).unwrap();
    cpu.launch_kernel(DeviceId(0), bad, "goes on", log.writer(1)).unwrap();
    cpu.launch_kernel(DeviceId(0), good, "good", log.writer(2)).unwrap();
    cpu.synchronize_stream(DeviceId(0), good).unwrap();
    let error = cpu.synchronize_stream(DeviceId(0), bad).unwrap_err();
    assert_eq!(error.status, Status::FAILED);
    assert_eq!(
        error.message,
        format!("a kernel on stream {:#x} failed: it panicked: on purpose", bad.addr())
    );
    assert!(log.read().contains(&1), "later work is done");
    cpu.synchronize_stream(DeviceId(0), bad).unwrap();
    cpu.launch_callback(DeviceId(0), bad, || panic!("again")).unwrap();
    assert!(fails(cpu.synchronize_device(DeviceId(0)), "a callback on stream"));
    cpu.synchronize_device(DeviceId(0)).unwrap();
}

#[test]
fn destroying_a_busy_stream_finishes_its_work() {
    let (cpu, log) = (cpu(), Log::default());
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let event = cpu.create_event(DeviceId(0)).unwrap();
    let gate = block(&cpu, 0, stream);
    cpu.launch_kernel(DeviceId(0), stream, "late", log.writer(1)).unwrap();
    cpu.record_event(DeviceId(0), stream, event).unwrap();
    cpu.destroy_stream(DeviceId(0), stream).unwrap();
    assert!(fails(cpu.synchronize_stream(DeviceId(0), stream), "is not a live"));
    assert_eq!(log.read(), [0; 0]);
    gate.open();
    cpu.synchronize_device(DeviceId(0)).unwrap();
    assert_eq!(log.read(), [1], "synchronize_device waits for destroyed streams");
    cpu.synchronize_event(DeviceId(0), event).unwrap();
}

#[test]
fn destroying_an_awaited_event_leaves_the_wait() {
    let (cpu, log) = (cpu(), Log::default());
    let (a, b) = (cpu.create_stream(DeviceId(0)).unwrap(), cpu.create_stream(DeviceId(0)).unwrap());
    let event = cpu.create_event(DeviceId(0)).unwrap();
    let gate = block(&cpu, 0, a);
    cpu.launch_kernel(DeviceId(0), a, "1", log.writer(1)).unwrap();
    cpu.record_event(DeviceId(0), a, event).unwrap();
    cpu.stream_wait_event(DeviceId(0), b, event).unwrap();
    cpu.launch_kernel(DeviceId(0), b, "2", log.writer(2)).unwrap();
    cpu.destroy_event(DeviceId(0), event).unwrap();
    cpu.destroy_stream(DeviceId(0), a).unwrap();
    cpu.destroy_stream(DeviceId(0), b).unwrap();
    gate.open();
    cpu.synchronize_device(DeviceId(0)).unwrap();
    assert_eq!(log.read(), [1, 2]);
}

#[test]
fn handles_that_are_no_good() {
    let cpu = cpu();
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let event = cpu.create_event(DeviceId(0)).unwrap();
    let stale = cpu.create_stream(DeviceId(0)).unwrap();
    cpu.destroy_stream(DeviceId(0), stale).unwrap();
    let reused = cpu.create_stream(DeviceId(0)).unwrap();
    assert_ne!(stale, reused);
    for bad in
        [stale.addr(), 1, 7, usize::MAX, event.addr(), stream.addr() + (1 << 32), &raw const cpu as usize]
    {
        let handle = Stream::from_addr(bad);
        let expected = device::Error::from(Error::InvalidHandle { kind: HandleKind::Stream, handle: bad });
        assert_eq!(cpu.synchronize_stream(DeviceId(0), handle), Err(expected.clone()));
        assert_eq!(cpu.query_stream(DeviceId(0), handle), Err(expected.clone()));
        assert_eq!(cpu.destroy_stream(DeviceId(0), handle), Err(expected.clone()));
        assert_eq!(cpu.record_event(DeviceId(0), handle, event), Err(expected.clone()));
        assert_eq!(cpu.stream_wait_event(DeviceId(0), handle, event), Err(expected.clone()));
        assert!(cpu.launch_callback(DeviceId(0), handle, || Ok(())).is_err());
        assert!(cpu.async_memory_fill(DeviceId(0), handle, DevicePtr::from_addr(8), &[0], 0).is_err());
    }
    for bad in [0, 1, usize::MAX, stream.addr()] {
        let handle = Event::from_addr(bad);
        let expected = device::Error::from(Error::InvalidHandle { kind: HandleKind::Event, handle: bad });
        assert_eq!(cpu.query_event(DeviceId(0), handle), Err(expected.clone()));
        assert_eq!(cpu.synchronize_event(DeviceId(0), handle), Err(expected.clone()));
        assert_eq!(cpu.record_event(DeviceId(0), stream, handle), Err(expected.clone()));
        assert_eq!(cpu.stream_wait_event(DeviceId(0), stream, handle), Err(expected.clone()));
        assert_eq!(cpu.destroy_event(DeviceId(0), handle), Err(expected));
    }
    assert!(fails(cpu.synchronize_stream(DeviceId(1), stream), "belongs to device"));
    assert!(fails(cpu.destroy_stream(DeviceId(1), stream), "belongs to device"));
    assert!(fails(cpu.record_event(DeviceId(1), Stream::NULL, event), "belongs to device"));
    assert!(fails(cpu.destroy_event(DeviceId(1), event), "belongs to device"));
    assert_eq!(
        cpu.create_stream(DeviceId(2)),
        Err(Error::UnknownDevice { device: DeviceId(2), count: 2 }.into())
    );
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    cpu.destroy_event(DeviceId(0), event).unwrap();
    assert!(cpu.destroy_event(DeviceId(0), event).is_err());
}

#[test]
fn library_handles() {
    let cpu = cpu();
    let stream = cpu.create_stream(DeviceId(1)).unwrap();
    let handle = cpu.init_blas_handle(DeviceId(1), stream).unwrap();
    cpu.blas_set_math_mode(DeviceId(1), handle, 3).unwrap();
    assert!(fails(cpu.blas_set_math_mode(DeviceId(0), handle, 3), "belongs to device"));
    assert!(fails(cpu.destroy_blas_handle(DeviceId(0), handle), "belongs to device"));
    assert!(fails(cpu.init_blas_handle(DeviceId(0), stream), "belongs to device"));
    cpu.destroy_blas_handle(DeviceId(1), handle).unwrap();
    assert!(fails(cpu.blas_set_math_mode(DeviceId(1), handle, 3), "is not a live"));
    assert!(fails(
        cpu.destroy_blas_handle(DeviceId(1), BlasHandle::from_addr(stream.addr())),
        "is not a live"
    ));
}
