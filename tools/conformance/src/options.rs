//! Options of a run.

use std::path::PathBuf;
use std::time::Duration;

use crate::case::Level;

/// The hidden subcommand under which a program runs [`serve`](crate::child::serve).
pub const SERVE: &str = "__serve";

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Up to which level cases are chosen.
    pub level: Level,
    /// Selects the case of this name, or those with the text in their name or functions; `None` selects all.
    pub filters: Vec<String>,
    /// True if the spec's fallbacks replace missing functions of the plugin, and are tested.
    pub fallbacks: bool,
    /// Time limit of a case.
    pub timeout: Duration,
    /// The program that runs the cases, called with [`SERVE`]; `None`: they run in this process, where a crash ends
    /// all and a hang never ends.
    pub program: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            level: Level::Promised,
            filters: Vec::new(),
            fallbacks: false,
            timeout: Duration::from_secs(10),
            program: std::env::current_exe().ok(),
        }
    }
}
