//! A preprocessor of mdBook: adds the test cases to the pages of the device's functions.
//!
//! The generator cannot write them, because it does not know `tenon check`.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

use clap::Args;
use serde_json::Value;

use crate::failure::Failure;

/// The variable with the list of cases, as `tenon check --list --json` prints it.
pub const CASES: &str = "TENON_BOOK_CASES";

/// The folder of the pages that get a section.
const PAGES: &str = "reference/device/";

/// Arguments that mdBook passes.
#[derive(Args)]
pub struct Options {
    /// `supports`, followed by the name of a renderer; without it, the book is read from standard input
    question: Vec<String>,
}

/// Answers mdBook.
pub fn run(options: &Options) -> Result<(), Failure> {
    if !options.question.is_empty() {
        // Every renderer is supported.
        return Ok(());
    }
    let wrong = |what: &str, error: &dyn std::fmt::Display| Failure::Wrong(format!("{what}: {error}"));
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).map_err(|error| wrong("the book cannot be read", &error))?;
    let mut input: Value = serde_json::from_str(&input).map_err(|error| wrong("mdBook's input", &error))?;
    let cases = std::env::var(CASES).unwrap_or_default();
    let cases: Value = serde_json::from_str(&cases).map_err(|error| wrong(CASES, &error))?;
    let mut book = input[1].take();
    add(&mut book, &cases);
    let written = std::io::stdout().write_all(book.to_string().as_bytes());
    written.map_err(|error| wrong("the book cannot be written", &error))
}

/// Adds a section to each chapter about a function that has cases.
fn add(value: &mut Value, cases: &Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| add(item, cases)),
        Value::Object(members) => {
            let path = members.get("path").and_then(Value::as_str).unwrap_or_default();
            let name = path.strip_prefix(PAGES).and_then(|path| path.strip_suffix(".md"));
            let section =
                name.and_then(|name| name.split_once('/')).and_then(|(_, name)| section(name, cases));
            if let (Some(section), Some(Value::String(content))) = (section, members.get_mut("content")) {
                content.push_str(&section);
            }
            members.values_mut().for_each(|member| add(member, cases));
        }
        _ => {}
    }
}

/// Returns the section about a function; `None` if it has no cases.
fn section(function: &str, cases: &Value) -> Option<String> {
    let is_about = |case: &&Value| {
        case["functions"].as_array().is_some_and(|names| names.iter().any(|name| name == function))
    };
    let mut rows = cases.as_array()?.iter().filter(is_about).peekable();
    rows.peek()?;
    let mut text = String::from(
        "\n## Checks\n\n\
         [`tenon check`](../../../guide/conformance.md) tests the function of a plugin with these cases. The layer \
         `validate` checks calls of programs against [its rules](../../../guide/validation-rules.md).\n\n\
         | Case | Promise | Level |\n|---|---|---|\n",
    );
    for case in rows {
        let [id, promise, level] =
            ["id", "promise", "level"].map(|name| case[name].as_str().unwrap_or_default());
        let promise = promise.replace('|', "\\|").replace('\n', " ");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{id}` | {promise} | {level} |");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pages_of_functions_get_their_cases() {
        let page = |path: &str| json!({ "Chapter": { "path": path, "content": "# f\n", "sub_items": [] } });
        let mut book = json!({ "items": [
            page("reference/device/event/f.md"), page("reference/device/event/g.md"), page("guide/f.md"),
        ] });
        let case = json!({ "id": "event.done", "functions": ["f"], "promise": "a | b", "level": "good" });
        add(&mut book, &json!([case]));
        let content = |index: usize| book["items"][index]["Chapter"]["content"].as_str().unwrap_or_default();
        assert!(content(0).ends_with("| `event.done` | a \\| b | good |\n"), "{}", content(0));
        assert_eq!((content(1), content(2)), ("# f\n", "# f\n"));
    }
}
