//! The names of all identifiers in the Python output.

use std::cmp::Ordering;

use crate::language::python::is_keyword;

/// Returns the name of a variable: `stream`; a keyword of Python gets an underscore at its end.
pub fn variable(name: &str) -> String {
    if is_keyword(name) { format!("{name}_") } else { name.to_owned() }
}

/// Returns a name that is not taken: with `_` at its end, if need be.
pub fn free(mut name: String, taken: &[String]) -> String {
    while taken.contains(&name) {
        name.push('_');
    }
    name
}

/// Returns a type hint for a module that defines names which Python has for types, such as a function `int`.
pub fn hint(hint: &str, defined: &[String]) -> String {
    let mut text = String::with_capacity(hint.len());
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = hint;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c| !is_part(c)).filter(|length| *length > 0);
        let length = if is_part(first) { length.unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, after) = rest.split_at(length);
        if defined.iter().any(|name| name == word) && !text.ends_with('.') {
            text.push_str("_B.");
        }
        text.push_str(word);
        rest = after;
    }
    text
}

/// Returns the name of an enum member: `FLOAT32`.
pub fn member(name: &str) -> String {
    name.to_uppercase()
}

/// Returns the name of the ctypes function that `device_open` calls: `_device_open`.
pub fn bound(function: &str) -> String {
    format!("_{function}")
}

/// Sorts names as in an import: constants, classes, then the others.
pub fn sort_imports(names: &mut Vec<String>) {
    names.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| natural(a, b)));
    names.dedup();
}

fn rank(name: &str) -> u8 {
    let name = name.trim_start_matches('_');
    let is_constant = name.len() > 1 && !name.contains(|c: char| c.is_lowercase());
    match name.chars().next() {
        _ if is_constant => 0,
        Some(first) if first.is_uppercase() => 1,
        _ => 2,
    }
}

/// Compares names so that `c_uint8` comes before `c_uint16`.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (pieces(a).into_iter(), pieces(b).into_iter());
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (Some((a_text, a_number)), Some((b_text, b_number))) => {
                a_text.cmp(&b_text).then(a_number.cmp(&b_number))
            }
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Splits a name into texts and the numbers after them.
fn pieces(name: &str) -> Vec<(String, Option<u64>)> {
    let mut pieces = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let digits = rest[text..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| text + end);
        pieces.push((rest[..text].to_lowercase(), rest[text..digits].parse().ok()));
        rest = &rest[digits..];
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_keyword_gets_an_underscore() {
        assert!(["False", "and", "from", "lambda", "yield"].into_iter().all(is_keyword));
        assert!(!["device", "match", "type"].into_iter().any(is_keyword));
        assert_eq!(variable("from"), "from_");
    }

    #[test]
    fn sort_imports_matches_isort() {
        let names =
            ["c_void_p", "c_uint16", "POINTER", "c_uint8", "Structure", "CDLL", "Array", "c_int", "c_void_p"];
        let mut names: Vec<String> = names.map(str::to_owned).to_vec();
        sort_imports(&mut names);
        assert_eq!(
            names,
            ["CDLL", "POINTER", "Array", "Structure", "c_int", "c_uint8", "c_uint16", "c_void_p"]
        );
    }
}
