//! Files that are in the way of an output.

use std::fmt;
use std::path::PathBuf;

/// An output that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Relative to the output root.
    pub path: String,
    /// The obstacle.
    pub reason: Reason,
}

/// An obstacle to an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A file that no run of this spec wrote.
    Foreign,
    /// A file that was written by a run, and has been changed since.
    Edited,
    /// A file that another spec wrote.
    Claimed {
        /// The other spec's project.
        project: String,
    },
    /// A link.
    Link,
    /// A folder, or something else that is not a file.
    NoFile,
    /// A file where a folder is needed.
    NoFolder,
    /// A link to a folder that lies outside of the output root, or that is not there.
    LeadsOut {
        /// The folder that is a link, relative to the output root.
        folder: String,
        /// The target of the link.
        to: PathBuf,
    },
    /// Another output, which a link makes the same file.
    SameFile {
        /// The other output.
        other: String,
    },
    /// A file with the temporary name that an output has while it is written.
    Temporary,
}

impl Reason {
    /// Returns true if the obstacle is a file whose content no run of this spec wrote.
    pub(super) fn is_content(&self) -> bool {
        matches!(self, Reason::Foreign | Reason::Edited)
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.reason {
            Reason::Foreign => write!(formatter, "`{path}` was not written by this spec"),
            Reason::Edited => write!(formatter, "`{path}` has been changed since it was written"),
            Reason::Claimed { project } => {
                write!(
                    formatter,
                    "`{path}` belongs to the project `{project}`, which writes to the same folder"
                )
            }
            Reason::Link => write!(formatter, "`{path}` is a link"),
            Reason::NoFile => write!(formatter, "`{path}` is not a file"),
            Reason::NoFolder => write!(formatter, "a file is where `{path}` needs a folder"),
            Reason::LeadsOut { folder, to } => {
                write!(
                    formatter,
                    "`{path}`: `{folder}` is a link to `{}`, outside of the output root",
                    to.display()
                )
            }
            Reason::SameFile { other } => {
                write!(formatter, "`{path}` is the same file as the output `{other}`, through a link")
            }
            Reason::Temporary => write!(formatter, "`{path}` is the temporary name of an output"),
        }
    }
}

/// Obstacles that a message names one by one.
const NAMED: usize = 12;

/// Lists obstacles, each on a separate line.
pub(super) fn list(obstacles: &[Obstacle]) -> String {
    let mut text = match obstacles {
        [_] => "1 output cannot be written; nothing was written".to_owned(),
        _ => format!("{} outputs cannot be written; nothing was written", obstacles.len()),
    };
    for obstacle in obstacles.iter().take(NAMED) {
        text.push_str(&format!("\n{obstacle}"));
    }
    if obstacles.len() > NAMED {
        text.push_str(&format!("\nand {} more", obstacles.len() - NAMED));
    }
    text
}

/// Returns instructions for the user.
pub(super) fn help(obstacles: &[Obstacle]) -> String {
    let has = |wanted: fn(&Reason) -> bool| obstacles.iter().any(|obstacle| wanted(&obstacle.reason));
    let mut lines = Vec::new();
    if has(|reason| *reason == Reason::Edited) {
        lines.push(
            "if the changes are not needed, as after a merge, run again with `--overwrite`: it replaces the files \
             that an earlier run wrote, and no others",
        );
    }
    if has(|reason| *reason == Reason::Foreign) {
        lines.push(
            "move or remove a file of yours that has an output's name, or choose another folder in `outputs`",
        );
    }
    if has(|reason| matches!(reason, Reason::Claimed { .. })) {
        lines.push("two specs that share a folder need different names of headers");
    }
    if has(|reason| !reason.is_content() && !matches!(reason, Reason::Claimed { .. })) {
        lines.push(
            "remove the link, folder or file that is in the way, or choose another folder in `outputs`",
        );
    }
    lines.join("\n")
}
