//! Captures as programs in C, compiled against the headers and run against the library.

#[path = "common/build.rs"]
mod build;

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use tenon::HostPtr;
use tenon::device::{Device, DeviceId, Layer};
use tenon_host::Plugin;
use tenon_layers::capture::c_program::{CProgramError, c_program};
use tenon_layers::capture::{Capture, Options, Recording};

const ID: DeviceId = DeviceId(0);

fn record(folder: &Path, program: impl FnOnce(&dyn Device)) -> Recording {
    let file = folder.join("program.cap");
    let capture = Capture::start(&Options { file: file.clone() }).unwrap();
    let device = Plugin::builtin().layered(vec![capture.layer("cpu") as Arc<dyn Layer>]);
    program(&*device);
    capture.finish();
    Recording::open(&file).unwrap()
}

/// Compiles the program of a capture, without warnings.
fn compile(recording: &Recording, folder: &Path) -> PathBuf {
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&source, c_program(recording).unwrap()).unwrap();
    build::sources(&[source], &program);
    program
}

fn start(program: &Path, arguments: &[&Path]) -> Output {
    let mut command = Command::new(program);
    for (variable, _) in std::env::vars().filter(|(variable, _)| variable.starts_with("TENON_")) {
        command.env_remove(variable);
    }
    command.args(arguments).output().unwrap()
}

#[track_caller]
fn assert_said(output: &Output, status: i32, text: &str) {
    assert_eq!(
        (output.status.code(), &*String::from_utf8_lossy(&output.stdout)),
        (Some(status), text),
        "{output:?}"
    );
}

/// Uses streams, events, pinned memory, a callback, and functions that answer.
fn pipeline(device: &dyn Device) {
    device.set_device(ID).unwrap();
    device.get_device_list().unwrap();
    device.device_memory_stats(ID).unwrap();
    let (stream, event) = (device.create_stream(ID).unwrap(), device.create_event(ID).unwrap());
    let [first, second] = [(); 2].map(|()| device.device_memory_allocate(ID, 100).unwrap());
    let pinned = device.host_memory_allocate(ID, 200).unwrap();
    let mut pageable = vec![0; 100];
    for round in 0..2u8 {
        // SAFETY: the block has 200 bytes, and the copies of the last round are complete.
        unsafe { pinned.bytes_mut(100) }.fill(round);
        device.async_memory_copy_h2d(ID, stream, first, pinned, 100).unwrap();
        device.async_memory_fill(ID, stream, first.checked_add(10).unwrap(), &[7, 8], 20).unwrap();
        device.record_event(ID, stream, event).unwrap();
        device.async_memory_copy_d2d(ID, stream, second, first, 100).unwrap();
        let upper = pinned.checked_add(100).unwrap();
        device.async_memory_copy_d2h(ID, stream, upper, second, 100).unwrap();
        let host = HostPtr::from_ptr(pageable.as_mut_ptr());
        device.async_memory_copy_d2h(ID, stream, host, second.checked_add(5).unwrap(), 50).unwrap();
        device.synchronize_stream(ID, stream).unwrap();
        assert!(device.query_event(ID, event).unwrap());
    }
    device.device_memory_set(ID, second, 3, 10).unwrap();
    let mut back = [0; 20];
    device.memory_copy_d2h(ID, &mut back, second).unwrap();
    device.destroy_event(ID, event).unwrap();
    device.destroy_stream(ID, stream).unwrap();
    device.host_memory_deallocate(ID, pinned, 200).unwrap();
    device.device_memory_deallocate(ID, first, 100).unwrap();
    device.device_memory_deallocate(ID, second, 100).unwrap();
}

#[test]
fn program_has_equal_results_on_other_devices() {
    let folder = build::scratch("capture_equal");
    let recording = record(&folder, pipeline);
    let program = compile(&recording, &folder);
    let said = format!("{} calls repeated, 0 differ\n", recording.calls.len());
    assert_said(&start(&program, &[]), 0, &said);
    let plugin = folder.join("librequired.so");
    build::plugin("required.c", &plugin, &["-pthread"]);
    assert_said(&start(&program, &[&plugin]), 0, &said);
    let source = std::fs::read_to_string(folder.join("program.c")).unwrap();
    // Two copies in stream order each round, and one that waits.
    assert_eq!(source.matches("  check_bytes(").count(), 5, "{source}");
}

