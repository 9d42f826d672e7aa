//! Writes log lines to standard error. The variable `TENON_LOG` sets the level.

use std::ffi::OsStr;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// The variable that sets the level.
const VARIABLE: &str = "TENON_LOG";

/// The log level. Each level includes those before it.
///
/// A plugin that refuses to start logs the reason at every level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LogLevel {
    /// Logs nothing: the default.
    Off,
    /// Logs the message of each failed call.
    Error,
    /// Also logs each plugin that a host loads, with the release of the host.
    Info,
}

impl LogLevel {
    const ALL: [LogLevel; 3] = [LogLevel::Off, LogLevel::Error, LogLevel::Info];

    fn name(self) -> &'static str {
        match self {
            LogLevel::Off => "off",
            LogLevel::Error => "error",
            LogLevel::Info => "info",
        }
    }

    /// Parses the value of the variable. Unset and empty mean [`LogLevel::Off`].
    fn parse(value: Option<&OsStr>) -> Result<Self, BadLogLevel> {
        let value = value.unwrap_or_default().to_string_lossy();
        let word = value.trim();
        if word.is_empty() {
            return Ok(LogLevel::Off);
        }
        Self::ALL
            .into_iter()
            .find(|level| level.name().eq_ignore_ascii_case(word))
            .ok_or_else(|| BadLogLevel { value: value.into_owned() })
    }
}

/// The value of `TENON_LOG` is not a level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadLogLevel {
    value: String,
}

impl fmt::Display for BadLogLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{VARIABLE}={}: expected `off`, `error` or `info`", self.value)
    }
}

impl std::error::Error for BadLogLevel {}

/// Returns the log level, which is read from the environment once.
///
/// # Errors
/// [`BadLogLevel`] if the variable has another value.
pub fn log_level() -> Result<LogLevel, &'static BadLogLevel> {
    static LEVEL: OnceLock<Result<LogLevel, BadLogLevel>> = OnceLock::new();
    LEVEL.get_or_init(|| LogLevel::parse(std::env::var_os(VARIABLE).as_deref())).as_ref().copied()
}

/// Returns true if lines of a level are written.
pub(crate) fn writes(level: LogLevel) -> bool {
    log_level().is_ok_and(|wanted| level <= wanted)
}

/// Writes a line to standard error, at each level. Ignores write errors.
pub fn write_line(line: fmt::Arguments<'_>) {
    // `eprintln!` panics if it cannot write; that must not fail the call, and no caller may catch the panic. Other
    // ways of writing are not captured by the test harness.
    let _ = catch_unwind(AssertUnwindSafe(|| eprintln!("tenon: {line}")));
}

/// Writes a line to standard error at [`LogLevel::Info`].
pub fn log_info(line: fmt::Arguments<'_>) {
    if writes(LogLevel::Info) {
        write_line(line);
    }
}

/// Logs at [`LogLevel::Info`] that a host loaded a plugin.
pub fn log_handed_over(device_type: &std::ffi::CStr, release: &str) {
    log_info(format_args!("{}: handed over to a host of release {release}", device_type.to_string_lossy()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_known_level_is_accepted() {
        for (value, level) in [
            (None, LogLevel::Off),
            (Some(""), LogLevel::Off),
            (Some("off"), LogLevel::Off),
            (Some("error"), LogLevel::Error),
            (Some(" Info "), LogLevel::Info),
        ] {
            assert_eq!(LogLevel::parse(value.map(OsStr::new)), Ok(level), "{value:?}");
        }
        assert!(LogLevel::Off < LogLevel::Error && LogLevel::Error < LogLevel::Info);
    }

    #[test]
    fn parse_unknown_level_lists_the_known_levels() {
        for value in ["1", "verbose", "errors", "warn"] {
            let refusal = LogLevel::parse(Some(OsStr::new(value))).unwrap_err().to_string();
            assert_eq!(refusal, format!("TENON_LOG={value}: expected `off`, `error` or `info`"));
        }
        assert_eq!(LogLevel::ALL.map(LogLevel::name), ["off", "error", "info"]);
    }
}
