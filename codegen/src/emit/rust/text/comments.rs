//! Comments in the generated code. Token streams cannot contain comments, so a comment is a statement
//! `__comment!("…");` until it is printed. Calls of `macro_rules!` macros with their own syntax, which formatters do
//! not support, are `__verbatim!("…");`.
//!
//! No name of a spec begins with `__`, so such a statement is always a marker.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::text::wrap;

/// The start of a printed comment that is wrapped when the code has its layout.
pub const MARKER: &str = "//__comment ";

/// The maximum width of a comment line, unless a word is longer.
const WIDTH: usize = 100;

/// Removes comments, for a compiler.
pub fn remove(tokens: TokenStream) -> TokenStream {
    let mut kept = Vec::new();
    let mut rest = tokens.into_iter();
    while let Some(token) = rest.next() {
        match token {
            // Also skips `!`, the text and `;`.
            TokenTree::Ident(ident) if ident == "__comment" => rest.by_ref().take(3).for_each(drop),
            TokenTree::Group(group) => kept.push(TokenTree::Group(map_group(&group, remove))),
            token => kept.push(token),
        }
    }
    kept.into_iter().collect()
}

/// Maps the tokens in a group.
pub fn map_group(group: &Group, map: impl FnOnce(TokenStream) -> TokenStream) -> Group {
    let delimiter: Delimiter = group.delimiter();
    Group::new(delimiter, map(group.stream()))
}

/// Returns the text to print for the comment, the documentation or the verbatim text that begins here, and its number of
/// tokens.
pub fn first(tokens: &[TokenTree]) -> Option<(String, usize)> {
    let is =
        |token: &TokenTree, symbol| matches!(token, TokenTree::Punct(punct) if punct.as_char() == symbol);
    match tokens {
        [hash, TokenTree::Group(attribute), ..] if is(hash, '#') => {
            Some((prefixed("///", &documentation(attribute)?), 2))
        }
        [hash, inner, TokenTree::Group(attribute), ..] if is(hash, '#') && is(inner, '!') => {
            Some((prefixed("//!", &documentation(attribute)?), 3))
        }
        // Each has `!` and `;`, too.
        [TokenTree::Ident(marker), _, TokenTree::Group(text), _, ..] if marker == "__comment" => {
            Some((format!("{MARKER}{}", literal(text.stream())?), 4))
        }
        [TokenTree::Ident(marker), _, TokenTree::Group(text), _, ..] if marker == "__verbatim" => {
            Some((literal(text.stream())?, 4))
        }
        _ => None,
    }
}

/// Returns the text of an attribute `doc = "…"`.
fn documentation(attribute: &Group) -> Option<String> {
    let mut tokens = attribute.stream().into_iter();
    match tokens.next()? {
        TokenTree::Ident(name) if name == "doc" => literal(tokens.skip(1).collect()),
        _ => None,
    }
}

/// Returns the value of a text literal.
pub fn literal(tokens: TokenStream) -> Option<String> {
    syn::parse2(tokens).map(|text: syn::LitStr| text.value()).ok()
}

fn prefixed(prefix: &str, text: &str) -> String {
    if text.is_empty() {
        return prefix.to_owned();
    }
    text.lines().map(|line| format!("{prefix}{line}\n")).collect()
}

/// Returns the lines of a comment if `line` is one that is not wrapped yet.
pub fn wrapped(line: &str) -> Option<Vec<String>> {
    let code = line.trim_start();
    let text = code.strip_prefix(MARKER)?;
    let margin = &line[..line.len() - code.len()];
    let room = WIDTH.saturating_sub(margin.len() + "// ".len());
    Some(wrap(text, room).into_iter().map(|text| format!("{margin}// {text}")).collect())
}
