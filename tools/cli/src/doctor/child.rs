//! Runs a program, with a limit of time.

use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two looks at a running program.
const INTERVAL: Duration = Duration::from_millis(10);

/// A program that has ended.
#[derive(Debug)]
pub struct Ended {
    /// `None` if it was stopped because it took too long.
    pub status: Option<ExitStatus>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a program without input, and stops it after some time.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Ended> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let start = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if start.elapsed() > limit => {
                child.kill()?;
                child.wait()?;
                break None;
            }
            None => thread::sleep(INTERVAL),
        }
    };
    let text = |reader: thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
    };
    Ok(Ended { status, stdout: text(stdout), stderr: text(stderr) })
}

/// Reads a pipe in a thread, so that the program never waits for a reader.
fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // An error ends the output; the part before it is shown.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Returns the last lines of an output that are not empty, at most so many.
pub fn last_lines(output: &str, most: usize) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(most)..].join("\n")
}

/// Describes how a program ended, as the end of a sentence.
pub fn describe(status: Option<ExitStatus>) -> String {
    use std::os::unix::process::ExitStatusExt as _;

    let Some(status) = status else { return "did not end in time".to_owned() };
    match status.signal() {
        Some(libc::SIGSEGV) => "crashed (SIGSEGV)".to_owned(),
        Some(libc::SIGBUS) => "crashed (SIGBUS)".to_owned(),
        Some(libc::SIGABRT) => "aborted (SIGABRT)".to_owned(),
        Some(signal) => format!("ended with signal {signal}"),
        None => format!("ended with exit status {}", status.code().unwrap_or_default()),
    }
}
