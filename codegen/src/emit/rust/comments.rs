//! Comments in the generated code: a token stream has none, so that they travel as statements `__comment!("…");`. Calls of
//! `macro_rules!` macros with a syntax of their own, which no formatter knows, travel as `__verbatim!("…");`.
//!
//! No name of a spec begins with `__`, so that such a statement is always one of ours.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::emit::text::wrap;

/// The beginning of the marker on a line of formatted text.
const MARKER: &str = "__comment!(";

/// The same of a text that is laid out already.
const VERBATIM: &str = "__verbatim!(";

/// The column that a comment ends before, unless a word is longer.
const WIDTH: usize = 100;

/// The same tokens without comments, for a compiler.
pub(super) fn remove(tokens: TokenStream) -> TokenStream {
    let mut kept = Vec::new();
    let mut rest = tokens.into_iter();
    while let Some(token) = rest.next() {
        match token {
            // `!`, the text and `;` go along.
            TokenTree::Ident(ident) if ident == "__comment" => rest.by_ref().take(3).for_each(drop),
            TokenTree::Group(group) => kept.push(TokenTree::Group(map_group(&group, remove))),
            token => kept.push(token),
        }
    }
    kept.into_iter().collect()
}

/// A group with other tokens in it.
pub(super) fn map_group(group: &Group, map: impl FnOnce(TokenStream) -> TokenStream) -> Group {
    let delimiter: Delimiter = group.delimiter();
    Group::new(delimiter, map(group.stream()))
}

/// The lines of a comment or of a text that begins on a line of formatted text; `None`: the line is none.
///
/// A long text is on the line behind the marker, and the end on another.
pub(super) fn lines<'a>(line: &str, next: &mut impl Iterator<Item = &'a str>) -> Option<Vec<String>> {
    let code = line.trim_start();
    let verbatim = code.strip_prefix(VERBATIM);
    let rest = verbatim.or_else(|| code.strip_prefix(MARKER))?;
    let literal = match rest.strip_suffix(");") {
        Some(literal) => literal,
        None => {
            let literal = next.next()?.trim();
            next.next()?;
            literal
        }
    };
    let text = syn::parse_str::<syn::LitStr>(literal).ok()?.value();
    let margin = &line[..line.len() - code.len()];
    if verbatim.is_some() {
        return Some(text.lines().map(|text| format!("{margin}{text}")).collect());
    }
    let room = WIDTH.saturating_sub(margin.len() + "// ".len());
    Some(wrap(&text, room).into_iter().map(|text| format!("{margin}// {text}")).collect())
}
