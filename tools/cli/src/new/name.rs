//! The name of a project, from which those of the crate, the wheel, the library and the device type follow.

use std::fmt;
use std::str::FromStr;

/// The name of a project, such as `my-npu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

/// A name that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error(
        "expected lower-case letters, digits, `-` and `_`, with a letter at the beginning, and a letter or a digit at \
         the end, such as `my-npu`"
    )]
    Form,
    #[error("a name has at most {LONGEST} characters")]
    Length,
    #[error("PaddlePaddle uses this name for a device of its own")]
    Device,
    #[error("PaddlePaddle replaces `cuda` at the beginning of a device type by `gpu`")]
    Cuda,
    #[error("a package of this name exists, which the project depends on")]
    Package,
    #[error("this is a word of the language Rust, or a crate that belongs to it")]
    Word,
}

/// The longest name: libraries and wheels have it in their file names.
const LONGEST: usize = 40;
/// Names that PaddlePaddle uses for its own devices, pinned memory and kernel backends.
const DEVICES: &[&str] = &[
    "all",
    "cpu",
    "custom",
    "dcu",
    "device",
    "gpu",
    "gpu-pinned",
    "gpudnn",
    "gpupinned",
    "ipu",
    "kps",
    "mkldnn",
    "onednn",
    "undefined",
    "xpu",
    "xpu-pinned",
    "xpupinned",
];
const PACKAGES: &[&str] = &[
    "hatchling",
    "libc",
    "numpy",
    "onnx",
    "onnxruntime",
    "paddle",
    "paddlepaddle",
    "pyelftools",
    "pytest",
    "tenon",
];
/// The keywords of Rust, and the names that cargo refuses for packages.
const WORDS: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc-macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let is_end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let has_form = text.bytes().all(|byte| is_end(byte) || matches!(byte, b'-' | b'_'))
            && text.bytes().next().is_some_and(|first| first.is_ascii_lowercase())
            && text.bytes().next_back().is_some_and(is_end);
        let among = |names: &[&str]| names.contains(&&*text.replace('_', "-"));
        match () {
            () if !has_form => Err(NameError::Form),
            () if text.len() > LONGEST => Err(NameError::Length),
            () if among(DEVICES) => Err(NameError::Device),
            () if text.starts_with("cuda") => Err(NameError::Cuda),
            () if among(PACKAGES) => Err(NameError::Package),
            () if among(WORDS) => Err(NameError::Word),
            () => Ok(Name(text.to_owned())),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Name {
    /// Returns the device type, such as `my_npu`, which is also the name of the library.
    pub fn device_type(&self) -> String {
        self.0.replace('-', "_")
    }

    /// Returns the name of the type in Rust, such as `MyNpu`.
    pub fn type_name(&self) -> String {
        let words = self.0.split(['-', '_']);
        words
            .flat_map(|word| word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_yields_other_names() {
        let name: Name = "my-npu_2".parse().unwrap();
        assert_eq!((name.device_type().as_str(), name.type_name().as_str()), ("my_npu_2", "MyNpu2"));
    }

    #[test]
    fn name_that_is_taken_is_refused() {
        let error = |text: &str| text.parse::<Name>().unwrap_err();
        for text in ["", "My-npu", "2npu", "-npu", "npu-", "npu_", "my npu", "../npu", "npü"] {
            assert_eq!(error(text), NameError::Form, "{text}");
        }
        assert_eq!(error(&"a".repeat(LONGEST + 1)), NameError::Length);
        assert_eq!(error("gpu"), NameError::Device);
        assert_eq!(error("cuda-like"), NameError::Cuda);
        assert_eq!(error("libc"), NameError::Package);
        assert_eq!(error("proc_macro"), NameError::Word);
        assert!("a".repeat(LONGEST).parse::<Name>().is_ok());
    }

    #[test]
    fn name_that_the_plugin_for_paddle_refuses_is_refused() {
        let source = include_str!("../../../../plugins/paddle/src/name.rs");
        let list = source.split("const RESERVED").nth(1).and_then(|rest| rest.split("];").next());
        let names: Vec<&str> = list.expect("the plugin has a list").split('"').skip(1).step_by(2).collect();
        assert!(names.contains(&"gpu_pinned"), "{names:?}");
        for name in names {
            assert!(name.parse::<Name>().is_err(), "{name}");
        }
    }
}
