//! The layer `capture`, and the reader of its files.

mod common;

use std::fs;
use std::sync::Arc;

use common::recording::{path, record};
use common::{ID, cpu, hold};
use tenon::device::*;
use tenon::{DevicePtr, HostPtr};
use tenon_layers::capture::{Argument, Capture, Event as Entry, Hash, Options, Output, ReadError, Recording};

/// Copies there and back, with memory that is used again and an offset.
fn copies(device: &dyn Device) {
    let memory = device.device_memory_allocate(ID, 64).unwrap();
    device.memory_copy_h2d(ID, memory, &[7; 64]).unwrap();
    device.memory_copy_h2d(ID, memory.checked_add(32).unwrap(), &[9; 16]).unwrap();
    device.memory_copy_h2d(ID, memory, &[7; 64]).unwrap();
    let mut back = [0; 8];
    device.memory_copy_d2h(ID, &mut back, memory.checked_add(8).unwrap()).unwrap();
    assert_eq!(back, [7; 8]);
    device.device_memory_deallocate(ID, memory, 64).unwrap();
}

fn functions(recording: &Recording) -> Vec<&'static str> {
    recording.calls.iter().map(|call| call.function.name()).collect()
}

#[test]
fn calls_are_recorded_with_objects_and_contents() {
    let recording = record("copies.cap", copies);
    assert_eq!(
        functions(&recording),
        [
            "device_memory_allocate",
            "memory_copy_h2d",
            "memory_copy_h2d",
            "memory_copy_h2d",
            "memory_copy_d2h",
            "device_memory_deallocate"
        ]
    );
    assert!(recording.is_ended && recording.cut_off == 0);
    assert_eq!((recording.plugins.as_slice(), recording.content_count()), (&["cpu".to_owned()][..], 2));
    let block = recording.calls[0].created().next().unwrap();
    assert_eq!(recording.calls[0].arguments, [Argument::Number(0), Argument::Output, Argument::Number(64)]);
    let Argument::Memory(second) = recording.calls[2].arguments[1] else { panic!("no memory") };
    assert_eq!((block.0, second.block, second.offset), (1, block.1, 32));
    let Argument::Source { content: Some(content), length: 16, position: None } =
        recording.calls[2].arguments[2]
    else {
        panic!("no source")
    };
    assert_eq!(recording.content(content).unwrap(), [9; 16]);
    let outcome = recording.calls[4].outcome.as_ref().unwrap();
    assert_eq!(outcome.hashes, [(1, Hash::of(&[7; 8]))]);
    assert!(recording.calls.iter().all(|call| call.outcome.as_ref().unwrap().status == 0));
}

