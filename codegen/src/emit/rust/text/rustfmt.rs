//! Formats Rust outputs with rustfmt, at the width of this project. So the lines are those that rustfmt gives to code that is
//! written by hand, and a folder with outputs needs no `#[rustfmt::skip]`.
//!
//! A process formats many files: each is a module of one text, and the width allows for its margin.

use std::io::Write;
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
    // The name that cargo and editors know, too.
    let program = std::env::var_os("RUSTFMT").unwrap_or_else(|| "rustfmt".into());
    let mut child = Command::new(program)
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
