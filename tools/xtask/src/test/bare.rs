//! Runs the commands of the README as a new user would: in a fresh clone, with only the requirements installed.
//!
//! It does not run all of `cargo xtask test`: this would double the time of a run, and most parts start only cargo
//! and the compilers. The parts that start other programs are run in full: the C SDK, and the quick tests, which
//! compile the C headers with each compiler. For the other parts, `--list` must find each requirement, and a download
//! source for each tool. Wheels are not built again, because their part of the tests builds them in a separate
//! environment.
//!
//! The quick tests run in this checkout, because their programs are already built here. The clone shows that the
//! generator, this command and the C SDK can be built with the requirements alone.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, at};
use crate::process::{Step, step};
use crate::project;
use crate::tools::{TOOLS, system_python};

/// The requirements, and programs that exist on any Linux. None of the optional tools is among them.
const PROGRAMS: &str = "git cargo rustc rustdoc cc c++ gcc g++ as ld ar nm ranlib strip readelf objcopy \
    sh bash env uname cat ls mkdir rm rmdir cp mv ln chmod touch sed grep awk tr sort uniq cut head tail wc \
    dirname basename readlink realpath mktemp date id sleep true false test expr find xargs \
    tar gzip ldd ldconfig";
/// Variables for network access, and for the download caches of cargo and pip.
const VARIABLES: &[&str] =
    &["PIP_", "CARGO_NET_", "CARGO_HTTP_", "RUSTUP_", "SSL_", "LANG", "LC_", "TMPDIR", "CARGO_INCREMENTAL"];

/// The folder of the clone. It is long, so that a test of a message that depends on the width of a line fails. Its
/// spaces and the letter that is not ASCII find commands that do not quote a path.
const FOLDER: &str =
    "sources of Zoë in a folder whose name is longer than those of most people who clone the project";

/// Runs the commands.
pub fn test() -> Result<(), Failure> {
    let readme = project::path("README.md");
    let readme = fs::read_to_string(&readme).map_err(at(&readme))?;
    let machine = Machine::new()?;
    let both = commands(&blocks(&readme, "Build and test", "sh"));
    let [generate, test] = both.as_slice() else {
        return Err(Failure::Wrong(format!(
            "README.md has {} commands in \"Build and test\"; expected two: {both:?}",
            both.len()
        )));
    };
    machine.shell(generate).run()?;
    let changed = machine.shell("git status --porcelain").read()?;
    if !changed.is_empty() {
        return Err(Failure::Wrong(format!("`{generate}` changes files of a fresh clone:\n{changed}")));
    }
    holds_no_tools(&machine.shell(&format!("{test} --list")).read()?)?;
    machine.shell("cargo xtask sdk").run()?;
    hello(&machine, &readme)?;
    let mut quick = machine.shell(&format!("{test} --quick")).within(project::root());
    if let Some(target) = env::var_os("CARGO_TARGET_DIR") {
        quick = quick.env("CARGO_TARGET_DIR", target);
    }
    quick.run()
}

/// Installs the C SDK, and builds and runs the C program of the README with the commands of the README.
fn hello(machine: &Machine, readme: &str) -> Result<(), Failure> {
    let (sources, lines) = (blocks(readme, "In C", "c"), commands(&blocks(readme, "In C", "sh")));
    let file = machine.clone.join("hello.c");
    fs::write(&file, sources.concat()).map_err(at(&file))?;
    let mut printed = String::new();
    for line in lines {
        printed = machine.shell(&line).read()?;
    }
    fs::remove_file(&file).map_err(at(&file))?;
    match printed.trim() {
        "hello from the device" => Ok(()),
        other => Err(Failure::Wrong(format!("the README's program in C prints `{other}`"))),
    }
}

/// Fails if the list contains an installed tool that is not a requirement.
fn holds_no_tools(list: &str) -> Result<(), Failure> {
    for tool in TOOLS.iter().filter(|tool| tool.is_optional_program()) {
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(tool.name));
        if line.is_none_or(|line| line.contains(" installed")) {
            return Err(Failure::Wrong(format!(
                "`{}` is installed, but the test environment must not contain it:\n{list}",
                tool.name
            )));
        }
    }
    Ok(())
}

/// A clone, and an environment with only the requirements.
struct Machine {
    clone: PathBuf,
    variables: BTreeMap<OsString, OsString>,
}

impl Machine {
    fn new() -> Result<Self, Failure> {
        let root = project::cache("bare");
        let (clone, kept, bin, home) =
            (root.join(FOLDER).join("tenon"), root.join("target"), root.join("bin"), root.join("home"));
        // Reuses the build output of an earlier run, because the crates of the registry are the same.
        let built = clone.join("target");
        if built.exists() {
            fs::rename(&built, &kept).map_err(at(&kept))?;
        }
        for folder in [&clone, &bin, &home] {
            project::empty(folder)?;
        }
        step("git").args(["clone", "--quiet"]).arg(project::root()).arg(&clone).run()?;
        if kept.exists() {
            fs::rename(&kept, &built).map_err(at(&built))?;
        }
        link_programs(&bin)?;
        Ok(Machine { clone, variables: variables(&bin, &home) })
    }

