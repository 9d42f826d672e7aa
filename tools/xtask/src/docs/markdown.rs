//! The book for programs: each page as Markdown beside the page, and `llms.txt`, which lists them.

use std::fs;
use std::path::Path;

use crate::failure::{Failure, at};
use crate::process::step;
use crate::project;

/// Entries of the reference that are deeper are on the pages of those above them.
const DEEPEST: usize = 2;

/// Writes the pages and the list into the folder of the book.
pub fn write(mdbook: &Path, book: &Path) -> Result<(), Failure> {
    let pages = project::cache("book-pages");
    step(mdbook)
        .arg("build")
        .arg(project::path("docs"))
        .arg("--dest-dir")
        .arg(&pages)
        .env("MDBOOK_OUTPUT", r#"{"markdown":{}}"#)
        .run()?;
    copy(&pages, book)?;
    let summary = project::path("docs/src/SUMMARY.md");
    let list = list(&fs::read_to_string(&summary).map_err(at(&summary))?);
    let file = book.join("llms.txt");
    fs::write(&file, list).map_err(at(&file))
}

/// Copies a folder of pages into another folder.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(at(to))?;
    for path in project::entries(from)? {
        let Some(name) = path.file_name() else { continue };
        let target = to.join(name);
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(at(&path))?;
        }
    }
    Ok(())
}

/// Makes the list from the table of contents, in the format of <https://llmstxt.org>.
fn list(summary: &str) -> String {
    let mut text = String::from(
        "# Tenon\n\n\
         > Tenon describes the API between an accelerator and AI frameworks once, in YAML, and generates every binding \
         from it. A device that is written once, in Rust or C, runs in every supported host.\n\n\
         `reference.json` has the functions of all interfaces, and `reference/ops/operators.json` the operators.\n",
    );
    for line in summary.lines() {
        let item = line.trim_start();
        let depth = (line.len() - item.len()) / 2;
        if item == "---" {
            text += "\n## Reference\n\n";
        } else if item == "# Guide" {
            text += "\n## Guide\n\n";
        } else if item.starts_with("- [") && depth <= DEEPEST {
            text += &format!("{item}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_has_sections_and_no_deep_entries() {
        let summary = "# Summary\n\n[Tenon](index.md)\n\n# Guide\n\n- [First](guide/first.md)\n  - [Part](guide/part.md)\n\
                       \n---\n\n- [Reference](reference/index.md)\n  - [A](a.md)\n    - [B](b.md)\n      - [C](c.md)\n";
        let expected = "\n## Guide\n\n- [First](guide/first.md)\n- [Part](guide/part.md)\n\
                        \n## Reference\n\n- [Reference](reference/index.md)\n- [A](a.md)\n- [B](b.md)\n";
        let list = list(summary);
        assert!(list.starts_with("# Tenon\n\n> ") && list.ends_with(expected), "{list}");
    }
}
