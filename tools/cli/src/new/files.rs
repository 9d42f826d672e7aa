//! The files of a project, from the templates.

use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, context};

use super::Language;
use super::name::Name;

/// PaddlePaddle's table for C and C++, as the generator writes it.
const HEADER: &str = include_str!("../../../../sdk-c/include/tenon/device_ext.h");

/// A file of a project.
pub struct File {
    pub path: &'static str,
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
    "tests/test_paddle.py": "common/test_paddle.py",
    ".github/workflows/ci.yml": "common/ci.yml",
    ".gitignore": "common/gitignore",
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
    /// The checkout of Tenon, for a project in Rust.
    tenon: Option<&'a Path>,
}

impl<'a> Project<'a> {
    pub fn new(name: &'a Name, language: Language, tenon: Option<&'a Path>) -> Self {
        Project { name, language, tenon }
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
        let values = context! {
            name => self.name.to_string(),
            device => &device,
            type => self.name.type_name(),
            lang => if is_rust { "rust" } else { "c" },
            language => self.language.name(),
            source => self.language.source(),
            check => self.check(),
            build => build,
            release_library => format!("{folder}/lib{device}.so"),
            sdk => self.tenon.map(|tenon| format!("{:?}", tenon.join("sdk-rs"))),
        };
        let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
        let mut environment = Environment::new();
        environment.set_syntax(syntax.expect("these are the usual delimiters"));
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let templates = COMMON.iter().chain(self.language.templates());
        let mut files: Vec<File> = templates
            .map(|template| {
                let text = environment.render_str(template.source, &values);
                File { path: template.path, text: text.expect("tests render each template") }
            })
            .collect();
        if !is_rust {
            files.push(File { path: "include/tenon/device_ext.h", text: HEADER.to_owned() });
        }
        files
    }
}
