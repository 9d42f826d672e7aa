//! Records which files a complete run read and wrote, so that the next run can detect that nothing changed.
//!
//! The record is a file in [`FOLDER`], one for each spec, and only makes runs faster: it may be deleted, and a run without it
//! compares everything. Files are compared by their metadata. A file that changed shortly before its metadata was read could
//! change again without a trace, because clocks of file systems are coarse; a run that read such a file is not recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::disk;
use super::hash::{Fnv, Hash};
use super::{FileMap, Target};
use crate::output_path;

/// The folder of these files, below the output root. It ignores itself in version control.
const FOLDER: &str = "cache";

/// The first line, with the version of the format.
const HEAD: &str = "codegen run 1";

/// More than the resolution of the clocks of file systems that have fractions of seconds.
const RESOLUTION: Duration = Duration::from_millis(20);

/// The conditions of a run, apart from the files that it reads: the generator, its options, and the formatter.
#[derive(Debug)]
pub struct Setting {
    /// The file of the record.
    path: PathBuf,
    /// The hash of all values, and of the metadata of all programs.
    hash: Hash,
}

impl Setting {
    /// Describes runs that write the outputs of the spec in `spec` below `root`. `values` are options and variables, and
    /// `programs` are files that take part.
    pub fn new(root: &Path, spec: &Path, values: &[String], programs: &[PathBuf]) -> Self {
        let (root, spec) = (disk::real(root), disk::real(spec));
        let mut hash = Fnv::default().text(HEAD.as_bytes()).text(root.as_os_str().as_encoded_bytes());
        for value in values {
            hash = hash.text(value.as_bytes());
        }
        for program in programs {
            hash = hash.text(program.as_os_str().as_encoded_bytes()).text(state(program).as_bytes());
        }
        let name = Hash::of(spec.as_os_str().as_encoded_bytes());
        let path = root.join(output_path::FOLDER).join(FOLDER).join(format!("{name}.run"));
        Setting { path, hash: hash.finish() }
    }
}

/// The record of a run.
#[derive(Debug, Default)]
pub struct LastRun {
    /// Each file and folder that the run read or wrote, with its metadata.
    files: Vec<(PathBuf, String)>,
    /// Outputs: all, and those that are committed.
    outputs: (usize, usize),
    /// The hash of each formatted output's text before it was formatted, and the index of its file.
    unformatted: BTreeMap<String, (Hash, usize)>,
}

impl LastRun {
    /// Reads the record of the last run with this setting, if there is one.
    pub fn read(setting: &Setting) -> Option<Self> {
        let text = fs::read_to_string(&setting.path).ok()?;
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) || Hash::parse(lines.next()?)? != setting.hash {
            return None;
        }
        let mut numbers = lines.next()?.split(' ').map(str::parse);
        let mut run =
            LastRun { outputs: (numbers.next()?.ok()?, numbers.next()?.ok()?), ..LastRun::default() };
        for line in lines {
            match line.split_once(' ')? {
                ("formatted", rest) => {
                    let (hash, path) = rest.split_once(' ')?;
                    let index = run.files.len().checked_sub(1)?;
                    run.unformatted.insert(path.to_owned(), (Hash::parse(hash)?, index));
                }
                (state, path) => run.files.push((path.into(), state.to_owned())),
            }
        }
        Some(run)
    }

    /// Returns true if no file has changed since.
    pub fn is_current(&self) -> bool {
        self.files.iter().all(|(path, known)| state(path) == *known)
    }

    /// Returns the number of outputs, and of those that are committed.
    pub fn outputs(&self) -> (usize, usize) {
        self.outputs
    }

    /// Returns the formatted text of an output if its text before that has this hash, as in the last run.
    pub fn formatted(&self, path: &str, unformatted: Hash) -> Option<String> {
        let (hash, index) = self.unformatted.get(path)?;
        let (file, known) = &self.files[*index];
        if *hash != unformatted || state(file) != *known {
            return None;
        }
        let text = fs::read_to_string(file).ok()?;
        // A change while it was read would have a later time.
        (state(file) == *known).then_some(text)
    }
}

