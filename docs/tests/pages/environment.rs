//! The page of environment variables, held against the sources that read them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::page::{read, root};

/// The folders of what people use. `tools`, tests and benchmarks have variables of their own.
const FOLDERS: [&str; 5] = ["plugins", "runtime", "sdk-c", "sdk-py", "sdk-rs"];

/// Files outside of the folders `src` that read variables.
const FURTHER: [&str; 1] = ["sdk-py/hatch_build.py"];

/// Calls `visit` with each folder `src` below a folder.
fn sources(folder: &Path, visit: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("the folder can be read").path();
        match path.file_name().and_then(|name| name.to_str()) {
            Some("src") => visit(&path),
            Some("target" | ".venv") => {}
            _ if path.is_dir() && !path.is_symlink() => sources(&path, visit),
            _ => {}
        }
    }
}

/// Collects the quoted names that begin with `TENON_`, in a file or below a folder.
fn quoted(path: &Path, found: &mut BTreeSet<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())) {
            quoted(&entry.expect("the folder can be read").path(), found);
        }
        return;
    }
    if !path.extension().is_some_and(|extension| extension == "rs" || extension == "py") {
        return;
    }
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let pieces: Vec<&str> = text.split("\"TENON_").collect();
    for pair in pieces.windows(2) {
        // C literals are the names of statuses.
        let Some((name, _)) = pair[1].split_once('"').filter(|_| !pair[0].ends_with('c')) else { continue };
        if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_') {
            found.insert(format!("TENON_{name}"));
        }
    }
}

#[test]
fn variable_that_is_read_is_on_the_page() {
    let mut read_somewhere = BTreeSet::new();
    for folder in FOLDERS {
        sources(&root().join(folder), &mut |path| quoted(path, &mut read_somewhere));
    }
    for file in FURTHER {
        quoted(&root().join(file), &mut read_somewhere);
    }
    let page = read("docs/src/guide/environment.md");
    let (table, _) = page.split_once("\n## ").expect("the table comes before the first section");
    let documented: BTreeSet<String> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `TENON_")?.split_once('`'))
        .map(|(name, _)| format!("TENON_{name}"))
        .collect();
    assert_eq!(documented, read_somewhere);
}
