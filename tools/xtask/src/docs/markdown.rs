//! The book for programs: each page as Markdown beside the page, and `llms.txt`, which lists them.

use std::fs;
use std::path::Path;

use crate::failure::{Failure, at};
use crate::process::Step;
use crate::project;

/// Entries of the reference that are deeper are on the pages of those above them.
const DEEPEST: usize = 2;

/// Writes the pages and the list into the folder of the book. `mdbook` builds the book into the folder of the cache.
pub fn write(mdbook: Step, book: &Path) -> Result<(), Failure> {
    mdbook.env("MDBOOK_OUTPUT", r#"{"markdown":{}}"#).run()?;
    copy(&project::cache("book-pages"), book)?;
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
            let text = fs::read_to_string(&path).map_err(at(&path))?;
            fs::write(&target, without_tabs(&text)).map_err(at(&target))?;
        }
    }
    Ok(())
}

/// Returns a page without the tabs around the signatures: their labels become paragraphs.
fn without_tabs(page: &str) -> String {
    let mut text = String::new();
    let mut depth = 0_usize;
    for line in page.lines() {
        match line {
            "<div class=\"tabs\">" => depth = 1,
            "<div class=\"tab\">" if depth > 0 => depth += 1,
            "</div>" if depth > 0 => depth -= 1,
            _ if depth > 0 && line.starts_with("<input ") => {}
            _ if depth > 0 && line.starts_with("<label ") => {
                let label = line.split(['<', '>']).nth(2).unwrap_or_default();
                text += &format!("{label}:\n");
            }
            _ => {
                text += line;
                text.push('\n');
            }
        }
    }
    text
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
    fn tabs_become_paragraphs() {
        let page = "a\n\n<div class=\"tabs\">\n<input x>\n<label for=\"c\">C</label>\n<div class=\"tab\">\n\n```c\nf();\n```\n\n\
                    </div>\n</div>\n\n<div>\nb\n</div>\n";
        assert_eq!(without_tabs(page), "a\n\nC:\n\n```c\nf();\n```\n\n\n<div>\nb\n</div>\n");
    }

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
