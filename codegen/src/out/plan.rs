//! The plan of a run: files to write and to remove, and obstacles.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::disk::{self, Folders};
use super::hash::Hash;
use super::manifest::{self, Manifest, Record};
use super::obstacle::{Obstacle, Reason};
use super::target::{OutputError, Target};
use super::{FileMap, Output};
use crate::output_path::without_case;

/// The treatment of outputs that were changed since they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edits {
    /// They are in the way.
    Refuse,
    /// They are replaced.
    Replace,
}

/// A difference between the disk and the outputs of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// An output, or the manifest, has another text.
    Stale {
        /// Its path.
        path: String,
        /// The first line that differs, counted from 1.
        line: usize,
        /// The line on disk; `None`: the file ends before it.
        found: Option<String>,
        /// The line of the output; `None`: the output ends before it.
        expected: Option<String>,
    },
    /// An output, or the manifest, is not there.
    Missing(String),
    /// A file was written by an earlier run and is no longer an output.
    Stray(String),
}

/// The outputs that a plan covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All.
    All,
    /// Those that belong into version control.
    Committed,
}

/// The actions of a run, and the obstacles to them.
pub(super) struct Plan<'a> {
    pub(super) target: &'a Target,
    /// The outputs of the run before.
    pub(super) before: Option<Manifest>,
    /// The committed outputs of this one.
    pub(super) after: Manifest,
    /// The others of this one.
    pub(super) uncommitted: Manifest,
    /// Each output, its real path, and the file that exists there.
    pub(super) outputs: Vec<(&'a Output, PathBuf, State)>,
    /// Files that are no longer outputs and are unchanged.
    pub(super) gone: Vec<(String, PathBuf)>,
    /// Files that are no longer outputs and were changed.
    pub(super) left: Vec<String>,
    /// Half-written files of a run that was killed.
    pub(super) leftovers: Vec<PathBuf>,
    /// The obstacle. Changed outputs are not here.
    pub(super) obstacles: Vec<Obstacle>,
}

/// The file on disk at the path of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No file.
    Missing,
    /// The same text.
    Same,
    /// The text of an earlier run.
    Outdated(Vec<u8>),
    /// An output that was changed since.
    Edited(Vec<u8>),
    /// A file that this spec did not write.
    Foreign(Vec<u8>),
}

impl<'a> Plan<'a> {
    /// Compares the outputs with the disk.
    pub(super) fn new(files: &'a FileMap, target: &'a Target, scope: Scope) -> Result<Self, OutputError> {
        let root = &target.root;
        let mut before = Manifest::read(root, &target.project, Record::Committed)?;
        if scope == Scope::All
            && let Some(uncommitted) = Manifest::read(root, &target.project, Record::Uncommitted)?
        {
            match &mut before {
                Some(before) => {
                    before.unfinished |= uncommitted.unfinished;
                    before.add_all(&uncommitted);
                }
                None => before = Some(uncommitted),
            }
        }
        if let Some(before) = before.as_ref().filter(|before| before.spec != target.spec)
            // If that spec does not exist any more, this one has been moved.
            && root.join(&before.spec).join("spec.yaml").is_file()
        {
            return Err(OutputError::OtherSpec {
                manifest: manifest::path_of(&target.project, Record::Committed),
                project: target.project.clone(),
                spec: before.spec.clone(),
            });
        }
        let mut plan = Plan {
            target,
            before,
            after: Manifest::new(target),
            uncommitted: Manifest::new(target),
            outputs: Vec::new(),
            gone: Vec::new(),
            left: Vec::new(),
            leftovers: Vec::new(),
            obstacles: Vec::new(),
        };
        let mut folders = Folders::new(root);
        plan.add_leftovers(&mut folders)?;
        let claims = claims(target, &mut folders)?;
        plan.add_gone(files, &claims, &mut folders)?;
        match scope {
            Scope::All => plan.add_outputs(files.outputs().iter(), &claims, &mut folders)?,
            Scope::Committed => plan.add_outputs(files.committed(), &claims, &mut folders)?,
        }
        Ok(plan)
    }

