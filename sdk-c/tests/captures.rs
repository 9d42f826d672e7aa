//! Captures as programs in C, compiled against the headers and run against the library.

#[path = "common/build.rs"]
mod build;
#[path = "../../sdk-rs/layers/tests/common/made.rs"]
#[allow(dead_code, reason = "the tests of the layer use the rest")]
mod made;

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use tenon::HostPtr;
use tenon::device::{Device, DeviceId, Function, Layer};
use tenon::reflect::{Direction, Kind, ParamInfo, Space};
use tenon_layers::capture::c_program::{CProgramError, c_program};
use tenon_layers::capture::{Argument, Capture, Options, Output as Result, Position, Recording};
use tenon_loader::Plugin;

const ID: DeviceId = DeviceId(0);

fn record(folder: &Path, program: impl FnOnce(&dyn Device)) -> Recording {
    let file = folder.join("program.cap");
    let capture = Capture::start(&Options { file: file.clone() }).unwrap();
    let device = Plugin::built_in(c"cpu", tenon_cpu::Cpu::shared().clone())
        .layered(vec![capture.layer("cpu") as Arc<dyn Layer>]);
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

/// Compiles the program of a file that no program has recorded, and runs it.
fn run_made(made: &made::Made, name: &str) -> (String, Output) {
    let folder = build::scratch(name);
    let recording = made.read(&folder.join("made.cap")).unwrap();
    let program = compile(&recording, &folder);
    (std::fs::read_to_string(folder.join("program.c")).unwrap(), start(&program, &[]))
}

#[test]
fn texts_of_a_capture_do_not_become_code() {
    let code = "__attribute__((constructor)) static void evil(void) { puts(\"evil\"); }";
    for (index, end) in ["*/", "*\\\n/", "*\\\r\n/", "*??/\n/", "\n#error \n", "**//*/"].iter().enumerate() {
        let mut made = made::Made::new(format!("{end} {code} /*").as_bytes());
        made.call(Function::SynchronizeDevice, &[Argument::Number(0)], &[]);
        let (source, output) = run_made(&made, &format!("capture_text_{index}"));
        assert_eq!(source.matches("evil").count(), 2, "{source}");
        assert_said(&output, 0, "1 calls repeated, 0 differ\n");
    }
}

#[test]
fn devices_that_cannot_exist_are_left_out() {
    let mut made = made::Made::new(b"cpu");
    for device in [-1, i64::from(i32::MIN), 0] {
        made.call(Function::SynchronizeDevice, &[Argument::Number(device as u64)], &[]);
    }
    let (_, output) = run_made(&made, "capture_negative");
    assert_said(&output, 0, "1 calls repeated, 0 differ\n");
}

#[test]
fn memory_of_a_size_that_no_program_has_is_left_out() {
    let mut made = made::Made::new(b"cpu");
    made.allocate(Function::DeviceMemoryAllocate, 1, 1 << 62);
    let size = Argument::Number(1 << 62);
    let set = [Argument::Number(0), made::memory(1, 0), Argument::Number(7), size.clone()];
    made.call(Function::DeviceMemorySet, &set, &[]);
    made.call(
        Function::MemoryCopyD2h,
        &[Argument::Number(0), made::destination(1 << 62), made::memory(1, 0), size],
        &[],
    );
    // Pinned memory that is not there is not written either.
    made.allocate(Function::HostMemoryAllocate, 2, 1 << 62);
    made.allocate(Function::DeviceMemoryAllocate, 3, 16);
    let content = made.content(&[5; 16]);
    let position = Some(Position { block: 2, offset: 1 << 40 });
    let source = Argument::Source { content: Some(content), length: 16, position };
    let copy = [Argument::Number(0), made::memory(3, 0), source, Argument::Number(16)];
    made.call(Function::MemoryCopyH2d, &copy, &[]);
    let (source, output) = run_made(&made, "capture_huge");
    assert!(
        source.contains("is left out: the copies to the host before it need 1073741824 bytes"),
        "{source}"
    );
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn every_function_becomes_a_c_program() {
    let mut made = made::Made::new(b"cpu");
    made.create(Function::CreateStream, 1).create(Function::CreateEvent, 2);
    made.allocate(Function::DeviceMemoryAllocate, 3, 16);
    let content = made.content(&[5; 16]);
    let argument = |param: &ParamInfo| match param.kind {
        _ if param.direction == Direction::Out && !param.is_memory() => Argument::Output,
        Kind::Callback(_) => Argument::Callback,
        _ if param.context_of.is_some() => Argument::Callback,
        _ if matches!(param.length, Some(tenon::reflect::Length::Count(_))) => Argument::Null,
        Kind::Bool | Kind::Id(_) => Argument::Number(0),
        Kind::Int { .. } => Argument::Number(16),
        Kind::Float { .. } => Argument::Number(1.5f64.to_bits()),
        Kind::Enum { values, .. } => Argument::Number(values[0].0 as u64),
        Kind::Handle { name: "Stream", .. } => Argument::Handle(1),
        Kind::Handle { name: "Event", .. } => Argument::Handle(2),
        Kind::Pointer if param.space == Some(Space::Host) && param.length.is_some() => {
            match param.direction {
                Direction::In => made::source(content, 16),
                _ => made::destination(16),
            }
        }
        Kind::Pointer if param.space.is_some() => made::memory(3, 0),
        _ => Argument::Null,
    };
    for (index, function) in Function::ALL.into_iter().enumerate() {
        let params = function.info().params;
        let is_freed = |param: &ParamInfo| {
            param.role == tenon::reflect::Role::Destroys && param.space == Some(Space::Host)
        };
        let arguments: Vec<Argument> = params
            .iter()
            .map(|param| if is_freed(param) { Argument::Null } else { argument(param) })
            .collect();
        let created = |(at, param): (usize, &ParamInfo)| {
            let is_new = param.is_output() && param.length.is_none();
            let id = 100 + 20 * index as u64 + at as u64;
            let is_object = matches!(param.kind, Kind::Handle { .. });
            (is_new && is_object).then_some((at as u8, Result::Created(id)))
        };
        let outputs: Vec<_> = params.iter().enumerate().filter_map(created).collect();
        made.call(function, &arguments, &outputs);
    }
    let folder = build::scratch("capture_every");
    let recording = made.read(&folder.join("made.cap")).unwrap();
    compile(&recording, &folder);
    let source = std::fs::read_to_string(folder.join("program.c")).unwrap();
    let made_calls = source.matches("  CALL(").count();
    assert!(made_calls >= 60, "{made_calls} calls: {source}");
}
