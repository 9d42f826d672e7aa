//! Edits of the text of a spec: removed keys, changed values.

use std::ops::Range;

use codegen::source::At;
use codegen::yaml::Node;

/// Replacements of ranges of a text.
#[derive(Clone, Debug)]
pub struct Edit(Vec<(Range<usize>, String)>);

impl Edit {
    /// Replaces one range.
    pub fn one(range: Range<usize>, text: impl Into<String>) -> Self {
        Edit(vec![(range, text.into())])
    }

    /// Combines two edits.
    pub fn and(mut self, other: Edit) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Applies the edit to a text.
    pub fn apply(&self, text: &str) -> String {
        let mut pieces = self.0.clone();
        pieces.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        let mut text = text.to_owned();
        for (range, new) in pieces {
            text.replace_range(range, &new);
        }
        text
    }
}

/// Returns true if a key is in `{ … }`.
fn is_flow(text: &str, key: usize) -> bool {
    text[..key].trim_end().ends_with(['{', ','])
}

/// Finds the end of the element that begins at `start` in `{ … }` or `[ … ]`: the next comma or closing bracket of its
/// level.
fn flow_end(text: &str, start: usize) -> usize {
    let (mut depth, mut quote) = (0_usize, None);
    for (index, letter) in text[start..].char_indices() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']' | ',') if depth == 0 => return start + index,
            (None, '}' | ']') => depth -= 1,
            (None, _) => {}
        }
    }
    text.len()
}

/// Finds the end of the block below a key: the next line that is not indented further than the key.
fn block_end(text: &str, key: usize) -> usize {
    let line = text[..key].rfind('\n').map_or(0, |newline| newline + 1);
    let column = key - line;
    let mut end = line;
    for (index, line) in text[line..].split_inclusive('\n').enumerate() {
        let indent = line.len() - line.trim_start().len();
        if index > 0 && !line.trim().is_empty() && indent <= column {
            break;
        }
        end += line.len();
    }
    end
}

/// Removes a key and its value; `None` for the first key of an item of a list.
pub fn drop_key(text: &str, key: &At<String>) -> Option<Edit> {
    let start = key.span.start;
    if is_flow(text, start) {
        return Some(drop_flow(text, start));
    }
    let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let is_first = !text[line..start].trim().is_empty();
    (!is_first).then(|| Edit::one(line..block_end(text, start), ""))
}

/// Removes an element of `{ … }` or `[ … ]`, with one comma.
fn drop_flow(text: &str, start: usize) -> Edit {
    let end = flow_end(text, start);
    if text[end..].starts_with(',') {
        let rest = &text[end + 1..];
        return Edit::one(start..text.len() - rest.trim_start().len(), "");
    }
    let before = text[..start].trim_end();
    Edit::one(before.strip_suffix(',').unwrap_or(before).len()..end, "")
}

/// Removes an element of a list.
pub fn drop_item(text: &str, item: &Node) -> Edit {
    let start = item.span.start;
    let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    match text[line..start].trim() {
        "-" => {
            let dash = line + text[line..start].find('-').unwrap_or_default();
            Edit::one(line..block_end(text, dash), "")
        }
        _ => drop_flow(text, start),
    }
}

/// Renames a key.
pub fn rename_key(key: &At<String>, name: &str) -> Edit {
    Edit::one(key.span.start..key.span.end, name)
}

/// Replaces a scalar.
pub fn set(text: &str, value: &Node, new: &str) -> Option<Edit> {
    let range = value.span.start..value.span.end;
    let old = text.get(range.clone())?;
    if old.is_empty() || old.contains(['\n', '{', '[']) {
        return None;
    }
    let quoted = old.starts_with('"');
    Some(Edit::one(range, if quoted { format!("\"{new}\"") } else { new.to_owned() }))
}

/// Adds a key after another one.
pub fn add_key(text: &str, beside: &At<String>, key_and_value: &str) -> Option<Edit> {
    let start = beside.span.start;
    if is_flow(text, start) {
        let end = flow_end(text, start);
        let end = text[..end].trim_end().len();
        return Some(Edit::one(end..end, format!(", {key_and_value}")));
    }
    let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let indent = " ".repeat(start - line);
    let end = block_end(text, start);
    Some(Edit::one(end..end, format!("{indent}{key_and_value}\n")))
}
