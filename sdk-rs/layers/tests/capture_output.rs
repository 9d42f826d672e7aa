//! A capture has all calls, or says where it ends; and writing it never ends the program, nor goes elsewhere.

mod common;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;

use common::child::{self, ended, limit_file_size};
use common::{ID, cpu};
use tenon::device::*;
use tenon_layers::capture::{Capture, Options, Recording};
use tenon_testing::make_pipe;

/// The programs of the child process, by name.
const CHILD: &str = "TENON_TEST_CAPTURE_CHILD";
const CALLS: usize = 2000;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("output-{name}-{}.cap", std::process::id()))
}

/// Starts this program again, for [`child_process`] alone.
fn start(child: &str, file: &Path) -> Child {
    child::start(CHILD, child, "TENON_CAPTURE_FILE", file)
}

#[test]
fn child_process() {
    let Ok(child) = std::env::var(CHILD) else { return };
    let capture = Capture::start(&Options::from_env()).unwrap();
    let device = Layered::new(WithFallbacks(cpu()), vec![capture.layer("cpu") as Arc<dyn Layer>]);
    let call = |count: usize| (0..count).for_each(|_| device.set_device(ID).unwrap());
    match child.as_str() {
        "all" => call(CALLS),
        "limited" => {
            limit_file_size(8192);
            call(CALLS);
        }
        "closes" => {
            call(CALLS / 2);
            child::close_all();
            let own = path("own");
            let file = File::create(&own).unwrap();
            call(CALLS / 2);
            capture.finish();
            assert_eq!(file.metadata().unwrap().len(), 0, "the capture went to a file of the program");
            std::fs::remove_file(own).unwrap();
        }
        "waits" => {
            println!("started");
            std::io::stdin().read_exact(&mut [0]).unwrap();
            call(CALLS);
        }
        "killed" => {
            call(CALLS);
            // SAFETY: sends a signal to this process.
            unsafe { libc::raise(libc::SIGTERM) };
        }
        other => panic!("{other}?"),
    }
    capture.finish();
}

/// Reads a capture, which has to be intact, and returns the number of calls that returned, and whether it has its end.
fn read(file: &Path) -> (usize, bool) {
    let recording = Recording::open(file).unwrap();
    assert_eq!(recording.cut_off, 0, "a record is not whole");
    std::fs::remove_file(file).unwrap();
    let returned = recording.calls.iter().filter(|call| call.outcome.is_some()).count();
    (returned, recording.is_ended)
}

#[test]
fn a_limit_of_the_file_size_ends_the_capture_and_not_the_program() {
    let file = path("limited");
    let text = ended(start("limited", &file));
    assert!(text.contains("ends after") && text.contains("File too large"), "{text}");
    let (calls, is_ended) = read(&file);
    assert!(calls > 10 && calls < CALLS && !is_ended, "{calls}");
}

#[test]
fn the_end_of_a_pipe_ends_the_capture_and_not_the_program() {
    let fifo = path("fifo");
    make_pipe(&fifo);
    let child = start("all", &fifo);
    let mut reader = File::open(&fifo).unwrap();
    reader.read_exact(&mut [0; 1000]).unwrap();
    drop(reader);
    let text = ended(child);
    assert!(text.contains("ends after") && text.contains("Broken pipe"), "{text}");
    std::fs::remove_file(fifo).unwrap();
}

#[test]
fn a_program_that_closes_all_descriptors_keeps_its_files_and_the_capture() {
    let file = path("closes");
    let text = ended(start("closes", &file));
    assert!(!text.contains("ends after"), "{text}");
    assert_eq!(read(&file), (CALLS, true));
}

#[test]
fn two_processes_get_a_file_each() {
    let file = path("shared");
    let mut first = start("waits", &file);
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("started")));
    let second = start("all", &file);
    let other = file.with_extension(format!("{}.cap", second.id()));
    let text = ended(second);
    let said = format!(
        "another process writes the capture {}; this one goes to {}",
        file.display(),
        other.display()
    );
    assert!(text.contains(&said), "{text}");
    first.stdin.take().unwrap().write_all(b"\n").unwrap();
    lines.for_each(drop);
    assert!(first.wait().unwrap().success());
    assert_eq!([file, other].map(|file| read(&file)), [(CALLS, true); 2]);
}

#[test]
fn a_link_is_not_followed() {
    let (link, victim) = (path("link"), path("victim"));
    std::fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    let error = Capture::start(&Options { file: link.clone() }).err().unwrap();
    assert!(error.to_string().contains("it is a symbolic link, and links are not followed"), "{error}");
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    [link, victim].into_iter().for_each(|file| std::fs::remove_file(file).unwrap());
}

#[test]
fn sigterm_loses_only_the_end() {
    use std::os::unix::process::ExitStatusExt as _;

    let file = path("killed");
    let status = start("killed", &file).wait_with_output().unwrap().status;
    assert_eq!(status.signal(), Some(libc::SIGTERM));
    assert_eq!(read(&file), (CALLS, false));
}