#[test]
fn program_reports_other_bytes_and_statuses() {
    let folder = build::scratch("capture_differs");
    let recording = record(&folder, |device| {
        let memory = device.device_memory_allocate(ID, 4).unwrap();
        device.memory_copy_h2d(ID, memory, b"data").unwrap();
        device.memory_copy_d2h(ID, &mut [0; 4], memory).unwrap();
        device.device_memory_deallocate(ID, memory, 4).unwrap();
    });
    let text = c_program(&recording).unwrap();
    let (source, program) = (folder.join("changed.c"), folder.join("changed"));
    // The third call reads other bytes, and the last one is expected to fail.
    let text =
        text.replace("100, 97, 116, 97,", "100, 97, 116, 98,").replace("CALL(3, true", "CALL(3, false");
    std::fs::write(&source, text).unwrap();
    build::sources(&[source], &program);
    assert_said(
        &start(&program, &[]),
        1,
        "call 2: other bytes in a copy to the host\ncall 3: success, but the recorded call failed\n\
         4 calls repeated, 2 differ\n",
    );
}

#[test]
fn calls_that_cannot_be_repeated_are_comments() {
    let folder = build::scratch("capture_comments");
    let recording = record(&folder, |device| {
        device.initialize().unwrap();
        device.synchronize_device(ID).unwrap();
        device.synchronize_device(DeviceId(77)).unwrap_err();
        device.synchronize_stream(ID, tenon::device::Stream::from_addr(8)).unwrap_err();
        device.get_device_count().unwrap();
    });
    let source = c_program(&recording).unwrap();
    assert!(
        source.contains("/* 0 initialize(): success is left out: the library makes this call */"),
        "{source}"
    );
    assert!(source.contains("is left out: no call on device 77 succeeded */"), "{source}");
    assert!(source.contains("is left out: `stream` is from outside of the capture */"), "{source}");
    assert_said(&start(&compile(&recording, &folder), &[]), 0, "2 calls repeated, 0 differ\n");
}

#[test]
fn crash_of_a_plugin_becomes_a_program() {
    let folder = build::scratch("capture_crash");
    let plugin = folder.join("libcrashes.so");
    build::plugin("crashes.c", &plugin, &["-pthread"]);
    let original = folder.join("original");
    build::program("odd.c", &original);
    let file = folder.join("crash.cap");
    let mut command = Command::new(&original);
    command.arg(&plugin).env("TENON_LAYERS", "capture").env("TENON_CAPTURE_FILE", &file);
    assert_eq!(command.output().unwrap().status.signal(), Some(libc::SIGSEGV));

    let recording = Recording::open(&file).unwrap();
    let last = recording.calls.last().unwrap();
    assert!(!recording.is_ended && last.is_unfinished());
    let program = compile(&recording, &folder);
    let output = start(&program, &[Path::new("-v"), &plugin]);
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    let last_line = said.lines().last().unwrap();
    assert!(last_line.contains("tenon_async_memory_copy_d2h(device_0, "), "{said}");
    assert!(last_line.starts_with(&format!("{} ", last.number)), "{said}");
    // Another plugin does not crash.
    let output = start(&program, &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn too_much_data_is_an_error() {
    let folder = build::scratch("capture_large");
    let recording = record(&folder, |device| {
        let memory = device.device_memory_allocate(ID, 17 << 20).unwrap();
        device.memory_copy_h2d(ID, memory, &vec![1; 17 << 20]).unwrap();
        device.device_memory_deallocate(ID, memory, 17 << 20).unwrap();
    });
    let error = c_program(&recording).unwrap_err();
    assert!(matches!(error, CProgramError::TooLarge { bytes: 17_825_792 }), "{error}");
}
