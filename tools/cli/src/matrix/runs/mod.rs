//! Plugins and providers in releases of their hosts, from real runs.

pub mod onnxruntime;
mod packages;
pub mod paddle;

use std::path::Path;

use serde::Serialize;

use crate::doctor::verdict::Verdict;

/// A plugin or provider in all releases.
#[derive(Debug, Serialize)]
pub struct Library {
    /// The library or package that was named; with the file if a package has several.
    pub name: String,
    /// The name of its devices in the host, from the first release that lists them.
    pub device: Option<String>,
    pub releases: Vec<Cell>,
}

/// A plugin or provider in a release.
#[derive(Debug, Serialize)]
pub struct Cell {
    pub version: String,
    pub verdict: Verdict,
    /// The reason, unless it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Library {
    fn named(name: &str) -> Self {
        Self { name: name.to_owned(), device: None, releases: Vec::new() }
    }

    fn add(&mut self, version: &str, verdict: Verdict, reason: Option<String>, device: Option<String>) {
        self.device = self.device.take().or(device);
        self.releases.push(Cell { version: version.to_owned(), verdict, reason });
    }

    /// Returns true if the library works, or refuses with a sentence, in each release.
    pub fn is_sound(&self) -> bool {
        self.releases
            .iter()
            .all(|cell| matches!(cell.verdict, Verdict::Runs | Verdict::Idle | Verdict::Refuses))
    }
}

/// Returns true if a name is that of a file, and not that of a package.
fn is_file(name: &Path) -> bool {
    name.exists() || name.components().count() > 1 || name.extension().is_some_and(|ending| ending == "so")
}