    /// Creates a step that runs a shell command in the clone.
    fn shell(&self, line: &str) -> Step {
        eprintln!("$ {line}");
        step("/bin/sh").args(["-e", "-c", line]).env_only(&self.variables).within(&self.clone)
    }
}

fn link_programs(bin: &Path) -> Result<(), Failure> {
    let path = env::var_os("PATH").unwrap_or_default();
    for name in PROGRAMS.split_whitespace() {
        let found = env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
        if let Some(found) = found {
            let place = bin.join(name);
            symlink(found, &place).map_err(at(&place))?;
        }
    }
    // The Python of a version manager is a script that needs other programs, and a symbolic link to Python would search
    // for its modules here. So a script calls the real executable.
    let executable = step(system_python()).args(["-c", "import sys; print(sys.executable)"]).read()?;
    let place = bin.join("python3");
    fs::write(&place, format!("#!/bin/sh\nexec '{}' \"$@\"\n", executable.trim())).map_err(at(&place))?;
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).map_err(at(&place))
}

fn variables(bin: &Path, home: &Path) -> BTreeMap<OsString, OsString> {
    let real = env::home_dir().unwrap_or_default();
    let or = |name: &str, folder: &str| env::var_os(name).unwrap_or_else(|| real.join(folder).into());
    let is_kept = |name: &str| {
        VARIABLES.iter().any(|kept| name.starts_with(kept)) || name.to_lowercase().ends_with("_proxy")
    };
    let mut variables: BTreeMap<OsString, OsString> =
        env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_kept)).collect();
    variables.extend([
        ("PATH".into(), bin.into()),
        ("HOME".into(), home.into()),
        ("CARGO_HOME".into(), or("CARGO_HOME", ".cargo")),
        ("RUSTUP_HOME".into(), or("RUSTUP_HOME", ".rustup")),
        ("XDG_CACHE_HOME".into(), or("XDG_CACHE_HOME", ".cache")),
        // Optimised libraries have tests of their own, and take most of the time to build.
        ("CARGO_PROFILE_RELEASE_LTO".into(), "off".into()),
        ("CARGO_PROFILE_RELEASE_OPT_LEVEL".into(), "0".into()),
    ]);
    variables
}

/// Returns the code blocks of a language in a section of a page.
fn blocks(page: &str, section: &str, language: &str) -> Vec<String> {
    let heading = format!("## {section}");
    let lines = page.lines().skip_while(|line| *line != heading).skip(1);
    let (mut found, mut open): (Vec<String>, Option<String>) = (Vec::new(), None);
    for line in lines.take_while(|line| !line.starts_with("## ")) {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(opened)) => {
                open = Some(if opened == language { String::new() } else { "-".to_owned() })
            }
            (Some(_), Some(_)) => found.extend(open.take().filter(|text| text != "-")),
            (Some(text), None) if text != "-" => *text += &format!("{line}\n"),
            _ => {}
        }
    }
    found
}

/// Returns the commands in code blocks, without comments.
fn commands(blocks: &[String]) -> Vec<String> {
    let lines = blocks.iter().flat_map(|block| block.lines());
    lines.map(|line| line.split(" #").next().unwrap_or_default().trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "## First\n```sh\nnot this\n```\n## Second\n```c\nint x;\n```\ntext\n\
                        ```sh\none --flag    # a comment\ntwo\n```\n## Third\n```sh\nnor this\n```\n";

    #[test]
    fn blocks_returns_only_those_of_the_section() {
        assert_eq!(commands(&blocks(PAGE, "Second", "sh")), ["one --flag", "two"]);
        assert_eq!(blocks(PAGE, "Second", "c"), ["int x;\n"]);
    }

    #[test]
    fn holds_no_tools_rejects_an_installed_tool() {
        let list: String = TOOLS.iter().map(|tool| format!("  {}   left out\n", tool.name)).collect();
        assert!(holds_no_tools(&list).is_ok());
        let list = list.replace("  cmake   left out", "  cmake   installed");
        let failure = holds_no_tools(&list).unwrap_err();
        assert!(failure.to_string().starts_with("`cmake` is installed, but"), "{failure}");
    }

    #[test]
    fn programs_contain_no_optional_tool() {
        for tool in TOOLS.iter().filter(|tool| tool.is_optional_program()) {
            assert!(PROGRAMS.split_whitespace().all(|name| name != tool.name), "{}", tool.name);
        }
    }
}
