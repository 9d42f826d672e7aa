//! The files of a project, from the templates.

use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, context};

use super::name::Name;
use super::{Host, Language};

/// PaddlePaddle's table for C and C++, as the generator writes it.
const HEADER: &str = include_str!("../../../../sdk-c/include/tenon/device_ext.h");

/// A file of a project.
pub struct File {
    pub path: String,
    pub text: String,
}

/// A template, and where its text goes.
struct Template {
    path: &'static str,
    source: &'static str,
}

macro_rules! templates {
    ($($path:literal: $source:literal,)*) => {
        &[$(Template { path: $path, source: include_str!(concat!("../../templates/", $source, ".jinja")) }),*]
    };
}

const COMMON: &[Template] = templates! {
    "README.md": "common/README.md",
    "pyproject.toml": "common/pyproject.toml",
    "hatch_build.py": "common/hatch_build.py",
    "tests/conftest.py": "common/conftest.py",
    ".github/workflows/ci.yml": "common/ci.yml",
    ".gitignore": "common/gitignore",
};
const PADDLE: &[Template] = templates! {
    "tests/test_paddle.py": "common/test_paddle.py",
};
/// `DEVICE` stands for the device type.
const ONNXRUNTIME: &[Template] = templates! {
    "python/DEVICE/__init__.py": "common/package.py",
    "tests/test_onnxruntime.py": "common/test_onnxruntime.py",
};
const RUST: &[Template] = templates! {
    "Cargo.toml": "rust/Cargo.toml",
    "src/lib.rs": "rust/lib.rs",
    "tests/conformance.rs": "rust/conformance.rs",
};
const C: &[Template] = templates! {
    "Makefile": "c/Makefile",
    "src/device.c": "c/device.c",
};
const CPP: &[Template] = templates! {
    "Makefile": "cpp/Makefile",
    "src/device.cpp": "cpp/device.cpp",
};
const RUST_OPERATORS: &[Template] = templates! {
    "src/operators.rs": "rust/operators.rs",
};
const C_OPERATORS: &[Template] = templates! {
    "src/operators.c": "c/operators.c",
};
const CPP_OPERATORS: &[Template] = templates! {
    "src/operators.cpp": "c/operators.c",
};

impl Language {
    /// Returns the name of the language in prose.
    pub fn name(self) -> &'static str {
        match self {
            Language::Rust => "Rust",
            Language::C => "C",
            Language::Cpp => "C++",
        }
    }

    fn templates(self) -> &'static [Template] {
        match self {
            Language::Rust => RUST,
            Language::C => C,
            Language::Cpp => CPP,
        }
    }

    /// Returns the templates of the operators, which hosts cannot do without.
    fn operators(self) -> &'static [Template] {
        match self {
            Language::Rust => RUST_OPERATORS,
            Language::C => C_OPERATORS,
            Language::Cpp => CPP_OPERATORS,
        }
    }

    /// Returns the file with the functions of the device.
    fn source(self) -> &'static str {
        match self {
            Language::Rust => "src/lib.rs",
            Language::C => "src/device.c",
            Language::Cpp => "src/device.cpp",
        }
    }
}

/// A project to be written.
pub struct Project<'a> {
    name: &'a Name,
    language: Language,
    hosts: &'a [Host],
    /// The checkout of Tenon, for a project that depends on it.
    tenon: Option<&'a Path>,
}

impl<'a> Project<'a> {
    pub fn new(name: &'a Name, language: Language, hosts: &'a [Host], tenon: Option<&'a Path>) -> Self {
        Project { name, language, hosts, tenon }
    }

    /// Returns true if the device is one of a host.
    pub fn has(&self, host: Host) -> bool {
        self.hosts.contains(&host)
    }

    pub fn language(&self) -> Language {
        self.language
    }

    pub fn device_type(&self) -> String {
        self.name.device_type()
    }

    /// Returns the command that runs the conformance tests.
    pub fn check(&self) -> &'static str {
        match self.language {
            Language::Rust => "cargo test",
            Language::C | Language::Cpp => "make check",
        }
    }

    /// Returns the files, with paths relative to the project.
    pub fn files(&self) -> Vec<File> {
        let device = self.device_type();
        let is_rust = self.language == Language::Rust;
        let folder = if is_rust { "target/release" } else { "build" };
        // The build of a wheel must not depend on the user's `CARGO_TARGET_DIR`.
        let build = if is_rust {
            r#"["cargo", "build", "--release", "--target-dir", "target"]"#
        } else {
            r#"["make"]"#
        };
        let (paddle, onnxruntime) = (self.has(Host::Paddle), self.has(Host::Onnxruntime));
        let all = |text: fn(Host) -> &'static str| {
            let texts: Vec<_> =
                Host::ALL.iter().filter(|host| self.has(**host)).map(|host| text(*host)).collect();
            texts.join(" and ")
        };
        let crate_at = |folder: &str| self.tenon.map(|tenon| format!("{:?}", tenon.join(folder)));
        let wheel_folder = if paddle { "paddle_custom_device" } else { device.as_str() };
        let values = context! {
            paddle,
            onnxruntime,
            cpp => self.language == Language::Cpp,
            hosts => all(Host::with_releases),
            host_names => all(Host::name),
            operators => self.language.operators()[0].path,
            wheel_library => format!("{wheel_folder}/lib{device}.so"),
            checkout => self.tenon.map(|tenon| tenon.display().to_string()),
            sdk_operators => crate_at("sdk-rs/operators"),
            sdk_onnxruntime => crate_at("sdk-rs/hosts/onnxruntime"),
            sdk_paddle_operators => crate_at("sdk-rs/hosts/paddle-operators"),
            name => self.name.to_string(),
            device => &device,
            type => self.name.type_name(),
            lang => if is_rust { "rust" } else { "c" },
            language => self.language.name(),
            source => self.language.source(),
            check => self.check(),
            build => build,
            release_library => format!("{folder}/lib{device}.so"),
            sdk => crate_at("sdk-rs"),
        };
        let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
        let mut environment = Environment::new();
        environment.set_syntax(syntax.expect("these are the usual delimiters"));
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let templates = [
            COMMON,
            self.language.templates(),
            if paddle { PADDLE } else { &[] },
            if onnxruntime { ONNXRUNTIME } else { &[] },
            if onnxruntime { self.language.operators() } else { &[] },
        ];
        let mut files: Vec<File> = (templates.into_iter().flatten())
            .map(|template| {
                let text = environment.render_str(template.source, &values);
                File {
                    path: template.path.replace("DEVICE", &device),
                    text: text.expect("tests render each template"),
                }
            })
            .collect();
        if !is_rust {
            files.push(File { path: "include/tenon/device_ext.h".to_owned(), text: HEADER.to_owned() });
        }
        files
    }
}
