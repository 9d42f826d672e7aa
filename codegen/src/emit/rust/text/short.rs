//! Shortens paths, to make the generated code readable.
//!
//! The generated code uses absolute paths, because a spec may define a type `Option`. In a file, a path is shortened
//! if its last name has no other meaning in the whole file. The same applies to variables of the generated code,
//! which begin with `__` because no name in a spec does.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, Spacing, Span, TokenStream, TokenTree};
use quote::quote;

use super::comments::{self, map_group};
use crate::emit::rust::names;

/// Names of the prelude, with their absolute paths.
const PRELUDE: [(&str, &str); 13] = [
    ("core::option::Option::Some", "Some"),
    ("core::option::Option::None", "None"),
    ("core::option::Option", "Option"),
    ("core::result::Result::Ok", "Ok"),
    ("core::result::Result::Err", "Err"),
    ("core::default::Default", "Default"),
    ("core::marker::Send", "Send"),
    ("core::marker::Sync", "Sync"),
    ("core::marker::Sized", "Sized"),
    ("core::mem::size_of", "size_of"),
    ("std::string::String", "String"),
    ("std::boxed::Box", "Box"),
    ("std::vec::Vec", "Vec"),
];

/// Names that are imported with a `use` at the start of the file.
const IMPORTED: [(&str, &str); 8] = [
    ("core::ffi::CStr", "CStr"),
    ("core::ffi::c_char", "c_char"),
    ("core::ffi::c_void", "c_void"),
    ("core::mem", "mem"),
    ("core::mem::MaybeUninit", "MaybeUninit"),
    ("core::ptr", "ptr"),
    ("std::sync::Arc", "Arc"),
    ("tenon::support", "support"),
];

/// Macros. No name of a spec can hide them.
const MACROS: [&str; 6] = ["assert", "concat", "format", "format_args", "thread_local", "write"];

/// Words that come before a path.
const BEFORE_PATH: [&str; 15] = [
    "as", "const", "dyn", "else", "for", "if", "impl", "in", "let", "match", "move", "mut", "return", "use",
    "where",
];

/// All names in modules, except in paths that can be shortened.
pub struct Names(BTreeSet<String>);

impl Names {
    /// Collects the names of modules that import all names of each other.
    pub fn of(modules: impl IntoIterator<Item = TokenStream>) -> Self {
        let mut names = BTreeSet::new();
        modules.into_iter().for_each(|tokens| collect(tokens, &mut names));
        Names(names)
    }
}

