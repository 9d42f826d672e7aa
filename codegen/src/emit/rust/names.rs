//! Every identifier of the expansion goes through here.

use proc_macro2::{Ident, Literal, Span};

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

/// A type or a C symbol: as it is.
pub fn symbol(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// `memory_copy_h2d` → `MemoryCopyH2d`.
pub fn pascal(name: &str) -> Ident {
    let text: String = name
        .split('_')
        .map(|part| {
            let mut letters = part.chars();
            letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
        })
        .collect();
    symbol(&text)
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

/// A number without a suffix.
pub fn number(value: u64) -> Literal {
    Literal::u64_unsuffixed(value)
}
