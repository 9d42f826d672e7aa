//! The signatures of a table's functions. Releases with the same signature share a name.

use heck::ToPascalCase;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::emit::rust::types::raw_types::function_pointer;
use crate::model::{Function, ReleaseId};

/// Emits the start of the module `signature`, and its content.
pub fn emit(context: Context) -> (TokenStream, TokenStream) {
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

/// Returns a release for each signature of a function, newest first; `None`: there is only one signature.
pub fn signatures(context: Context, function: &Function) -> Vec<Option<ReleaseId>> {
    let changes = function.signature_changes(context.interface.releases.len());
    let older = changes.into_iter().rev().map(|(before, _)| Some(before));
    std::iter::once(context.interface.newest()).chain(older).collect()
}

/// Emits the same for each signature of a function, in the branches of a comparison with `release`.
pub fn for_each_signature(
    context: Context,
    function: &Function,
    release: &TokenStream,
    emit: impl Fn(Option<ReleaseId>) -> TokenStream,
) -> TokenStream {
    let mut signatures = signatures(context, function);
    let newest = emit(signatures.remove(0));
    if signatures.is_empty() {
        return newest;
    }
    let older = signatures.into_iter().flatten().rev().map(|last| {
        let (variant, tokens) = (names::variant_of(context.interface, last), emit(Some(last)));
        quote! { if #release <= Release::#variant { #tokens } else }
    });
    quote! { #(#older)* { #newest } }
}

/// Returns the last release with the signature that a function has in a release; `None`: the signature is the newest.
pub fn last_release(context: Context, function: &Function, release: Option<ReleaseId>) -> Option<ReleaseId> {
    let changes = function.signature_changes(context.interface.releases.len());
    changes
        .into_iter()
        .map(|(before, _)| before)
        .find(|before| release.is_some_and(|release| release <= *before))
}

/// Returns the path of a function's signature in a release.
pub fn path(context: Context, function: &Function, release: Option<ReleaseId>) -> TokenStream {
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
