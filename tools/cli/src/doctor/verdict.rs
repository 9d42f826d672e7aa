//! What a library is worth in a release of a host.

use serde::Serialize;

/// The verdict on a plugin or provider in a release of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Operators run on its device, as far as the release tells.
    Runs,
    /// It works, and computes none of the operators.
    Idle,
    /// It lists no device.
    NoDevice,
    /// It is not registered.
    Refuses,
    /// A session on it cannot be made, and Python makes one on the CPU in its place.
    LeftOut,
    /// A session cannot be made, or a run fails or has a wrong result.
    Fails,
    /// The process crashes or hangs.
    Crashes,
    /// It is not a library for this host, or cannot be loaded.
    NotLoaded,
    /// It could not be tried.
    Unknown,
}

impl Verdict {
    /// Returns its word in a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Idle => "idle",
            Self::NoDevice => "no device",
            Self::Refuses => "refuses",
            Self::LeftOut => "left out",
            Self::Fails => "fails",
            Self::Crashes => "crashes",
            Self::NotLoaded => "not loaded",
            Self::Unknown => "?",
        }
    }
}
