//! The table of tools that the tests use: how each is found, its download source, and the command that installs it.

pub mod fetch;
pub mod left_out;
pub mod python;
pub mod survey;

use crate::failure::Failure;

/// A program that the tests use.
pub struct Tool {
    /// The name on the `PATH`.
    pub name: &'static str,
    /// Another program that can be used in its place.
    pub alternative: Option<&'static str>,
    /// The source of the tool.
    pub source: Source,
    /// The command that installs it on Debian and Ubuntu.
    pub install: &'static str,
    /// The parts of the tests that use it.
    pub used_by: &'static str,
}

/// The source of a tool that is not installed.
pub enum Source {
    /// Not fetched: the tool is one of the requirements in the README and must be installed.
    Machine(fn() -> bool),
    /// PyPI: the requirement, and how the program is started.
    Pypi(&'static str, Start),
    /// Only system packages: tests that use it are skipped.
    System,
    /// The same for a library, which a program loads.
    SystemLibrary,
}

/// The way in which a fetched program is started.
pub enum Start {
    /// The package installs it under its own name.
    Installed,
    /// `zig clang` is LLVM's own driver. It is started with these flags.
    Zig(&'static str),
    /// It is a library, which a program loads. The package has it at this path.
    Library(&'static str),
}

impl Tool {
    /// Returns true for a program that can be hidden from the tests. A library is not searched for on the `PATH`.
    pub fn is_optional_program(&self) -> bool {
        !matches!(
            self.source,
            Source::Machine(_) | Source::Pypi(_, Start::Library(_)) | Source::SystemLibrary
        )
    }
}

/// All tools. A tool in this table is checked, fetched and reported automatically.
pub const TOOLS: &[Tool] = &[
    required("git", survey::git, "apt-get install git"),
    required("rustfmt", survey::rustfmt, "rustup component add rustfmt"),
    required("cc", survey::c, "apt-get install gcc libc6-dev"),
    required("c++", survey::cxx, "apt-get install g++"),
    required("python3", survey::python, "apt-get install python3   # 3.9 to 3.12"),
    required("the module venv of python3", survey::venv, "apt-get install python3-venv"),
    required("the module pip of python3", survey::pip, "apt-get install python3-pip"),
    Tool {
        name: "clang",
        alternative: None,
        source: Source::Pypi(ZIG, Start::Zig("")),
        install: "apt-get install clang",
        used_by: "the C headers and the C SDK, with a second compiler",
    },
    Tool {
        name: "clang++",
        alternative: None,
        source: Source::Pypi(ZIG, Start::Zig("--driver-mode=g++")),
        install: "apt-get install clang",
        used_by: "the C headers and the C SDK, with a second compiler",
    },
    Tool {
        name: "cmake",
        alternative: None,
        source: Source::Pypi("cmake>=3.25", Start::Installed),
        install: "apt-get install cmake",
        used_by: "the C SDK, found by CMake",
    },
    Tool {
        name: "ninja",
        alternative: Some("make"),
        source: Source::Pypi("ninja>=1.11", Start::Installed),
        install: "apt-get install ninja-build",
        used_by: "the C SDK, found by CMake",
    },
    Tool {
        name: "pkg-config",
        alternative: None,
        source: Source::Pypi("pkgconf>=2.1", Start::Installed),
        install: "apt-get install pkg-config",
        used_by: "the C SDK, found by pkg-config",
    },
    Tool {
        name: LIBCLANG,
        alternative: None,
        source: Source::Pypi("libclang>=16", Start::Library("clang/native/libclang.so")),
        install: "apt-get install libclang1",
        used_by: "drafts of specs from C headers",
    },
    Tool {
        name: GLOO,
        alternative: None,
        source: Source::SystemLibrary,
        install: "apt-get install libgloo0 libgloo-dev",
        used_by: "collectives of programs without PaddlePaddle",
    },
    Tool {
        name: "make",
        alternative: None,
        source: Source::System,
        install: "apt-get install make",
        used_by: "projects of `tenon new` in C, in PaddlePaddle",
    },
    Tool {
        name: "valgrind",
        alternative: None,
        source: Source::System,
        install: "apt-get install valgrind",
        used_by: "memory errors of the C SDK's programs",
    },
];

/// The library that reads C headers.
pub const LIBCLANG: &str = "libclang.so";

/// The library that computes collectives.
const GLOO: &str = "libgloo.so.0";

/// The PyPI package that contains a complete clang.
const ZIG: &str = "ziglang>=0.13";

const fn required(name: &'static str, probe: fn() -> bool, install: &'static str) -> Tool {
    Tool { name, alternative: None, source: Source::Machine(probe), install, used_by: "everything" }
}

/// Returns the Python for virtual environments: `TENON_PYTHON`, or `python3`.
pub fn system_python() -> String {
    std::env::var("TENON_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Returns the tool with a name.
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Returns the failure for a program that is not installed.
pub fn missing(program: &str) -> Failure {
    let line = find(program).map_or("install it with your system's packages", |tool| tool.install);
    Failure::Missing { program: program.to_owned(), install: line.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_names_the_program_and_its_install_command() {
        let failure = crate::process::step("valgrind-is-not-here").run().unwrap_err();
        assert_eq!(failure.to_string(), "`valgrind-is-not-here` is not installed");
        let Failure::Missing { program, install } = missing("valgrind") else { panic!("another failure") };
        assert_eq!((program.as_str(), install.as_str()), ("valgrind", "apt-get install valgrind"));
    }

    #[test]
    fn tools_have_unique_names_and_install_commands() {
        for (index, tool) in TOOLS.iter().enumerate() {
            assert!(
                TOOLS[..index].iter().all(|other| other.name != tool.name),
                "{} is listed twice",
                tool.name
            );
            let installs = [" install ", " component add "].iter().any(|verb| tool.install.contains(verb));
            assert!(installs, "{}: {}", tool.name, tool.install);
        }
    }
}
