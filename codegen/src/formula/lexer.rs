//! The words of an expression.

use std::ops::Range;

use super::{Mistake, MistakeKind};

/// A word of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Number(f64),
    Name(&'a str),
    /// An operator, a bracket or a comma.
    Symbol(&'static str),
    End,
}

/// The symbols. A longer symbol comes before its prefixes, since the first match counts.
const SYMBOLS: [&str; 14] = ["==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "(", ")", ",", "%"];

/// Splits a text into words, each with its range; the last one is [`Token::End`].
pub(super) fn words(text: &str) -> Result<Vec<(Token<'_>, Range<usize>)>, Mistake> {
    let mut words = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        if first.is_whitespace() {
            start += first.len_utf8();
            continue;
        }
        let rest = &text[start..];
        let (token, len) = if first.is_ascii_digit() || first == '.' {
            number(rest, start)?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (Token::Name(&rest[..len]), len)
        } else if rest.starts_with("**") || first == '^' {
            let len = if first == '^' { 1 } else { 2 };
            return Err(syntax(start..start + len, "powers are written as `pow(x, y)` or `square(x)`"));
        } else if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            let message = format!("`{first}` has no meaning in an expression");
            return Err(syntax(start..start + first.len_utf8(), message));
        };
        words.push((token, start..start + len));
        start += len;
    }
    words.push((Token::End, text.len()..text.len()));
    Ok(words)
}

/// Reads a number: digits, a fraction and an exponent.
fn number(rest: &str, start: usize) -> Result<(Token<'_>, usize), Mistake> {
    let mut len = 0;
    let mut last = ' ';
    for c in rest.chars() {
        let is_sign = matches!(c, '+' | '-') && matches!(last, 'e' | 'E');
        if !(c.is_ascii_alphanumeric() || c == '.' || is_sign) {
            break;
        }
        len += 1;
        last = c;
    }
    let value = rest[..len].parse::<f64>();
    let value =
        value.map_err(|_| syntax(start..start + len, format!("`{}` is not a number", &rest[..len])))?;
    Ok((Token::Number(value), len))
}

pub(super) fn syntax(range: Range<usize>, message: impl Into<String>) -> Mistake {
    Mistake { kind: MistakeKind::Syntax, range, message: message.into(), label: String::new() }
}
