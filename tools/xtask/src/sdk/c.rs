//! Tests of the C SDK: installs and moves it, builds programs with pkg-config, CMake and two compilers, and runs them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, at};
use crate::process::{Step, step};
use crate::project;
use crate::sdk::install::{self, Profile};
use crate::tools::left_out;

/// A test program and its expected output.
struct Program {
    name: &'static str,
    /// The path in the repository. Installed programs have the same path below `share/tenon`.
    source: &'static str,
    /// True if the program takes the path of a plugin as its argument.
    plugin: bool,
    says: &'static [&'static str],
}

impl Program {
    /// Returns true for a program for Ascend, which links the library under its Ascend name.
    fn is_for_ascend(&self) -> bool {
        self.source.starts_with("examples/acl/")
    }

    fn package(&self, link: Link) -> &'static str {
        match link {
            Link::Static => "tenon-static",
            Link::Shared if self.is_for_ascend() => "ascendcl",
            Link::Shared => "tenon",
        }
    }

    /// Returns the languages in which the program is compiled.
    fn languages(&self) -> &'static [Language] {
        match self.source.ends_with(".cpp") {
            true => &[Language::Cxx],
            // Most programs for Ascend are in C++, and its headers support both languages.
            false if self.is_for_ascend() => &[Language::C, Language::Cxx],
            false => &[Language::C],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    C,
    Cxx,
}

impl Language {
    fn suffix(self) -> &'static str {
        match self {
            Language::C => "c",
            Language::Cxx => "cxx",
        }
    }
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "hello",
        source: "examples/sdk-c/hello.c",
        plugin: false,
        says: &["hello from the device"],
    },
    Program { name: "vector_add", source: "examples/sdk-c/vector_add.c", plugin: false, says: SUMS },
    Program { name: "vector_add_cpp", source: "examples/sdk-c/vector_add.cpp", plugin: false, says: SUMS },
    Program { name: "third_party", source: "examples/sdk-c/third_party.c", plugin: true, says: THIRD_PARTY },
    Program { name: "custom_layer", source: "examples/sdk-c/custom_layer.c", plugin: false, says: FAULTS },
    Program {
        name: "sequence",
        source: "examples/acl/sequence.c",
        plugin: false,
        says: &["there and back again"],
    },
    Program {
        name: "pipeline",
        source: "examples/acl/pipeline.c",
        plugin: false,
        says: &["16 pieces of 1048576 bytes, 0 wrong"],
    },
    Program {
        name: "callback",
        source: "examples/acl/callback.c",
        plugin: false,
        says: &["8 callbacks, sum right"],
    },
    Program {
        name: "two_processes",
        source: "examples/acl/two_processes.c",
        plugin: false,
        says: &["1024 numbers of two processes, 0 wrong"],
    },
    Program {
        name: "handles",
        source: "sdk-c/tests/users/handles.cpp",
        plugin: false,
        says: &["all as promised"],
    },
];
/// Calls operators of the built-in device, whose library is beside the shared one, or of a plugin.
const CALLER: Program = Program {
    name: "call_operators",
    source: "examples/sdk-c/call_operators.c",
    plugin: false,
    says: &["silu: -0.238 -0.269 0.731 1.762", "conv: 6.000 8.000 12.000 14.000"],
};
const THIRD_PARTY: &[&str] = &["devices of the type `c_plugin`", "comes back as it should"];
const FAULTS: &[&str] =
    &["allocation 3: TENON_OUT_OF_MEMORY", "layer `faults` refused", "4 of 5 allocations came through"];
const SUMS: &[&str] = &["1048576 sums in 8 pieces, 0 wrong"];

const WARNINGS: &[&str] = &["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Resets `-x`, so that the compiler does not treat the following archive as source code.
const ARCHIVE: &[&str] = &["-x", "none"];

/// A C compiler and the matching C++ compiler.
#[derive(Clone, Copy)]
struct Compilers {
    c: &'static str,
    cxx: &'static str,
}

/// The system compilers, usually GCC.
const SYSTEM: Compilers = Compilers { c: "cc", cxx: "c++" };
const CLANG: Compilers = Compilers { c: "clang", cxx: "clang++" };

/// The folders of examples that are installed, each with a `CMakeLists.txt`.
const EXAMPLES: &[&str] = &["examples/sdk-c", "examples/acl"];

/// Returns the programs of a folder of examples.
fn examples(folder: &str) -> impl Iterator<Item = &'static Program> {
    PROGRAMS.iter().filter(move |program| Path::new(program.source).starts_with(folder))
}

/// Returns true if an installed or fetched tool can be started.
fn starts(name: &str) -> bool {
    step(name).arg("--version").quietly().read().is_ok()
}

/// The way in which a program links the library.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Shared,
    Static,
}

/// Returns true if a tool can be started. Otherwise records the test as skipped.
fn has(tool: &str, test: &str) -> Result<bool, Failure> {
    let here = starts(tool);
    if !here {
        left_out::without(tool, test)?;
    }
    Ok(here)
}

