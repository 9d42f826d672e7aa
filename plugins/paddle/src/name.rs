//! The device type that the plugin goes by.

use std::env;
use std::ffi::{CStr, CString, OsStr};

/// The variable that changes the device type.
const VARIABLE: &str = "TENON_PADDLE_DEVICE_TYPE";

const DEFAULT: &CStr = c"CustomCPU";

/// Names that Paddle uses for its own devices, pinned memory and kernel backends, in lower case.
///
/// They are compared without regard to case, because Paddle does the same in many places. They come from
/// `AllocationType` and `Backend` in Paddle's headers, and from `paddle.set_device` and `_get_paddle_place`.
const RESERVED: [&str; 18] = [
    "all",
    "cpu",
    "cuda",
    "custom",
    "dcu",
    "device",
    "gpu",
    "gpu_pinned",
    "gpudnn",
    "gpupinned",
    "ipu",
    "kps",
    "mkldnn",
    "onednn",
    "undefined",
    "xpu",
    "xpu_pinned",
    "xpupinned",
];

/// A value of the variable that cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadName {
    /// The variable is set to nothing.
    #[error("{VARIABLE} is empty: unset it, or set it to a name such as `my_cpu`")]
    Empty,
    /// Paddle could not parse the name.
    #[error(
        "{VARIABLE}={name}: expected a letter, then letters, digits and underscores, as in `my_cpu`: Paddle \
         parses names such as `my_cpu:0`"
    )]
    Unparsable {
        /// The value, with what is not UTF-8 replaced.
        name: String,
    },
    /// Paddle would take the name for something else.
    #[error("{VARIABLE}={name}: Paddle uses this name itself: choose another, such as `my_cpu`")]
    Reserved {
        /// The value.
        name: String,
    },
}

/// Reads the device type from the environment.
///
/// # Errors
/// [`BadName`], if the name cannot be used.
pub(crate) fn device_type() -> Result<&'static CStr, BadName> {
    env::var_os(VARIABLE).map_or(Ok(DEFAULT), |name| parse(&name).map(keep))
}

fn parse(value: &OsStr) -> Result<CString, BadName> {
    let name = value.to_string_lossy().into_owned();
    if name.is_empty() {
        return Err(BadName::Empty);
    }
    let is_word = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_word {
        return Err(BadName::Unparsable { name });
    }
    if RESERVED.contains(&&*name.to_ascii_lowercase()) {
        return Err(BadName::Reserved { name });
    }
    // A word holds no zero byte, so this cannot fail.
    CString::new(name).map_err(|error| BadName::Unparsable {
        name: String::from_utf8_lossy(&error.into_vec()).into_owned(),
    })
}

/// Leaks the name: the host keeps the pointer.
fn keep(name: CString) -> &'static CStr {
    Box::leak(name.into_boxed_c_str())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn parse_word_is_accepted() {
        for name in ["npu", "my_cpu", "CustomCPU", "intel_hpu", "cpu2", "custom_cpu"] {
            assert_eq!(parse(name.as_ref()).unwrap().to_str(), Ok(name));
        }
    }

    #[test]
    fn parse_empty_is_refused() {
        assert_eq!(parse("".as_ref()), Err(BadName::Empty));
    }

    #[test]
    fn parse_unparsable_name_is_refused() {
        for name in ["a b", "cpu:0", ":", "1cpu", "_cpu", "my-cpu", "my.cpu", "a,b", "gerät", " npu", "a\0b"]
        {
            let refusal = parse(name.as_ref()).unwrap_err();
            assert_eq!(refusal, BadName::Unparsable { name: name.to_owned() });
            let text = refusal.to_string();
            assert!(text.starts_with(VARIABLE) && text.contains("expected a letter"), "{text}");
        }
        assert!(parse(OsStr::from_bytes(b"\xff")).is_err());
    }

    #[test]
    fn parse_reserved_name_is_refused_in_any_case() {
        for name in RESERVED.into_iter().chain(["GPU", "Custom", "GPUDNN", "OneDNN", "Undefined"]) {
            let refusal = parse(name.as_ref()).unwrap_err();
            assert_eq!(refusal, BadName::Reserved { name: name.to_owned() });
            assert!(refusal.to_string().contains("uses this name itself"), "{refusal}");
        }
    }
}
