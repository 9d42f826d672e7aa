//! Prose: wrapping, code spans, and sentences.

use std::borrow::Cow;
use std::fmt::Display;

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Joins the lines of a text.
pub fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Wraps a paragraph into lines of at most `width` characters. A longer word has its own line.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let text = collapse(text);
    let lines = textwrap::wrap(&text, options).into_iter().map(Cow::into_owned);
    lines.filter(|line| !line.is_empty()).collect()
}

/// Returns the first sentence of a text, on one line and without its full stop.
pub fn first_sentence(text: &str) -> String {
    let text = collapse(text);
    let end = end_of_first(&text).unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
}

/// Returns the sentences of a text, each on one line and with its full stop.
pub fn sentences(text: &str) -> Vec<String> {
    let text = collapse(text);
    let mut rest = text.as_str();
    let mut sentences = Vec::new();
    while let Some(end) = end_of_first(rest) {
        sentences.push(rest[..=end].to_owned());
        rest = &rest[end + 2..];
    }
    sentences.extend((!rest.is_empty()).then(|| rest.to_owned()));
    sentences
}

/// Returns the position of the full stop of the first sentence, if another one follows.
fn end_of_first(text: &str) -> Option<usize> {
    text.match_indices(". ")
        .map(|(index, _)| index)
        // A sentence begins with a capital, unlike the text after `e.g. `.
        .find(|index| text[index + 2..].starts_with(|c: char| c.is_uppercase() || c == '`'))
}

/// Capitalises a text and adds a full stop.
pub fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut out = capital(text);
    if !out.is_empty() && !out.ends_with(['.', '!', '?', ':', '|']) {
        out.push('.');
    }
    out
}

/// Returns the text on one line, with a full stop at its end.
pub fn ended(text: &str) -> String {
    let text = collapse(text);
    if text.ends_with('.') { text } else { format!("{text}.") }
}

/// Returns the text with a capital at its start.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Returns a title or sentence for the inside of another sentence: abbreviations keep their capitals.
pub fn uncapital(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

/// Joins items: `a`, `a and b`, `a, b and c`.
pub fn enumerate(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Puts each name in backticks.
pub fn quoted(names: impl IntoIterator<Item = impl Display>) -> Vec<String> {
    names.into_iter().map(|name| format!("`{name}`")).collect()
}

/// Joins alternatives: `a`, `a or b`, `a, b or c`.
pub fn alternatives(items: &[String]) -> String {
    match items {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        items => items.concat(),
    }
}

/// Formats a number of things: `1 function`, `2 functions`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Returns up to three known names that are similar to `name`, nearest first.
pub fn nearest_few<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let mut ranked: Vec<(usize, &str)> = known
        .iter()
        .map(|known| {
            // A part of a name, such as `h2d`, counts as similar.
            let part = name.len() > 2 && known.contains(name);
            (if part { 1 } else { strsim::damerau_levenshtein(name, known) }, *known)
        })
        .filter(|(distance, _)| *distance <= (name.len() / 2).max(2))
        .collect();
    ranked.sort();
    ranked.dedup();
    ranked.into_iter().take(3).map(|(_, known)| known).collect()
}

/// Replaces the code spans of a Markdown text. `None` keeps one unchanged, and code blocks are never changed.
pub fn map_code_spans(text: &str, mut rewrite: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fenced = false;
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            out.push_str(line);
            continue;
        }
        let mut parts = line.split('`').peekable();
        let mut is_code = false;
        while let Some(part) = parts.next() {
            let closed = parts.peek().is_some();
            match (is_code, closed) {
                (true, true) => {
                    out.push_str(&rewrite(part).unwrap_or_else(|| format!("`{part}`")));
                }
                // A backtick without a closing one on its line.
                (true, false) => {
                    out.push('`');
                    out.push_str(part);
                }
                (false, _) => out.push_str(part),
            }
            is_code = !is_code;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sentence_ends_before_a_capital() {
        assert_eq!(
            first_sentence("The host skips it, e.g. in 2.6. Then\nit goes on."),
            "The host skips it, e.g. in 2.6"
        );
        assert_eq!(first_sentence("The host takes 0."), "The host takes 0");
    }

    #[test]
    fn map_code_spans_ignores_code_blocks() {
        let link = |span: &str| (span == "a").then(|| "[a]".to_owned());
        assert_eq!(
            map_code_spans("see `a`, `b` and ` alone\n```\n`a`\n```", link),
            "see [a], `b` and ` alone\n```\n`a`\n```"
        );
    }

    #[test]
    fn wrap_respects_the_width() {
        assert_eq!(wrap("one two  three\nfour", 9), ["one two", "three", "four"]);
    }
}
