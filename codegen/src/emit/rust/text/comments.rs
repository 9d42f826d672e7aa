//! Comments in the generated code. Token streams cannot contain comments, so a comment is a statement
//! `__comment!("…");` until it is printed. Calls of `macro_rules!` macros with their own syntax, which formatters do
//! not support, are `__verbatim!("…");`.
//!
//! No name of a spec begins with `__`, so such a statement is always a marker.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::text::wrap;

/// The start of a formatted line with a comment marker.
const MARKER: &str = "__comment!(";

/// The start of a formatted line with a verbatim marker.
const VERBATIM: &str = "__verbatim!(";

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

/// Returns the lines of a comment or verbatim text whose marker is on `line`; `None` if there is no marker.
///
/// The formatter puts a long text on the next line, and the closing bracket on the one after it.
pub fn lines<'a>(line: &str, next: &mut impl Iterator<Item = &'a str>) -> Option<Vec<String>> {
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
