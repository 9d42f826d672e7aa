//! Runs cases in separate processes, so that a crash or a hang costs one case.

use std::io::{BufRead, BufReader, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Error;
use crate::case::{Case, Level, Place};
use crate::child;
use crate::outcome::{CaseResult, Outcome};
use crate::output;
use crate::plugin_under_test::PluginUnderTest;
use crate::protocol::{Ending, PluginInfo, Reply, Request};
use crate::source::Source;

/// The hidden subcommand under which a program runs [`child::serve`].
pub const SERVE: &str = "__serve";

/// Amount of a plugin's output that is kept until its process ends.
const OUTPUT_KEPT: usize = 1 << 18;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Up to which level cases are chosen.
    pub level: Level,
    /// The case of such a name, or those whose name or functions have the text in them; all, if there is none.
    pub filters: Vec<String>,
    /// True if the spec's fallbacks stand in for what the plugin lacks, and are tested in its place.
    pub fallbacks: bool,
    /// Time limit of a case.
    pub timeout: Duration,
    /// The program that runs the cases, called with [`SERVE`]; `None`: they run in this process, where a crash ends all
    /// and a hang is for ever.
    pub program: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            level: Level::Promised,
            filters: Vec::new(),
            fallbacks: false,
            timeout: Duration::from_secs(10),
            program: std::env::current_exe().ok(),
        }
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Number of cases that have ended.
    pub done: usize,
    /// The number of devices.
    pub all: usize,
    /// Number of failed cases.
    pub failed: usize,
    /// The group that runs now.
    pub case: &'a str,
}

/// Holds a plugin to the chosen cases.
///
/// # Errors
/// [`Error`] where nothing could be tested. Errors of the plugin are in the outcome.
pub fn run(
    source: &Source,
    options: &Options,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Outcome, Error> {
    let start = Instant::now();
    let cases = crate::chosen(options)?;
    let mut run = Run {
        source,
        options,
        progress,
        all: cases.len(),
        plugin: None,
        under_test: None,
        results: Vec::new(),
    };
    for batch in batches(&cases) {
        run.batch(&batch)?;
    }
    let Run { plugin, results, .. } = run;
    let plugin = match plugin {
        Some(plugin) => plugin,
        None => return Err(Error::Protocol { reason: "it said nothing of the plugin".to_owned() }),
    };
    let milliseconds = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Outcome::new(source, options, plugin, results, milliseconds))
}

/// Cases that share a process: those of a group, and by itself each that starts the plugin.
fn batches<'a>(cases: &[&'a Case]) -> Vec<Vec<&'a Case>> {
    let mut batches: Vec<Vec<&Case>> = Vec::new();
    for case in cases {
        let joins = batches.last().and_then(|batch| batch.last()).is_some_and(|last| {
            last.group() == case.group() && last.place == Place::Group && case.place == Place::Group
        });
        match batches.last_mut().filter(|_| joins) {
            Some(batch) => batch.push(case),
            None => batches.push(vec![case]),
        }
    }
    batches
}

struct Run<'a> {
    source: &'a Source,
    options: &'a Options,
    progress: &'a mut dyn FnMut(Progress<'_>),
    all: usize,
    plugin: Option<PluginInfo>,
    /// The plugin, where cases run in this process.
    under_test: Option<PluginUnderTest>,
    results: Vec<CaseResult>,
}

