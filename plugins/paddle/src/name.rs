//! The device type that the plugin goes by.

use std::env;
use std::ffi::{CStr, CString, OsString};
use std::os::unix::ffi::OsStringExt;

/// What changes the device type.
const VARIABLE: &str = "TENON_PADDLE_DEVICE_TYPE";

const DEFAULT: &CStr = c"CustomCPU";

/// Reads the device type from the environment.
///
/// # Errors
/// One line about a name that cannot be used.
pub(crate) fn device_type() -> Result<&'static CStr, String> {
    env::var_os(VARIABLE).map_or(Ok(DEFAULT), |name| parse(name).map(keep))
}

fn parse(name: OsString) -> Result<CString, String> {
    if name.is_empty() {
        return Err(format!("{VARIABLE} is empty: unset it, or name the device type, as in `my_cpu`"));
    }
    CString::new(name.into_vec()).map_err(|_| format!("{VARIABLE} holds a NUL, which no name can"))
}

/// The host keeps the pointer, so the name must never go away.
fn keep(name: CString) -> &'static CStr {
    Box::leak(name.into_boxed_c_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        assert_eq!(parse("npu".into()).as_deref(), Ok(c"npu"));
        for (name, part) in [("", "is empty"), ("a\0b", "NUL")] {
            let refusal = parse(name.into()).unwrap_err();
            assert!(refusal.starts_with(VARIABLE) && refusal.contains(part), "{refusal}");
            assert_eq!(refusal.lines().count(), 1);
        }
    }
}
