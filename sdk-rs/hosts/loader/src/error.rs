//! The error of loading a plugin.

use std::io;
use std::path::{Path, PathBuf};

use tenon::device::{Function, Release};
use tenon_files::FileError;

use crate::negotiate::NEWEST;
use crate::recognition::{Evidence, releases};

/// The reason for which a plugin was not loaded. If the library was opened, side effects of its initialisers remain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is nothing at the path.
    #[error("there is no file `{}`", path.display())]
    NotFound {
        /// The library or manifest.
        path: PathBuf,
    },
    /// The file, or the folder, cannot be read.
    #[error("`{}` cannot be read: {source}", path.display())]
    Unreadable {
        /// The library or manifest.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path names a folder or something else that is not a regular file.
    #[error("`{}` is not a file: a library or a manifest is expected", path.display())]
    NotAFile {
        /// The library or manifest.
        path: PathBuf,
    },
    /// The dynamic linker failed to load the library.
    #[error("cannot load `{}`: {reason}{help}", path.display())]
    Open {
        /// The library or manifest.
        path: PathBuf,
        /// The error of the dynamic linker.
        reason: String,
        /// Advice, as a sentence; may be empty.
        help: String,
    },
    /// The library file is truncated, for example by an interrupted download or build.
    #[error("`{}` is incomplete: it has {bytes} bytes, and {stated} according to its header", path.display())]
    Truncated {
        /// The library or manifest.
        path: PathBuf,
        /// The length of the file.
        bytes: u64,
        /// The end of the last segment, according to the header.
        stated: u64,
    },
    /// The library exports no entry point, so it is not a plugin.
    #[error("`{}` is not a plugin: it does not export `{symbol}`{help}", path.display())]
    NoEntry {
        /// The library or manifest.
        path: PathBuf,
        /// The symbol that is missing.
        symbol: &'static str,
        /// The end of the sentence, which names the kind of the library; empty if it is unknown.
        help: &'static str,
    },
    /// The plugin declined the table of every release.
    #[error(
        "`{}` declined every table that it was offered, those of {}{}. It was built for another release, older \
         or newer: take the plugin's build for one of these, or a newer Tenon",
        path.display(), releases(offered),
        if *wrote { ", though it wrote to the params or cleared the table" } else { "" }
    )]
    Declined {
        /// The library or manifest.
        path: PathBuf,
        /// The releases whose sizes it was offered, in order.
        offered: Vec<Release>,
        /// True if it wrote anything at all.
        wrote: bool,
    },
    /// The plugin wrote more words than the table of any known release has.
    #[error(
        "`{}` wrote {bytes} bytes of {what}, where the newest known release, {}, has {known}: it was built for a \
         newer one, and a newer Tenon is needed",
        path.display(), NEWEST.name()
    )]
    Newer {
        /// The library or manifest.
        path: PathBuf,
        /// The table, or the params.
        what: &'static str,
        /// The number of bytes that it wrote.
        bytes: usize,
        /// The size in the newest release.
        known: usize,
    },
    /// The plugin accepted the size of a release's table, and wrote past its end.
    #[error(
        "`{}` accepted the table of {}, which has {} bytes, and wrote {bytes}: its check of the size is wrong",
        path.display(), release.name(), release.table_size()
    )]
    PastTheEnd {
        /// The library or manifest.
        path: PathBuf,
        /// The release whose sizes it accepted.
        release: Release,
        /// The number of bytes that it wrote.
        bytes: usize,
    },
    /// The plugin replaced the host's table with its own.
    #[error(
        "`{}` put a table of its own into the params: PaddlePaddle would go on calling the empty one that it lent, \
         so the plugin must fill that",
        path.display()
    )]
    ReplacedTable {
        /// The library or manifest.
        path: PathBuf,
    },
    /// The plugin compares no size, and the words that it wrote fit no release.
    #[error(
        "`{}` does not check the size of the table, and what it wrote fits no known release: {evidence}",
        path.display()
    )]
    NoReleaseFits {
        /// The library or manifest.
        path: PathBuf,
        /// The words that it wrote.
        evidence: Evidence,
    },
    /// The plugin compares no size, and the words that it wrote fit several releases whose pointers have different
    /// meanings.
    #[error(
        "`{}` does not tell which release it was built for: it does not check the size of the table, and what it \
         wrote fits {} ({evidence}). State it in the options of the call, or in a manifest beside the library: \
         {{\"tenon_manifest\": 1, \"library\": \"{}\", \"release\": \"…\"}}",
        path.display(), releases(candidates), library(path)
    )]
    UnknownRelease {
        /// The library or manifest.
        path: PathBuf,
        /// The matching releases, oldest first.
        candidates: Vec<Release>,
        /// The words that it wrote.
        evidence: Evidence,
    },
    /// The plugin behaves differently from what the declared release implies.
    #[error(
        "`{}` is declared to be built for {}, but {why}: it was built for {}",
        path.display(), declared.name(), releases(found)
    )]
    Contradicted {
        /// The library or manifest.
        path: PathBuf,
        /// The release in the options or the manifest.
        declared: Release,
        /// The releases that match the plugin, oldest first.
        found: Vec<Release>,
        /// The evidence for them.
        why: String,
    },
    /// The library is already loaded, with another release's table.
    #[error(
        "`{}` is loaded already, with the table of {}, and cannot be asked for that of {} beside it",
        path.display(), loaded.name(), declared.name()
    )]
    LoadedOtherwise {
        /// The library or manifest.
        path: PathBuf,
        /// The release that it was loaded as.
        loaded: Release,
        /// The release that is declared for this load.
        declared: Release,
    },
    /// The interface version that the plugin states is missing, or older than hosts accept.
    #[error(
        "`{}` states version {}.{}.{} of the interface, where hosts take 0.1.1 and newer",
        path.display(), version[0], version[1], version[2]
    )]
    Version {
        /// The library or manifest.
        path: PathBuf,
        /// The version that it states.
        version: [usize; 3],
    },
    /// The plugin states no device type.
    #[error(
        "`{}` filled the table and left the device type {}",
        path.display(), if *empty { "empty" } else { "null" }
    )]
    NoDeviceType {
        /// The library or manifest.
        path: PathBuf,
        /// True if the plugin set an empty string, false if it set null.
        empty: bool,
    },
    /// The device type has control characters, or is too long.
    #[error(
        "`{}` has the device type `{}`, which has control characters or more than {LONGEST_NAME} bytes",
        path.display(), device_type.escape_debug()
    )]
    BadDeviceType {
        /// The requested plugin.
        path: PathBuf,
        /// The device type that the plugin stated.
        device_type: String,
    },
    /// The plugin lacks a function that every host needs.
    #[error(
        "`{}` lacks what a host needs to load it: {}", path.display(),
        functions.iter().map(|function| format!("`{}`", function.name())).collect::<Vec<_>>().join(", ")
    )]
    MissingRequired {
        /// The library or manifest.
        path: PathBuf,
        /// The missing functions, in the order of the spec.
        functions: Vec<Function>,
    },
    /// The content of the manifest is invalid.
    #[error("the manifest `{}`: {reason}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl LoadError {
    /// Makes the error of a file that is not read.
    pub(crate) fn of_file(path: &Path, error: FileError) -> Self {
        let path = path.into();
        match error {
            FileError::NotPlain(_) => LoadError::NotAFile { path },
            FileError::TooLarge(_) => LoadError::Manifest { path, reason: error.to_string() },
            FileError::System(source) => match source.kind() {
                io::ErrorKind::NotFound => LoadError::NotFound { path },
                _ => LoadError::Unreadable { path, source },
            },
        }
    }
}

/// Most bytes in the name of a device type.
pub(crate) const LONGEST_NAME: usize = 256;

/// Returns the library's path as a manifest beside it would write it.
fn library(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| format!("./{}", name.to_string_lossy()))
}