/// Installs the C SDK, and builds and runs every program in every configuration.
pub fn test() -> Result<(), Failure> {
    let installed = Installed::new()?;
    let mut compilers = vec![SYSTEM];
    if has(CLANG.c, "the programs of the C SDK, built by clang")? && has(CLANG.cxx, "the same in C++")? {
        compilers.push(CLANG);
    }
    let links = [Link::Shared, Link::Static];
    let ways = || compilers.iter().flat_map(|&compilers| links.map(|link| (compilers, link)));
    if has("cmake", "the examples of the C SDK, found by CMake")? {
        for (compilers, link) in ways() {
            for folder in EXAMPLES {
                installed.by_cmake(compilers, link, folder)?;
            }
        }
    }
    installed.newer_cxx(&compilers)?;
    if !has("pkg-config", "the programs of the C SDK, found by pkg-config, sanitized and under valgrind")? {
        return Ok(());
    }
    for (compilers, link) in ways() {
        installed.by_pkg_config(compilers, link)?;
    }
    installed.plugin_with_operators()?;
    installed.sanitized()?;
    if has("valgrind", "memory errors of the C SDK's programs")? {
        installed.under_valgrind()?;
    }
    Ok(())
}

/// The installed C SDK, and a folder for the programs that are built with it.
struct Installed {
    prefix: PathBuf,
    build: PathBuf,
    plugin: PathBuf,
}

impl Installed {
    fn new() -> Result<Self, Failure> {
        let root = project::cache("sdk");
        if root.exists() {
            fs::remove_dir_all(&root).map_err(at(&root))?;
        }
        // Moves the installation, because programs must not depend on the original prefix.
        let first = root.join("first");
        install::install(&first, Profile::Release)?;
        let prefix = root.join("moved");
        fs::rename(&first, &prefix).map_err(at(&first))?;

        let build = root.join("build");
        fs::create_dir_all(&build).map_err(at(&build))?;
        let plugin = build.join("libc_plugin.so");
        step(SYSTEM.c)
            .args(["-std=c11", "-shared", "-fPIC"])
            .arg(format!("-I{}", prefix.join("include").display()))
            .arg(prefix.join("share/tenon/examples/c-plugin/plugin.c"))
            .arg("-o")
            .arg(&plugin)
            .run()?;
        Ok(Installed { prefix, build, plugin })
    }

    fn source(&self, program: &Program) -> PathBuf {
        let installed = self.prefix.join("share/tenon").join(program.source);
        if installed.exists() { installed } else { project::path(program.source) }
    }

    /// Returns a step with the compiler and the flags of all programs.
    fn compile(&self, compilers: Compilers, program: &Program, language: Language, cxx: &str) -> Step {
        let flags = match language {
            Language::C => ["-x", "c", "-std=c11"],
            Language::Cxx => ["-x", "c++", cxx],
        };
        let compiler = if language == Language::C { compilers.c } else { compilers.cxx };
        step(compiler).args(flags).args(WARNINGS).arg("-pthread").arg(self.source(program))
    }