impl Run<'_> {
    /// Runs the cases of a batch, with a new process after each that failed.
    fn batch(&mut self, batch: &[&Case]) -> Result<(), Error> {
        let mut rest = batch;
        while !rest.is_empty() {
            let before = self.results.len();
            self.process(rest)?;
            let ended = self.results.len() - before;
            if ended == 0 {
                return Err(Error::Protocol { reason: "it ended before the first case".to_owned() });
            }
            rest = &rest[ended..];
        }
        Ok(())
    }

    fn process(&mut self, batch: &[&Case]) -> Result<(), Error> {
        let request = Request {
            source: self.source.clone(),
            fallbacks: self.options.fallbacks,
            fresh: batch[0].place == Place::Fresh,
            cases: batch.iter().map(|case| case.id.to_string()).collect(),
            timeout: u64::try_from(self.options.timeout.as_millis()).unwrap_or(u64::MAX),
        };
        match &self.options.program {
            Some(program) => {
                let mut process = Process::start(program.clone(), &request)?;
                self.listen(batch, &mut process)
            }
            None => self.here(batch, &request),
        }
    }

    /// Runs a batch in this process, on a plugin that is opened and started once.
    fn here(&mut self, batch: &[&Case], request: &Request) -> Result<(), Error> {
        if request.fresh && self.all > 1 {
            let reason =
                "it starts the plugin itself, which needs a process, or to be the only case that is chosen";
            self.end(batch[0], Ending::Skipped(reason.to_owned()), Vec::new(), 0, None);
            return Ok(());
        }
        if self.under_test.is_none() {
            let under_test = PluginUnderTest::open(&request.source, request.fallbacks)?;
            if !request.fresh {
                child::start(&under_test)
                    .map_err(|message| Error::Start { message, output: String::new() })?;
            }
            self.under_test = Some(under_test);
        }
        let mut replies = Vec::new();
        if let Some(under_test) = &self.under_test {
            child::cases(under_test, request, true, &mut |reply| replies.push(reply));
        }
        replies.into_iter().try_for_each(|reply| self.reply(batch, reply, ""))
    }

    /// The error for a function of the host that is not there.
    fn missing(&self, symbol: String) -> Error {
        match self.source.has_host() {
            true => Error::HostLacks { symbol },
            false => Error::NeedsHost { symbol },
        }
    }

    fn listen(&mut self, batch: &[&Case], process: &mut Process) -> Result<(), Error> {
        let before = self.results.len();
        let mut running = Instant::now();
        let mut dying = None;
        loop {
            let left = self.options.timeout.saturating_sub(running.elapsed());
            let how = match process.reply(left) {
                Ok(Reply::Done) => return Ok(()),
                Ok(Reply::Dying { function, reached }) => {
                    dying = Some((function, reached));
                    continue;
                }
                Ok(reply) => {
                    running = Instant::now();
                    let output = match reply {
                        Reply::Refused { .. } => output::excerpt(&process.output()),
                        _ => String::new(),
                    };
                    self.reply(batch, reply, &output)?;
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {
                    dying = process.abort();
                    format!("did not end within {:?}", self.options.timeout)
                }
                Err(RecvTimeoutError::Disconnected) => process.ending(),
            };
            let dying = dying.filter(|(function, _)| !function.is_empty());
            let place = dying
                .as_ref()
                .map_or_else(String::new, |(function, _)| format!(", in or after `{function}`"));
            let output = process.output();
            let missing = output::missing_symbol(&output);
            let Some(case) = batch.get(self.results.len() - before).filter(|_| self.plugin.is_some()) else {
                return Err(match missing {
                    Some(symbol) => self.missing(symbol),
                    None => {
                        Error::DiedLoading { how: format!("{how}{place}"), output: output::excerpt(&output) }
                    }
                });
            };
            let micros = u64::try_from(running.elapsed().as_micros()).unwrap_or(u64::MAX);
            if let Some(symbol) = missing {
                let reason = self.missing(symbol).to_string();
                self.end(case, Ending::Skipped(reason), Vec::new(), micros, None);
                return Ok(());
            }
            let (blamed, reached) = dying.map_or((Vec::new(), true), |(name, reached)| (vec![name], reached));
            let is_about =
                case.functions.iter().any(|function| blamed.iter().any(|name| name == function.name()));
            let message = format!("the process {how}{place}");
            let ending = match reached || is_about {
                true => Ending::Failed(message),
                false => Ending::Blocked(message),
            };
            let output = Some(output::excerpt(&output)).filter(|output| !output.is_empty());
            self.end(case, ending, blamed, micros, output);
            return Ok(());
        }
    }

    fn reply(&mut self, batch: &[&Case], reply: Reply, output: &str) -> Result<(), Error> {
        let case = |id: &str| batch.iter().find(|case| case.id == *id).copied();
        match reply {
            Reply::Loaded(plugin) => {
                let known = self.plugin.as_ref().and_then(|plugin| plugin.devices);
                self.plugin = Some(PluginInfo { devices: plugin.devices.or(known), ..plugin });
            }
            Reply::Refused { message, loaded: false } => return Err(Error::Load { message }),
            Reply::Refused { message, loaded: true } => {
                return Err(Error::Start { message, output: output.to_owned() });
            }
            Reply::Begin { case } => {
                let failed =
                    self.results.iter().filter(|result| matches!(result.ending, Ending::Failed(_))).count();
                (self.progress)(Progress { done: self.results.len(), all: self.all, failed, case: &case });
            }
            Reply::End { case: id, verdict, blamed, micros } => {
                if let Some(case) = case(&id) {
                    self.end(case, verdict, blamed, micros, None);
                }
            }
            Reply::Dying { .. } | Reply::Done => {}
        }
        Ok(())
    }

    fn end(&mut self, case: &Case, ending: Ending, blamed: Vec<String>, micros: u64, output: Option<String>) {
        self.results.push(CaseResult::new(case, ending, blamed, micros, output));
    }
}

