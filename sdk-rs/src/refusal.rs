//! Reports that a plugin refuses to start.

use std::{env, fmt, process};

use crate::environment::parse_switch;
use crate::log::write_line;

/// The variable that makes a refusal end the process.
const VARIABLE: &str = "TENON_STRICT";

/// Writes the reason for which a plugin refuses to start to standard error.
///
/// The host then continues without the device. With `TENON_STRICT=1` the process ends with exit status 1 instead.
pub fn refuse(reason: fmt::Arguments<'_>) {
    write_line(reason);
    if env::var_os(VARIABLE).is_some_and(|value| is_on(&value.to_string_lossy())) {
        write_line(format_args!("{VARIABLE} is set, so a refused plugin ends the process"));
        process::exit(1);
    }
}

/// Returns true for each value but those of a switch that is off: a misspelled value must not hide a refusal.
fn is_on(value: &str) -> bool {
    let value = value.trim();
    !value.is_empty() && parse_switch(value) != Some(false)
}

#[cfg(test)]
mod tests {
    use super::is_on;

    #[test]
    fn switch_is_off_only_where_its_value_says_so() {
        for value in ["", " ", "0", "off", "False", "NO"] {
            assert!(!is_on(value), "{value}");
        }
        for value in ["1", "on", "yes", "tru"] {
            assert!(is_on(value), "{value}");
        }
    }
}
