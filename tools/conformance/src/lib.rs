//! Tests any device plugin against the spec's contract, and any execution provider of ONNX Runtime against what it promises.
//!
//! The crate contains the cases, the processes that run them, and the reports. `tenon-loader` loads the plugin and finds
//! its release; the command line, `tenon check`, is in `tenon-cli`.
//!
//! ```no_run
//! use tenon_conformance::{Options, Source, run};
//!
//! let plugin = Source::File { path: "./libmy_npu.so".into(), release: None, host: None };
//! let options = Options { program: Some("/usr/bin/tenon".into()), ..Options::default() };
//! let outcome = run(&plugin, &options, &mut |_| {})?;
//! for (case, message) in outcome.failures() {
//!     println!("{}: {message}", case.id);
//! }
//! # Ok::<(), tenon_conformance::Error>(())
//! ```
//!
//! The cases run in separate processes, which are the program of [`Options::program`] with [`SERVE`] as its argument:
//! the command `tenon`, or any other that calls [`serve`] then.

mod case;
mod cases;
mod cause;
mod child;
mod error;
mod options;
mod outcome;
mod output;
mod plugin_under_test;
mod process;
mod protocol;
mod provider;
pub mod report;
mod runner;
mod source;
mod supervisor;

pub use case::{Case, Failure, Level, Stop, Verdict};
pub use cause::Cause;
pub use child::serve;
pub use error::Error;
pub use options::{Options, SERVE};
pub use outcome::{CaseResult, Counts, FunctionRow, Outcome, Presence};
pub use plugin_under_test::PluginUnderTest;
pub use protocol::{Ending, PluginInfo};
pub use provider::{Program, Provider, ProviderCase, ProviderCases, ProviderOutcome, run as run_provider};
pub use runner::{Progress, run};
pub use source::Source;
pub use tenon_loader::PaddleLibraries;

/// Returns all cases there are, in the order in which they run.
pub fn all_cases() -> &'static [Case] {
    cases::all()
}

/// Returns the cases that the options choose.
///
/// # Errors
/// [`Error::NoCases`] if there are none.
pub fn chosen(options: &Options) -> Result<Vec<&'static Case>, Error> {
    let fits = |case: &Case| {
        let named = |filter: &String| {
            if cases::all().iter().any(|case| case.id == *filter) {
                case.id == *filter
            } else {
                case.id.contains(filter.as_str())
                    || case.functions.iter().any(|function| function.name().contains(filter.as_str()))
            }
        };
        case.level <= options.level && (options.filters.is_empty() || options.filters.iter().any(named))
    };
    let chosen: Vec<&Case> = cases::all().iter().filter(|case| fits(case)).collect();
    if chosen.is_empty() {
        return Err(Error::NoCases { filter: options.filters.join("`, `"), level: options.level.name() });
    }
    Ok(chosen)
}
