//! Where things are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{Failure, at};

/// The root of the repository.
pub fn root() -> &'static Path {
    // The manifest of this crate is one folder below the root.
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A path below the root.
pub fn path(relative: &str) -> PathBuf {
    root().join(relative)
}

/// Where cargo builds: `target`, or where the environment says.
pub fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// A folder for what is downloaded or installed: it outlives `cargo clean -p`, and goes with `cargo clean`.
pub fn cache(name: &str) -> PathBuf {
    root().join("target").join("tenon").join(name)
}

/// What a folder holds, by name.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).map_err(at(folder))?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(at(folder))?;
    paths.sort();
    Ok(paths)
}
