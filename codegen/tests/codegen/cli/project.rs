//! A spec in a temporary folder of a test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use codegen::out::Hash;

use crate::root;

fn example() -> PathBuf {
    // The crate lies in the workspace's root.
    let root = root();
    root.join("examples/custom-spec")
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder for tests can be written");
    for entry in fs::read_dir(from).expect("the folder is there") {
        let entry = entry.expect("the folder can be read");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("the entry is there").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("the file can be copied");
        }
    }
}

/// A copy of the example's spec in a temporary folder, with Rust files among its outputs. No output is written yet.
pub struct Project {
    pub root: PathBuf,
}

/// The output of the command.
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Project {
    pub fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli").join(name);
        if root.exists() {
            fs::remove_dir_all(&root).expect("the folder for tests can be written");
        }
        copy(&example().join("spec"), &root.join("spec"));
        let project = Project { root };
        project.edit("spec/spec.yaml", "  schema: schema\n", "  schema: schema\n  rust: rust\n");
        project
    }

    pub fn run(&self, arguments: &[&str]) -> Said {
        self.run_in(".", arguments)
    }

    pub fn run_in(&self, folder: &str, arguments: &[&str]) -> Said {
        self.run_with(folder, arguments, &[])
    }

    /// Runs the command with further environment variables.
    pub fn run_with(&self, folder: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_codegen"))
            .args(arguments)
            .current_dir(self.root.join(folder))
            .env("NO_COLOR", "1")
            .envs(variables.iter().copied())
            .output()
            .expect("the command was built with this test");
        Said {
            code: output.status.code().expect("the command was not killed"),
            out: String::from_utf8(output.stdout).expect("output is UTF-8"),
            // A long message is on several lines, each behind a bar.
            err: String::from_utf8(output.stderr).expect("output is UTF-8").replace("\n  │ ", " "),
        }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(path)).expect("the file is there");
        assert!(text.contains(from), "`{path}` does not hold `{from}`");
        fs::write(self.path(path), text.replacen(from, to, 1)).expect("the folder for tests can be written");
    }

    /// Writes a file, and the folders above it.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
        fs::write(path, text).expect("the folder for tests can be written");
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("`{path}`: {error}"))
    }

    /// Adds a line to the manifest, as if a run had written such a file.
    pub fn list(&self, path: &str, text: &str) {
        let manifest = self.read(MANIFEST);
        self.write(MANIFEST, &format!("{manifest}{} {path}\n", Hash::of(text.as_bytes())));
    }

    /// Reads every file below the folder except the spec's and the records of runs: its bytes, or the target of a link.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.root, &self.root, &mut files);
        files.retain(|path, _| !path.starts_with("spec/") && !path.starts_with(".codegen/cache"));
        files
    }
}

/// The manifest of the example.
pub const MANIFEST: &str = ".codegen/fieldwork.manifest";

/// Collects the entries below a folder. Only an empty folder is an entry itself.
pub fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    let entries: Vec<_> = fs::read_dir(folder).expect("the folder is there").collect();
    let name = |path: &Path| path.strip_prefix(root).expect("it lies below").to_string_lossy().into_owned();
    if entries.is_empty() {
        files.insert(format!("{}/", name(folder)), Vec::new());
    }
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        let data = fs::symlink_metadata(&path).expect("the entry is there");
        if data.is_dir() {
            collect(root, &path, files);
        } else if data.is_symlink() {
            let to = fs::read_link(&path).expect("it is a link");
            files.insert(name(&path), to.to_string_lossy().into_owned().into_bytes());
        } else {
            files.insert(name(&path), fs::read(&path).expect("the file can be read"));
        }
    }
}
