//! The imports of generated files: of each module, the names that the code uses.

use std::collections::{BTreeSet, HashSet};

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::{format_ident, quote};

use super::list;

/// The names that some code uses.
#[derive(Default)]
pub struct Used {
    /// Types, constants, modules at the start of a path, and functions and macros that are called.
    names: HashSet<String>,
}

impl Used {
    /// Collects the names that some code uses.
    pub fn by(code: &TokenStream) -> Self {
        let mut used = Used::default();
        used.add(code.clone());
        used
    }

    fn add(&mut self, code: TokenStream) {
        let tokens: Vec<TokenTree> = code.into_iter().collect();
        let is = |index: Option<usize>, text: &str| match index.and_then(|index| tokens.get(index)) {
            Some(TokenTree::Ident(name)) => name == text,
            Some(TokenTree::Punct(punct)) => text.chars().eq([punct.as_char()]),
            _ => false,
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
                TokenTree::Group(group) if is(index.checked_sub(2), "enum") => {
                    self.add(values(group.stream()))
                }
                TokenTree::Group(group) => self.add(group.stream()),
                TokenTree::Ident(_) if is(before, ".") => {}
                TokenTree::Ident(name) if !is_in_path && !is(before, "fn") => {
                    let name = name.to_string();
                    let is_path = matches!(tokens.get(index + 1), Some(TokenTree::Punct(colon))
                        if colon.as_char() == ':' && colon.spacing() == Spacing::Joint);
                    let is_macro = is(Some(index + 1), "!");
                    if is_called || is_path || is_macro || name.starts_with(char::is_uppercase) {
                        self.names.insert(name);
                    }
                }
                _ => {}
            }
        }
    }

    /// Emits the import of those names of a module that the code uses; nothing if it uses none.
    pub fn import(&self, module: TokenStream, names: &[&str]) -> TokenStream {
        self.import_of(module, names.iter().copied())
    }

    /// Emits the import of those of some names in a module that the code uses; nothing if it uses none.
    pub fn import_of<'a>(&self, module: TokenStream, names: impl Iterator<Item = &'a str>) -> TokenStream {
        let used = names.filter(|name| self.names.contains(*name));
        let used: Vec<_> = used.map(|name| format_ident!("{name}")).collect();
        match used.as_slice() {
            [] => TokenStream::new(),
            [name] => quote!(use #module::#name;),
            _ => quote!(use #module::{#(#used),*};),
        }
    }
}

/// Returns the values and fields of an enum, without the names of its variants.
fn values(variants: TokenStream) -> TokenStream {
    let mut is_first = true;
    let is_used = |token: &TokenTree| match token {
        TokenTree::Punct(comma) if comma.as_char() == ',' => {
            is_first = true;
            false
        }
        TokenTree::Ident(_) => !std::mem::take(&mut is_first),
        _ => true,
    };
    variants.into_iter().filter(is_used).collect()
}

/// Collects the names that the items of a module define or import.
pub fn defined(module: &TokenStream, names: &mut BTreeSet<String>) {
    const ITEMS: [&str; 9] = ["const", "enum", "fn", "mod", "static", "struct", "trait", "type", "union"];
    let (mut is_item, mut imported) = (false, None);
    let mut is_pointer = false;
    let tokens: Vec<TokenTree> = module.clone().into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        if let Some(types) = list::types(&tokens[index..]) {
            defined(&types, names);
        }
        // In `*const Type` nothing is defined.
        let was_pointer = std::mem::replace(
            &mut is_pointer,
            matches!(token, TokenTree::Punct(star) if star.as_char() == '*'),
        );
        let word = match token {
            TokenTree::Ident(word) => word.to_string(),
            TokenTree::Punct(end) if end.as_char() == ';' => {
                names.extend(imported.take().flatten());
                continue;
            }
            _ => {
                is_item = false;
                imported = imported.map(|_| None);
                continue;
            }
        };
        let was_item = std::mem::replace(&mut is_item, !was_pointer && ITEMS.contains(&word.as_str()));
        if word == "use" {
            imported = Some(None);
        } else if imported.is_some() {
            imported = Some(Some(word));
        } else if was_item && !is_item && word != "unsafe" {
            names.insert(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_imports_what_it_uses_and_another_part_defines() {
        let part = quote! {
            pub enum Level { Low = Bound::LOW, High(Number) }
            pub fn level(field: ::core::ffi::c_int) -> ::core::option::Option<Level> { ffi::level(field).round() }
        };
        let names = ["Bound", "High", "Low", "Number", "Other", "ffi", "field", "round"];
        let import = Used::by(&part).import(quote!(super), &names);
        assert_eq!(
            import.to_string(),
            quote!(
                use super::{Bound, Number, ffi};
            )
            .to_string()
        );
    }

    #[test]
    fn module_defines_its_items_and_what_it_imports_by_name() {
        let module = quote! {
            pub use self::types::*;
            pub(crate) use super::device;
            pub const unsafe fn call(argument: Argument) { struct Inner; }
            impl Trait for Type {}
            pub struct Handle(usize);
            type Pointer = *const other::Type;
            #[__list(tenon::handle)]
            { pub struct Stream(*mut other::Stream); }
            #[__list(tenon::calls)]
            { trait Device { fn call(); } }
        };
        let mut names = BTreeSet::new();
        defined(&module, &mut names);
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["Handle", "Pointer", "Stream", "call", "device"]);
    }
}
