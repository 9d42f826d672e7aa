//! Shared by tests of captures: programs whose calls are recorded.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use tenon::device::*;
use tenon_layers::capture::{Capture, Options, Recording};

use super::{ID, cpu};

/// Returns the path of a file for a test.
pub fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("capture");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// Runs a program on the CPU device with the layer, and reads what was recorded.
pub fn record(name: &str, program: impl FnOnce(&dyn Device)) -> Recording {
    let file = path(name);
    let capture = Capture::start(&Options { file: file.clone() }).unwrap();
    let device = Layered::new(WithFallbacks(cpu()), vec![capture.layer("cpu") as Arc<dyn Layer>]);
    program(&device);
    capture.finish();
    Recording::open(&file).unwrap()
}

/// A pipeline with a stream, an event, pinned memory, and copies in both directions.
pub fn pipeline(device: &dyn Device) {
    let [stream, other] = [(); 2].map(|()| device.create_stream(ID).unwrap());
    let event = device.create_event(ID).unwrap();
    let [first, second] = [(); 2].map(|()| device.device_memory_allocate(ID, 1000).unwrap());
    let pinned = device.host_memory_allocate(ID, 2000).unwrap();
    let back = pinned.checked_add(1000).unwrap();
    for round in 0..3u8 {
        // SAFETY: the block has 2000 bytes, and the copies of the last round are complete.
        unsafe { pinned.bytes_mut(1000) }.fill(round);
        device.async_memory_copy_h2d(ID, stream, first, pinned, 1000).unwrap();
        device
            .async_memory_fill(ID, stream, first.checked_add(100).unwrap(), &[1, 2, 3, round], 300)
            .unwrap();
        device.record_event(ID, stream, event).unwrap();
        device.stream_wait_event(ID, other, event).unwrap();
        device.async_memory_copy_d2d(ID, other, second, first, 500).unwrap();
        device.async_memory_copy_d2h(ID, other, back, second.checked_add(50).unwrap(), 400).unwrap();
        device.synchronize_stream(ID, other).unwrap();
        // SAFETY: as above.
        let bytes = unsafe { back.bytes(400) };
        assert_eq!((bytes[0], &bytes[50..56]), (round, &[1, 2, 3, round, 1, 2][..]));
    }
    device.device_memory_set(ID, second, 9, 10).unwrap();
    let mut bytes = [0; 20];
    device.memory_copy_d2h(ID, &mut bytes, second).unwrap();
    device.host_memory_deallocate(ID, pinned, 2000).unwrap();
    for memory in [first, second] {
        device.device_memory_deallocate(ID, memory, 1000).unwrap();
    }
    device.destroy_event(ID, event).unwrap();
    for stream in [stream, other] {
        device.destroy_stream(ID, stream).unwrap();
    }
}
