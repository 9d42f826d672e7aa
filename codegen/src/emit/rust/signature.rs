//! The signatures of a table's functions. Releases with the same signature share a name.

use heck::ToPascalCase;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::raw_types::function_pointer;
use super::thunk::{last_release, signatures};
use super::{Context, names};
use crate::model::{Function, ReleaseId};

/// Emits the start of the module `signature`, and its content.
pub(super) fn emit(context: Context) -> (TokenStream, TokenStream) {
    let types = context.interface.functions.iter().flat_map(|function| {
        signatures(context, function).into_iter().map(move |release| {
            let (name, ty) = (name(context, function, release), function_pointer(context, function, release));
            let docs = format!(" `{}`.", function.name.value);
            quote! { #[doc = #docs] pub type #name = #ty; }
        })
    });
    let module = quote! {
        /// The signatures of the functions in the ABI.
        pub
    };
    (module, quote! { #(#types)* })
}

/// Returns the path of a function's signature in a release.
pub(super) fn path(context: Context, function: &Function, release: Option<ReleaseId>) -> TokenStream {
    let name = name(context, function, release);
    quote!(signature::#name)
}

fn name(context: Context, function: &Function, release: Option<ReleaseId>) -> Ident {
    let name = function.name.value.to_pascal_case();
    match last_release(context, function, release) {
        Some(last) => {
            let last = names::release_variant(&context.interface.releases[last.0].name.value);
            format_ident!("{name}FnUntil{last}")
        }
        None => format_ident!("{name}Fn"),
    }
}
