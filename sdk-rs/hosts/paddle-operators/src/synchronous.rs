//! The variable `TENON_SYNC`: operators that wait for their work.

use std::ffi::OsStr;

/// The variable that makes each operator wait.
const VARIABLE: &str = "TENON_SYNC";

/// Returns true if each operator waits for its work, so that its call raises the errors of the work.
///
/// # Errors
/// A one-line message: the value is no switch.
pub(crate) fn is_requested() -> Result<bool, String> {
    parse(std::env::var_os(VARIABLE).as_deref())
}

fn parse(value: Option<&OsStr>) -> Result<bool, String> {
    let value = value.unwrap_or_default().to_string_lossy();
    match value.trim() {
        "" => Ok(false),
        text => tenon::parse_switch(text).ok_or_else(|| format!("{VARIABLE}={value}: expected 1 or 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_a_switch() {
        let of = |value: &str| parse(Some(OsStr::new(value)));
        assert_eq!(parse(None), Ok(false));
        assert_eq!((of(""), of("off"), of(" 1 "), of("Yes")), (Ok(false), Ok(false), Ok(true), Ok(true)));
        assert_eq!(of("2"), Err("TENON_SYNC=2: expected 1 or 0".to_owned()));
    }
}