#[test]
fn compressed_contents_are_restored() {
    let zeros = vec![0; 1 << 20];
    let noise: Vec<u8> =
        (0..100_000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let recording = record("contents.cap", |device| {
        for bytes in [&zeros[..], &noise, &[]] {
            let memory = device.device_memory_allocate(ID, bytes.len()).unwrap();
            device.memory_copy_h2d(ID, memory, bytes).unwrap();
        }
    });
    assert!(fs::metadata(recording.path()).unwrap().len() < 150_000, "zeros need hardly any room");
    let contents = (0..3).map(|id| recording.content(id).unwrap());
    assert!(contents.eq([zeros, noise, Vec::new()]));
}

#[test]
fn failed_calls_have_their_status() {
    let recording = record("failed.cap", |device| {
        device.destroy_stream(ID, Stream::from_addr(8)).unwrap_err();
        device.set_device(DeviceId(9)).unwrap_err();
    });
    let statuses = recording.calls.iter().map(|call| call.outcome.as_ref().unwrap().status);
    assert!(statuses.eq([Status::ERROR.0; 2]));
    assert_eq!(recording.calls[0].arguments[1], Argument::Unknown, "no call has created the stream");
}

#[test]
fn copies_in_stream_order_are_hashed_when_they_are_complete() {
    let recording = record("arrivals.cap", |device| {
        let stream = device.create_stream(ID).unwrap();
        let event = device.create_event(ID).unwrap();
        let memory = device.device_memory_allocate(ID, 16).unwrap();
        device.memory_copy_h2d(ID, memory, &[5; 16]).unwrap();
        let pinned = device.host_memory_allocate(ID, 32).unwrap();
        let upper = pinned.checked_add(16).unwrap();
        let gate = hold(device, ID, stream);
        device.async_memory_copy_d2h(ID, stream, pinned, memory, 16).unwrap();
        // The source is the destination of work that is not complete.
        device.async_memory_copy_h2d(ID, stream, memory, pinned, 16).unwrap();
        device.record_event(ID, stream, event).unwrap();
        device.async_memory_copy_d2h(ID, stream, upper, memory, 16).unwrap();
        drop(gate);
        device.synchronize_event(ID, event).unwrap();
        device.synchronize_device(ID).unwrap();
        device.async_memory_copy_h2d(ID, stream, memory, pinned, 16).unwrap();
        device.synchronize_stream(ID, stream).unwrap();
    });
    let names: Vec<String> = recording
        .events
        .iter()
        .filter_map(|event| match event {
            Entry::Call(index) => Some(recording.calls[*index].function.name().to_owned()),
            Entry::Return(_) => None,
            Entry::Arrival(arrival) => Some(format!("{} arrives", arrival.call)),
        })
        .collect();
    assert_eq!(
        names[6..],
        [
            "async_memory_copy_d2h",
            "async_memory_copy_h2d",
            "record_event",
            "async_memory_copy_d2h",
            "synchronize_event",
            "6 arrives",
            "synchronize_device",
            "9 arrives",
            "async_memory_copy_h2d",
            "synchronize_stream",
        ]
    );
    let source = |call: usize| recording.calls[call].arguments[3].clone();
    let Argument::Source { content: None, position: Some(position), .. } = source(7) else {
        panic!("no source")
    };
    let Argument::Source { content: Some(content), position: Some(again), .. } = source(12) else {
        panic!("no content")
    };
    assert_eq!((position, recording.content(content).unwrap()), (again, vec![5; 16]));
    let arrived = recording.events.iter().filter_map(|event| match event {
        Entry::Arrival(arrival) => Some(arrival.hash),
        _ => None,
    });
    assert!(arrived.eq([Hash::of(&[5; 16]); 2]));
}

#[test]
fn memory_that_is_freed_is_not_read() {
    let recording = record("freed.cap", |device| {
        let stream = device.create_stream(ID).unwrap();
        let memory = device.device_memory_allocate(ID, 16).unwrap();
        let pinned = device.host_memory_allocate(ID, 16).unwrap();
        let second = pinned.checked_add(4).unwrap();
        device.async_memory_copy_d2h(ID, stream, second, memory, 12).unwrap();
        device.host_memory_deallocate(ID, pinned, 16).unwrap();
        device.synchronize_stream(ID, stream).unwrap();
    });
    assert!(!recording.events.iter().any(|event| matches!(event, Entry::Arrival(_))));
}

/// A device whose copies end the program, as far as the layer can see.
struct Crashing;

impl Wrapper for Crashing {
    fn target(&self) -> &dyn Partial {
        cpu()
    }
}

impl Forward for Crashing {
    fn memory_copy_d2h(&self, _: DeviceId, _: &mut [u8], _: DevicePtr) -> Result<()> {
        panic!("a crash")
    }
}

#[test]
fn call_that_crashes_is_in_the_file() {
    let file = path("crash.cap");
    let capture = Capture::start(&Options { file: file.clone() }).unwrap();
    let below = WithFallbacks(Arc::new(Forwarded(Crashing)) as Arc<dyn Partial>);
    let device = Layered::new(below, vec![capture.layer("cpu") as Arc<dyn Layer>]);
    let crashed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let memory = device.device_memory_allocate(ID, 8).unwrap();
        device.memory_copy_d2h(ID, &mut [0; 8], memory)
    }));
    assert!(crashed.is_err());
    let recording = Recording::open(&file).unwrap();
    assert!(!recording.is_ended);
    assert_eq!(functions(&recording), ["device_memory_allocate", "memory_copy_d2h"]);
    assert!(recording.calls[1].is_unfinished() && !recording.calls[0].is_unfinished());
}

