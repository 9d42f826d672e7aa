//! The folders of outputs, their owners, and errors of writing them.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::disk;
use super::obstacle::{Obstacle, help, list};

/// The folders for the outputs of a spec.
#[derive(Clone, Debug)]
pub struct Target {
    /// The output root.
    pub(super) root: PathBuf,
    /// The project, whose name is that of the manifest.
    pub(super) project: String,
    /// The folder of the spec, relative to the output root, with `/` between the parts.
    pub(super) spec: String,
    /// The command that updates the outputs.
    pub(super) command: String,
}

impl Target {
    /// Creates the target of a project's spec below the output root `root`. `folder` holds `spec.yaml`, and `command` updates
    /// the outputs.
    pub fn new(root: &Path, folder: &Path, project: &str, command: &str) -> Self {
        let (root, folder) = (disk::real(root), disk::real(folder));
        Target {
            project: project.to_owned(),
            spec: relative(&folder, &root),
            command: command.to_owned(),
            root,
        }
    }
}

/// Returns the relative path from one folder to another; the same on every machine if both are on one drive.
fn relative(to: &Path, from: &Path) -> String {
    let shared = to.components().zip(from.components()).take_while(|(to, from)| to == from).count();
    if shared == 0 {
        return to.display().to_string();
    }
    let up = from.components().skip(shared).map(|_| "..".to_owned());
    let name = |part: Component| part.as_os_str().to_string_lossy().into_owned();
    let parts: Vec<String> = up.chain(to.components().skip(shared).map(name)).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

/// The reason for which outputs cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Something is in the way; nothing was written.
    #[error("{}", list(.0))]
    Blocked(Vec<Obstacle>),
    /// The manifest of that name is another spec's.
    #[error("`{manifest}` lists the outputs of the project `{project}` in `{spec}`, which is another spec")]
    OtherSpec {
        /// The manifest, relative to the output root.
        manifest: String,
        /// The project that both specs name.
        project: String,
        /// The folder of the other spec, relative to the output root.
        spec: String,
    },
    /// A manifest cannot be understood.
    #[error("`{manifest}`: line {line} is not a line of a manifest")]
    Manifest {
        /// The manifest, relative to the output root.
        manifest: String,
        /// Counted from 1.
        line: usize,
    },
    /// A file could not be read, written or removed.
    #[error("cannot {action} `{}`", path.display())]
    File {
        /// The failed action.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl OutputError {
    /// Returns instructions for the user.
    pub fn help(&self) -> String {
        match self {
            OutputError::Blocked(obstacles) => help(obstacles),
            OutputError::OtherSpec { .. } => {
                "give one of the two specs another `project`, or another output root with `--out`".to_owned()
            }
            OutputError::Manifest { .. } => {
                "restore the file from version control, or remove the line: a file that is not listed is never changed"
                    .to_owned()
            }
            OutputError::File { .. } => {
                "outputs go to the folder of `--out`; is it there, and may you write to it?".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_is_named_relative_to_the_root() {
        let relative = |to: &str, from: &str| relative(Path::new(to), Path::new(from));
        assert_eq!(relative("/a/spec", "/a"), "spec");
        assert_eq!(relative("/a/b/spec", "/a/out/x"), "../../b/spec");
        assert_eq!(relative("/a", "/a"), ".");
    }
}
