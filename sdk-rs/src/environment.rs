//! Reads environment variables, unless the process must not trust them, and numbers of bytes and switches in them.

use std::env;
use std::ffi::OsString;
use std::fmt;

/// Reads a variable that names a file, a folder or code to run, like `secure_getenv`.
///
/// Returns `None` if the variable is not set, and in a process that has more rights than the user who started it (a
/// set-user-ID program): otherwise that user could make it load or overwrite any file.
#[must_use]
pub fn trusted_variable(name: &str) -> Option<OsString> {
    if has_raised_rights() { None } else { env::var_os(name) }
}

#[cfg(target_os = "linux")]
fn has_raised_rights() -> bool {
    use std::ffi::c_ulong;

    // A function of the C library, which the standard library links too.
    unsafe extern "C" {
        safe fn getauxval(kind: c_ulong) -> c_ulong;
    }
    /// Set by the kernel when a program starts with other rights than those of its caller.
    const AT_SECURE: c_ulong = 23;
    getauxval(AT_SECURE) != 0
}

#[cfg(not(target_os = "linux"))]
fn has_raised_rights() -> bool {
    false
}

/// Returns whether a text turns something on: `1`, `on`, `true` and `yes` do, and `0`, `off`, `false` and `no` turn it off.
/// Returns `None` for any other text. Small and capital letters are the same.
#[must_use]
pub fn parse_switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "on" | "true" | "yes" => Some(true),
        "0" | "off" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// A text that is not a number of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadBytes {
    /// It does not begin with a whole number.
    NoNumber,
    /// The unit is unknown.
    UnknownUnit(String),
    /// The number does not fit in `usize`.
    TooMany,
}

impl fmt::Display for BadBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadBytes::NoNumber => {
                formatter.write_str("expected bytes such as 1073741824, 512MiB, 4GiB or 2GB")
            }
            BadBytes::UnknownUnit(unit) => {
                write!(formatter, "unknown unit `{unit}`: use B, KiB, MiB, GiB, TiB, KB, MB, GB or TB")
            }
            BadBytes::TooMany => formatter.write_str("more bytes than can be addressed"),
        }
    }
}

impl std::error::Error for BadBytes {}

/// Parses a number of bytes, with or without a unit: `1073741824`, `512MiB`, `2GB`. `M` means `MiB`.
///
/// ```
/// assert_eq!(tenon::parse_bytes("512MiB").unwrap(), 512 << 20);
/// assert_eq!(tenon::parse_bytes("1M").unwrap(), 1 << 20);
/// assert!(tenon::parse_bytes("many").is_err());
/// ```
///
/// # Errors
/// If the text has another form.
pub fn parse_bytes(text: &str) -> Result<usize, BadBytes> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: usize = number.parse().map_err(|_| BadBytes::NoNumber)?;
    let unit = unit.trim();
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(BadBytes::UnknownUnit(unit.to_owned())),
    };
    number.checked_mul(scale).ok_or(BadBytes::TooMany)
}
