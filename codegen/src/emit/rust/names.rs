//! The identifiers of the generated code.
//!
//! Local variables of the generated code begin with `__`, which no name in a spec does. All other names are absolute
//! paths, or names that rule E075 forbids in specs.

use std::cell::RefCell;
use std::collections::HashMap;

use heck::ToPascalCase;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};

use crate::emit::rust::context::Context;
use crate::model::{Function, Group, Interface, Param, ReleaseId};

/// Returns the name of a field, parameter or method: as in the spec, or raw if it is a keyword of Rust.
pub fn snake(name: &str) -> Ident {
    if is_plain(name) {
        Ident::new(name, Span::call_site())
    } else if matches!(name, "self" | "Self" | "super" | "crate" | "_") {
        Ident::new(&format!("{name}_"), Span::call_site())
    } else {
        Ident::new_raw(name, Span::call_site())
    }
}

/// Returns true for an identifier that is not a keyword. Results are cached, because parsing with `syn` is slow.
pub fn is_plain(name: &str) -> bool {
    thread_local! {
        static KNOWN: RefCell<HashMap<String, bool>> = RefCell::default();
    }
    KNOWN.with_borrow_mut(|known| match known.get(name) {
        Some(is_plain) => *is_plain,
        // `syn` does not know the keyword that the edition 2024 added.
        None => {
            let is_ident = name != "gen" && syn::parse_str::<Ident>(name).is_ok();
            *known.entry(name.to_owned()).or_insert(is_ident)
        }
    })
}

/// Returns the name of a type or a C symbol: unchanged, or raw if it is a keyword of Rust.
pub fn symbol(name: &str) -> Ident {
    let is_plain = name.starts_with(|c: char| c.is_ascii_uppercase()) && name != "Self";
    if is_plain { Ident::new(name, Span::call_site()) } else { snake(name) }
}

/// Returns the variable that a result is written to: `__place_count`.
pub fn place(param: &str) -> Ident {
    format_ident!("__place_{param}")
}

/// Returns the variable of a parameter as the ABI passes it: `__raw_count`.
pub fn raw(param: &str) -> Ident {
    format_ident!("__raw_{param}")
}

impl Param {
    /// Returns its name as an identifier.
    pub(super) fn ident(&self) -> Ident {
        snake(&self.name.value)
    }
}

impl Function {
    /// Returns the name of its method.
    pub(super) fn ident(&self) -> Ident {
        snake(&self.name.value)
    }

    /// Returns its variant of the enum `Function`.
    pub(super) fn variant(&self) -> Ident {
        pascal(&self.name.value)
    }
}

impl Interface {
    /// Returns the name of its module.
    pub(super) fn ident(&self) -> Ident {
        snake(&self.name.value)
    }
}

/// Converts a name to Pascal case: `memory_copy_h2d` → `MemoryCopyH2d`.
pub fn pascal(name: &str) -> Ident {
    symbol(&name.to_pascal_case())
}

/// Converts a name to that of a constant: `invalid_argument` → `INVALID_ARGUMENT`.
pub fn constant(name: &str) -> Ident {
    let upper = name.to_uppercase();
    symbol(&if upper.starts_with(|c: char| c.is_ascii_digit()) { format!("_{upper}") } else { upper })
}

/// Converts the name of a release to that of its module: `3.1` → `v3_1`.
pub fn release_module(release: &str) -> Ident {
    symbol(&format!("v{}", release.replace('.', "_")))
}

/// Converts the name of a release to that of its variant: `3.1` → `V3_1`.
pub fn release_variant(release: &str) -> Ident {
    symbol(&format!("V{}", release.replace('.', "_")))
}

/// Returns the variant of a release.
pub fn variant_of(interface: &Interface, release: ReleaseId) -> Ident {
    release_variant(&interface.releases[release.0].name.value)
}

/// Returns the path of a function that is written by hand.
pub fn path(path: &str) -> TokenStream {
    let names = path.split("::").map(snake);
    quote!(#(#names)::*)
}

/// Returns the trait to use in calls of an interface's methods. Naming it avoids ambiguity with other methods of the
/// same name.
pub fn trait_of(interface: &Interface) -> Ident {
    symbol(&interface.trait_name)
}

/// Returns the path of a function's method. Its trait is that of the group, if groups have traits.
pub fn method(interface: &Interface, function: &Function) -> TokenStream {
    let (name, method) = (symbol(&interface.trait_with(function)), function.ident());
    quote!(#name::#method)
}

/// Returns a number without a suffix.
pub fn number(value: u64) -> Literal {
    Literal::u64_unsuffixed(value)
}

/// Returns the name of a group's part. It is unique in the root.
pub fn part(context: Context, group: &Group) -> String {
    let used = context.interface.uses.iter().map(|id| &context.spec.interfaces[id.0].name.value);
    match group.name.as_str() {
        name if ["ffi", "mod", "refused"].contains(&name) || used.into_iter().any(|used| used == name) => {
            format!("{name}_group")
        }
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_raw() {
        assert_eq!(
            ["gen", "in", "self", "stream"].map(|name| snake(name).to_string()),
            ["r#gen", "r#in", "self_", "stream"]
        );
    }
}
