//! Captures that are repeated on other devices.

mod common;

use std::fs;
use std::sync::Arc;

use common::recording::{path, pipeline, record};
use common::{ID, OTHER, cpu};
use tenon::device::*;
use tenon::{DevicePtr, HostPtr};
use tenon_cpu::{Config, Cpu};
use tenon_layers::capture::replay::{Report, Target, replay};
use tenon_layers::capture::{Capture, Options, Recording};
use tenon_layers::profile::Profile;

fn repeat(recording: &Recording, device: Arc<dyn Partial>) -> Report {
    replay(recording, device, Target::default(), &mut |_| {}).unwrap()
}

fn other_cpu() -> Arc<Cpu> {
    Arc::new(Cpu::with_config(Config { devices: 2, memory: 64 << 20, threads: 2 }))
}

/// Asserts that everything was repeated with equal results.
#[track_caller]
fn assert_equal(report: &Report, contents: u64) {
    assert!(report.is_equal() && report.skipped.is_empty(), "{report}");
    assert_eq!((report.equal_contents, report.undetermined_contents), (contents, 0), "{report}");
}

#[test]
fn pipeline_has_equal_results_on_the_same_device() {
    let recording = record("replay.cap", pipeline);
    let report = repeat(&recording, other_cpu());
    assert_equal(&report, 4);
    assert_eq!(report.repeated, recording.calls.len() as u64);
}

#[test]
fn pipeline_has_equal_results_without_optional_functions() {
    let recording = record("small.cap", pipeline);
    let hidden = |functions: &[Function]| {
        Profile { hidden: functions.to_vec(), ..Profile::default() }.apply(other_cpu())
    };
    let report = repeat(&recording, hidden(&[Function::AsyncMemoryCopyD2h, Function::StreamWaitEvent]));
    assert_equal(&report, 4);
    let report = repeat(&recording, hidden(&[Function::HostMemoryAllocate, Function::HostMemoryDeallocate]));
    assert_equal(&report, 4);
}

#[test]
fn functions_without_a_fallback_are_left_out() {
    let recording = record("unified.cap", |device| {
        let unified = device.unified_memory_allocate(ID, 8).unwrap();
        let memory = device.device_memory_allocate(ID, 8).unwrap();
        device.memory_copy_h2d(ID, memory, b"eight by").unwrap();
        device.memory_copy_d2d(ID, DevicePtr::from_addr(unified.addr()), memory, 8).unwrap();
        device.memory_copy_d2h(ID, &mut [0; 8], memory).unwrap();
        device.unified_memory_deallocate(ID, unified, 8).unwrap();
    });
    assert_equal(&repeat(&recording, other_cpu()), 1);
    let hidden = vec![Function::UnifiedMemoryAllocate, Function::UnifiedMemoryDeallocate];
    let report = repeat(&recording, Profile { hidden, ..Profile::default() }.apply(other_cpu()));
    assert!(report.is_equal(), "{report}");
    let skipped: Vec<_> = report.skipped.iter().map(|skipped| (skipped.function, &*skipped.reason)).collect();
    let lost = "it needs the result of call 0";
    assert_eq!(
        skipped,
        [
            ("unified_memory_allocate", "the device does not have it"),
            ("memory_copy_d2d", lost),
            ("unified_memory_deallocate", lost)
        ]
    );
    assert_eq!(report.equal_contents, 1);
}

/// A device with one fault.
struct Faulty {
    device: &'static Cpu,
    fails: Function,
}

impl Wrapper for Faulty {
    fn target(&self) -> &dyn Partial {
        self.device
    }
}

impl Forward for Faulty {
    fn memory_copy_d2d(&self, id: DeviceId, dst: DevicePtr, src: DevicePtr, size: usize) -> Result<()> {
        let less = usize::from(self.fails == Function::MemoryCopyD2d);
        self.device.memory_copy_d2d(id, dst, src, size - less)
    }

    fn device_memory_set(&self, id: DeviceId, ptr: DevicePtr, value: u8, size: usize) -> Result<()> {
        match self.fails {
            Function::DeviceMemorySet => Err(Error::new(Status::INTERNAL_ERROR, "no fill")),
            _ => self.device.device_memory_set(id, ptr, value, size),
        }
    }

