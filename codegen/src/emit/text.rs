//! Prose: wrapping, code spans, and the first sentence of a text.

/// One line of a text that was written over several.
pub fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Breaks one paragraph into lines of at most `width` characters; a longer word keeps a line of its own.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let word_length = word.chars().count();
        match lines.last_mut() {
            Some(line) if length + 1 + word_length <= width => {
                line.push(' ');
                line.push_str(word);
                length += 1 + word_length;
            }
            _ => {
                lines.push(word.to_owned());
                length = word_length;
            }
        }
    }
    lines
}

/// The first sentence of a text, on one line and without its full stop.
pub fn first_sentence(text: &str) -> String {
    let text = collapse(text);
    let end = sentence_end(&text).unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
}

/// The sentences of a text, each on one line and with its full stop.
pub fn sentences(text: &str) -> Vec<String> {
    let text = collapse(text);
    let mut rest = text.as_str();
    let mut sentences = Vec::new();
    while let Some(end) = sentence_end(rest) {
        sentences.push(rest[..=end].to_owned());
        rest = &rest[end + 2..];
    }
    sentences.extend((!rest.is_empty()).then(|| rest.to_owned()));
    sentences
}

/// Where the full stop of the first sentence is, if another one follows.
fn sentence_end(text: &str) -> Option<usize> {
    text.match_indices(". ")
        .map(|(index, _)| index)
        // `e.g. ` and the like do not end a sentence; a capital behind the space tells.
        .find(|index| text[index + 2..].starts_with(|c: char| c.is_uppercase() || c == '`'))
}

/// The text with a capital at its beginning and a full stop at its end.
pub fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut out = capital(text);
    if !out.is_empty() && !out.ends_with(['.', '!', '?', ':', '|']) {
        out.push('.');
    }
    out
}

/// The text with a capital at its beginning.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A sentence that goes on behind a colon: a name at its beginning keeps its capital.
pub fn uncapital(text: &str) -> String {
    const USUAL: [&str; 12] =
        ["The", "A", "An", "Nothing", "Every", "Each", "No", "Take", "Call", "It", "This", "What"];
    let first = text.split(' ').next().unwrap_or_default();
    if USUAL.contains(&first) {
        format!("{}{}", first.to_lowercase(), &text[first.len()..])
    } else {
        text.to_owned()
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn enumerate(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `a`, `a or b`, `a, b or c`.
pub fn alternatives(items: &[String]) -> String {
    match items {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        items => items.concat(),
    }
}

/// `1 function`, `2 functions`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Up to three of the known names that somebody who wrote `name` may have meant, nearest first.
pub fn nearest_few<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let mut ranked: Vec<(usize, &str)> = known
        .iter()
        .map(|known| {
            // A part of a name, such as `h2d`, is near to the whole.
            let part = name.len() > 2 && known.contains(name);
            (if part { 1 } else { strsim::damerau_levenshtein(name, known) }, *known)
        })
        .filter(|(distance, _)| *distance <= (name.len() / 2).max(2))
        .collect();
    ranked.sort();
    ranked.dedup();
    ranked.into_iter().take(3).map(|(_, known)| known).collect()
}

/// Rewrites the code spans of a Markdown text; `None` leaves one as it is. Code blocks stay untouched.
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
                // A backtick without a partner on its line.
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
    fn a_sentence_ends_before_a_capital() {
        assert_eq!(
            first_sentence("The host skips it, e.g. in 2.6. Then\nit goes on."),
            "The host skips it, e.g. in 2.6"
        );
        assert_eq!(first_sentence("The host takes 0."), "The host takes 0");
    }

    #[test]
    fn code_spans_are_rewritten_outside_of_blocks() {
        let link = |span: &str| (span == "a").then(|| "[a]".to_owned());
        assert_eq!(
            map_code_spans("see `a`, `b` and ` alone\n```\n`a`\n```", link),
            "see [a], `b` and ` alone\n```\n`a`\n```"
        );
    }

    #[test]
    fn lines_are_no_wider_than_asked() {
        assert_eq!(wrap("one two  three\nfour", 9), ["one two", "three", "four"]);
    }
}
