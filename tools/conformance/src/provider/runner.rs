//! Runs the cases for providers in processes of Python, so that a crash or a hang costs one case.

use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;

use super::{Program, Provider, ProviderCase, ProviderCases, ProviderOutcome};
use crate::error::Error;
use crate::options::Options;
use crate::outcome::CaseResult;
use crate::output;
use crate::process::Process;
use crate::protocol::Ending;
use crate::runner::Progress;

/// The cases.
pub(super) const CASES: Program = Program {
    modules: &[
        ("host", include_str!("python/host.py")),
        ("registration", include_str!("python/registration.py")),
        ("sessions", include_str!("python/sessions.py")),
        ("runs", include_str!("python/runs.py")),
        ("memory", include_str!("python/memory.py")),
        ("operators", include_str!("python/operators.py")),
    ],
    main: include_str!("python/main.py"),
};

/// The group whose cases register the library themselves.
const REGISTRATION: &str = "register";

/// Time for the import of ONNX Runtime.
const IMPORT: Duration = Duration::from_secs(60);

/// A reply of the process.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reply {
    /// This Python cannot run cases: why.
    Refused(String),
    Cases(ProviderCases),
    Begin {
        case: String,
    },
    End {
        case: String,
        verdict: Ending,
        micros: u64,
    },
    /// All is done, and the process ends as a program does.
    Done,
}

/// Returns the error of a Python that cannot run cases.
fn unusable(python: &Path, reason: impl Into<String>) -> Error {
    Error::Python { python: python.into(), reason: reason.into() }
}

/// Asks a Python for the cases.
pub(super) fn ask(python: &Path) -> Result<ProviderCases, Error> {
    let request = json!({ "library": "", "cases": null });
    let mut process = Process::start(&mut CASES.command(python), &request)?;
    match process.reply(IMPORT) {
        Ok(Reply::Cases(cases)) => Ok(cases),
        Ok(Reply::Refused(reason)) => Err(unusable(python, reason)),
        Ok(_) => Err(Error::Protocol { reason: "it listed no cases".to_owned() }),
        Err(RecvTimeoutError::Timeout) => Err(unusable(python, "it did not answer")),
        Err(RecvTimeoutError::Disconnected) => {
            let (how, _) = process.ending();
            let output = output::excerpt(&process.output());
            Err(unusable(python, format!("it {how} while it imported ONNX Runtime{output}")))
        }
    }
}

/// Holds a provider to the chosen cases.
///
/// # Errors
/// [`Error`] where nothing could be tested. Errors of the provider are in the outcome.
pub fn run(
    provider: &Provider,
    options: &Options,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<ProviderOutcome, Error> {
    let start = Instant::now();
    let library = provider
        .library
        .canonicalize()
        .map_err(|source| Error::Load { message: format!("{}: {source}", provider.library.display()) })?;
    let cases = ask(&provider.python)?;
    let onnxruntime = cases.version.clone();
    let chosen = cases.choose(options)?;
    let mut run = Run {
        provider,
        library: library.to_string_lossy().into_owned(),
        options,
        progress,
        all: chosen.len(),
        results: Vec::new(),
    };
    let joins =
        |one: &ProviderCase, next: &ProviderCase| one.group() == next.group() && one.group() != REGISTRATION;
    for batch in chosen.chunk_by(joins) {
        let mut rest = batch;
        while !rest.is_empty() {
            let before = run.results.len();
            run.process(rest)?;
            rest = &rest[run.results.len() - before..];
        }
    }
    Ok(ProviderOutcome {
        library: provider.library.clone(),
        python: provider.python.clone(),
        onnxruntime,
        level: options.level,
        cases: run.results,
        milliseconds: u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

struct Run<'a> {
    provider: &'a Provider,
    library: String,
    options: &'a Options,
    progress: &'a mut dyn FnMut(Progress<'_>),
    all: usize,
    results: Vec<CaseResult>,
}

impl Run<'_> {
    /// Runs cases in a process until one crashes or hangs, or all are done.
    fn process(&mut self, batch: &[ProviderCase]) -> Result<(), Error> {
        let names: Vec<&str> = batch.iter().map(|case| case.name.as_str()).collect();
        let request = json!({ "library": self.library, "cases": names });
        let mut process = Process::start(&mut CASES.command(&self.provider.python), &request)?;
        let first = self.results.len();
        let mut running = Instant::now();
        let mut limit = IMPORT;
        let mut is_done = false;
        let how = loop {
            match process.reply(limit.saturating_sub(running.elapsed())) {
                Ok(Reply::Begin { case }) => {
                    limit = self.options.timeout;
                    running = Instant::now();
                    self.report(&case);
                }
                Ok(Reply::End { case, verdict, micros }) => {
                    running = Instant::now();
                    if let Some(case) = batch.iter().find(|known| known.name == case) {
                        self.results.push(CaseResult::of_provider(case, verdict, micros, None));
                    }
                }
                Ok(Reply::Done) => is_done = true,
                Ok(Reply::Refused(reason)) => return Err(unusable(&self.provider.python, reason)),
                Ok(Reply::Cases(_)) => {}
                Err(RecvTimeoutError::Timeout) => {
                    // Python says where it was.
                    process.abort();
                    break format!("did not end within {limit:?}");
                }
                Err(RecvTimeoutError::Disconnected) => match process.ending() {
                    (_, true) if is_done => return Ok(()),
                    (how, _) => break how,
                },
            }
        };
        let output = Some(output::excerpt(&process.output())).filter(|output| !output.is_empty());
        let micros = u64::try_from(running.elapsed().as_micros()).unwrap_or(u64::MAX);
        let Some(case) = batch.get(self.results.len() - first) else {
            // The end of the process belongs to the last case that it ran.
            let last = self.results.pop();
            if let (Some(last), Some(case)) = (last, batch.last()) {
                let message = format!("the process {how} when it was about to end");
                let ending = match last.ending {
                    Ending::Failed(_) => last.ending,
                    _ => Ending::Failed(message),
                };
                self.results.push(CaseResult::of_provider(case, ending, last.micros, output));
            }
            return Ok(());
        };
        let ending = Ending::Failed(format!("the process {how}"));
        self.results.push(CaseResult::of_provider(case, ending, micros, output));
        Ok(())
    }

    fn report(&mut self, case: &str) {
        let failed = self.results.iter().filter(|result| matches!(result.ending, Ending::Failed(_))).count();
        (self.progress)(Progress { done: self.results.len(), all: self.all, failed, case });
    }
}
