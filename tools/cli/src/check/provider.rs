//! Tests execution providers of ONNX Runtime.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tenon_conformance::report::{self, Style};
use tenon_conformance::{Error, Provider, ProviderCases};
use tenon_loader::exports;

use super::{Options, watched};
use crate::Answer;

/// The functions that tell libraries apart.
const OF_PROVIDERS: &str = "CreateEpFactories";
const OF_PLUGINS: &str = "InitPlugin";

/// Returns the Python whose ONNX Runtime is used, if the library is to be tested as a provider.
pub fn python(options: &Options) -> Option<PathBuf> {
    let has = |file: &Path, symbol| exports(file, symbol).unwrap_or(false);
    let is_provider = |file: &PathBuf| has(file, OF_PROVIDERS) && !has(file, OF_PLUGINS);
    let found = || options.plugin.as_ref().is_some_and(is_provider).then(|| "python3".into());
    options.onnxruntime.clone().or_else(found)
}

/// Runs the cases of providers, or lists them.
pub fn run(
    options: &Options,
    wanted: &tenon_conformance::Options,
    python: &Path,
    style: Style,
) -> Result<Answer, Error> {
    if options.list {
        let cases = ProviderCases::ask(python)?.choose(wanted)?;
        return Ok(Answer::done(if options.json {
            report::json(&cases)
        } else {
            report::provider_list(&cases, style)
        }));
    }
    let library = options.plugin.clone().unwrap_or_default();
    let provider = Provider { library, python: python.to_owned() };
    let outcome = watched(|progress| tenon_conformance::run_provider(&provider, wanted, progress))?;
    let name = provider.library.file_name().unwrap_or_default().to_string_lossy();
    options.write_junit(&name, &outcome.cases, outcome.milliseconds)?;
    Ok(Answer {
        text: if options.json {
            report::json(&outcome)
        } else {
            report::provider_table(&outcome, style, options.verbose)
        },
        code: ExitCode::from(u8::from(outcome.counts().failed > 0)),
    })
}
