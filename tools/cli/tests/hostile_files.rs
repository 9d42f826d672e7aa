//! Files that a user did not write: no command waits for a pipe, reads without an end, takes memory that the file does not
//! have, or passes control characters on.

mod common;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::text;

/// Bytes of address space that a command may use. Its own libraries and threads take a tenth.
const SPACE: u64 = 2 << 30;
/// Seconds of processor time that a command may use. None of these takes one.
const SECONDS: u64 = 60;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile-files").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder is writable");
    folder
}

/// Runs the command in a folder, with limits that turn endless work into a failure.
fn tenon(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
    command.args(arguments).current_dir(folder);
    // SAFETY: the function calls only `setrlimit`, which may be called after `fork`.
    unsafe {
        command.pre_exec(|| {
            for (what, limit) in [(libc::RLIMIT_AS, SPACE), (libc::RLIMIT_CPU, SECONDS)] {
                let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
                if libc::setrlimit(what, &raw const limit) != 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            Ok(())
        })
    };
    command.output().expect("the command starts")
}

/// The commands that open a file that the user names.
const COMMANDS: [&[&str]; 9] = [
    &["doctor", "FILE"],
    &["matrix", "FILE"],
    &["check", "FILE"],
    &["replay", "FILE"],
    &["capture", "list", "FILE"],
    &["capture", "to-c", "FILE"],
    &["trim", "FILE", "-o", "part.cap"],
    &["trace", "summary", "FILE"],
    &["report", "FILE"],
];

#[test]
fn no_command_opens_what_is_no_plain_file() {
    let folder = folder("special");
    tenon_testing::make_pipe(&folder.join("libpipe.so"));
    for file in ["./libpipe.so", "/dev/zero"] {
        for command in COMMANDS {
            let arguments: Vec<&str> =
                command.iter().map(|argument| if *argument == "FILE" { file } else { argument }).collect();
            let output = tenon(&folder, &arguments);
            let mut said = text(&output);
            if command[0] == "report" {
                let report = folder.join("tenon-report.md");
                said = fs::read_to_string(&report).expect("the report was written");
                fs::remove_file(&report).expect("it was just written");
            } else {
                assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}: {said}");
            }
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            let parts = ["and a plain file is expected", "is not a file", "and not a file"];
            assert!(parts.iter().any(|part| said.contains(part)), "{arguments:?}: {said}");
        }
    }
}

/// The manifest of a sound plugin.
const MANIFEST: &str = r#"{"manifest":1,"interface":"device","device_type":"x","since":"2.6","releases":["2.6"],"native":[],"fallback":[],"build":{"tenon":"0.1.0","language":"c"}}"#;

/// Makes a library that consists of headers for the same note.
fn library(manifest: &str, headers: usize) -> Vec<u8> {
    library_of(&note(manifest), headers)
}

/// Makes a note with a manifest.
fn note(manifest: &str) -> Vec<u8> {
    let mut note = Vec::new();
    for word in [6, manifest.len() as u32, 1] {
        note.extend(word.to_le_bytes());
    }
    note.extend(b"Tenon\0\0\0");
    note.extend(manifest.as_bytes());
    note.resize(note.len().next_multiple_of(4), 0);
    note
}

fn library_of(notes: &[u8], headers: usize) -> Vec<u8> {
    let start = 64 + 56 * headers;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    for half in [3_u16, 62] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1_u32.to_le_bytes());
    for word in [0_u64, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0_u32.to_le_bytes());
    for half in [64, 56, headers as u16, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    for _ in 0..headers {
        for word in [4_u32, 4] {
            file.extend(word.to_le_bytes());
        }
        for word in [start as u64, start as u64, start as u64, notes.len() as u64, notes.len() as u64, 4] {
            file.extend(word.to_le_bytes());
        }
    }
    file.extend(notes);
    file
}

#[test]
fn memory_of_a_command_does_not_exceed_what_a_made_library_deserves() {
    let folder = folder("libraries");
    let padded = |text: &str| format!("{},\"x\":{text}}}", &MANIFEST[..MANIFEST.len() - 1]);
    let long = padded(&format!("\"{}\"", "A".repeat(300_000)));
    let deep = padded(&format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)));
    for (name, bytes, part) in [
        ("sound.so", library(MANIFEST, 1), "Tenon 0.1.0, c"),
        ("bomb.so", library(&long, 65_000), "it has more notes than any plugin"),
        ("many.so", library(MANIFEST, 65_000), "it has more notes than any plugin"),
        ("large.so", library(&padded(&format!("\"{}\"", "A".repeat(1 << 20))), 1), "more notes than"),
        ("deep.so", library(&deep, 1), "Tenon 0.1.0, c"),
        ("twice.so", library(MANIFEST, 2), "its manifest is damaged: two notes describe the device"),
        (
            "two.so",
            library_of(&[note(MANIFEST), note(MANIFEST)].concat(), 1),
            "two notes describe the device",
        ),
    ] {
        fs::write(folder.join(name), bytes).expect("the folder is writable");
        let output = tenon(&folder, &["matrix", name]);
        assert!(text(&output).contains(part), "{name}: {}", text(&output));
    }
}

#[test]
fn control_characters_of_a_manifest_reach_no_output() {
    let folder = folder("escapes");
    for (key, from, what) in [
        ("device_type", r#""device_type":"x""#, "its device type has control characters"),
        ("since", r#""since":"2.6""#, "its release has control characters"),
        ("native", r#""native":[]"#, "its list of names has control characters"),
        ("tenon", r#""tenon":"0.1.0""#, "its build has control characters"),
    ] {
        let hostile = r#""\u001b[31mred\n\u001b]0;owned\u0007\u009b2J""#;
        let hostile = if key == "native" { format!("[{hostile}]") } else { hostile.to_owned() };
        let manifest = MANIFEST.replace(from, &format!("\"{key}\":{hostile}"));
        fs::write(folder.join("x.so"), library(&manifest, 1)).expect("the folder is writable");
        for arguments in [
            &["matrix", "x.so"][..],
            &["matrix", "x.so", "--markdown"],
            &["matrix", "x.so", "--json"],
            &["doctor", "x.so"],
        ] {
            let said = text(&tenon(&folder, arguments));
            let control = said.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(control, None, "{key}, {arguments:?}: {said:?}");
            assert!(arguments[0] == "doctor" || said.contains(what), "{key}, {arguments:?}: {said}");
        }
    }
}