    fn pkg_config(&self, package: &str) -> Result<Vec<String>, Failure> {
        // The shell reads the flags as pkg-config writes them: a path may have spaces, and other characters with `\`.
        let flags = step("sh")
            .args(["-e", "-c", r#"eval "set -- $(pkg-config --cflags --libs "$1")"; printf '%s\n' "$@""#])
            .args(["sh", package])
            .env("PKG_CONFIG_PATH", self.prefix.join("lib/pkgconfig"))
            .read()?;
        Ok(flags.lines().map(str::to_owned).collect())
    }

    fn by_pkg_config(&self, compilers: Compilers, link: Link) -> Result<(), Failure> {
        for program in PROGRAMS {
            let flags = self.pkg_config(program.package(link))?;
            for &language in program.languages() {
                let built = self.built(program, compilers, language, link);
                self.compile(compilers, program, language, "-std=c++17")
                    .args(if link == Link::Static { ARCHIVE } else { &[] })
                    .args(&flags)
                    .arg("-o")
                    .arg(&built)
                    .run()?;
                // A statically linked program must not find the shared library.
                let libraries = if link == Link::Static { None } else { Some(self.prefix.join("lib")) };
                self.check(program, step(&built), libraries.as_deref())?;
            }
        }
        Ok(())
    }

    /// Builds a plugin with operators, and loads it in programs: they have no operators to register, and call its own.
    fn plugin_with_operators(&self) -> Result<(), Failure> {
        let sources = self.prefix.join("share/tenon/examples/c-operators");
        let plugin = self.build.join("libc_operators.so");
        step(SYSTEM.c)
            .args(["-std=c11", "-shared", "-fPIC", "-Wl,-z,defs"])
            .args(WARNINGS)
            .args(["device.c", "operators.c", "convolution.c"].map(|source| sources.join(source)))
            .args(self.pkg_config("tenon-plugin")?)
            .arg("-o")
            .arg(&plugin)
            .run()?;
        for program in PROGRAMS.iter().filter(|program| program.plugin) {
            let built = self.built(program, SYSTEM, Language::C, Link::Static);
            let printed = step(&built).arg(&plugin).read()?;
            if !printed.contains("devices of the type `c_npu`") {
                return Err(Failure::Wrong(format!(
                    "`{}` does not load the plugin:\n{printed}",
                    program.name
                )));
            }
        }
        let caller = self.build.join(CALLER.name);
        self.compile(SYSTEM, &CALLER, Language::C, "")
            .args(self.pkg_config(CALLER.package(Link::Shared))?)
            .arg("-o")
            .arg(&caller)
            .run()?;
        let libraries = self.prefix.join("lib");
        self.check(&CALLER, step(&caller), Some(&libraries))?;
        self.check(&CALLER, step(&caller).arg(&plugin), Some(&libraries))
    }

    /// Returns the output path of a program that is built with pkg-config.
    fn built(&self, program: &Program, compilers: Compilers, language: Language, link: Link) -> PathBuf {
        let (name, language, package) = (program.name, language.suffix(), program.package(link));
        self.build.join(format!("{name}-{}-{language}-{package}", compilers.c))
    }

    fn by_cmake(&self, compilers: Compilers, link: Link, sources: &str) -> Result<(), Failure> {
        let statically = link == Link::Static;
        let folder = self.build.join("cmake").join(sources).join(format!("{}-{statically}", compilers.c));
        let generator = if starts("make") { "Unix Makefiles" } else { "Ninja" };
        step("cmake")
            .args(["-G", generator, "-S"])
            .arg(self.prefix.join("share/tenon").join(sources))
            .arg("-B")
            .arg(&folder)
            .arg(format!("-DCMAKE_PREFIX_PATH={}", self.prefix.display()))
            .arg(format!("-DTENON_STATIC={}", if statically { "ON" } else { "OFF" }))
            .arg(format!("-DCMAKE_C_COMPILER={}", compilers.c))
            .arg(format!("-DCMAKE_CXX_COMPILER={}", compilers.cxx))
            .arg(format!("-DCMAKE_C_FLAGS={}", WARNINGS.join(" ")))
            .arg(format!("-DCMAKE_CXX_FLAGS={}", WARNINGS.join(" ")))
            .args(["--no-warn-unused-cli", "--log-level=WARNING"])
            .read()?;
        step("cmake").arg("--build").arg(&folder).read()?;
        for program in examples(sources) {
            // CMake sets the rpath of the program, so `LD_LIBRARY_PATH` is not needed.
            self.check(program, step(folder.join(program.name)), None)?;
        }
        Ok(())
    }

    /// Compiles the C++ programs with the C++ standard after the one that the header is written for.
    fn newer_cxx(&self, compilers: &[Compilers]) -> Result<(), Failure> {
        let include = format!("-I{}", self.prefix.join("include").display());
        for &compilers in compilers {
            for program in PROGRAMS.iter().filter(|program| program.languages().contains(&Language::Cxx)) {
                self.compile(compilers, program, Language::Cxx, "-std=c++20")
                    .arg(&include)
                    .arg("-fsyntax-only")
                    .run()?;
            }
        }
        Ok(())
    }

    fn sanitized(&self) -> Result<(), Failure> {
        for program in PROGRAMS {
            let flags = self.pkg_config(program.package(Link::Shared))?;
            let built = self.build.join(format!("{}-sanitized", program.name));
            self.compile(SYSTEM, program, program.languages()[0], "-std=c++17")
                .args(["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
                .args(&flags)
                .arg("-o")
                .arg(&built)
                .run()?;
            self.check(program, step(&built), Some(&self.prefix.join("lib")))?;
        }
        Ok(())
    }

    fn under_valgrind(&self) -> Result<(), Failure> {
        for program in PROGRAMS {
            let built = self.built(program, SYSTEM, program.languages()[0], Link::Shared);
            let valgrind =
                step("valgrind").args(["--quiet", "--leak-check=full", "--error-exitcode=9"]).arg(&built);
            self.check(program, valgrind, Some(&self.prefix.join("lib")))?;
        }
        Ok(())
    }

    /// Runs a program and checks its output.
    fn check(&self, program: &Program, mut run: Step, libraries: Option<&Path>) -> Result<(), Failure> {
        if program.plugin {
            run = run.arg(&self.plugin);
        }
        if let Some(folder) = libraries {
            run = run.env("LD_LIBRARY_PATH", folder);
        }
        let printed = run.read()?;
        match program.says.iter().find(|line| !printed.contains(**line)) {
            Some(line) => Err(Failure::Wrong(format!(
                "the output of `{}` does not contain `{line}`:\n{printed}",
                program.name
            ))),
            None => Ok(()),
        }
    }
}
