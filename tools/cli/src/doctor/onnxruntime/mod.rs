//! ONNX Runtime: the version that a Python has, the providers in its packages, and how they work.

mod provider;
mod trial;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::child;
use super::finding::Section;
use super::verdict::Verdict;

/// The start of a line with an answer, because libraries print too.
const MARK: &str = "tenon-doctor ";

/// Says which ONNX Runtime a Python has.
const PROGRAM: &str = include_str!("installed.py");

/// An import that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// The oldest release that registers libraries, and the oldest one in which these have kernels of their own.
const WITH_LIBRARIES: u32 = 23;
const WITH_KERNELS: u32 = 24;

/// The answer of the program.
#[derive(Deserialize)]
struct Installed {
    version: Option<String>,
    /// The file that is imported.
    package: Option<PathBuf>,
    /// The packages with files in this folder.
    distributions: Vec<String>,
    /// Libraries of packages whose name contains that of ONNX Runtime.
    providers: Vec<PathBuf>,
    /// The reason for which it cannot be imported.
    error: Option<String>,
}

/// Examines an installed ONNX Runtime and some providers, or those that packages contain.
pub(super) fn examine(python: &Path, libraries: &[PathBuf]) -> Vec<Section> {
    let mut section = Section::new(python.to_string_lossy());
    let installed = match ask(python) {
        Ok(installed) => installed,
        Err(reason) => {
            section.problem_with_advice(reason, "name another interpreter: `--onnxruntime PYTHON`");
            return vec![section];
        }
    };
    if !judge(&installed, &mut section) {
        return vec![section];
    }
    let mut files = libraries.to_vec();
    if files.is_empty() {
        files = installed.providers.into_iter().filter(|file| provider::has_entry(file)).collect();
        leave_out_versions(&mut files);
        if files.is_empty() {
            section.problem_with_advice(
                "no package of this Python contains a provider",
                "name its library, which programs register: `tenon doctor LIBRARY --onnxruntime PYTHON`",
            );
        }
    }
    for (name, value) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("TENON_") || name == "LD_LIBRARY_PATH" {
            section.note(format!("{name}={}", crate::environment::shown(&name, &value.to_string_lossy())));
        }
    }
    let mut sections = vec![section];
    for file in files {
        let mut section = Section::new(file.to_string_lossy());
        provider::examine(&file, python, None, &mut section);
        sections.push(section);
    }
    sections
}

/// Examines a library in the ONNX Runtime of a folder. Returns the verdict, the reason unless it runs, and the name of the
/// provider if it lists a device.
pub fn examine_library(
    library: &Path,
    python: &Path,
    packages: &Path,
) -> (Verdict, Option<String>, Option<String>) {
    let mut section = Section::new("");
    let (verdict, name) = provider::examine(library, python, Some(packages), &mut section);
    (verdict, section.first_problem_or_note().map(str::to_owned), name)
}

/// Returns the libraries of providers in a folder and the folders in it.
pub fn libraries_of(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    add_libraries(folder, &mut found);
    leave_out_versions(&mut found);
    found
}

/// Leaves out the copies of libraries whose names end with a version, such as `.so.1`. Sorts the others.
fn leave_out_versions(files: &mut Vec<PathBuf>) {
    let is_plain = |file: &Path| file.extension().is_some_and(|ending| ending == "so");
    if files.iter().any(|file| is_plain(file)) {
        files.retain(|file| is_plain(file));
    }
    files.sort();
}

fn add_libraries(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => add_libraries(&path, found),
            Ok(kind) if kind.is_file() && provider::has_entry(&path) => found.push(path),
            _ => {}
        }
    }
}

/// Asks a Python for its ONNX Runtime.
fn ask(python: &Path) -> Result<Installed, String> {
    let ended = child::run(Command::new(python).args(["-c", PROGRAM]), LIMIT)
        .map_err(|error| format!("it cannot be started: {error}"))?;
    let answer = ended.stdout.lines().find_map(|line| line.strip_prefix(MARK));
    answer.and_then(|answer| serde_json::from_str(answer).ok()).ok_or_else(|| {
        format!(
            "it does not say which packages it has: it {}{}",
            child::describe(ended.status),
            said(&ended.stderr)
        )
    })
}

/// Returns false if no provider can work there.
fn judge(installed: &Installed, section: &mut Section) -> bool {
    if installed.distributions.len() > 1 {
        section.problem_with_advice(
            format!(
                "the packages {} share the folder `onnxruntime`: each has overwritten files of those before it",
                installed.distributions.join(", ")
            ),
            "uninstall all of them, and install one",
        );
    }
    if let Some(error) = &installed.error {
        section.problem_with_advice(
            format!("`import onnxruntime` fails: {error}"),
            "install it again: `python -m pip install --force-reinstall onnxruntime`",
        );
        return false;
    }
    let Some(package) = &installed.package else {
        section.problem_with_advice("it has no ONNX Runtime", "`python -m pip install onnxruntime`");
        return false;
    };
    let Some(version) = &installed.version else {
        section.problem_with_advice(
            format!("`{}` is not the package of ONNX Runtime", package.display()),
            "rename it: Python imports it in place of the package",
        );
        return false;
    };
    let advice = format!("`python -m pip install 'onnxruntime>=1.{WITH_KERNELS}'`");
    match minor(version) {
        Some(minor) if minor < WITH_LIBRARIES => {
            let text = format!(
                "ONNX Runtime {version} registers no libraries of providers: 1.{WITH_LIBRARIES} was the first release that does"
            );
            section.problem_with_advice(text, advice);
            return false;
        }
        Some(minor) if minor < WITH_KERNELS => {
            section.ok(format!("ONNX Runtime {version}"));
            section.note(format!(
                "most providers need a newer release: since 1.{WITH_KERNELS} they can have kernels of their own"
            ));
        }
        _ => section.ok(format!("ONNX Runtime {version}")),
    }
    true
}

/// Returns the second number of a version, `24` of `1.24.1`.
fn minor(version: &str) -> Option<u32> {
    version.strip_prefix("1.")?.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// The most lines of a program's output that are shown.
const LINES: usize = 4;

/// Returns the last lines that a program has written, as the end of a sentence.
fn said(output: &str) -> String {
    match child::last_lines(output, LINES) {
        last if last.is_empty() => last,
        last => format!(". It said:\n{last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::minor;

    #[test]
    fn versions_have_a_second_number() {
        assert_eq!(["1.24.1", "1.33.0.dev1", "1.9"].map(minor), [24, 33, 9].map(Some));
        assert_eq!(["2.0", "1", "x"].map(minor), [None; 3]);
    }
}
