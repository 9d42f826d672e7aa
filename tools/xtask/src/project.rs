//! Paths in the repository, and operations on folders.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::failure::{Failure, at};

/// Returns the root of the checkout in which the command was started.
///
/// It is determined at run time, because checkouts that share `CARGO_TARGET_DIR` also share the built command.
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let here = env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        // `cargo run` sets the folder of the manifest. Without cargo, the current folder is used.
        let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        manifest.as_deref().and_then(root_above).or_else(|| root_above(&here)).unwrap_or(here)
    })
}

/// Returns the nearest folder, from `start` upwards, that contains this crate.
fn root_above(start: &Path) -> Option<PathBuf> {
    start.ancestors().find(|folder| folder.join("tools/xtask/Cargo.toml").is_file()).map(Path::to_owned)
}

/// Returns a path below the root.
pub fn path(relative: &str) -> PathBuf {
    root().join(relative)
}

/// Returns the build folder of cargo: `CARGO_TARGET_DIR` if it is set, otherwise `target`.
pub fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Returns a folder for downloads and installed tools. `cargo clean` deletes it; `cargo clean -p` does not.
pub fn cache(name: &str) -> PathBuf {
    root().join("target").join("tenon").join(name)
}

/// Returns the folder of the fetched tools. The `bin` folder of an environment is not used: it would replace `python3`.
pub fn fetched_tools() -> PathBuf {
    cache("tools/bin")
}

/// Returns the `PATH` with the fetched tools first.
pub fn search_path() -> OsString {
    let mut path = fetched_tools().into_os_string();
    if let Some(rest) = env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    path
}

/// Returns the folders that are searched for libraries, without the build folders that cargo adds: programs of the tests
/// must find the libraries that are installed.
pub fn library_path() -> OsString {
    let given = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let target = target();
    let kept = env::split_paths(&given).filter(|folder| !folder.starts_with(&target));
    env::join_paths(kept).unwrap_or_default()
}

/// Returns the entries of a folder, sorted by name.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).map_err(at(folder))?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(at(folder))?;
    paths.sort();
    Ok(paths)
}

/// Creates an empty folder. Deletes its previous content.
pub fn empty(folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(at(folder))?;
    }
    fs::create_dir_all(folder).map_err(at(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_above_returns_the_checkout_of_the_start_folder() {
        let other = env::temp_dir().join(format!("tenon-checkout-{}", std::process::id()));
        let inside = other.join("docs/src");
        fs::create_dir_all(&inside).unwrap();
        fs::create_dir_all(other.join("tools/xtask")).unwrap();
        fs::write(other.join("tools/xtask/Cargo.toml"), "").unwrap();
        let found = [root_above(&inside), root_above(&other.join("tools/xtask"))];
        let outside = root_above(Path::new("/"));
        fs::remove_dir_all(&other).unwrap();
        assert_eq!(found, [Some(other.clone()), Some(other)]);
        assert_eq!(outside, None);
    }
}
