//! Providers in releases of ONNX Runtime, from real runs.

use std::path::{Path, PathBuf};

use super::packages::{Needs, Packages};
use super::{Library, is_file};
use crate::doctor::onnxruntime::{examine_library, libraries_of};
use crate::doctor::verdict::Verdict;

/// The newest version of each release that registers libraries, oldest first.
pub const VERSIONS: [&str; 10] =
    ["1.23.2", "1.24.4", "1.25.1", "1.26.0", "1.27.0", "1.28.0", "1.29.0", "1.30.0", "1.31.1", "1.32.0"];

/// Runs libraries, or those of packages, in versions of ONNX Runtime.
///
/// # Errors
/// A sentence, if the Python does not start.
pub fn run(python: &Path, plugins: &[PathBuf], versions: &[String]) -> Result<Vec<Library>, String> {
    let packages = Packages::of(python)?;
    let mut providers = Vec::new();
    for plugin in plugins {
        let name = plugin.to_string_lossy().into_owned();
        if is_file(plugin) {
            providers.push((name, Ok(plugin.clone())));
            continue;
        }
        match packages.folder(&name, &[], Needs::Nothing) {
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
    let mut rows: Vec<Library> = providers.iter().map(|(name, _)| Library::named(name)).collect();
    for version in versions {
        let host = packages.folder(&format!("onnxruntime=={version}"), &[], Needs::Nothing);
        for (row, (_, library)) in rows.iter_mut().zip(&providers) {
            let (verdict, reason, device) = match (&host, library) {
                (_, Err(reason)) | (Err(reason), _) => (Verdict::Unknown, Some(reason.clone()), None),
                (Ok(host), Ok(library)) => examine_library(library, python, host),
            };
            row.add(version, verdict, reason, device);
        }
    }
    Ok(rows)
}
