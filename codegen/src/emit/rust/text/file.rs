//! Prints generated code as a file: short paths, comments, and a blank line between items.

use proc_macro2::TokenStream;

use super::{comments, list, print, short};

/// Prints the tokens of a module, without a layout.
pub fn text(tokens: TokenStream) -> String {
    let names = short::Names::of([tokens.clone()]);
    print::print(short::shorten(tokens, &names))
}

/// Prints modules that import all names of each other.
pub fn texts(modules: Vec<TokenStream>) -> Vec<String> {
    let names = short::Names::of(modules.iter().cloned());
    modules.into_iter().map(|tokens| print::print(short::shorten(tokens, &names))).collect()
}

/// Completes the layout that a formatter gave to a printed file.
pub fn lay_out<'a>(mut lines: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut last = "";
    while let Some(line) = lines.next() {
        if needs_blank_line(last, line) {
            text.push('\n');
        }
        match list::called(line, &mut lines) {
            Some(call) => push_line(&mut text, &call),
            None => match comments::wrapped(line) {
                Some(lines) => lines.iter().for_each(|line| push_line(&mut text, line)),
                None => push_line(&mut text, line),
            },
        }
        last = line;
    }
    text
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The first words of lines that begin an item of a module, `impl` or trait.
const ITEMS: [&str; 18] = [
    "#[",
    "///",
    "// ",
    comments::MARKER,
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
    if code.is_empty() {
        return false;
    }
    let (margin, last_margin) = (line.len() - code.len(), last.len() - before.len());
    let is_item = ITEMS.iter().any(|item| code.starts_with(item));
    let follows_block = (before == "}" || before.ends_with("{}")) && margin == last_margin;
    let follows_docs = before.ends_with(';')
        && margin == last_margin
        && ["///", "impl", list::MARKER].iter().any(|start| code.starts_with(start))
        && !before.starts_with("//");
    let ends_use = before.starts_with("use ") && before.ends_with(';') || last == "};";
    let follows_use = ends_use && !code.starts_with("use ");
    let follows_head = before.starts_with("//!") && !code.starts_with("//!");
    (is_item && follows_block) || follows_docs || follows_use || follows_head
}
