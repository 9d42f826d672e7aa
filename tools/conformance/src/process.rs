//! The child process that runs cases, as the runner sees it.

use std::io::{BufRead, BufReader, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenon::support::Mutex;

use crate::Error;
use crate::supervisor;

/// Amount of a plugin's output that is kept until its process ends.
const OUTPUT_KEPT: usize = 1 << 18;

/// Time that the supervisor has to end all programs of a plugin.
const PATIENCE: Duration = Duration::from_secs(5);

/// A child that runs cases, or their supervisor. `R` are its replies, each a line of JSON on its standard output.
pub(crate) struct Process<R> {
    child: Child,
    replies: Receiver<R>,
    printed: Arc<Mutex<Vec<u8>>>,
    /// True once the process has been waited for: its number may be another's from then on.
    is_collected: bool,
    /// Disconnected once the standard error has ended.
    listener: Receiver<()>,
}

impl<R: DeserializeOwned + Send + 'static> Process<R> {
    /// Starts a command, which reads the request as a line of JSON.
    pub(crate) fn start(command: &mut Command, request: &impl Serialize) -> Result<Self, Error> {
        let spawned = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C on the terminal ends this process alone; the supervisor ends the others then.
            .process_group(0)
            .spawn();
        let mut child =
            spawned.map_err(|source| Error::Spawn { program: command.get_program().into(), source })?;
        let mut line =
            serde_json::to_string(request).map_err(|error| Error::Protocol { reason: error.to_string() })?;
        line.push('\n');
        if let Some(mut input) = child.stdin.take() {
            // A child that has ended is detected below, by the end of its output.
            let _ = input.write_all(line.as_bytes());
        }
        let (output, printed) = (child.stdout.take(), child.stderr.take());
        let (say, replies) = channel();
        let (ended, listener) = channel();
        // From here on the process ends with this object.
        let process = Self { child, replies, printed: Arc::default(), is_collected: false, listener };
        if let Some(output) = output {
            start_thread(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if let Ok(reply) = serde_json::from_str(&line)
                        && say.send(reply).is_err()
                    {
                        break;
                    }
                }
            })?;
        }
        if let Some(output) = printed {
            let printed = process.printed.clone();
            start_thread(move || {
                keep_last(output, &printed);
                drop(ended);
            })?;
        }
        Ok(process)
    }
}

impl<R> Process<R> {
    /// Ends the process and all programs that the plugin started, and collects the process.
    fn kill(&mut self) {
        if self.is_collected {
            return;
        }
        self.signal(supervisor::END);
        let start = Instant::now();
        while !self.has_ended(false) {
            if start.elapsed() > PATIENCE {
                // A plugin may have stopped the supervisor.
                let _ = self.child.kill();
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.is_collected = true;
        let _ = self.child.wait();
    }

    /// Sends a signal to the supervisor, unless it has been collected.
    fn signal(&self, signal: i32) {
        if let Ok(id) = i32::try_from(self.child.id())
            && !self.is_collected
        {
            // SAFETY: the process is our child and has not been waited for, so the number is still its own.
            unsafe { libc::kill(id, signal) };
        }
    }

    /// Returns true if the process has ended; with `wait`, once it has. Its number stays its own until it is collected.
    fn has_ended(&self, wait: bool) -> bool {
        let options = libc::WEXITED | libc::WNOWAIT | if wait { 0 } else { libc::WNOHANG };
        let mut found = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: the place can be written; zeros are valid for it.
        let (answer, found) = unsafe {
            let answer = libc::waitid(libc::P_PID, self.child.id(), found.as_mut_ptr(), options);
            (answer, found.assume_init())
        };
        // SAFETY: filled by the call, or zeros if the process still runs.
        answer == 0 && unsafe { found.si_pid() } != 0
    }

    /// Returns the next reply. Also returns when the process has ended, even if another process has its standard output.
    pub(crate) fn reply(&mut self, timeout: Duration) -> Result<R, RecvTimeoutError> {
        const SLICE: Duration = Duration::from_millis(100);
        let start = Instant::now();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            match self.replies.recv_timeout(left.min(SLICE)) {
                Err(RecvTimeoutError::Timeout) if self.has_ended(false) => {
                    // Its last output may still be in the pipe.
                    return self.replies.recv_timeout(SLICE).map_err(|_| RecvTimeoutError::Disconnected);
                }
                Err(RecvTimeoutError::Timeout) if left > SLICE => {}
                outcome => return outcome,
            }
        }
    }

    /// Ends the process by a signal to which it may answer with a last reply.
    pub(crate) fn abort(&mut self) -> Option<R> {
        self.signal(supervisor::ABORT);
        self.replies.recv_timeout(Duration::from_secs(1)).ok()
    }

    /// Returns the end of the process, such as a signal, and whether it was a success.
    pub(crate) fn ending(&mut self) -> (String, bool) {
        self.has_ended(true);
        self.is_collected = true;
        match self.child.wait() {
            Ok(status) => (ending(status), status.success()),
            Err(error) => (format!("is lost: {error}"), false),
        }
    }

    /// Returns the last that the plugin printed.
    pub(crate) fn output(&mut self) -> String {
        self.kill();
        // A program that could not be killed may hold the standard error open for as long as it likes.
        let _ = self.listener.recv_timeout(Duration::from_secs(1));
        let printed = self.printed.lock();
        String::from_utf8_lossy(&printed).into_owned()
    }
}

impl<R> Drop for Process<R> {
    fn drop(&mut self) {
        self.kill();
    }
}

fn start_thread(body: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let started = std::thread::Builder::new().spawn(body);
    started.map(drop).map_err(|source| Error::Thread { source })
}

fn keep_last(mut output: impl Read, printed: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 1024];
    while let Ok(count @ 1..) = output.read(&mut chunk) {
        let mut printed = printed.lock();
        printed.extend_from_slice(&chunk[..count]);
        let surplus = printed.len().saturating_sub(OUTPUT_KEPT);
        printed.drain(..surplus);
    }
}

fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended by itself with exit code {code}"),
        (None, Some(signal)) => {
            let name = match signal {
                libc::SIGSEGV => " (segmentation fault)",
                libc::SIGABRT => " (abort)",
                libc::SIGBUS => " (bus error)",
                libc::SIGILL => " (illegal instruction)",
                libc::SIGFPE => " (arithmetic exception)",
                libc::SIGKILL => " (killed)",
                _ => "",
            };
            format!("died of signal {signal}{name}")
        }
        (None, None) => "ended".to_owned(),
    }
}
