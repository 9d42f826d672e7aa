//! Changes to the text of a spec: a key that goes away, a value that becomes another.

use std::ops::Range;

use codegen::source::{At, Node};

/// Pieces of a text and what stands there afterwards.
#[derive(Clone, Debug)]
pub struct Edit(Vec<(Range<usize>, String)>);

impl Edit {
    /// A text for a piece.
    pub fn one(range: Range<usize>, text: impl Into<String>) -> Self {
        Edit(vec![(range, text.into())])
    }

    /// Both.
    pub fn and(mut self, other: Edit) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The text afterwards.
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

/// Returns true if a key stands in `{ … }`.
fn is_flow(text: &str, key: usize) -> bool {
    text[..key].trim_end().ends_with(['{', ','])
}

/// Where what begins at `start` in `{ … }` or `[ … ]` ends: at the next comma or closing bracket of its
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

/// Where the block below a key ends: at the next line that is no further right than the key.
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

/// Takes a key and its value away; `None` for the first key of an item of a list.
pub fn drop_key(text: &str, key: &At<String>) -> Option<Edit> {
    let start = key.span.start;
    if is_flow(text, start) {
        return Some(drop_flow(text, start));
    }
    let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let is_first = !text[line..start].trim().is_empty();
    (!is_first).then(|| Edit::one(line..block_end(text, start), ""))
}

/// Takes an element of `{ … }` or `[ … ]` away, with one comma.
fn drop_flow(text: &str, start: usize) -> Edit {
    let end = flow_end(text, start);
    if text[end..].starts_with(',') {
        let rest = &text[end + 1..];
        return Edit::one(start..text.len() - rest.trim_start().len(), "");
    }
    let before = text[..start].trim_end();
    Edit::one(before.strip_suffix(',').unwrap_or(before).len()..end, "")
}

/// Takes an element of a list away.
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

/// Another name for a key.
pub fn rename_key(key: &At<String>, name: &str) -> Edit {
    Edit::one(key.span.start..key.span.end, name)
}

/// Another scalar for a scalar.
pub fn set(text: &str, value: &Node, new: &str) -> Option<Edit> {
    let range = value.span.start..value.span.end;
    let old = text.get(range.clone())?;
    if old.is_empty() || old.contains(['\n', '{', '[']) {
        return None;
    }
    let quoted = old.starts_with('"');
    Some(Edit::one(range, if quoted { format!("\"{new}\"") } else { new.to_owned() }))
}

/// A further key beside another one.
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
