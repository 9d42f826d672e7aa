//! The manifest of a spec: which files it wrote, and what was in them.
//!
//! It is in [`FOLDER`] below the output root and is committed with the outputs. The folder may hold
//! manifests of other specs that write to the same root. Each entry is a separate line, in the order of the
//! paths, so that a merge of two branches may keep the lines of both: a path may have several hashes, and
//! each of them is that of a text that a run wrote.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::MARKER;
use super::disk;
use super::hash::Hash;
use super::target::{OutputError, Target};
use crate::output_path::{self, FOLDER};

/// The ending of a manifest's name.
const ENDING: &str = ".manifest";

/// The ending of the name of a manifest that version control ignores, before [`ENDING`].
const UNCOMMITTED: &str = ".uncommitted";

/// The line of a manifest while outputs are being written.
const UNFINISHED: &str = "unfinished";

/// The text before the folder of the spec.
const SPEC: &str = "spec ";

/// The beginnings of lines that a merge leaves where two branches disagree.
const CONFLICT: [&str; 4] = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];

/// Which of the two manifests of a spec lists an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// The one that is committed with its outputs.
    Committed,
    /// The one that version control ignores, as it does the outputs.
    Uncommitted,
}

/// Which files a spec wrote.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    /// The folder of the spec, relative to the output root.
    pub(super) spec: String,
    /// True if the run that wrote it did not come to its end.
    pub(super) unfinished: bool,
    entries: BTreeMap<String, Vec<Hash>>,
}

impl Manifest {
    /// Creates an empty manifest for a target's spec.
    pub(super) fn new(target: &Target) -> Self {
        Manifest { spec: target.spec.clone(), ..Manifest::default() }
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, path: &str, hash: Hash) {
        let hashes = self.entries.entry(path.to_owned()).or_default();
        if !hashes.contains(&hash) {
            hashes.push(hash);
        }
    }

    /// Adds the entries of another one.
    pub(super) fn add_all(&mut self, other: &Manifest) {
        for (path, hashes) in &other.entries {
            hashes.iter().for_each(|hash| self.add(path, *hash));
        }
    }

    /// Returns the paths and hashes.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &[Hash])> {
        self.entries.iter().map(|(path, hashes)| (path.as_str(), hashes.as_slice()))
    }

    /// Returns the whole text.
    pub(super) fn text(&self, target: &Target) -> String {
        let Target { project, spec, command, .. } = target;
        let mut text = format!(
            "# {MARKER} for {project} from {spec}: the files that it wrote. Do not edit: {command}\n"
        );
        let _ = writeln!(text, "{SPEC}{}", self.spec);
        if self.unfinished {
            let _ = writeln!(text, "{UNFINISHED}");
        }
        for (path, hashes) in &self.entries {
            for hash in hashes {
                let _ = writeln!(text, "{hash} {path}");
            }
        }
        text
    }

    /// Returns true if it lists nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Reads that of a project, if there is one.
    pub(super) fn read(root: &Path, project: &str, record: Record) -> Result<Option<Self>, OutputError> {
        let path = path_of(project, record);
        let Some(bytes) = disk::read(&root.join(&path))? else { return Ok(None) };
        let mut manifest = Manifest::default();
        for (index, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
            if manifest.read_line(line).is_none() {
                return Err(OutputError::Manifest { manifest: path, line: index + 1 });
            }
        }
        Ok(Some(manifest))
    }

    fn read_line(&mut self, line: &str) -> Option<()> {
        if line.starts_with('#') || line.is_empty() || CONFLICT.iter().any(|marker| line.starts_with(marker))
        {
            return Some(());
        }
        if line == UNFINISHED {
            self.unfinished = true;
            return Some(());
        }
        if let Some(spec) = line.strip_prefix(SPEC) {
            self.spec = spec.to_owned();
            return Some(());
        }
        let (hash, path) = line.split_once(' ')?;
        // A damaged manifest must not lead out of the output root.
        if output_path::file(path).as_deref() != Ok(path) {
            return None;
        }
        self.add(path, Hash::parse(hash)?);
        Some(())
    }
}

/// Writes a manifest. Its folder is the generator's own, so that a half-written one there may go.
pub(super) fn write(file: &Path, text: &str) -> Result<(), OutputError> {
    let leftover = disk::temporary(file);
    if disk::look(&leftover)?.is_some_and(|data| data.is_file()) {
        std::fs::remove_file(&leftover).map_err(disk::failed("remove", &leftover))?;
    }
    disk::replace(file, text)
}

/// Returns the path of a manifest of a project, relative to the output root.
pub(super) fn path_of(project: &str, record: Record) -> String {
    let middle = if record == Record::Uncommitted { UNCOMMITTED } else { "" };
    format!("{FOLDER}/{project}{middle}{ENDING}")
}

/// Returns the manifests of other projects in the same root, by project.
pub(super) fn others(root: &Path, project: &str) -> Result<Vec<(String, Manifest)>, OutputError> {
    let mut others = Vec::new();
    for name in disk::names(&root.join(FOLDER))? {
        let Some(name) = name.strip_suffix(ENDING) else { continue };
        let (other, record) = match name.strip_suffix(UNCOMMITTED) {
            Some(other) => (other, Record::Uncommitted),
            None => (name, Record::Committed),
        };
        if other != project
            && let Some(manifest) = Manifest::read(root, other, record)?
        {
            others.push((other.to_owned(), manifest));
        }
    }
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Manifest> {
        let mut manifest = Manifest::default();
        text.lines().try_for_each(|line| manifest.read_line(line)).map(|()| manifest)
    }

    #[test]
    fn merge_conflict_keeps_the_entries_of_both_sides() {
        let text = "# first\nspec spec\n<<<<<<< ours\n0000000000000001 a.h\n=======\n0000000000000002 a.h\n\
                    0000000000000003 b.h\n>>>>>>> theirs\n";
        let manifest = read(text).expect("the lines are those of a manifest");
        let entries: Vec<(&str, usize)> =
            manifest.entries().map(|(path, hashes)| (path, hashes.len())).collect();
        assert_eq!(entries, [("a.h", 2), ("b.h", 1)]);
    }

    #[test]
    fn entry_outside_of_the_root_is_no_entry() {
        for path in ["../a.h", "/a.h", "a/../a.h", "a//b.h", ""] {
            assert!(read(&format!("0000000000000001 {path}")).is_none(), "{path}");
        }
        assert!(read("no hash").is_none());
    }
}
