//! Pages in Markdown, and the blocks of code in them.

use std::fs;
use std::path::{Path, PathBuf};

/// Marks a block that is a part of something, and cannot be built or run by itself: ` ```rust,fragment `.
const FRAGMENT: &str = "fragment";

/// A block of code between two fences.
#[derive(Clone, Debug)]
pub struct Block {
    /// The page, as a path in the repository.
    pub page: String,
    /// The line of its first fence, from 1.
    pub line: usize,
    /// The heading of the second level above it; empty before the first.
    pub section: String,
    /// The first word of its first fence.
    pub language: String,
    /// True if it is marked as a fragment.
    pub is_fragment: bool,
    /// Its text, with included files in their place.
    pub text: String,
}

/// Returns the root of the repository.
pub fn root() -> &'static Path {
    // The manifest of this crate is one folder below the root.
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above")
}

/// Reads a file of the repository.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Lists the README and the pages written by hand, as paths in the repository.
pub fn pages() -> Vec<String> {
    let guide = fs::read_dir(root().join("docs/src/guide")).expect("the guide is there");
    let mut pages: Vec<String> = guide
        .map(|entry| {
            entry.expect("the guide can be read").file_name().into_string().expect("names are UTF-8")
        })
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("docs/src/guide/{name}"))
        .chain(["README.md".to_owned(), "docs/src/index.md".to_owned()])
        .collect();
    pages.sort();
    pages
}

/// Returns the blocks of a page.
pub fn blocks(page: &str) -> Vec<Block> {
    let folder = root().join(page).parent().expect("a page lies in a folder").to_owned();
    parse(page, &read(page), &folder)
}

fn parse(page: &str, text: &str, folder: &Path) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut section = String::new();
    let mut open: Option<Block> = None;
    for (line, text) in (1..).zip(text.lines()) {
        let fence = text.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.text += &included(text, folder).unwrap_or_else(|| text.to_owned());
                block.text += "\n";
            }
            (None, Some(words)) => {
                let mut words = words.split(',').map(str::trim);
                open = Some(Block {
                    page: page.to_owned(),
                    line,
                    section: section.clone(),
                    language: words.next().unwrap_or_default().to_owned(),
                    is_fragment: words.any(|word| word == FRAGMENT),
                    text: String::new(),
                });
            }
            (None, None) => {
                if let Some(heading) = text.strip_prefix("## ") {
                    section = heading.to_owned();
                }
            }
        }
    }
    assert!(open.is_none(), "{page}: a block of code has no end");
    blocks
}

/// Returns the lines that mdBook puts in the place of `{{#include path:from:}}`.
fn included(line: &str, folder: &Path) -> Option<String> {
    let argument = line.trim().strip_prefix("{{#include ")?.strip_suffix("}}")?;
    let mut parts = argument.split(':');
    let path: PathBuf = folder.join(parts.next()?);
    let from: usize = parts.next().and_then(|from| from.parse().ok()).unwrap_or(1);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Some(text.lines().skip(from - 1).collect::<Vec<_>>().join("\n"))
}

#[test]
fn parse_finds_language_mark_section_and_text() {
    let text = "```sh\na\n```\n## One\n```rust,fragment\nb\n\nc\n```\n";
    let found = parse("page.md", text, Path::new("."));
    let documented: Vec<_> = found
        .iter()
        .map(|block| (block.line, &*block.section, &*block.language, block.is_fragment, &*block.text))
        .collect();
    assert_eq!(documented, [(1, "", "sh", false, "a\n"), (5, "One", "rust", true, "b\n\nc\n")]);
}
