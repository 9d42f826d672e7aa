//! Records tests that are skipped because a tool is missing, for the summary.
//!
//! Tests in other crates use the variable [`VARIABLE`]. If it names a file, a test whose tool is missing appends the
//! line `TOOL<tab>TEST` to it and ends. If it is not set, the test fails.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;

use super::missing;
use crate::failure::{Failure, at};
use crate::project;

/// The variable that names the file.
pub const VARIABLE: &str = "TENON_LEFT_OUT";

static FILE: OnceLock<std::path::PathBuf> = OnceLock::new();

/// Allows tests to be skipped from now on, in this process and in all programs that it starts.
pub fn permit() -> Result<(), Failure> {
    let file = FILE.get_or_init(|| project::cache("left-out.txt"));
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(at(folder))?;
    }
    fs::write(file, "").map_err(at(file))
}

/// Allows tests to be skipped if the parent process allows it.
pub fn inherit() {
    if let Some(file) = env::var_os(VARIABLE) {
        // It is already set only if this process called `permit` and set the variable itself.
        let _ = FILE.set(file.into());
    }
}

/// Returns the file if tests may be skipped.
pub fn file() -> Option<&'static Path> {
    FILE.get().map(std::path::PathBuf::as_path)
}

/// Records a test that is skipped because a tool is missing.
///
/// # Errors
/// [`Failure::Missing`] if tests must not be skipped.
pub fn without(tool: &str, test: &str) -> Result<(), Failure> {
    let Some(file) = file() else { return Err(missing(tool)) };
    let mut open = OpenOptions::new().append(true).create(true).open(file).map_err(at(file))?;
    writeln!(open, "{tool}\t{test}").map_err(at(file))
}

/// Returns each missing tool with the tests that were skipped.
pub fn all() -> Result<Vec<(String, Vec<String>)>, Failure> {
    let Some(file) = file() else { return Ok(Vec::new()) };
    Ok(grouped(&fs::read_to_string(file).map_err(at(file))?))
}

fn grouped(text: &str) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (tool, test) in text.lines().filter_map(|line| line.split_once('\t')) {
        let index = groups.iter().position(|(known, _)| known == tool).unwrap_or_else(|| {
            groups.push((tool.to_owned(), Vec::new()));
            groups.len() - 1
        });
        let tests = &mut groups[index].1;
        if !tests.iter().any(|known| known == test) {
            tests.push(test.to_owned());
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grouped_collects_tests_by_missing_tool() {
        let groups = grouped("valgrind\ta\nclang\tb\nvalgrind\tc\nvalgrind\ta\n");
        let group =
            |tool: &str, tests: &[&str]| (tool.to_owned(), tests.iter().map(|t| (*t).to_owned()).collect());
        assert_eq!(groups, [group("valgrind", &["a", "c"]), group("clang", &["b"])]);
    }

    #[test]
    fn without_missing_tool_fails_unless_skipping_is_permitted() {
        assert!(file().is_none());
        assert!(
            matches!(without("valgrind", "a test"), Err(Failure::Missing { program, .. }) if program == "valgrind")
        );
    }
}
