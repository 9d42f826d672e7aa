//! A trace is complete, or says what is missing; and writing it never ends the program.

mod common;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use common::child::{self, ended, limit_file_size};
use common::{ID, cpu};
use tenon::device::*;
use tenon_layers::trace::summary::Summary;
use tenon_layers::trace::{Options, Trace};
use tenon_testing::make_pipe;

/// The programs of the child process, by name.
const CHILD: &str = "TENON_TEST_CHILD";
const CALLS: u64 = 20_000;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("output-{name}-{}.json", std::process::id()))
}

/// Returns the summary of a file, which has to be JSON.
fn summary(file: &Path) -> Summary {
    let text = std::fs::read_to_string(file).unwrap();
    serde_json::from_str::<Vec<serde_json::Value>>(&text).unwrap();
    Summary::read(BufReader::new(text.as_bytes())).unwrap()
}

#[test]
fn child_process() {
    let Ok(child) = std::env::var(CHILD) else { return };
    if child == "interrupted" {
        return wait_for_a_reader();
    }
    let trace = Trace::start(Options { streams: false, ..Options::from_env().unwrap() }).unwrap();
    let layer = trace.layer("cpu", cpu()) as Arc<dyn Layer>;
    let device = Layered::new(WithFallbacks(cpu()), vec![layer]);
    let call = |count: u64| (0..count).for_each(|_| device.set_device(ID).unwrap());
    match child.as_str() {
        "all" => call(CALLS),
        // As on a disk that is full for a while.
        "limited" => {
            limit_file_size(1 << 20);
            call(CALLS / 2);
            trace.flush();
            limit_file_size(libc::RLIM_INFINITY);
            call(CALLS / 2);
        }
        // As daemons do, and programs before they start another.
        "closes" => {
            call(CALLS / 2);
            trace.flush();
            child::close_all();
            let own = path("own");
            let file = File::create(&own).unwrap();
            call(CALLS / 2);
            trace.finish();
            assert_eq!(file.metadata().unwrap().len(), 0, "the trace went to a file of the program");
            std::fs::remove_file(own).unwrap();
        }
        "waits" => {
            println!("started");
            std::io::stdin().read_exact(&mut [0]).unwrap();
            call(CALLS);
        }
        other => panic!("{other}?"),
    }
    trace.finish();
}

/// Starts a trace into a FIFO without a reader, in a program that handles Ctrl-C as Python does.
fn wait_for_a_reader() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: an action of zeros is valid, and the handler does nothing. The alarm ends a process that cannot be
    // interrupted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut()), 0);
        libc::alarm(60);
        println!("thread {}", libc::gettid());
    }
    let error = Trace::start(Options::from_env().unwrap()).err().unwrap();
    assert_eq!(error.source.kind(), std::io::ErrorKind::Interrupted);
}

/// Starts this program again, for [`child_process`] alone.
fn start(child: &str, file: &Path) -> Child {
    child::start(CHILD, child, "TENON_TRACE_FILE", file)
}

#[test]
fn a_full_disk_is_reported() {
    let text = ended(start("all", Path::new("/dev/full")));
    assert!(text.contains(&format!("the trace /dev/full lacks {CALLS} events: No space left")), "{text}");
}

#[test]
fn what_a_full_disk_has_lost_is_counted_in_the_file() {
    let file = path("limited");
    let text = ended(start("limited", &file));
    let summary = summary(&file);
    assert!(!summary.truncated);
    assert!(summary.dropped > 0 && summary.calls > CALLS / 2, "{summary}");
    assert_eq!(summary.calls + summary.dropped, CALLS);
    let said = format!("lacks {} events: File too large", summary.dropped);
    assert!(text.contains(&said), "{text}");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn the_end_of_a_pipe_is_reported_and_raises_no_signal() {
    let fifo = path("fifo");
    make_pipe(&fifo);
    let child = start("all", &fifo);
    let mut reader = File::open(&fifo).unwrap();
    reader.read_exact(&mut [0; 1000]).unwrap();
    drop(reader);
    let text = ended(child);
    assert!(text.contains("events: Broken pipe"), "{text}");
    std::fs::remove_file(fifo).unwrap();
}

#[test]
fn a_signal_ends_the_wait_for_the_reader_of_a_pipe() {
    let fifo = path("unread");
    make_pipe(&fifo);
    let mut child = start("interrupted", &fifo);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let thread: libc::pid_t = lines
        .find_map(|line| line.unwrap().rsplit_once("thread ").and_then(|(_, number)| number.parse().ok()))
        .unwrap();
    let process = libc::pid_t::try_from(child.id()).unwrap();
    // A signal before the wait has no effect, so it is sent until the process has ended.
    while child.try_wait().unwrap().is_none() {
        // SAFETY: the child was not waited for, so its number is not another's.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGINT) };
        std::thread::sleep(Duration::from_millis(10));
    }
    ended(child);
    std::fs::remove_file(fifo).unwrap();
}

#[test]
fn a_program_that_closes_all_descriptors_keeps_its_files_and_the_trace() {
    let file = path("closes");
    let text = ended(start("closes", &file));
    assert!(!text.contains("lacks"), "{text}");
    let summary = summary(&file);
    assert_eq!((summary.calls, summary.dropped, summary.truncated), (CALLS, 0, false));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn two_processes_get_a_file_each() {
    let file = path("shared");
    let mut first = start("waits", &file);
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("started")));
    let second = start("all", &file);
    let other = file.with_extension(format!("{}.json", second.id()));
    let text = ended(second);
    assert!(text.contains("another process writes"), "{text}");
    first.stdin.take().unwrap().write_all(b"\n").unwrap();
    lines.for_each(drop);
    assert!(first.wait().unwrap().success());
    for file in [file, other] {
        let summary = summary(&file);
        assert_eq!((summary.calls, summary.dropped, summary.truncated), (CALLS, 0, false));
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn a_link_is_not_followed() {
    let (link, victim) = (path("link"), path("victim"));
    std::fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    let error = Trace::start(Options { file: link.clone(), ..Options::default() }).err().unwrap();
    assert!(error.to_string().contains("it is a symbolic link, and links are not followed"), "{error}");
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    [link, victim].into_iter().for_each(|file| std::fs::remove_file(file).unwrap());
}
