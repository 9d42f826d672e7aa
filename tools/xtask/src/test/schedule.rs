//! Runs parts in two lanes in parallel. Each part is a separate process, so that its output and its processor time
//! can be captured separately.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::Options;
use super::parts::{Lane, Part};
use super::report::{Done, Report};
use crate::failure::{Failure, at};
use crate::packages;
use crate::project;
use crate::tools::left_out;
use tenon_testing::processor_time;

/// Runs parts, each after the parts that it needs. A failed part does not stop the others.
///
/// If the parts are in two lanes, the output of a part is printed when it ends.
pub fn run(parts: &[&Part], options: &Options) -> Report {
    let start = Instant::now();
    let lanes: Vec<Lane> = [Lane::Sources, Lane::Packages]
        .into_iter()
        .filter(|lane| parts.iter().any(|part| part.lane == *lane))
        .collect();
    let is_captured = lanes.len() > 1;
    let (done, one_more) = (Mutex::new(Vec::<Done>::new()), Condvar::new());
    let locked = || done.lock().unwrap_or_else(PoisonError::into_inner);
    let is_ready = |part: &Part, done: &[Done]| {
        let mut awaited = part.after.iter().filter(|name| parts.iter().any(|other| other.name == **name));
        awaited.all(|name| done.iter().any(|done| done.name == *name))
    };
    thread::scope(|scope| {
        for lane in lanes {
            let (one_more, locked, is_ready) = (&one_more, &locked, &is_ready);
            scope.spawn(move || {
                for part in parts.iter().filter(|part| part.lane == lane) {
                    let waiting = one_more.wait_while(locked(), |done| !is_ready(part, done));
                    drop(waiting);
                    let ended = run_part(part, options, is_captured);
                    locked().push(ended);
                    one_more.notify_all();
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|done| parts.iter().position(|part| part.name == done.name));
    Report { parts: done, took: start.elapsed() }
}

fn run_part(part: &Part, options: &Options, is_captured: bool) -> Done {
    eprintln!("── {}{}", part.name, if is_captured { " …" } else { "" });
    let start = Instant::now();
    let ended = Process::start(part, options, is_captured).and_then(Process::wait);
    let took = start.elapsed();
    if is_captured {
        // Printed in one call, so that it does not mix with the output of another part.
        let output = fs::read(file(part.name, "log")).unwrap_or_default();
        println!("── {}, after {:.0} s\n{}", part.name, took.as_secs_f64(), String::from_utf8_lossy(&output));
    }
    let (processor, failure) = match ended {
        Ok((status, processor)) if status.success() => (processor, None),
        Ok((status, processor)) => {
            let reason = fs::read_to_string(file(part.name, "failure"));
            (processor, Some(reason.unwrap_or_else(|_| format!("it ended with {status}"))))
        }
        Err(failure) => (Duration::ZERO, Some(failure.to_string())),
    };
    Done { name: part.name, took, processor, failure }
}

/// Returns the file for the output of a part, or for the reason why it failed.
fn file(part: &str, extension: &str) -> PathBuf {
    let name = part.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    project::cache("parts").join(name).with_extension(extension)
}

/// Runs a part in this process, and writes the reason to a file if it fails.
pub fn run_here(part: &Part, options: &Options) -> Result<(), Failure> {
    let outcome = (part.run)(options);
    if let Err(failure) = &outcome {
        let (path, text) = (file(part.name, "failure"), failure.to_string());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(at(folder))?;
        }
        fs::write(&path, text.lines().next().unwrap_or_default()).map_err(at(&path))?;
    }
    outcome
}

/// A process of this program that runs one part.
struct Process(libc::pid_t);

impl Process {
    fn start(part: &Part, options: &Options, is_captured: bool) -> Result<Self, Failure> {
        let (log, reason) = (file(part.name, "log"), file(part.name, "failure"));
        if let Some(folder) = log.parent() {
            fs::create_dir_all(folder).map_err(at(folder))?;
        }
        match fs::remove_file(&reason) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&reason)(error)),
            _ => {}
        }
        // Not the path of this executable: the tests may have replaced the file.
        let mut command = Command::new("/proc/self/exe");
        command.args(["part", part.name]).stdin(Stdio::null());
        command.env(packages::VARIABLE, packages::TESTED);
        command.args(options.quick.then_some("--quick"));
        command.args(options.all_releases.then_some("--all-releases"));
        if let Some(file) = left_out::file() {
            command.env(left_out::VARIABLE, file);
        } else {
            command.env_remove(left_out::VARIABLE);
        }
        if is_captured {
            File::create(&log).map_err(at(&log))?;
            let output = File::options().append(true).open(&log).map_err(at(&log))?;
            command.stdout(output.try_clone().map_err(at(&log))?).stderr(output);
        }
        let child = command.spawn().map_err(at(&log))?;
        // The conversion cannot fail: the system's type for process ids is `pid_t`.
        Ok(Process(child.id() as libc::pid_t))
    }

    /// Waits for the process to end. Returns its processor time, including that of the child processes that it waited
    /// for.
    fn wait(self) -> Result<(ExitStatus, Duration), Failure> {
        let mut status = 0;
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: both pointers refer to memory of their types. The process is a child that nothing else waits for.
        while unsafe { libc::wait4(self.0, &raw mut status, 0, usage.as_mut_ptr()) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(Failure::Wrong(format!("cannot wait for a part: {error}")));
            }
        }
        // SAFETY: all-zero bytes are a valid `rusage`, and the function may write to it.
        let usage = unsafe { usage.assume_init() };
        Ok((ExitStatus::from_raw(status), processor_time(&usage)))
    }
}
