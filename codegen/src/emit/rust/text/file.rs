//! Formats generated code as a file: short paths, comments, and a blank line between items.

use proc_macro2::TokenStream;

use super::{comments, list, short};

/// Formats the tokens of a module.
///
/// # Errors
/// A message if the tokens are not valid Rust, which is a bug in the generator.
pub fn text(tokens: TokenStream) -> Result<String, String> {
    let names = short::Names::of([tokens.clone()]);
    format(short::shorten(tokens, &names))
}

/// Formats modules that import all names of each other.
///
/// # Errors
/// As for [`text`].
pub fn texts(modules: Vec<TokenStream>) -> Result<Vec<String>, String> {
    let names = short::Names::of(modules.iter().cloned());
    modules.into_iter().map(|tokens| format(short::shorten(tokens, &names))).collect()
}

fn format(tokens: TokenStream) -> Result<String, String> {
    let file: syn::File = syn::parse2(tokens).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let mut last = "";
    let formatted = prettyplease::unparse(&file);
    let mut lines = formatted.lines();
    while let Some(line) = lines.next() {
        if needs_blank_line(last, line) {
            text.push('\n');
        }
        let marked = match list::marker(line) {
            Some(name) => Some(list::lines(name, &mut lines)),
            None => comments::lines(line, &mut lines),
        };
        match marked {
            Some(lines) => lines.iter().for_each(|line| push_line(&mut text, line)),
            None => push_line(&mut text, line),
        }
        last = line;
    }
    Ok(text)
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The first words of lines that begin an item of a module, `impl` or trait.
const ITEMS: [&str; 18] = [
    "#[",
    "///",
    "__comment!",
    "__verbatim!",
    "const ",
    "enum ",
    "extern ",
    "fn ",
    "impl",
    "macro_rules!",
    "mod ",
    "pub ",
    "pub(",
    "static ",
    "struct ",
    "trait ",
    "type ",
    "unsafe ",
];

/// Returns true if `line` begins an item and `last` ends one.
fn needs_blank_line(last: &str, line: &str) -> bool {
    let (code, before) = (line.trim_start(), last.trim_start());
    let (margin, last_margin) = (line.len() - code.len(), last.len() - before.len());
    let is_item = ITEMS.iter().any(|item| code.starts_with(item));
    let follows_block = (before == "}" || before.ends_with("{}")) && margin == last_margin;
    let follows_docs = before.ends_with(';')
        && margin == last_margin
        && (code.starts_with("///") || code.starts_with("impl"))
        && !before.starts_with("//")
        && !before.starts_with("__comment!");
    let ends_use = before.starts_with("use ") && before.ends_with(';') || last == "};";
    let follows_use = ends_use && !code.starts_with("use ");
    let follows_head = before.starts_with("//!") && !code.starts_with("//!");
    (is_item && follows_block) || follows_docs || follows_use || follows_head
}
