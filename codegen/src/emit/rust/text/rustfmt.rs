//! Formats Rust outputs with rustfmt, at the width of this project. So the lines are those that rustfmt gives to code that is
//! written by hand, and a folder with outputs needs no `#[rustfmt::skip]`.
//!
//! A process formats many files: each is a module of one text, and the width allows for its margin.

use std::ffi::OsString;
use std::io::Write;
#[cfg(feature = "cli")]
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::file;
use crate::emit::EmitError;
use crate::out::Output;

/// The maximum width of a line of Rust.
pub const WIDTH: usize = 110;

/// The margin of a file in the text.
const MARGIN: &str = "    ";

/// The line before a file.
const HEAD: &str = "mod __file {";

/// The line after a file.
const END: &str = "}";

/// The environment variables that choose the formatter, the last one through rustup.
#[cfg(feature = "cli")]
pub const VARIABLES: [&str; 2] = ["RUSTFMT", "RUSTUP_TOOLCHAIN"];

/// Returns the files that decide what the formatter writes: the program itself, and what rustup keeps of toolchains if the
/// program is rustup.
#[cfg(feature = "cli")]
pub fn files() -> Vec<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let program =
        std::env::split_paths(&folders).map(|folder| folder.join(program())).find(|path| path.is_file());
    let home = std::env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".rustup")));
    let mut files: Vec<PathBuf> = program.into_iter().collect();
    if let Some(home) = home {
        files.push(home.join("settings.toml"));
        let toolchains = std::fs::read_dir(home.join("toolchains")).into_iter().flatten().flatten();
        let mut formatters: Vec<_> = toolchains.map(|entry| entry.path().join("bin/rustfmt")).collect();
        formatters.sort();
        files.append(&mut formatters);
    }
    files
}

/// Returns the formatter, by the name that cargo and editors know, too.
fn program() -> OsString {
    std::env::var_os("RUSTFMT").unwrap_or_else(|| "rustfmt".into())
}

/// Formats some outputs in place.
///
/// # Errors
/// If rustfmt is not installed, or refuses a file, which is a bug in the generator.
pub fn format(mut outputs: Vec<&mut Output>) -> Result<(), EmitError> {
    if outputs.is_empty() {
        return Ok(());
    }
    let text: String = outputs.iter().map(|output| format!("{HEAD}\n{}\n{END}\n", output.text)).collect();
    let formatted = run(&text)?;
    let mut lines = formatted.lines();
    for output in &mut outputs {
        lines.find(|line| *line == HEAD).ok_or_else(|| EmitError::Rust("rustfmt lost a file".to_owned()))?;
        let file = lines.by_ref().take_while(|line| *line != END);
        output.text = file::lay_out(file.map(|line| line.strip_prefix(MARGIN).unwrap_or(line)));
    }
    Ok(())
}

/// Returns the text as rustfmt prints it.
fn run(text: &str) -> Result<String, EmitError> {
    let width = format!("max_width={},use_small_heuristics=Max,newline_style=Unix", WIDTH + MARGIN.len());
    let mut child = Command::new(program())
        .args(["--edition", "2024", "--config", &width])
        // The settings of the folder are those of its owner.
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(EmitError::Rustfmt)?;
    let input = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // In a thread, because the process may answer before it has read all. If it ends early, its status and its
        // message say why.
        scope.spawn(move || input.map(|mut input| input.write_all(text.as_bytes())));
        child.wait_with_output()
    });
    let output = output.map_err(EmitError::Rustfmt)?;
    let text = |bytes| String::from_utf8(bytes).map_err(|error| EmitError::Rust(error.to_string()));
    if output.status.success() { text(output.stdout) } else { Err(EmitError::Rust(text(output.stderr)?)) }
}

#[cfg(test)]
mod tests {
    use super::format;
    use crate::out::Output;

    #[test]
    fn each_file_keeps_its_own_text() {
        let mut first =
            Output::new("a.rs", "// A marker.\n\n//! A module.\n\nfn a ( ) { }\n\nmod below;\n", "");
        let mut second = Output::new("b.rs", format!("fn b(a: {}, b: u8) {{}}\n", "T".repeat(91)), "");
        format(vec![&mut first, &mut second]).expect("rustfmt is part of the toolchain");
        assert_eq!(first.text, "// A marker.\n\n//! A module.\n\nfn a() {}\n\nmod below;\n");
        assert_eq!(second.text, format!("fn b(a: {}, b: u8) {{}}\n", "T".repeat(91)), "110 characters fit");
    }
}
