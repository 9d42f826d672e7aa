//! The manifest of a plugin: what programs can read about it without loading it.

use crate::{Attribute, Filled, Function, Trait};

/// Returns the members of a manifest except the device type, as JSON.
pub(crate) fn members(
    implemented: Trait,
    attribute: &Attribute,
    oldest: Option<usize>,
    provided: &[&Function],
) -> String {
    let is_native = |function: &Function| provided.iter().any(|known| known.name == function.name);
    let is_filled = |function: &Function| match function.filled {
        Filled::Never => false,
        Filled::OnRequest => attribute.fallbacks,
        Filled::Always => true,
    };
    let functions = implemented.functions.iter();
    let filled = functions.filter(|function| !is_native(function) && is_filled(function));
    let since = implemented.releases.get(oldest.unwrap_or_default());
    let since = since.map_or("null".to_owned(), |since| text(since));
    format!(
        r#""interface":{},"since":{since},"releases":{},"native":{},"fallback":{},"build":{{"tenon":{},"language":"rust"}}"#,
        text(implemented.module),
        list(implemented.releases.iter().copied()),
        list(provided.iter().map(|function| function.name)),
        list(filled.map(|function| function.name)),
        text(env!("CARGO_PKG_VERSION")),
    )
}

fn list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", texts.map(text).collect::<Vec<_>>().join(","))
}

fn text(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// Returns a text as JSON has it between quotes.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '"' | '\\' => escaped.extend(['\\', character]),
            control if control.is_control() => escaped += &format!("\\u{:04x}", u32::from(control)),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn escaped_has_no_quote_and_no_control_character() {
        assert_eq!(escaped("my_npu"), "my_npu");
        assert_eq!(escaped("a\"b\\c\n"), "a\\\"b\\\\c\\u000a");
    }
}
