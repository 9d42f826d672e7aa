//! Tests execution providers of ONNX Runtime: libraries that export `CreateEpFactories`.
//!
//! The cases are written in Python, because ONNX Runtime is installed as a package of Python and ships no headers. They
//! need NumPy, which ONNX Runtime needs too, and encode their models themselves.

mod python;
mod runner;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::case::Level;
use crate::error::Error;
use crate::outcome::{CaseResult, Counts};
pub use python::Program;
pub use runner::run;

/// A provider to test.
#[derive(Clone, Debug)]
pub struct Provider {
    /// Its library.
    pub library: PathBuf,
    /// The Python whose ONNX Runtime uses it.
    pub python: PathBuf,
}

/// A case for providers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProviderCase {
    /// Its name: a group and the name in it.
    pub name: String,
    /// What providers promise.
    pub promise: String,
    /// Where it is promised.
    pub source: String,
    /// Its level.
    pub level: Level,
}

impl ProviderCase {
    /// Returns the group, whose cases share a process.
    fn group(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }
}

/// The cases that an ONNX Runtime can run.
#[derive(Clone, Debug, Deserialize)]
pub struct ProviderCases {
    /// Its version.
    pub version: String,
    /// The cases, in the order in which they run.
    pub all: Vec<ProviderCase>,
}

impl ProviderCases {
    /// Asks a Python for the cases.
    ///
    /// # Errors
    /// If it cannot be started, or has no ONNX Runtime that registers libraries.
    pub fn ask(python: &std::path::Path) -> Result<Self, Error> {
        runner::ask(python)
    }

    /// Chooses cases by their levels and names.
    ///
    /// # Errors
    /// [`Error::NoCases`] if there are none.
    pub fn choose(self, options: &crate::Options) -> Result<Vec<ProviderCase>, Error> {
        let names: Vec<String> = self.all.iter().map(|case| case.name.clone()).collect();
        let fits = |case: &ProviderCase| {
            let named = |filter: &String| {
                if names.contains(filter) {
                    case.name == *filter
                } else {
                    case.name.contains(filter.as_str())
                }
            };
            case.level <= options.level && (options.filters.is_empty() || options.filters.iter().any(named))
        };
        let chosen: Vec<ProviderCase> = self.all.into_iter().filter(fits).collect();
        if chosen.is_empty() {
            return Err(Error::NoCases { filter: options.filters.join("`, `"), level: options.level.name() });
        }
        Ok(chosen)
    }
}

/// The result of testing a provider.
#[derive(Clone, Debug, Serialize)]
pub struct ProviderOutcome {
    /// Its library.
    pub library: PathBuf,
    /// The Python whose ONNX Runtime used it.
    pub python: PathBuf,
    /// The version of ONNX Runtime.
    pub onnxruntime: String,
    /// Up to which level.
    pub level: Level,
    /// All cases that were chosen, in the order in which they are listed.
    pub cases: Vec<CaseResult>,
    /// Duration, in milliseconds.
    pub milliseconds: u64,
}

impl ProviderOutcome {
    /// Counts the cases by result.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts::of(&self.cases)
    }

    /// Returns the arguments of the command that name the provider.
    pub(crate) fn arguments(&self) -> String {
        format!("{} --onnxruntime {}", self.library.display(), self.python.display())
    }
}