    fn record_event(&self, id: DeviceId, stream: Stream, event: Event) -> Result<()> {
        match self.fails {
            Function::RecordEvent => Err(Error::new(Status::FAILED, "out of order")),
            _ => self.device.record_event(id, stream, event),
        }
    }
}

fn faulty(fails: Function) -> Arc<dyn Partial> {
    Arc::new(Forwarded(Faulty { device: cpu(), fails }))
}

#[test]
fn wrong_bytes_are_a_difference() {
    let recording = record("bytes.cap", |device| {
        let [first, second] = [(); 2].map(|()| device.device_memory_allocate(ID, 8).unwrap());
        device.device_memory_set(ID, second, 1, 8).unwrap();
        device.memory_copy_h2d(ID, first, b"eight by").unwrap();
        device.memory_copy_d2d(ID, second, first, 8).unwrap();
        device.memory_copy_d2h(ID, &mut [0; 8], second).unwrap();
    });
    assert_equal(&repeat(&recording, other_cpu()), 1);
    let report = repeat(&recording, faulty(Function::MemoryCopyD2d));
    assert_eq!(
        report.to_string(),
        "cpu: 6 calls repeated, 1 differ\n  call 5, memory_copy_d2h: other bytes in a copy of 8 bytes to the host\n"
    );
}

#[test]
fn bytes_of_a_failed_call_are_not_compared() {
    let recording = record("cascade.cap", |device| {
        let memory = device.device_memory_allocate(ID, 8).unwrap();
        device.device_memory_set(ID, memory, 1, 8).unwrap();
        device.memory_copy_d2h(ID, &mut [0; 8], memory).unwrap();
    });
    let report = repeat(&recording, faulty(Function::DeviceMemorySet));
    let differences: Vec<_> = report.differences.iter().map(|one| (one.call, &*one.what)).collect();
    assert_eq!(differences, [(1, "status 4 instead of 0: no fill (internal_error)")]);
    assert_eq!((report.equal_contents, report.undetermined_contents), (0, 1));
}

#[test]
fn other_status_is_a_difference() {
    let recording = record("status.cap", pipeline);
    let report = repeat(&recording, faulty(Function::RecordEvent));
    // The order of the two streams is lost with the event, so copies may differ too.
    let failed = report.differences.iter().filter(|one| one.function == "record_event");
    let failed: Vec<&str> = failed.map(|one| &*one.what).collect();
    assert_eq!(failed, ["status 2 instead of 0: out of order (failed)"; 3]);
}

#[test]
fn bytes_of_operators_are_not_compared() {
    let recording = record("operators.cap", |device| {
        let memory = device.device_memory_allocate(ID, 16).unwrap();
        let copy = device.device_memory_allocate(ID, 16).unwrap();
        device.memory_copy_h2d(ID, memory, &[1; 16]).unwrap();
        // SAFETY: memory of the CPU device is memory of this process. An operator writes it.
        unsafe { memory.as_ptr().cast::<u8>().write(7) };
        device.memory_copy_d2h(ID, &mut [0; 16], memory).unwrap();
        device.memory_copy_d2d(ID, copy, memory, 16).unwrap();
        device.memory_copy_d2h(ID, &mut [0; 16], copy).unwrap();
        device.memory_copy_d2h(ID, &mut [0; 8], memory.checked_add(8).unwrap()).unwrap();
        device.memory_copy_h2d(ID, memory, &[2; 16]).unwrap();
        device.memory_copy_d2h(ID, &mut [0; 16], memory).unwrap();
    });
    let report = repeat(&recording, other_cpu());
    assert!(report.is_equal(), "{report}");
    assert_eq!((report.equal_contents, report.undetermined_contents), (2, 2));
    assert!(report.to_string().contains("2 not compared: the repeated calls do not determine"));
}

