//! A preprocessor of mdBook: adds test cases and validation rules to the pages of the device's functions.
//!
//! The generator cannot write them, because it knows neither `tenon check` nor the layer `validate`.

use std::io::{Read as _, Write as _};

use clap::Args;
use serde_json::Value;

use crate::failure::Failure;

/// The variable with the list of cases, as `tenon check --list --json` prints it.
pub const CASES: &str = "TENON_BOOK_CASES";

/// The variable with the list of rules, as `tenon rules --json` prints it.
pub const RULES: &str = "TENON_BOOK_RULES";

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
    let list = |variable: &str| -> Result<Vec<Value>, Failure> {
        let text = std::env::var(variable).unwrap_or_default();
        serde_json::from_str(&text).map_err(|error| wrong(variable, &error))
    };
    let checks = Checks { cases: list(CASES)?, rules: list(RULES)? };
    let mut book = input[1].take();
    add(&mut book, &checks);
    let written = std::io::stdout().write_all(book.to_string().as_bytes());
    written.map_err(|error| wrong("the book cannot be written", &error))
}

/// The checks of all functions.
struct Checks {
    cases: Vec<Value>,
    rules: Vec<Value>,
}

/// Adds sections to each chapter about a function that has checks.
fn add(value: &mut Value, checks: &Checks) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| add(item, checks)),
        Value::Object(members) => {
            let path = members.get("path").and_then(Value::as_str).unwrap_or_default();
            let name = path.strip_prefix(PAGES).and_then(|path| path.strip_suffix(".md"));
            let function =
                name.and_then(|name| name.split_once('/')).map(|(_, function)| function.to_owned());
            if let (Some(function), Some(Value::String(content))) = (function, members.get_mut("content")) {
                content.push_str(&cases(&function, &checks.cases));
                content.push_str(&rules(&function, &checks.rules));
            }
            members.values_mut().for_each(|member| add(member, checks));
        }
        _ => {}
    }
}

/// Returns the section with the test cases of a function; empty if it has none.
fn cases(function: &str, cases: &[Value]) -> String {
    section(
        function,
        cases,
        "## Conformance cases\n\n\
         [`tenon check`](../../../guide/conformance.md) tests the function of a plugin with these cases.\n\n\
         | Level | Promise and case |\n|---|---|\n",
        |case| format!("| {} | {}<br>`{}` |", text(case, "level"), text(case, "promise"), text(case, "id")),
    )
}

/// Returns the section with the validation rules of a function; empty if it has none.
fn rules(function: &str, rules: &[Value]) -> String {
    section(
        function,
        rules,
        "## Validation rules\n\n\
         The layer [`validate`](../../../guide/layers.md) checks these rules in calls of the function.\n\n\
         | Rule | Severity | Meaning |\n|---|---|---|\n",
        |rule| {
            let id = text(rule, "id");
            // mdBook makes the anchor from the heading.
            let anchor = id.to_lowercase();
            let (severity, title) = (text(rule, "severity"), text(rule, "title"));
            format!("| [{id}](../../../guide/validation-rules.md#{anchor}) | {severity} | {title} |")
        },
    )
}

/// Returns a section with a row for each item that names the function; empty if there is none.
fn section(function: &str, items: &[Value], head: &str, row: impl Fn(&Value) -> String) -> String {
    let is_about = |item: &&Value| {
        item["functions"].as_array().is_some_and(|names| names.iter().any(|name| name == function))
    };
    let rows: Vec<String> = items.iter().filter(is_about).map(row).collect();
    if rows.is_empty() { String::new() } else { format!("\n{head}{}\n", rows.join("\n")) }
}

/// Returns a member of an item as the text of a cell.
fn text(item: &Value, key: &str) -> String {
    item[key].as_str().unwrap_or_default().replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pages_of_functions_get_their_checks() {
        let page = |path: &str| json!({ "Chapter": { "path": path, "content": "# f\n", "sub_items": [] } });
        let mut book = json!({ "items": [
            page("reference/device/event/f.md"), page("reference/device/event/g.md"), page("guide/f.md"),
        ] });
        let case = json!({ "id": "event.done", "functions": ["f"], "promise": "a | b", "level": "good" });
        let rule = json!({ "id": "V001", "functions": ["f", "h"], "severity": "error", "title": "not null" });
        add(&mut book, &Checks { cases: vec![case], rules: vec![rule] });
        let content = |index: usize| book["items"][index]["Chapter"]["content"].as_str().unwrap_or_default();
        assert!(
            content(0).contains("| good | a \\| b<br>`event.done` |\n\n## Validation rules\n"),
            "{}",
            content(0)
        );
        let link = "| [V001](../../../guide/validation-rules.md#v001) | error | not null |\n";
        assert!(content(0).ends_with(link), "{}", content(0));
        assert_eq!((content(1), content(2)), ("# f\n", "# f\n"));
    }
}
