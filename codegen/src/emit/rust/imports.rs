//! The imports of generated files: of each module, the names that the code uses.

use std::collections::HashSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{format_ident, quote};

/// The names that some code uses.
#[derive(Default)]
pub(super) struct Used {
    /// Types, constants, modules at the start of a path, and functions and macros that are called.
    names: HashSet<String>,
    /// Methods that are called.
    methods: HashSet<String>,
}

impl Used {
    /// Collects the names that some code uses.
    pub(super) fn by(code: &TokenStream) -> Self {
        let mut used = Used::default();
        used.add(code.clone());
        used
    }

    fn add(&mut self, code: TokenStream) {
        let tokens: Vec<TokenTree> = code.into_iter().collect();
        let is = |index: Option<usize>, text: &str| {
            index.and_then(|index| tokens.get(index)).is_some_and(|token| token.to_string() == text)
        };
        for (index, token) in tokens.iter().enumerate() {
            let before = index.checked_sub(1);
            let is_in_path = is(before, ":") && is(index.checked_sub(2), ":");
            let is_called = matches!(tokens.get(index + 1), Some(TokenTree::Group(group))
                if group.delimiter() == Delimiter::Parenthesis);
            match token {
                TokenTree::Group(group) if is(index.checked_sub(2), "__verbatim") => {
                    let text = syn::parse2(group.stream()).map(|text: syn::LitStr| text.value());
                    self.add(text.ok().and_then(|text| text.parse().ok()).unwrap_or_default());
                }
                TokenTree::Group(group) => self.add(group.stream()),
                TokenTree::Ident(name) if is(before, ".") => {
                    self.methods.extend(is_called.then(|| name.to_string()));
                }
                TokenTree::Ident(name) if !is_in_path && !is(before, "fn") => {
                    let name = name.to_string();
                    let is_path = is(Some(index + 1), ":") && is(Some(index + 2), ":");
                    let is_macro = is(Some(index + 1), "!");
                    if is_called || is_path || is_macro || name.starts_with(char::is_uppercase) {
                        self.names.insert(name);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns true if the code calls a method.
    pub(super) fn calls(&self, method: &str) -> bool {
        self.methods.contains(method)
    }

    /// Emits the import of those names of a module that the code uses; nothing if it uses none.
    pub(super) fn import(&self, module: TokenStream, names: &[&str]) -> TokenStream {
        let used = names.iter().filter(|name| self.names.contains(**name));
        let used: Vec<_> = used.map(|name| format_ident!("{name}")).collect();
        match used.as_slice() {
            [] => TokenStream::new(),
            [name] => quote!(use #module::#name;),
            _ => quote!(use #module::{#(#used),*};),
        }
    }
}
