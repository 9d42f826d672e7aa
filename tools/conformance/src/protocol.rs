//! The protocol between the process that runs cases and the one that reads them: one JSON object on a line.

use serde::{Deserialize, Serialize};

use crate::plugin_under_test::Role;
use crate::source::Source;

/// The request to a child process: the one line that it reads.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) source: Source,
    pub(crate) fallbacks: bool,
    /// True if the cases start the plugin themselves.
    pub(crate) fresh: bool,
    pub(crate) cases: Vec<String>,
    /// Time limit of a case, in milliseconds.
    pub(crate) timeout: u64,
    /// The member of a group that the process is.
    pub(crate) role: Option<Role>,
}

/// A message of a child process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reply {
    /// The plugin is loaded.
    Loaded(PluginInfo),
    /// It is not, or it did not start.
    Refused { message: String, loaded: bool },
    /// A case begins.
    Begin { case: String },
    /// A case has ended.
    End {
        case: String,
        verdict: Ending,
        /// The functions whose answer was wrong.
        blamed: Vec<String>,
        micros: u64,
    },
    /// The case has passed so far, and the process ends by `exit`.
    Exiting,
    /// A signal ends the process, in a call of this function.
    Dying {
        function: String,
        /// True if a function that the case is about was called before.
        reached: bool,
    },
    /// All is done.
    Done,
}

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", content = "message", rename_all = "lowercase")]
pub enum Ending {
    /// The promise was kept.
    Passed,
    /// It was broken: how.
    Failed(String),
    /// It was not tested, since a function that the case needs failed: how.
    Blocked(String),
    /// It could not be tried: why.
    Skipped(String),
}

/// A plugin's description of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginInfo {
    /// Its name.
    pub name: String,
    /// The type of its devices.
    pub device_type: String,
    /// The release whose table it filled; `None` for a device of Tenon's own.
    pub release: Option<String>,
    /// The evidence for the release.
    pub recognition: String,
    /// The version that it states.
    pub version: [usize; 3],
    /// Number of devices, once the plugin is started.
    pub devices: Option<i32>,
    /// The functions that it has, by name.
    pub native: Vec<String>,
    /// The functions whose slots it filled with the spec's fallbacks, by name.
    pub filled: Vec<String>,
    /// Functions of PaddlePaddle that it expects and that are not loaded.
    pub open_symbols: Vec<String>,
}
