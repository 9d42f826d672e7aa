//! Calls of the engine that runs the loops of formulas.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::formula::Elements;
use crate::model::AttributeType;

/// Emits the call of the engine for elementwise operators, with a loop for each type that it computes with.
pub(super) fn call(
    elements: Elements,
    out: &Ident,
    tensors: &[TokenStream],
    attributes: &[(Ident, AttributeType)],
) -> TokenStream {
    let names: Vec<_> = attributes.iter().map(|(name, _)| quote!(#name)).collect();
    let each = match attributes.iter().position(|(_, ty)| *ty == AttributeType::Bool) {
        // A loop for each value: one loop for both would compute both choices for each element.
        Some(index) => {
            let [yes, no] = [true, false].map(|value| {
                let mut names = names.clone();
                names[index] = quote!(#value);
                quote!(each(#(#names),*))
            });
            let name = &names[index];
            quote!(if #name { #yes } else { #no })
        }
        None => quote!(each(#(#names),*)),
    };
    let engine = match elements {
        Elements::Floats => format_ident!("float"),
        Elements::Both => format_ident!("numeric"),
        Elements::Integers => format_ident!("whole"),
    };
    quote!(each_element!(#engine, #out, [#(#tensors),*], #each))
}