/// Records a complete run that began at `start` and read the files and folders `read`.
///
/// Records nothing if a file changed meanwhile, or if the folder cannot be written: the next run is only slower then.
pub fn record(
    setting: &Setting,
    target: &Target,
    files: &FileMap,
    read: &BTreeSet<PathBuf>,
    start: SystemTime,
) {
    // A record of an earlier run would not describe these files.
    let _ = fs::remove_file(&setting.path);
    let _ = try_record(setting, target, files, read, start);
}

fn try_record(
    setting: &Setting,
    target: &Target,
    files: &FileMap,
    read: &BTreeSet<PathBuf>,
    start: SystemTime,
) -> Option<()> {
    let folder = setting.path.parent()?;
    fs::create_dir_all(folder).ok()?;
    let ignored = folder.join(".gitignore");
    if !ignored.exists() {
        fs::write(ignored, "*\n").ok()?;
    }
    // Whatever changes from here on gets a later time than that of an output that this run wrote.
    std::thread::sleep(RESOLUTION);
    let committed = files.committed().count();
    let mut text = format!("{HEAD}\n{}\n{} {committed}\n", setting.hash, files.outputs().len());
    for path in read {
        let data = fs::metadata(path).ok();
        if data.as_ref().is_some_and(|data| is_after(data, start)) {
            return None;
        }
        line(&mut text, path, data.as_ref())?;
    }
    let lists = target.root.join(output_path::FOLDER);
    let manifests = disk::names(&lists).ok()?.into_iter().map(|name| lists.join(name));
    for path in std::iter::once(lists.clone()).chain(manifests.filter(|path| path.is_file())) {
        line(&mut text, &path, fs::metadata(&path).ok().as_ref())?;
    }
    for output in files.outputs() {
        let path = target.root.join(&output.path);
        let data = fs::metadata(&path).ok()?;
        // The file changed during this run. Another program may have changed it.
        if is_after(&data, start) && fs::read(&path).ok()? != output.text.as_bytes() {
            return None;
        }
        line(&mut text, &path, Some(&data))?;
        if let Some(hash) = output.unformatted {
            let _ = writeln!(text, "formatted {hash} {}", output.path);
        }
    }
    disk::replace(&setting.path, &text).ok()
}

/// Adds the line of a file; `None` if a line cannot have its path.
fn line(text: &mut String, path: &Path, data: Option<&Metadata>) -> Option<()> {
    // Not without links: the next run has to see that one leads elsewhere.
    let path = std::path::absolute(path).ok()?;
    let path = path.to_str().filter(|path| !path.contains('\n'))?;
    writeln!(text, "{} {path}", state_of(data)).ok()
}

/// Returns the metadata of a file or folder as text.
fn state(path: &Path) -> String {
    state_of(fs::metadata(path).ok().as_ref())
}

fn state_of(data: Option<&Metadata>) -> String {
    let Some(data) = data else { return "absent".to_owned() };
    let modified = data.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let modified = modified.unwrap_or_default().as_nanos();
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        format!("{}:{modified}:{}.{}:{}", data.len(), data.ctime(), data.ctime_nsec(), data.ino())
    }
    #[cfg(not(unix))]
    format!("{}:{modified}", data.len())
}

/// Returns when a file or its metadata changed last.
fn changed(data: &Metadata) -> Option<SystemTime> {
    let modified = data.modified().ok()?;
    #[cfg(unix)]
    let modified = {
        use std::os::unix::fs::MetadataExt as _;
        let seconds = Duration::new(data.ctime().try_into().ok()?, data.ctime_nsec().try_into().ok()?);
        modified.max(SystemTime::UNIX_EPOCH + seconds)
    };
    Some(modified)
}

/// Returns true if a file may have changed after a time, as far as its clock can tell.
fn is_after(data: &Metadata, start: SystemTime) -> bool {
    let Some(modified) = changed(data) else { return true };
    let since_epoch = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // A clock without fractions may have steps of two seconds.
    let resolution = if since_epoch.subsec_nanos() == 0 { Duration::from_secs(2) } else { RESOLUTION };
    modified + resolution >= start
}
