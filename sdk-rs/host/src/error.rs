//! Why a plugin was not loaded.

use std::path::PathBuf;

use tenon::device::{Function, Release};

use crate::negotiate::NEWEST;
use crate::recognition::{Evidence, releases};

/// Why a plugin was not loaded. Nothing of it stays in the process but what its library leaves there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is nothing at the path.
    #[error("there is no file `{}`", path.display())]
    NotFound {
        /// What was to be loaded.
        path: PathBuf,
    },
    /// The file, or the folder, cannot be read.
    #[error("`{}` cannot be read: {source}", path.display())]
    Unreadable {
        /// What was to be loaded.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The path leads to a folder, or to something else that is no file.
    #[error("`{}` is no file, where a library or a manifest was expected", path.display())]
    NotAFile {
        /// What was to be loaded.
        path: PathBuf,
    },
    /// The dynamic linker does not open it.
    #[error("the system does not open `{}`: {reason}{help}", path.display())]
    Open {
        /// What was to be loaded.
        path: PathBuf,
        /// What the dynamic linker says.
        reason: String,
        /// What helps, as a sentence; may be empty.
        help: String,
    },
    /// A part of the library is missing: a download or a build that was cut off.
    #[error("`{}` is cut off: it has {bytes} bytes, and its header speaks of {stated}", path.display())]
    Truncated {
        /// What was to be loaded.
        path: PathBuf,
        /// The length of the file.
        bytes: u64,
        /// Where the last part that the library is loaded from ends.
        stated: u64,
    },
    /// It is a library, and no plugin.
    #[error("`{}` is no plugin: it exports no `{symbol}`", path.display())]
    NoEntry {
        /// What was to be loaded.
        path: PathBuf,
        /// The symbol that is missing.
        symbol: &'static str,
    },
    /// It declined the table of every release.
    #[error(
        "`{}` declined every table that it was offered, those of {}{}. It was built for another release, older \
         or newer: take the plugin's build for one of these, or a newer Tenon",
        path.display(), releases(offered),
        if *wrote { ", though it wrote to the params or cleared the table" } else { "" }
    )]
    Declined {
        /// What was to be loaded.
        path: PathBuf,
        /// What it was offered, in that order.
        offered: Vec<Release>,
        /// Whether it wrote anything at all.
        wrote: bool,
    },
    /// It wrote more than any release that is known.
    #[error(
        "`{}` wrote {bytes} bytes of {what}, where the newest known release, {}, has {known}: it was built for a \
         newer one, and a newer Tenon is needed",
        path.display(), NEWEST.name()
    )]
    Newer {
        /// What was to be loaded.
        path: PathBuf,
        /// The table, or the params.
        what: &'static str,
        /// How much it wrote.
        bytes: usize,
        /// How much the newest release has.
        known: usize,
    },
    /// It accepted the size of a release's table, and wrote past the end of that.
    #[error(
        "`{}` accepted the table of {}, which has {} bytes, and wrote {bytes}: its check of the size is wrong",
        path.display(), release.name(), release.table_size()
    )]
    PastTheEnd {
        /// What was to be loaded.
        path: PathBuf,
        /// What it accepted.
        release: Release,
        /// How much it wrote.
        bytes: usize,
    },
    /// It put a table of its own in place of the host's.
    #[error(
        "`{}` put a table of its own into the params: PaddlePaddle would go on calling the empty one that it lent, \
         so the plugin must fill that",
        path.display()
    )]
    ReplacedTable {
        /// What was to be loaded.
        path: PathBuf,
    },
    /// It compares no size, and what it wrote fits no release.
    #[error(
        "`{}` does not check the size of the table, and what it wrote fits no known release: {evidence}",
        path.display()
    )]
    NoReleaseFits {
        /// What was to be loaded.
        path: PathBuf,
        /// What it wrote.
        evidence: Evidence,
    },
    /// It compares no size, and what it wrote fits several releases that differ in what the pointers mean.
    #[error(
        "`{}` does not tell which release it was built for: it does not check the size of the table, and what it \
         wrote fits {} ({evidence}). State it in the options of the call, or in a manifest beside the library: \
         {{\"tenon_manifest\": 1, \"library\": \"{}\", \"release\": \"…\"}}",
        path.display(), releases(candidates), library(path)
    )]
    UnknownRelease {
        /// What was to be loaded.
        path: PathBuf,
        /// What fits, oldest first.
        candidates: Vec<Release>,
        /// What it wrote.
        evidence: Evidence,
    },
    /// What was declared is not what the plugin does.
    #[error(
        "`{}` is declared to be built for {}, but {why}: it was built for {}",
        path.display(), declared.name(), releases(found)
    )]
    Contradicted {
        /// What was to be loaded.
        path: PathBuf,
        /// What the options or the manifest say.
        declared: Release,
        /// What the plugin shows, oldest first.
        found: Vec<Release>,
        /// How it shows it.
        why: String,
    },
    /// It was loaded before, and is in use with another release's table.
    #[error(
        "`{}` is loaded already, with the table of {}, and cannot be asked for that of {} beside it",
        path.display(), loaded.name(), declared.name()
    )]
    LoadedOtherwise {
        /// What was to be loaded.
        path: PathBuf,
        /// What it was loaded with.
        loaded: Release,
        /// What is asked for now.
        declared: Release,
    },
    /// Its version is older than hosts take, or was not written.
    #[error(
        "`{}` states version {}.{}.{} of the interface, where hosts take 0.1.1 and newer",
        path.display(), version[0], version[1], version[2]
    )]
    Version {
        /// What was to be loaded.
        path: PathBuf,
        /// What it states.
        version: [usize; 3],
    },
    /// It gave the device no name.
    #[error(
        "`{}` filled the table and left the device type {}",
        path.display(), if *empty { "empty" } else { "null" }
    )]
    NoDeviceType {
        /// What was to be loaded.
        path: PathBuf,
        /// Whether there was a text, with nothing in it.
        empty: bool,
    },
    /// It lacks what every host needs.
    #[error(
        "`{}` lacks what a host needs to load it: {}", path.display(),
        functions.iter().map(|function| format!("`{}`", function.name())).collect::<Vec<_>>().join(", ")
    )]
    MissingRequired {
        /// What was to be loaded.
        path: PathBuf,
        /// What is missing, in the order of the spec.
        functions: Vec<Function>,
    },
    /// The manifest does not say what a manifest says.
    #[error("the manifest `{}`: {reason}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// The library as its manifest would name it.
fn library(path: &std::path::Path) -> String {
    path.file_name().map_or_else(String::new, |name| format!("./{}", name.to_string_lossy()))
}
