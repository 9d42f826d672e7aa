//! The files of a spec, and places in them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Index of a [`SourceFile`] in [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub usize);

/// A range of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A value, and the location where it was written.
#[derive(Clone, Debug)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// The location in the spec.
    pub span: Span,
}

/// A file of a spec, kept so that diagnostics can quote it.
#[derive(Debug)]
pub struct SourceFile {
    /// The path in messages: relative to the current folder if possible.
    pub path: PathBuf,
    /// The whole text.
    pub text: String,
}

impl SourceFile {
    /// Returns line and column of a byte, both counted from 1. Columns count characters.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let before = &self.text[..byte.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

/// All files of a spec.
#[derive(Debug, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
}

impl Sources {
    /// Adds a file.
    pub fn add(&mut self, path: impl Into<PathBuf>, text: impl Into<String>) -> FileId {
        self.files.push(SourceFile { path: path.into(), text: text.into() });
        FileId(self.files.len() - 1)
    }

    /// Returns the file with an id that `add` returned.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0]
    }

    /// Returns all files, in the order in which they were added.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(index, file)| (FileId(index), file))
    }
}

/// The source of a spec's files: a folder, or a test's files in memory.
pub trait Files {
    /// Returns the text of a file, by its path relative to the spec's folder, with `/` as the separator.
    ///
    /// Bytes that are not UTF-8 cause an error that contains a [`std::string::FromUtf8Error`].
    fn read(&self, path: &str) -> std::io::Result<String>;
    /// Returns the name of the file in messages.
    fn display(&self, path: &str) -> PathBuf;
    /// Returns the names in a folder that end in `.yaml` or `.yml`, sorted; none if the folder does not exist.
    fn list(&self, folder: &str) -> Vec<String>;
}

/// Returns true if a file is meant to be YAML. Files of a spec end in `.yaml`; `.yml` is a common mistake.
fn is_yaml(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml")
}

/// Most bytes of a file that is read.
pub const LONGEST_FILE: u64 = 16 << 20;

/// A spec in a folder on disk.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    shown: PathBuf,
}

impl Folder {
    /// Makes the source for a folder. `root` contains `spec.yaml`.
    pub fn new(root: impl AsRef<Path>) -> Self {
        Folder { root: root.as_ref().to_owned(), shown: root.as_ref().to_owned() }
    }

    /// Sets the path of the folder in messages, as the user wrote it.
    pub fn shown_as(self, path: impl AsRef<Path>) -> Self {
        Folder { shown: path.as_ref().to_owned(), ..self }
    }
}

impl Files for Folder {
    fn read(&self, path: &str) -> std::io::Result<String> {
        let bytes = tenon_files::read(&self.root.join(path), LONGEST_FILE)?;
        String::from_utf8(bytes).map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))
    }

    fn display(&self, path: &str) -> PathBuf {
        self.shown.join(path)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.root.join(folder)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| is_yaml(name))
            .collect();
        names.sort();
        names
    }
}

/// A spec in a folder, with the paths that were asked for.
#[derive(Debug)]
pub struct Recorded {
    folder: Folder,
    paths: RefCell<BTreeSet<PathBuf>>,
}

impl Recorded {
    /// Records the paths of a folder.
    pub fn new(folder: Folder) -> Self {
        Recorded { folder, paths: RefCell::default() }
    }

    /// Returns the files that were read, also those that do not exist, and the folders that were listed.
    pub fn into_paths(self) -> BTreeSet<PathBuf> {
        self.paths.into_inner()
    }
}

impl Files for Recorded {
    fn read(&self, path: &str) -> std::io::Result<String> {
        self.paths.borrow_mut().insert(self.folder.root.join(path));
        self.folder.read(path)
    }

    fn display(&self, path: &str) -> PathBuf {
        self.folder.display(path)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        self.paths.borrow_mut().insert(self.folder.root.join(folder));
        self.folder.list(folder)
    }
}
