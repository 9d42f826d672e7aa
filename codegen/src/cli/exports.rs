//! The exports that are written by hand: the data for emitters, and their header. cbindgen writes it, and
//! the result is formatted like the other headers.

use std::path::{Path, PathBuf};

use crate::exports::Exports;
use crate::model::OutputPlace;

/// Width of a comment's text, as in the other headers.
const WIDTH: usize = 96;

/// An error in the exports that are written by hand.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExportsError {
    #[error("cannot use `{}`: {reason}", path.display())]
    Config { path: PathBuf, reason: String },
    #[error("cannot read the exports from `{}`", path.display())]
    Read { path: PathBuf, source: Box<cbindgen::Error> },
    #[error(transparent)]
    Source(#[from] crate::exports::ReadError),
}

/// Reads a crate's exports for the emitters, and makes their header.
pub(super) fn read(root: &Path, place: &OutputPlace) -> Result<Exports, ExportsError> {
    let (path, config) = (root.join(place.read("from")), root.join(place.read("config")));
    let config = cbindgen::Config::from_file(&config)
        .map_err(|reason| ExportsError::Config { path: config, reason })?;
    let mut exports = crate::exports::read(&path)?;
    exports.renamed = config.export.rename.clone().into_iter().collect();
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(&path)
        .generate()
        .map_err(|source| ExportsError::Read { path, source: Box::new(source) })?;
    let mut written = Vec::new();
    bindings.write(&mut written);
    exports.header = tidy(&String::from_utf8_lossy(&written));
    Ok(exports)
}

/// Returns the files and folders that [`read`] may read: the settings, and all below the folder of the crate's root.
pub(super) fn sources(root: &Path, place: &OutputPlace) -> Vec<PathBuf> {
    let mut paths = vec![root.join(place.read("config"))];
    let mut folders: Vec<PathBuf> =
        root.join(place.read("from")).parent().map(Path::to_owned).into_iter().collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                paths.push(path);
            }
        }
        paths.push(folder);
    }
    paths
}

/// Reformats the output of cbindgen like the other headers: comments that fit on a line are on one, say
/// what is brief, and do not mention Rust; the star of a pointer is next to its type.
fn tidy(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    let mut lines = written.lines();
    while let Some(line) = lines.next() {
        if line.trim_start() == "/**" {
            let margin = &line[..line.len() - 3];
            let comment: Vec<&str> = lines
                .by_ref()
                .map(|line| line.trim_start())
                .take_while(|line| *line != "*/")
                .map(|line| line.strip_prefix('*').unwrap_or(line).strip_prefix(' ').unwrap_or(""))
                .collect();
            write_comment(&mut text, margin, &comment);
        } else if let Some(guard) = line.strip_prefix("#endif  /* ") {
            text.push_str(&format!("#endif  // {}\n", guard.trim_end_matches(" */")));
        } else if line == "#include \"types.h\"" {
            text.push_str(&format!("\n{line}\n"));
        } else {
            text.push_str(&stars(line));
            text.push('\n');
        }
    }
    text
}

fn write_comment(text: &mut String, margin: &str, comment: &[&str]) {
    let mut comment = for_c(comment);
    while comment.last().is_some_and(|line| line.is_empty()) {
        comment.pop();
    }
    let brief = if margin.is_empty() { "@brief " } else { "" };
    if let [line] = comment.as_slice()
        && line.len() + brief.len() <= WIDTH
    {
        text.push_str(&format!("{margin}/** {brief}{line} */\n"));
        return;
    }
    text.push_str(&format!("{margin}/**\n"));
    for (index, line) in comment.iter().enumerate() {
        let brief = if index == 0 { brief } else { "" };
        text.push_str(format!("{margin} * {brief}{line}").trim_end());
        text.push('\n');
    }
    text.push_str(&format!("{margin} */\n"));
}

/// Returns the lines for callers from C, without the marker `[C]`.
fn for_c(comment: &[&str]) -> Vec<String> {
    let mut is_for_python = false;
    let lines = comment.iter().take_while(|line| !line.starts_with("# Safety")).filter(|line| {
        let begins = line.starts_with("[Python]");
        is_for_python = begins || is_for_python && !line.is_empty() && !line.starts_with('@');
        !is_for_python
    });
    lines.map(|line| line.replace("[C] ", "").replace("`null`", "`NULL`")).collect()
}

/// Moves stars to the type: `const char *text` → `const char* text`. The star of a function pointer, which follows a
/// bracket, stays.
fn stars(line: &str) -> String {
    let mut moved = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(" *") {
        let stars = rest[at + 1..].bytes().take_while(|byte| *byte == b'*').count();
        moved.push_str(&rest[..at]);
        moved.push_str(&rest[at + 1..at + 1 + stars]);
        moved.push(' ');
        rest = &rest[at + 1 + stars..];
    }
    moved.push_str(rest);
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_with_their_type() {
        assert_eq!(stars("  const char *name;"), "  const char* name;");
        assert_eq!(stars("tenon_status f(void **a, int *b);"), "tenon_status f(void** a, int* b);");
        assert_eq!(stars("typedef void (*finish)(void *data);"), "typedef void (*finish)(void* data);");
    }

    #[test]
    fn comments_are_short_and_say_nothing_of_rust() {
        let written = "/**\n * To do.\n *\n * # Safety\n * None.\n */\nvoid f(void);\n  /**\n   * A.\n   *\n   * B.\n   */\n";
        assert_eq!(
            tidy(written),
            "/** @brief To do. */\nvoid f(void);\n  /**\n   * A.\n   *\n   * B.\n   */\n"
        );
    }
}