    /// Returns a file that an interrupted run was writing.
    fn add_leftovers(&mut self, folders: &mut Folders) -> Result<(), OutputError> {
        let Some(before) = self.before.as_ref().filter(|before| before.unfinished) else { return Ok(()) };
        for (path, _) in before.entries() {
            let Ok(real) = folders.file(path)? else { continue };
            let leftover = disk::temporary(&real);
            if disk::look(&leftover)?.is_some_and(|data| data.is_file()) {
                self.leftovers.push(leftover);
            }
        }
        Ok(())
    }

    /// Returns the outputs of earlier runs that this one does not write.
    fn add_gone(
        &mut self,
        files: &FileMap,
        claims: &Claims,
        folders: &mut Folders,
    ) -> Result<(), OutputError> {
        let before = self.before.as_ref().map(Manifest::entries);
        for (path, hashes) in before.into_iter().flatten() {
            if files.get(path).is_some_and(|output| output.path == path) {
                continue;
            }
            let Ok(real) = folders.file(path)? else { continue };
            if claims.of(&real).is_some() {
                continue;
            }
            match disk::look(&real)? {
                None => {}
                Some(data) if data.is_file() => match disk::read(&real)? {
                    Some(bytes) if hashes.contains(&Hash::of(&bytes)) => {
                        folders.vacate(path);
                        self.gone.push((path.to_owned(), real));
                    }
                    _ => self.left.push(path.to_owned()),
                },
                Some(_) => self.left.push(path.to_owned()),
            }
        }
        Ok(())
    }

    fn add_outputs(
        &mut self,
        outputs: impl Iterator<Item = &'a Output>,
        claims: &Claims,
        folders: &mut Folders,
    ) -> Result<(), OutputError> {
        let listed: BTreeMap<String, &[Hash]> = match &self.before {
            Some(before) => before.entries().map(|(path, hashes)| (without_case(path), hashes)).collect(),
            None => BTreeMap::new(),
        };
        let going: BTreeSet<PathBuf> = self.gone.iter().map(|(_, real)| fold(real)).collect();
        let mut taken: BTreeMap<PathBuf, &str> = BTreeMap::new();
        for output in outputs {
            let obstacle = |reason| Obstacle { path: output.path.clone(), reason };
            let real = match folders.file(&output.path)? {
                Ok(real) => real,
                Err(reason) => {
                    self.obstacles.push(obstacle(reason));
                    continue;
                }
            };
            if let Some(project) = claims.of(&real) {
                self.obstacles.push(obstacle(Reason::Claimed { project: project.to_owned() }));
                continue;
            }
            if let Some(other) = taken.insert(fold(&real), &output.path) {
                self.obstacles.push(obstacle(Reason::SameFile { other: other.to_owned() }));
                continue;
            }
            let hashes = listed.get(&without_case(&output.path)).copied();
            let hash = Hash::of(output.text.as_bytes());
            let mut state = match state(output, hash, &real, hashes)? {
                Ok(state) => state,
                Err(reason) => {
                    self.obstacles.push(obstacle(reason));
                    continue;
                }
            };
            // The same file under another case goes first.
            if state == State::Same && going.contains(&fold(&real)) {
                state = State::Missing;
            }
            let temporary = disk::temporary(&real);
            if state != State::Same
                && !self.leftovers.contains(&temporary)
                && disk::look(&temporary)?.is_some()
            {
                let path = disk::temporary(output.path.as_ref()).display().to_string();
                self.obstacles.push(Obstacle { path, reason: Reason::Temporary });
            }
            let after = if output.uncommitted { &mut self.uncommitted } else { &mut self.after };
            after.add(&output.path, hash);
            self.outputs.push((output, real, state));
        }
        Ok(())
    }

