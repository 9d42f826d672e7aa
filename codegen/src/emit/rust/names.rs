//! Every identifier of the expansion goes through here.
//!
//! Local variables of the generated code begin with `__`, as no name of a spec does. All else that it names, it names
//! by an absolute path, or by a name that the rule E075 keeps from specs.

use proc_macro2::{Ident, Literal, Span};
use quote::format_ident;

use crate::model::Interface;

/// A field, parameter or method: as in the spec, raw where Rust took the word.
pub fn snake(name: &str) -> Ident {
    if syn::parse_str::<Ident>(name).is_ok() {
        Ident::new(name, Span::call_site())
    } else if matches!(name, "self" | "Self" | "super" | "crate" | "_") {
        Ident::new(&format!("{name}_"), Span::call_site())
    } else {
        Ident::new_raw(name, Span::call_site())
    }
}

/// A type or a C symbol: as it is, raw where Rust took the word.
pub fn symbol(name: &str) -> Ident {
    let is_plain = name.starts_with(|c: char| c.is_ascii_uppercase()) && name != "Self";
    if is_plain { Ident::new(name, Span::call_site()) } else { snake(name) }
}

/// The place that a result goes to: `__place_count`.
pub fn place(param: &str) -> Ident {
    format_ident!("__place_{param}")
}

/// A parameter as the ABI passes it: `__raw_count`.
pub fn raw(param: &str) -> Ident {
    format_ident!("__raw_{param}")
}

/// `memory_copy_h2d` → `MemoryCopyH2d`.
pub fn pascal(name: &str) -> Ident {
    symbol(&crate::sdk::pascal(name))
}

/// `invalid_argument` → `INVALID_ARGUMENT`.
pub fn constant(name: &str) -> Ident {
    let upper = name.to_uppercase();
    symbol(&if upper.starts_with(|c: char| c.is_ascii_digit()) { format!("_{upper}") } else { upper })
}

/// `3.1` → `v3_1`.
pub fn release_module(release: &str) -> Ident {
    symbol(&format!("v{}", release.replace('.', "_")))
}

/// `3.1` → `V3_1`.
pub fn release_variant(release: &str) -> Ident {
    symbol(&format!("V{}", release.replace('.', "_")))
}

/// The trait that the methods of an interface are called through: a method of the same name elsewhere is then no rival.
pub fn trait_of(interface: &Interface) -> Ident {
    symbol(&interface.trait_name)
}

/// A number without a suffix.
pub fn number(value: u64) -> Literal {
    Literal::u64_unsuffixed(value)
}