#[test]
fn calls_of_all_devices_can_run_on_one() {
    let recording = record("devices.cap", |device| {
        device.set_device(OTHER).unwrap();
        let memory = device.device_memory_allocate(OTHER, 4).unwrap();
        device.memory_copy_h2d(OTHER, memory, b"data").unwrap();
        device.memory_copy_d2h(OTHER, &mut [0; 4], memory).unwrap();
        device.device_memory_deallocate(OTHER, memory, 4).unwrap();
    });
    let one = Profile { devices: Some(1), ..Profile::default() };
    let target = Target { device: Some(0) };
    let report = replay(&recording, one.apply(other_cpu()), target, &mut |call| {
        assert_eq!(call.number_of("device"), Some(1), "the recorded number");
    });
    assert_equal(&report.unwrap(), 1);
}

#[test]
fn objects_from_before_the_capture_are_named() {
    let file = path("before.cap");
    let below = WithFallbacks(cpu());
    let (stream, memory) = (below.create_stream(ID).unwrap(), below.device_memory_allocate(ID, 8).unwrap());
    let capture = Capture::start(&Options { file: file.clone() }).unwrap();
    let device = Layered::new(below, vec![capture.layer("cpu") as Arc<dyn Layer>]);
    device.synchronize_stream(ID, stream).unwrap();
    device.memory_copy_h2d(ID, memory, &[1; 8]).unwrap();
    capture.finish();
    let report = repeat(&Recording::open(&file).unwrap(), other_cpu());
    let reasons: Vec<&str> = report.skipped.iter().map(|skipped| &*skipped.reason).collect();
    assert_eq!(reasons, ["`stream` is from outside of the capture", "`dst` is from outside of the capture"]);
    assert_eq!(report.repeated, 0);
}

#[test]
fn threads_keep_their_current_device() {
    let recording = record("threads.cap", |device| {
        let select = |id: DeviceId| {
            device.set_device(id).unwrap();
            assert_eq!(device.get_device(), Ok(id));
        };
        select(ID);
        std::thread::scope(|scope| {
            scope.spawn(|| select(OTHER));
        });
        device.synchronize_device(ID).unwrap();
    });
    assert_ne!(recording.calls[0].thread, recording.calls[2].thread);
    let cpu = other_cpu();
    assert_equal(&repeat(&recording, cpu.clone()), 0);
    assert_eq!(cpu.get_device(), Ok(ID), "the last call is of the first thread");
}

#[test]
fn objects_of_several_threads_are_told_apart() {
    // The threads use the addresses of each other's memory again.
    let recording = record("stress.cap", |device| {
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                scope.spawn(move || {
                    let stream = device.create_stream(ID).unwrap();
                    for round in 0..50u8 {
                        let memory = device.device_memory_allocate(ID, 64).unwrap();
                        device.memory_copy_h2d(ID, memory, &[thread * 50 + round; 64]).unwrap();
                        let mut back = [0; 64];
                        let host = HostPtr::from_ptr(back.as_mut_ptr());
                        device.async_memory_copy_d2h(ID, stream, host, memory, 64).unwrap();
                        device.synchronize_stream(ID, stream).unwrap();
                        device.device_memory_deallocate(ID, memory, 64).unwrap();
                        assert_eq!(back, [thread * 50 + round; 64]);
                    }
                    device.destroy_stream(ID, stream).unwrap();
                });
            }
        });
    });
    assert_equal(&repeat(&recording, other_cpu()), 200);
}

#[test]
fn a_call_that_reaches_past_its_memory_is_not_repeated() {
    let recording = record("bounds.cap", |device| {
        let memory = device.device_memory_allocate(ID, 16).unwrap();
        let last = memory.checked_add(10).unwrap();
        device.memory_copy_h2d(ID, last, &[1; 16]).unwrap_err();
    });
    let report = repeat(&recording, other_cpu());
    assert_eq!(report.skipped[0].reason, "it reaches past the end of its memory");
    assert_eq!(report.repeated, 1);
}

#[test]
fn an_empty_capture_is_an_error() {
    let recording = record("empty.cap", |_| {});
    let error = replay(&recording, other_cpu(), Target::default(), &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "the capture has no calls");
    fs::remove_file(recording.path()).unwrap();
}
