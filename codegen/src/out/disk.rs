//! The file system: reading, and writing so that no half-written file is ever seen.

use std::collections::HashMap;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::obstacle::Reason;
use super::target::OutputError;
use crate::output_path;

pub(super) fn failed<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> OutputError + 'a {
    move |source| OutputError::File { action, path: path.to_owned(), source }
}

/// Returns the bytes of a file; `None` where there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, OutputError> {
    present(tenon_files::read(path, u64::MAX).map_err(io::Error::from)).map_err(failed("read", path))
}

/// Returns the kind of file at a path, without following a link.
pub(super) fn look(path: &Path) -> Result<Option<Metadata>, OutputError> {
    present(fs::symlink_metadata(path)).map_err(failed("read", path))
}

/// Returns the names in a folder, sorted; a folder that is not there has none.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, OutputError> {
    let Some(entries) = present(fs::read_dir(folder)).map_err(failed("read the folder", folder))? else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed("read the folder", folder))?;
        names.extend(entry.file_name().into_string().ok());
    }
    names.sort();
    Ok(names)
}

fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns true if the path does not exist. A path through a file does not exist either, like one through a missing
/// folder.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns a path without links, as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut missing = Vec::new();
    for folder in path.ancestors() {
        if let Ok(real) = folder.canonicalize() {
            return missing.into_iter().rev().fold(real, |path, name| path.join(name));
        }
        missing.extend(folder.file_name());
    }
    path
}

/// Returns the name that an output has while it is written.
pub(super) fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.codegen-new"))
}

/// Writes a file in one step: a reader, or a run that comes after one that was killed, sees the old text or the new one.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), OutputError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed("create the folder", folder))?;
    }
    let new = temporary(path);
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(&new).map_err(failed("create", &new))?;
    let written = file.write_all(text.as_bytes()).and_then(|()| {
        if let Some(old) = present(fs::symlink_metadata(path))? {
            file.set_permissions(old.permissions())?;
        }
        drop(file);
        fs::rename(&new, path)
    });
    written.map_err(|error| {
        // The first error is reported; the next run removes the temporary file.
        let _ = fs::remove_file(&new);
        failed("write", path)(error)
    })
}

/// Removes a file, and the folders that are empty then.
pub(super) fn remove(path: &Path, root: &Path) -> Result<(), OutputError> {
    fs::remove_file(path).map_err(failed("remove", path))?;
    // `remove_dir` refuses a folder that still holds something, which ends the climb.
    for folder in path.ancestors().skip(1).take_while(|folder| *folder != root) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

/// The folders below an output root, each looked at once.
pub(super) struct Folders {
    root: PathBuf,
    known: HashMap<String, Result<PathBuf, Reason>>,
    /// Files that will be removed before anything is written.
    vacated: Vec<String>,
}

impl Folders {
    /// Creates an empty list of the folders below `root`, which must have no links in it.
    pub(super) fn new(root: &Path) -> Self {
        Folders { root: root.to_owned(), known: HashMap::new(), vacated: Vec::new() }
    }

    /// Treats a file as removed from now on.
    pub(super) fn vacate(&mut self, path: &str) {
        self.vacated.push(output_path::without_case(path));
        self.known.retain(|folder, _| !output_path::is_within(folder, path));
    }

    /// Returns the real path of a file, with links in its folder resolved.
    pub(super) fn file(&mut self, path: &str) -> Result<Result<PathBuf, Reason>, OutputError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok(self.folder(folder)?.map(|folder| folder.join(name)))
    }

    fn folder(&mut self, folder: &str) -> Result<Result<PathBuf, Reason>, OutputError> {
        if folder.is_empty() {
            return Ok(Ok(self.root.clone()));
        }
        if let Some(known) = self.known.get(folder) {
            return Ok(known.clone());
        }
        let found = match self.file(folder)? {
            Ok(path) => self.enter(folder, path)?,
            Err(reason) => Err(reason),
        };
        self.known.insert(folder.to_owned(), found.clone());
        Ok(found)
    }

    fn enter(&self, folder: &str, path: PathBuf) -> Result<Result<PathBuf, Reason>, OutputError> {
        let Some(data) = look(&path)? else { return Ok(Ok(path)) };
        if data.is_dir() {
            return Ok(Ok(path));
        }
        if data.is_symlink() {
            let to = fs::read_link(&path).map_err(failed("read the link", &path))?;
            return Ok(match path.canonicalize() {
                Ok(real) if real.starts_with(&self.root) && real.is_dir() => Ok(real),
                _ => Err(Reason::LeadsOut { folder: folder.to_owned(), to }),
            });
        }
        let goes = self.vacated.contains(&output_path::without_case(folder));
        Ok(if goes { Ok(path) } else { Err(Reason::NoFolder) })
    }
}
