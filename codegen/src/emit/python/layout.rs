//! Formats Python like `ruff format`: filters with which templates lay out lists of items.

use minijinja::Environment;

/// Width of a line of code, as in `sdk-py/pyproject.toml`.
pub const WIDTH: usize = 120;

/// Width of a line of prose. `help()` adds a margin.
pub const PROSE: usize = 100;

/// Writes a text as a literal. One of JSON means the same in Python.
pub fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Adds the filters. Each takes the text before the items, with its indentation, and the text after them.
pub fn add_filters(templates: &mut Environment) {
    templates
        .add_filter("bracketed", |items: Vec<String>, head: &str, tail: &str| bracketed(&items, head, tail));
    templates.add_filter("listed", |items: Vec<String>, head: &str, tail: &str| listed(&items, head, tail));
    templates.add_filter("returned", |items: Vec<String>, head: &str| returned(&items, head));
    templates.add_filter("assigned", |items: Vec<String>, indent: &str, value: &str| {
        assigned(&items, indent, value)
    });
}

fn fits(line: &str) -> bool {
    line.chars().count() <= WIDTH
}

fn indent(head: &str) -> &str {
    &head[..head.len() - head.trim_start().len()]
}

/// Formats a call or a definition: on one line if it fits, else with the items on a separate line, else with one line
/// for each item.
fn bracketed(items: &[String], head: &str, tail: &str) -> String {
    let indent = indent(head);
    let inner = format!("{indent}    {}", items.join(", "));
    if !fits(&format!("{head}{}{tail}", items.join(", "))) && !items.is_empty() && fits(&inner) {
        format!("{head}\n{inner}\n{indent}{tail}")
    } else {
        listed(items, head, tail)
    }
}

/// Formats a list, a tuple or an import: on one line if it fits, or with a line for each item.
pub fn listed(items: &[String], head: &str, tail: &str) -> String {
    let indent = indent(head);
    let line = format!("{head}{}{tail}", items.join(", "));
    if fits(&line) || items.is_empty() {
        return line;
    }
    let inner = format!("{indent}    ");
    let exploded: String = items.iter().map(|item| format!("{}\n", nested(item, &inner))).collect();
    format!("{head}\n{exploded}{indent}{tail}")
}

/// Formats an item on a line of its own. A list of names that does not fit gets a line for each name.
fn nested(item: &str, indent: &str) -> String {
    let line = format!("{indent}{item},");
    match item.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
        Some(list) if !fits(&line) => {
            let names: Vec<String> = list.split(", ").map(str::to_owned).collect();
            listed(&names, &format!("{indent}["), "],")
        }
        _ => line,
    }
}

/// Formats an import, sorted as its names are.
pub fn imported(head: &str, names: &[String]) -> String {
    let line = format!("{head}{}", names.join(", "));
    if fits(&line) { line } else { listed(names, &format!("{head}("), ")") }
}

/// Formats a statement with one value, or with several as a tuple.
fn returned(values: &[String], head: &str) -> String {
    let line = format!("{head}{}", values.join(", "));
    if fits(&line) { line } else { listed(values, &format!("{head}("), ")") }
}

/// Formats the unpacking of a tuple: on one line if it fits, or with the tuple or the names on separate lines.
fn assigned(names: &[String], indent: &str, tuple: &str) -> String {
    let targets = match names {
        [one] => format!("({one},)"),
        names => names.join(", "),
    };
    let line = format!("{indent}{targets} = {tuple}");
    let open = format!("{indent}{targets} = (");
    if fits(&line) {
        line
    } else if fits(&open) {
        format!("{open}\n{indent}    {tuple}\n{indent})")
    } else {
        listed(names, &format!("{indent}("), &format!(") = {tuple}"))
    }
}

/// Returns the identifiers in a piece of code.
pub fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(count: usize) -> Vec<String> {
        (0..count).map(|index| format!("parameter_{index:02}")).collect()
    }

    #[test]
    fn assigned_breaks_the_tuple_before_the_names() {
        assert_eq!(assigned(&items(1), "", "args"), "(parameter_00,) = args");
        assert_eq!(assigned(&items(2), "", "args"), "parameter_00, parameter_01 = args");
        let mut names = items(8);
        names.push("end".to_owned());
        assert!(assigned(&names, "", "args").ends_with(" = (\n    args\n)"));
        assert_eq!(assigned(&items(9), "", "args").lines().count(), 11);
    }

    #[test]
    fn bracketed_short_items_are_on_one_line() {
        assert_eq!(bracketed(&items(2), "    f(", ")"), "    f(parameter_00, parameter_01)");
    }

    #[test]
    fn bracketed_long_items_are_on_separate_lines() {
        assert_eq!(bracketed(&items(7), "a_function_with_a_long_name(", ")").lines().count(), 3);
        let broken = bracketed(&items(9), "f(", ")");
        assert_eq!((broken.lines().count(), broken.lines().nth(1)), (11, Some("    parameter_00,")));
    }

    #[test]
    fn bracketed_list_that_does_not_fit_has_a_line_for_each_name() {
        let list = format!("[{}]", items(9).join(", "));
        let broken = bracketed(&[list, "stream".to_owned()], "f(", ")");
        let lines: Vec<&str> = broken.lines().collect();
        assert_eq!(
            (lines[1], lines[2], lines[11], lines.len()),
            ("    [", "        parameter_00,", "    ],", 14)
        );
    }
}
