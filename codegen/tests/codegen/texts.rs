//! A spec in memory, which tests modify.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use codegen::source::{Files, Folder};

/// The files of a spec by their path, and the bytes of those that are not UTF-8.
#[derive(Clone, Default)]
pub struct Texts(pub BTreeMap<String, String>, pub BTreeMap<String, Vec<u8>>);

impl Texts {
    /// Reads the files of a folder and of the folders in it.
    pub fn of_folder(root: &Path) -> Self {
        let mut texts = Texts::default();
        texts.add(root, "");
        texts
    }

    fn add(&mut self, root: &Path, folder: &str) {
        for name in Folder::new(root).list(folder) {
            let path = format!("{folder}{name}");
            let text = Folder::new(root).read(&path).expect("a listed file can be read");
            self.0.insert(path, text);
        }
        for entry in std::fs::read_dir(root.join(folder)).expect("the folder is part of the repository") {
            let entry = entry.expect("the folder can be read");
            if entry.path().is_dir() {
                self.add(root, &format!("{folder}{}/", entry.file_name().to_string_lossy()));
            }
        }
    }
}

impl Files for Texts {
    fn read(&self, path: &str) -> io::Result<String> {
        if let Some(bytes) = self.1.get(path) {
            let text = String::from_utf8(bytes.clone());
            return text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
        }
        self.0.get(path).cloned().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file"))
    }

    fn display(&self, path: &str) -> PathBuf {
        PathBuf::from(path)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let names = self.0.keys().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        names.filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }
}