#[test]
fn every_part_of_a_file_can_be_read() {
    let recording = record("whole.cap", copies);
    let whole = fs::read(recording.path()).unwrap();
    let file = path("part.cap");
    let mut most = 0;
    for length in (0..whole.len()).step_by(3) {
        fs::write(&file, &whole[..length]).unwrap();
        match Recording::open(&file) {
            Ok(part) => {
                assert!(!part.is_ended && part.calls.len() >= most);
                most = part.calls.len();
            }
            Err(ReadError::NotACapture { .. }) => assert!(length < 12),
            Err(ReadError::Damaged { .. }) => {
                assert_eq!(most, 0, "the description of the interface is cut off")
            }
            Err(error) => panic!("{length}: {error}"),
        }
    }
    assert_eq!(most, recording.calls.len());
}

#[test]
fn damage_is_an_error() {
    let recording = record("intact.cap", copies);
    let whole = fs::read(recording.path()).unwrap();
    let file = path("damaged.cap");
    for at in (0..whole.len()).step_by(3) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        fs::write(&file, &bytes).unwrap();
        match Recording::open(&file) {
            Ok(_) => panic!("byte {at}"),
            Err(ReadError::NotACapture { .. } | ReadError::Version { .. }) => assert!(at < 12, "byte {at}"),
            Err(ReadError::Damaged { .. }) => {}
            Err(error) => panic!("{at}: {error}"),
        }
    }
}

#[test]
fn other_files_are_refused_with_the_reason() {
    let file = path("other.cap");
    let message = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        Recording::open(&file).unwrap_err().to_string().replace(&file.display().to_string(), "FILE")
    };
    assert_eq!(message(b"{\"traceEvents\": []}"), "FILE is not a capture; TENON_LAYERS=capture makes one");
    assert_eq!(
        message(b"tenoncap\x09\0\0\0"),
        "FILE has version 9 of the format, but this release reads version 1"
    );
    let missing = Recording::open(&path("missing.cap")).unwrap_err();
    assert!(matches!(missing, ReadError::System { .. }));
}

#[test]
fn a_capture_that_has_ended_records_no_more() {
    let file = path("ended.cap");
    let capture = Capture::start(&Options { file: file.clone() }).unwrap();
    let device = Layered::new(WithFallbacks(cpu()), vec![capture.layer("cpu") as Arc<dyn Layer>]);
    device.set_device(ID).unwrap();
    capture.finish();
    device.set_device(ID).unwrap();
    assert_eq!(Recording::open(&file).unwrap().calls.len(), 1);
}

#[test]
fn results_are_numbers_or_objects() {
    let recording = record("results.cap", |device| {
        device.get_device_count().unwrap();
        device.create_event(ID).unwrap();
        device.device_memory_allocate(ID, usize::MAX).unwrap_or(DevicePtr::NULL);
        device.device_memory_deallocate(ID, DevicePtr::NULL, 0).unwrap();
        device.host_memory_deallocate(ID, HostPtr::NULL, 0).unwrap();
    });
    let outputs = |call: usize| recording.calls[call].outcome.as_ref().unwrap().outputs.clone();
    assert_eq!(outputs(0), [(0, Output::Number(2))]);
    assert_eq!(outputs(1), [(1, Output::Created(1))]);
    assert!(recording.calls[2].created().next().is_none());
    assert_eq!(recording.calls[3].arguments[1], Argument::Null);
}
