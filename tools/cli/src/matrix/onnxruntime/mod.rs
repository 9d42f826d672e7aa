//! Providers in releases of ONNX Runtime, from real runs.

mod packages;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::doctor::onnxruntime::{Verdict, examine_library, libraries_of};
use packages::Packages;

/// The newest version of each release that registers libraries, oldest first.
pub const VERSIONS: [&str; 10] =
    ["1.23.2", "1.24.4", "1.25.1", "1.26.0", "1.27.0", "1.28.0", "1.29.0", "1.30.0", "1.31.1", "1.32.0"];

/// A provider in all releases.
#[derive(Debug, Serialize)]
pub struct Provider {
    /// The library or package that was named; with the file if a package has several.
    pub name: String,
    /// The name in sessions, from the first release that lists it.
    pub provider: Option<String>,
    pub releases: Vec<Cell>,
}

/// A provider in a release.
#[derive(Debug, Serialize)]
pub struct Cell {
    pub version: String,
    pub verdict: Verdict,
    /// The reason, unless it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Provider {
    /// Returns true if the provider works, or refuses with a sentence, in each release.
    pub fn is_sound(&self) -> bool {
        self.releases
            .iter()
            .all(|cell| matches!(cell.verdict, Verdict::Runs | Verdict::Idle | Verdict::Refuses))
    }
}

/// Runs libraries, or those of packages, in versions of ONNX Runtime.
///
/// # Errors
/// A sentence, if the Python does not start.
pub fn run(python: &Path, plugins: &[PathBuf], versions: &[String]) -> Result<Vec<Provider>, String> {
    let packages = Packages::of(python)?;
    let mut providers = Vec::new();
    for plugin in plugins {
        let name = plugin.to_string_lossy().into_owned();
        if is_file(plugin) {
            providers.push((name, Ok(plugin.clone())));
            continue;
        }
        match packages.folder(&name) {
            Err(reason) => providers.push((name, Err(reason))),
            Ok(folder) => {
                let found = libraries_of(&folder);
                if found.is_empty() {
                    providers.push((name.clone(), Err(format!("the package `{name}` contains no provider"))));
                }
                let is_one = found.len() == 1;
                providers.extend(found.into_iter().map(|library| {
                    let file = library.file_name().unwrap_or_default().to_string_lossy();
                    (if is_one { name.clone() } else { format!("{name}, {file}") }, Ok(library))
                }));
            }
        }
    }
    let mut rows: Vec<Provider> = providers
        .iter()
        .map(|(name, _)| Provider { name: name.clone(), provider: None, releases: Vec::new() })
        .collect();
    for version in versions {
        let host = packages.folder(&format!("onnxruntime=={version}"));
        for (row, (_, library)) in rows.iter_mut().zip(&providers) {
            let (verdict, reason, provider) = match (&host, library) {
                (_, Err(reason)) | (Err(reason), _) => (Verdict::Unknown, Some(reason.clone()), None),
                (Ok(host), Ok(library)) => examine_library(library, python, host),
            };
            row.provider = row.provider.take().or(provider);
            row.releases.push(Cell { version: version.clone(), verdict, reason });
        }
    }
    Ok(rows)
}

/// Returns true if a name is that of a file, and not that of a package.
fn is_file(name: &Path) -> bool {
    name.exists() || name.components().count() > 1 || name.extension().is_some_and(|ending| ending == "so")
}