    /// Says how the disk differs.
    pub(super) fn differences(self) -> Result<Vec<Difference>, OutputError> {
        if !self.obstacles.is_empty() {
            return Err(OutputError::Blocked(self.obstacles));
        }
        let mut differences = Vec::new();
        for (output, _, state) in &self.outputs {
            match state {
                State::Same => {}
                State::Missing => differences.push(Difference::Missing(output.path.clone())),
                State::Outdated(found) | State::Edited(found) | State::Foreign(found) => {
                    differences.push(first_difference(&output.path, found, &output.text));
                }
            }
        }
        let strays = self.gone.into_iter().map(|(path, _)| path).chain(self.left);
        differences.extend(strays.map(Difference::Stray));
        if self.before.is_some() || !self.outputs.is_empty() {
            let path = manifest::path_of(&self.target.project, Record::Committed);
            let expected = self.after.text(self.target);
            match disk::read(&self.target.root.join(&path))? {
                None => differences.push(Difference::Missing(path)),
                Some(found) if unified(&found) == expected.as_bytes() => {}
                Some(found) => differences.push(first_difference(&path, &found, &expected)),
            }
        }
        Ok(differences)
    }
}

fn state(
    output: &Output,
    hash: Hash,
    real: &Path,
    listed: Option<&[Hash]>,
) -> Result<Result<State, Reason>, OutputError> {
    let Some(data) = disk::look(real)? else { return Ok(Ok(State::Missing)) };
    if data.is_symlink() {
        return Ok(Err(Reason::Link));
    }
    if !data.is_file() {
        return Ok(Err(Reason::NoFile));
    }
    let Some(found) = disk::read(real)? else { return Ok(Ok(State::Missing)) };
    if found == output.text.as_bytes() {
        return Ok(Ok(State::Same));
    }
    let on_disk = Hash::of(&found);
    Ok(Ok(match listed {
        _ if on_disk == hash && unified(&found) == output.text.as_bytes() => State::Same,
        None => State::Foreign(found),
        Some(hashes) if hashes.contains(&on_disk) => State::Outdated(found),
        Some(_) => State::Edited(found),
    }))
}

/// The files that other specs wrote to the same root, as they really are.
struct Claims(BTreeMap<PathBuf, String>);

impl Claims {
    fn of(&self, real: &Path) -> Option<&str> {
        self.0.get(&fold(real)).map(String::as_str)
    }
}

fn claims(target: &Target, folders: &mut Folders) -> Result<Claims, OutputError> {
    let mut claims = BTreeMap::new();
    for (project, manifest) in manifest::others(&target.root, &target.project)? {
        for (path, _) in manifest.entries() {
            let real = folders.file(path)?.unwrap_or_else(|_| target.root.join(path));
            claims.insert(fold(&real), project.clone());
        }
    }
    Ok(Claims(claims))
}

/// Returns the same for paths that are one file if the file system ignores case.
fn fold(path: &Path) -> PathBuf {
    PathBuf::from(without_case(&path.to_string_lossy()))
}

/// Converts line ends to those of Unix, because a checkout may have changed them.
fn unified(found: &[u8]) -> Cow<'_, [u8]> {
    if !found.contains(&b'\r') {
        return Cow::Borrowed(found);
    }
    let is_end = |index: usize| found[index] == b'\r' && found.get(index + 1) == Some(&b'\n');
    Cow::Owned((0..found.len()).filter(|index| !is_end(*index)).map(|index| found[index]).collect())
}

fn first_difference(path: &str, found: &[u8], expected: &str) -> Difference {
    let found = String::from_utf8_lossy(found);
    let (mut ours, mut theirs) = (expected.lines(), found.lines());
    let mut line = 0;
    loop {
        line += 1;
        let (expected, found) = (ours.next(), theirs.next());
        if expected != found || expected.is_none() {
            let text = |line: Option<&str>| line.map(str::to_owned);
            return Difference::Stale {
                path: path.to_owned(),
                line,
                found: text(found),
                expected: text(expected),
            };
        }
    }
}
