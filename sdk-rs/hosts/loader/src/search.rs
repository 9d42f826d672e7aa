//! Finds plugins in the folders that the user names.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::LoadError;
use crate::manifest::Manifest;
use crate::options::LoadOptions;
use crate::plugin::Plugin;

/// The environment variable with the search path: folders, libraries and manifests, separated by colons.
pub const PATH_VARIABLE: &str = "TENON_PLUGIN_PATH";

/// A library or manifest that was found or named, with the result of loading it.
#[derive(Debug)]
pub struct Candidate {
    /// The library or the manifest; the folder if it could not be read.
    pub path: PathBuf,
    /// The plugin, or why it was not loaded.
    pub outcome: Result<Arc<Plugin>, LoadError>,
}

/// Loads all plugins that [`PATH_VARIABLE`] names. Returns none if the variable is not set, or if the process is a
/// set-user-ID program.
pub fn search() -> Vec<Candidate> {
    tenon::trusted_variable(PATH_VARIABLE)
        .map_or_else(Vec::new, |paths| search_in(&paths, &LoadOptions::default()))
}

/// Loads all plugins in a list of paths, separated by colons.
///
/// In a folder it loads the manifests, and the `.so` files that none of these manifests names. It skips hidden files
/// and subfolders. The result keeps the order of the list, and sorts each folder by name. A library that is named
/// twice is loaded once, at its first position.
pub fn search_in(paths: &OsStr, options: &LoadOptions) -> Vec<Candidate> {
    let mut seen = BTreeSet::new();
    let mut candidates = Vec::new();
    for path in std::env::split_paths(paths).filter(|path| !path.as_os_str().is_empty()) {
        match found_at(&path) {
            Ok(found) => {
                candidates.extend(found.into_iter().filter_map(|found| found.load(options, &mut seen)))
            }
            Err(error) => candidates.push(Candidate { path, outcome: Err(error) }),
        }
    }
    candidates
}

/// A file that may be or name a plugin.
struct Found {
    path: PathBuf,
    /// The parsed content, if the file is a manifest.
    manifest: Option<Result<Manifest, LoadError>>,
}

impl Found {
    fn new(path: PathBuf) -> Self {
        let manifest = has_extension(&path, "json").then(|| Manifest::read(&path));
        Self { path, manifest }
    }

    fn library(&self) -> Option<&Path> {
        match &self.manifest {
            Some(Ok(manifest)) => Some(&manifest.library),
            Some(Err(_)) => None,
            None => Some(&self.path),
        }
    }

    /// Returns `None` if the library was already tried.
    fn load(self, options: &LoadOptions, seen: &mut BTreeSet<PathBuf>) -> Option<Candidate> {
        if self.library().is_some_and(|library| !seen.insert(real(library))) {
            return None;
        }
        let outcome = match self.manifest {
            Some(manifest) => {
                manifest.and_then(|manifest| Plugin::load(&manifest.library, &manifest.options(options)))
            }
            None => Plugin::load(&self.path, options),
        };
        Some(Candidate { path: self.path, outcome })
    }
}

fn found_at(path: &Path) -> Result<Vec<Found>, LoadError> {
    if !path.is_dir() {
        return Ok(vec![Found::new(path.into())]);
    }
    let unreadable = |source| LoadError::Unreadable { path: path.into(), source };
    let entries: Result<Vec<_>, _> =
        path.read_dir().map_err(unreadable)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut files = entries.map_err(unreadable)?;
    files.retain(|file| {
        let hidden = file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        !hidden && (has_extension(file, "json") || has_extension(file, "so")) && !file.is_dir()
    });
    files.sort();
    let mut found: Vec<Found> = files.into_iter().map(Found::new).collect();
    // A manifest comes before its library, whatever their names, because it may state more.
    let manifests = found.iter().filter(|found| found.manifest.is_some());
    let named: BTreeSet<PathBuf> = manifests.filter_map(Found::library).map(real).collect();
    found.retain(|found| found.manifest.is_some() || !named.contains(&real(&found.path)));
    Ok(found)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Resolves a path, so that each existing file has one name.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.into())
}
