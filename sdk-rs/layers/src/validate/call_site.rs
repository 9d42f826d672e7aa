//! The call that made or destroyed an object: its function, its time and its stack.

use std::backtrace::Backtrace;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use crate::clock;

/// The call that made or destroyed an object.
#[derive(Clone)]
pub(super) struct CallSite {
    pub(super) function: &'static str,
    at: u64,
    backtrace: Option<Arc<Backtrace>>,
}

impl CallSite {
    pub(super) fn new(function: &'static str, backtrace: bool) -> Self {
        let backtrace = backtrace.then(|| Arc::new(Backtrace::force_capture()));
        Self { function, at: clock::now(), backtrace }
    }

    pub(super) fn age_at(&self, now: u64) -> Duration {
        Duration::from_nanos(now.saturating_sub(self.at))
    }

    /// Returns a description such as «`create_stream`, 2.1 ms ago».
    pub(super) fn text(&self) -> String {
        format!("`{}`, {:.1?} ago", self.function, self.age_at(clock::now()))
    }

    /// Returns the calls that led there, if they were written down.
    pub(super) fn place(&self, what: &str) -> Option<String> {
        let backtrace = self.backtrace.as_ref()?.to_string();
        let mut text = format!("       {what} here:");
        // The first frames are those of the layer itself.
        let frames: Vec<&str> = backtrace.lines().collect();
        let own = |line: &str| line.contains("tenon_layers::") || line.contains("tenon::device::");
        let first = frames.iter().rposition(|line| own(line)).map_or(0, |last| last + 1);
        for line in frames[first..].iter().skip_while(|line| line.trim_start().starts_with("at ")).take(24) {
            let _ = write!(text, "\n         {}", line.trim_end());
        }
        Some(text)
    }
}
