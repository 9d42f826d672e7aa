//! Parts of captures.

mod common;

use std::fs;
use std::sync::Arc;

use common::recording::{path, pipeline, record};
use common::{ID, OTHER};
use tenon_cpu::{Config, Cpu};
use tenon_layers::capture::Recording;
use tenon_layers::capture::replay::{Report, Target, replay};
use tenon_layers::capture::trim::{Part, TrimError, trim};

fn cut(recording: &Recording, range: std::ops::Range<u64>, name: &str) -> (Part, Recording) {
    let file = path(name);
    let _ = fs::remove_file(&file);
    let part = trim(recording, range, &file).unwrap();
    (part, Recording::open(&file).unwrap())
}

fn repeat(recording: &Recording) -> Report {
    let cpu = Arc::new(Cpu::with_config(Config { devices: 2, memory: 64 << 20, threads: 2 }));
    replay(recording, cpu, Target::default(), &mut |_| {}).unwrap()
}

fn numbers(recording: &Recording) -> Vec<u64> {
    recording.calls.iter().map(|call| call.number).collect()
}

#[test]
fn a_part_has_what_its_calls_need() {
    let recording = record("steps.cap", |device| {
        device.set_device(ID).unwrap(); // 0
        let weights = device.device_memory_allocate(ID, 8).unwrap();
        device.memory_copy_h2d(ID, weights, b"old data").unwrap();
        device.memory_copy_h2d(ID, weights, b"weights!").unwrap();
        for step in 0..3u8 {
            let batch = device.device_memory_allocate(ID, 4).unwrap(); // 4, 9, 14
            device.memory_copy_h2d(ID, batch, &[step; 4]).unwrap();
            device.memory_copy_d2d(ID, weights, batch, 4).unwrap();
            device.memory_copy_d2h(ID, &mut [0; 8], weights).unwrap();
            device.device_memory_deallocate(ID, batch, 4).unwrap();
        }
        device.device_memory_deallocate(ID, weights, 8).unwrap();
    });
    let (part, last) = cut(&recording, 14..19, "last-step.cap");
    // The allocation and the last initialisation of the weights, but no earlier step: its bytes are written again.
    assert_eq!(numbers(&last), [0, 1, 3, 14, 15, 16, 17, 18]);
    assert_eq!((part, last.content_count()), (Part { calls: 5, earlier: 3 }, 2));
    let report = repeat(&last);
    assert!(report.is_equal() && report.skipped.is_empty(), "{report}");
    assert_eq!((report.equal_contents, report.undetermined_contents), (1, 0));
    // To free memory needs no bytes.
    assert_eq!(numbers(&cut(&recording, 19..20, "last-free.cap").1), [0, 1, 19]);
    // Only the copy to the host: the bytes of the last step are needed too.
    let (_, only) = cut(&recording, 17..18, "last-copy.cap");
    assert_eq!(numbers(&only), [0, 1, 3, 14, 15, 16, 17]);
    assert_eq!(repeat(&only).equal_contents, 1);
}

#[test]
fn a_part_of_a_part_is_the_same() {
    let recording = record("twice.cap", pipeline);
    let (_, part) = cut(&recording, 13..29, "part-1.cap");
    let (_, again) = cut(&part, 20..29, "part-2.cap");
    let (_, at_once) = cut(&recording, 20..29, "part-3.cap");
    assert_eq!(numbers(&again), numbers(&at_once));
    assert_eq!(fs::read(again.path()).unwrap(), fs::read(at_once.path()).unwrap());
}

#[test]
fn every_part_of_a_pipeline_can_be_repeated() {
    let recording = record("ranges.cap", pipeline);
    let count = recording.calls.len() as u64;
    for from in 0..count {
        let (part, cut) = cut(&recording, from..count, "range.cap");
        assert_eq!(part.calls as u64, count - from);
        let report = repeat(&cut);
        assert!(report.is_equal() && report.skipped.is_empty(), "from {from}: {report}");
        assert_eq!(report.undetermined_contents, 0, "from {from}: {report}");
        // The copies at 11, 18, 25 and 28.
        let copies = [11, 18, 25, 28].iter().filter(|copy| **copy >= from).count() as u64;
        assert_eq!(report.equal_contents, copies, "from {from}: {report}");
    }
}

#[test]
fn the_order_of_queued_work_is_kept() {
    let recording = record("order.cap", pipeline);
    // The copy to the host alone, with the work on the other stream before it and the event between them.
    let (_, part) = cut(&recording, 28..29, "order-part.cap");
    let names: Vec<&str> = part.calls.iter().map(|call| call.function.name()).collect();
    assert!(names.contains(&"record_event") && names.contains(&"stream_wait_event"), "{names:?}");
    assert_eq!(names.last(), Some(&"memory_copy_d2h"));
    assert!(!names.contains(&"async_memory_copy_d2h"), "{names:?}");
}

#[test]
fn the_current_device_of_a_thread_is_kept() {
    let recording = record("current.cap", |device| {
        device.set_device(ID).unwrap();
        device.set_device(OTHER).unwrap();
        device.synchronize_device(OTHER).unwrap();
        device.get_device().unwrap();
    });
    assert_eq!(numbers(&cut(&recording, 3..4, "current-part.cap").1), [1, 3]);
}

#[test]
fn bad_ranges_and_files_are_errors() {
    let recording = record("range-errors.cap", pipeline);
    let file = path("no-part.cap");
    let _ = fs::remove_file(&file);
    let message = |range, file: &_| trim(&recording, range, file).unwrap_err().to_string();
    assert_eq!(
        message(35..40, &file),
        "the capture has no calls with numbers from 35 and below 40; its calls have the numbers 0 to 34"
    );
    assert!(!file.exists());
    // The capture itself is not overwritten.
    let error = trim(&recording, 0..3, recording.path()).unwrap_err();
    assert!(matches!(error, TrimError::Write { .. }), "{error}");
}