/// Shortens the paths of a module, and adds the imports that they need.
pub fn shorten(tokens: TokenStream, names: &Names) -> TokenStream {
    let mut shorter = Shorter { other: &names.0, imported: BTreeMap::new() };
    let tokens = shorter.shorten(tokens);
    let imports = shorter.imported.iter().filter_map(|(module, names)| {
        let module = syn::parse_str::<syn::Path>(module).ok()?;
        let names = names.iter().map(|name| Ident::new(name, Span::call_site()));
        Some(match names.len() {
            1 => quote! { use #module::#(#names)*; },
            _ => quote! { use #module::{#(#names),*}; },
        })
    });
    let imports: Vec<_> = imports.collect();
    // The attributes of the module come first: `#![…]`.
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |index: usize, symbol| matches!(tokens.get(index), Some(TokenTree::Punct(punct)) if punct.as_char() == symbol);
    let mut inner = 0;
    while is(inner, '#') && is(inner + 1, '!') {
        inner += 3;
    }
    let (inner, rest) = tokens.split_at(inner);
    quote! { #(#inner)* #(#imports)* #(#rest)* }
}

/// The shortened text, and the imports that it needs.
struct Shorter<'a> {
    /// Names that have another meaning.
    other: &'a BTreeSet<String>,
    /// Imported names, by module.
    imported: BTreeMap<&'static str, BTreeSet<&'static str>>,
}

impl Shorter<'_> {
    fn shorten(&mut self, tokens: TokenStream) -> TokenStream {
        let mut out: Vec<TokenTree> = Vec::new();
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut index = 0;
        while index < tokens.len() {
            // A macro is expanded in other crates, where the imports of this file are not in scope. Its tokens are
            // printed without line breaks, so it cannot contain comments.
            if let Some(end) = macro_rules(&tokens[index..]) {
                let definition = tokens[index..index + end].iter().cloned().collect();
                out.extend(comments::remove(definition));
                index += end;
                continue;
            }
            if let Some((path, length)) = absolute_path(&tokens, index) {
                self.push_path(&path, &tokens[index..index + length], &mut out);
                index += length;
                continue;
            }
            out.push(match &tokens[index] {
                TokenTree::Group(group) => TokenTree::Group(map_group(group, |inner| self.shorten(inner))),
                TokenTree::Ident(ident) => TokenTree::Ident(self.local(ident)),
                token => token.clone(),
            });
            index += 1;
        }
        out.into_iter().collect()
    }

    /// Returns a variable of the generated code, without `__` if nothing else in the file has that name.
    fn local(&self, ident: &Ident) -> Ident {
        let text = ident.to_string();
        match text.strip_prefix("__") {
            // `comments` and `list` look for these markers later.
            Some("comment" | "list" | "verbatim") => ident.clone(),
            Some(name) if !self.other.contains(name) && names::is_plain(name) => {
                Ident::new(name, ident.span())
            }
            _ => ident.clone(),
        }
    }

    /// Writes a path, shortened as far as possible.
    fn push_path(&mut self, path: &[String], tokens: &[TokenTree], out: &mut Vec<TokenTree>) {
        let is_free = |name: &str| !self.other.contains(name);
        match known(path) {
            Some((Known::Name(name, import), used))
                if is_free(name) && (import.is_none() || is_free(&path[0])) =>
            {
                if let Some((module, name)) = import.and_then(|path| path.rsplit_once("::")) {
                    self.imported.entry(module).or_default().insert(name);
                }
                out.push(TokenTree::Ident(Ident::new(name, Span::call_site())));
                // Each segment consists of `::` and a name.
                out.extend_from_slice(&tokens[used * 3..]);
            }
            Some((Known::Macro(name), _)) => out.push(TokenTree::Ident(Ident::new(name, Span::call_site()))),
            // Rule E075 forbids names of primitive types for types and modules.
            _ if path[..2] == ["core", "primitive"] => out.extend_from_slice(&tokens[2 * 3 + 2..]),
            // The leading `::` is not needed if nothing else has the crate's name.
            _ if is_free(&path[0]) => out.extend_from_slice(&tokens[2..]),
            _ => out.extend_from_slice(tokens),
        }
    }
}

/// The short form of a path.
enum Known {
    /// A name, with the path of a `use`.
    Name(&'static str, Option<&'static str>),
    /// A macro.
    Macro(&'static str),
}

/// Returns the longest prefix of a path that has a short name, and its number of segments.
fn known(path: &[String]) -> Option<(Known, usize)> {
    if let [_, name] = path
        && let Some(known) = MACROS.iter().find(|known| *known == name)
    {
        return Some((Known::Macro(known), 2));
    }
    (1..=path.len()).rev().find_map(|length| {
        let text = path[..length].join("::");
        let prelude = PRELUDE.iter().find(|(path, _)| *path == text);
        let imported = IMPORTED.iter().find(|(path, _)| *path == text);
        let name = match (prelude, imported) {
            (Some((_, name)), _) => Known::Name(name, None),
            (None, Some((path, name))) => Known::Name(name, Some(path)),
            (None, None) => return None,
        };
        Some((name, length))
    })
}

/// Collects identifiers outside absolute paths, and the parts of paths that have no short name.
fn collect(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut index = 0;
    while index < tokens.len() {
        if let Some(end) = macro_rules(&tokens[index..]) {
            index += end;
            continue;
        }
        if let Some((path, length)) = absolute_path(&tokens, index) {
            let used = known(&path).map_or(1, |(_, used)| used);
            names.extend(path[used..].iter().cloned());
            index += length;
            continue;
        }
        // The traits in `derive` are macros, and the marker of a list is the absolute path of one.
        let names_macros =
            matches!(&tokens[index], TokenTree::Ident(ident) if ident == "derive" || ident == "__list");
        match &tokens[index] {
            TokenTree::Ident(ident) => {
                names.insert(ident.to_string());
            }
            TokenTree::Group(group) => collect(group.stream(), names),
            _ => {}
        }
        index += if names_macros { 2 } else { 1 };
    }
}

/// Returns the number of tokens of a macro definition, if one begins here.
fn macro_rules(tokens: &[TokenTree]) -> Option<usize> {
    match tokens {
        [TokenTree::Ident(word), TokenTree::Punct(_), TokenTree::Ident(_), TokenTree::Group(_), ..]
            if word == "macro_rules" =>
        {
            Some(4)
        }
        _ => None,
    }
}

/// Returns the path that begins with `::` here, and its number of tokens.
fn absolute_path(tokens: &[TokenTree], start: usize) -> Option<(Vec<String>, usize)> {
    if !is_colons(&tokens[start..]) || !begins_path(tokens, start) {
        return None;
    }
    let mut path = Vec::new();
    let mut index = start;
    while is_colons(&tokens[index..])
        && let Some(TokenTree::Ident(ident)) = tokens.get(index + 2)
    {
        path.push(ident.to_string());
        index += 3;
    }
    (!path.is_empty()).then_some((path, index - start))
}

fn is_colons(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Punct(first), TokenTree::Punct(second), ..]
        if first.as_char() == ':' && first.spacing() == Spacing::Joint && second.as_char() == ':')
}

/// Returns true if a `::` begins a path instead of continuing one.
fn begins_path(tokens: &[TokenTree], start: usize) -> bool {
    let before = |distance: usize| start.checked_sub(distance).map(|index| &tokens[index]);
    match before(1) {
        Some(TokenTree::Ident(word)) => {
            let is_lifetime = matches!(before(2), Some(TokenTree::Punct(quote)) if quote.as_char() == '\'');
            is_lifetime || BEFORE_PATH.iter().any(|known| word == known)
        }
        // `->` and `=>` come before a path; the end of a list of types does not.
        Some(TokenTree::Punct(punct)) if punct.as_char() == '>' => {
            matches!(before(2), Some(TokenTree::Punct(first))
                if matches!(first.as_char(), '-' | '=') && first.spacing() == Spacing::Joint)
        }
        _ => true,
    }
}
