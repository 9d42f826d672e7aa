//! Runs cases in separate processes, so that a crash or a hang costs one case.

use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Instant;

use crate::Error;
use crate::case::{Case, Place};
use crate::child;
use crate::options::{Options, SERVE};
use crate::outcome::{CaseResult, Outcome};
use crate::output;
use crate::plugin_under_test::{Launch, PluginUnderTest};
use crate::process::Process;
use crate::protocol::{Ending, PluginInfo, Reply, Request};
use crate::source::Source;

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
            fresh: batch[0].place != Place::Group,
            cases: batch.iter().map(|case| case.id.to_string()).collect(),
            timeout: u64::try_from(self.options.timeout.as_millis()).unwrap_or(u64::MAX),
            role: None,
        };
        match &self.options.program {
            Some(program) => {
                let mut process = Process::start(Command::new(program).arg(SERVE), &request)?;
                self.listen(batch, &mut process)
            }
            None => self.here(batch, &request),
        }
    }

    /// Runs a batch in this process, on a plugin that is opened and started once.
    fn here(&mut self, batch: &[&Case], request: &Request) -> Result<(), Error> {
        let ends = batch[0].place == Place::Exit;
        if ends || (request.fresh && self.all > 1) {
            let reason = if ends {
                "it ends the process, so it needs a process"
            } else {
                "it starts the plugin itself, which needs a process, or to be the only case that is chosen"
            };
            self.end(batch[0], Ending::Skipped(reason.to_owned()), Vec::new(), 0, None);
            return Ok(());
        }
        if self.under_test.is_none() {
            let launch = Launch {
                source: request.source.clone(),
                fallbacks: request.fallbacks,
                program: None,
                role: None,
            };
            let under_test = PluginUnderTest::open(launch)?;
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

    /// Returns the error for a function of the host that is not there.
    fn missing(&self, symbol: String) -> Error {
        if self.source.has_host() { Error::HostLacks { symbol } } else { Error::NeedsHost { symbol } }
    }

    fn listen(&mut self, batch: &[&Case], process: &mut Process<Reply>) -> Result<(), Error> {
        let before = self.results.len();
        let mut running = Instant::now();
        let (mut dying, mut exiting) = (None, false);
        loop {
            let left = self.options.timeout.saturating_sub(running.elapsed());
            let how = match process.reply(left) {
                Ok(Reply::Done) => return Ok(()),
                Ok(Reply::Dying { function, reached }) => {
                    dying = Some((function, reached));
                    continue;
                }
                Ok(Reply::Exiting) => {
                    exiting = true;
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
                    dying = match process.abort() {
                        Some(Reply::Dying { function, reached }) => Some((function, reached)),
                        _ => None,
                    };
                    (format!("did not end within {:?}", self.options.timeout), false)
                }
                Err(RecvTimeoutError::Disconnected) => process.ending(),
            };
            let (how, success) = how;
            // The function that was called last has nothing to do with the exit handlers.
            let dying = dying.filter(|_| !exiting);
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
            if exiting && success {
                self.end(case, Ending::Passed, Vec::new(), micros, None);
                return Ok(());
            }
            let place = if exiting { ", in an exit handler or a destructor".to_owned() } else { place };
            let (blamed, reached) = dying.map_or((Vec::new(), true), |(name, reached)| (vec![name], reached));
            let is_about =
                case.functions.iter().any(|function| blamed.iter().any(|name| name == function.name()));
            let message = format!("the process {how}{place}");
            let ending = if reached || is_about { Ending::Failed(message) } else { Ending::Blocked(message) };
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
            Reply::Dying { .. } | Reply::Exiting | Reply::Done => {}
        }
        Ok(())
    }

    fn end(&mut self, case: &Case, ending: Ending, blamed: Vec<String>, micros: u64, output: Option<String>) {
        self.results.push(CaseResult::new(case, ending, blamed, micros, output));
    }
}