/// A child that runs cases.
struct Process {
    child: Child,
    replies: Receiver<Reply>,
    printed: Arc<Mutex<Vec<u8>>>,
    /// True once the process has been waited for: its number may be another's from then on.
    is_collected: bool,
    /// Disconnected once the standard error has ended.
    listener: Receiver<()>,
}

impl Process {
    fn start(program: PathBuf, request: &Request) -> Result<Self, Error> {
        let spawned = Command::new(&program)
            .arg(SERVE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Programs that the plugin starts are in the same group, and end with it.
            .process_group(0)
            .spawn();
        let mut child = spawned.map_err(|source| Error::Spawn { program: program.clone(), source })?;
        let mut line =
            serde_json::to_string(request).map_err(|error| Error::Protocol { reason: error.to_string() })?;
        line.push('\n');
        if let Some(mut input) = child.stdin.take() {
            // A child that has ended is detected below, by the end of its output.
            let _ = input.write_all(line.as_bytes());
        }
        let (say, replies) = channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if let Ok(reply) = serde_json::from_str(&line)
                        && say.send(reply).is_err()
                    {
                        break;
                    }
                }
            });
        }
        let printed = Arc::new(Mutex::new(Vec::new()));
        let (ended, listener) = channel();
        if let Some(output) = child.stderr.take() {
            let printed = printed.clone();
            std::thread::spawn(move || {
                keep_last(output, &printed);
                drop(ended);
            });
        }
        Ok(Self { child, replies, printed, is_collected: false, listener })
    }

    /// Ends the process and all programs that the plugin started and left in its group, and collects the process.
    fn kill(&mut self) {
        if self.is_collected {
            return;
        }
        if let Ok(group) = i32::try_from(self.child.id()) {
            // SAFETY: the process has not been collected, so the number is still that of its group.
            unsafe { libc::killpg(group, libc::SIGKILL) };
        }
        self.is_collected = true;
        let _ = self.child.wait();
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

    /// The next reply. It also ends when the process has ended, whoever else still holds its standard output.
    fn reply(&mut self, timeout: Duration) -> Result<Reply, RecvTimeoutError> {
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

    /// Ends the process by a signal to which it answers with the function that was called last.
    fn abort(&mut self) -> Option<(String, bool)> {
        let id = i32::try_from(self.child.id()).ok()?;
        // SAFETY: the process is our child and has not been waited for, so the number is still its own.
        unsafe { libc::kill(id, libc::SIGABRT) };
        match self.replies.recv_timeout(Duration::from_secs(1)) {
            Ok(Reply::Dying { function, reached }) => Some((function, reached)),
            _ => None,
        }
    }

    /// The end of the process, such as a signal.
    fn ending(&mut self) -> String {
        self.has_ended(true);
        // Before the process is collected: afterwards its group may be another's.
        self.kill();
        match self.child.wait() {
            Ok(status) => ending(status),
            Err(error) => format!("is lost: {error}"),
        }
    }

    /// The last that the plugin printed.
    fn output(&mut self) -> String {
        self.kill();
        // A program that left the group may hold the standard error open for as long as it likes.
        let _ = self.listener.recv_timeout(Duration::from_secs(1));
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&printed).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn keep_last(mut output: impl Read, printed: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 1024];
    while let Ok(count @ 1..) = output.read(&mut chunk) {
        let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
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
