//! `tenon capture`, `tenon replay` and `tenon trim`.

mod common;
#[path = "../../../sdk-rs/layers/tests/common/made.rs"]
#[allow(dead_code, reason = "the tests of the layer use the rest")]
mod made;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use tenon::device::{DeviceId, Function, Layer};
use tenon_layers::capture::{Argument, Capture, Options};
use tenon_loader::Plugin;

const ID: DeviceId = DeviceId(0);

fn tenon(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenon")).args(arguments).output().unwrap()
}

#[track_caller]
fn said(arguments: &[&str], status: i32) -> String {
    let output = tenon(arguments);
    let text = common::text(&output);
    assert_eq!(output.status.code(), Some(status), "{text}");
    text
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Records two steps on the built-in device.
fn record(name: &str) -> String {
    let file = file(name);
    let capture = Capture::start(&Options { file: file.clone() }).unwrap();
    let device = Plugin::built_in(c"cpu", tenon_cpu::Cpu::shared().clone())
        .layered(vec![capture.layer("cpu") as Arc<dyn Layer>]);
    let stream = device.create_stream(ID).unwrap();
    for step in 0..2u8 {
        let memory = device.device_memory_allocate(ID, 100).unwrap();
        device.memory_copy_h2d(ID, memory, &[step; 100]).unwrap();
        let mut back = vec![0; 60];
        let destination = tenon::HostPtr::from_ptr(back.as_mut_ptr());
        device.async_memory_copy_d2h(ID, stream, destination, memory, 60).unwrap();
        device.synchronize_stream(ID, stream).unwrap();
        device.device_memory_deallocate(ID, memory, 100).unwrap();
    }
    device.destroy_stream(ID, stream).unwrap();
    capture.finish();
    file.to_str().unwrap().to_owned()
}

const PIECE: &str = "\
1 device_memory_allocate(device=0, size=100) -> #2: success
2 memory_copy_h2d(device=0, dst=#2, src=<100 bytes>, size=100): success
3 async_memory_copy_d2h(device=0, stream=#1, dst=<60 bytes>, src=#2, size=60): success
4 synchronize_stream(device=0, stream=#1): success
";

#[test]
fn calls_are_listed_with_their_objects() {
    let capture = record("list.cap");
    assert!(said(&["capture", "list", &capture], 0).contains(PIECE));
    let some = said(&["capture", "list", &capture, "--function", "create_stream"], 0);
    assert_eq!(some, "0 create_stream(device=0) -> #1: success\n");
}

#[test]
fn a_plugin_in_c_repeats_what_the_cpu_device_did() {
    let capture = record("replayed.cap");
    let plugin = common::compile("examples/c-plugin/plugin.c", "libreplays");
    let text = said(&["replay", &capture, "--plugin", plugin.to_str().unwrap()], 0);
    assert_eq!(text, "cpu: 12 calls repeated, 0 differ\ncopies to the host: 2 with the recorded bytes\n");
    let json = said(&["replay", &capture, "--json"], 0);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["repeated"], &json["equal_contents"]), (&12.into(), &2.into()));
}

#[test]
fn a_device_that_does_not_exist_is_an_error() {
    let text = said(&["replay", &record("device.cap"), "--device", "999"], 1);
    assert!(text.contains("there is no device 999, but only 0"), "{text}");
}

#[test]
fn a_part_is_repeated_alone() {
    let capture = record("trimmed.cap");
    let part = file("part.cap");
    let _ = std::fs::remove_file(&part);
    let part = part.to_str().unwrap();
    let text = said(&["trim", &capture, "--from", "6", "--to", "9", "-o", part], 0);
    assert_eq!(text, format!("{part}: 4 calls, and 1 earlier ones that they need\n"));
    assert!(
        said(&["capture", "list", part], 0).starts_with("0 create_stream(device=0) -> #1: success\n6 device")
    );
    assert!(said(&["replay", part], 0).starts_with("cpu: 5 calls repeated, 0 differ"));
    let text = said(&["trim", &capture, "-o", part], 1);
    assert!(text.contains("cannot write") && text.contains("exists"), "{text}");
}

#[test]
fn damaged_files_are_errors() {
    let capture = record("damaged.cap");
    let mut bytes = std::fs::read(&capture).unwrap();
    let middle = bytes.len() - 100;
    bytes[middle] ^= 1;
    std::fs::write(&capture, bytes).unwrap();
    let text = said(&["replay", &capture], 1);
    assert!(text.contains("is damaged at byte"), "{text}");
    let text = said(&["capture", "list", "Cargo.toml"], 1);
    assert!(text.contains("is not a capture") && text.contains("TENON_LAYERS=capture"), "{text}");
}

#[test]
fn a_capture_without_its_end_says_so() {
    let capture = record("cut.cap");
    let bytes = std::fs::read(&capture).unwrap();
    std::fs::write(&capture, &bytes[..bytes.len() - 20]).unwrap();
    let text = said(&["replay", &capture], 0);
    assert!(text.contains("the file is cut off in a record, of which it has"), "{text}");
}

#[test]
fn a_program_in_c_is_written() {
    let capture = record("program.cap");
    let source = file("program.c");
    let source = source.to_str().unwrap();
    let text = said(&["capture", "to-c", &capture, "-o", source], 0);
    assert_eq!(text, format!("{source}: compile it with -ltenon\n"));
    let written = std::fs::read_to_string(source).unwrap();
    assert!(
        written
            .contains("CALL(2, true, tenon_memory_copy_h2d(device_0, object_2, content_0, (size_t)100u));")
    );
    // The same without a file.
    assert_eq!(said(&["capture", "to-c", &capture], 0), written);
}

#[test]
fn every_command_refuses_a_file_that_lies() {
    let mut made = made::Made::new(b"cpu");
    made.create(Function::CreateStream, 1);
    let numbers = [0, 0x4141_4141, 0].map(Argument::Number);
    let [device, callback, user_data] = numbers;
    made.call(Function::StreamAddCallback, &[device, Argument::Handle(1), callback, user_data], &[]);
    let capture = file("lies.cap");
    std::fs::write(&capture, made.bytes()).unwrap();
    let (capture, part) = (capture.to_str().unwrap(), file("lies-part.cap"));
    let commands: [&[&str]; 4] = [
        &["replay", capture],
        &["capture", "list", capture],
        &["capture", "to-c", capture],
        &["trim", capture, "-o", part.to_str().unwrap()],
    ];
    for command in commands {
        // Where a message is wrapped depends on the length of the path.
        let text = said(command, 1).replace([' ', '\n', '│'], "");
        assert!(text.contains("`callback`of`stream_add_callback`isanumberandnotacallback"), "{text}");
    }
    assert!(!part.exists());
}

#[test]
fn a_list_shows_no_characters_that_a_terminal_obeys() {
    let mut made = made::Made::new(b"first");
    made.record(
        made::kind::PLUGIN,
        &[&1u32.to_le_bytes()[..], &8u64.to_le_bytes(), b"\x1b[2J\x07\r\n\x1b"].concat(),
    );
    let mut call = 0u64.to_le_bytes().to_vec();
    for part in [1, 1, Function::Initialize as u32] {
        call.extend(part.to_le_bytes());
    }
    made.record(made::kind::CALL, &[&call[..], &[0]].concat());
    let capture = file("terminal.cap");
    std::fs::write(&capture, made.bytes()).unwrap();
    let text = said(&["capture", "list", capture.to_str().unwrap()], 0);
    assert!(text.starts_with(r"\u{1b}[2J\u{7}\u{d}\u{a}\u{1b}: 0 initialize()"), "{text:?}");
}

#[test]
fn a_plugin_that_calls_exit_fails_the_replay() {
    let plugin = common::compile("tools/conformance/tests/faulty/plugin.c", "faulty-replayed");
    let output = Command::new(env!("CARGO_BIN_EXE_tenon"))
        .env("FAULT", "exits-with-success")
        .args(["replay", &record("exits.cap"), "--plugin", plugin.to_str().unwrap()])
        .output()
        .unwrap();
    let text = common::text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains(
            "ended with exit status 0 in the function `get_device_list` of the plugin faulty-replayed ("
        ),
        "{text}"
    );
}
