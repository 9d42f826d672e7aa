//! Structs of the ABI, with assertions of their layouts.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::emit::rust::doc::doc;
use crate::emit::rust::names;

/// A member of a struct of the ABI.
pub struct Member {
    pub name: Ident,
    pub ty: TokenStream,
    pub docs: String,
    /// Bytes from the start of the struct, if they are asserted.
    pub offset: Option<u64>,
}

/// Emits a struct of the ABI, and assertions of its layout.
pub fn layout_struct(name: &Ident, docs: &TokenStream, members: &[Member], size: u64) -> TokenStream {
    let size = names::number(size);
    let fields = members.iter().map(|Member { name, ty, docs, .. }| {
        let docs = doc(docs, "");
        quote! { #docs pub #name: #ty, }
    });
    let asserts = members.iter().filter_map(|Member { name: field, offset, .. }| {
        let offset = names::number((*offset)?);
        Some(quote! { ::core::assert!(::core::mem::offset_of!(#name, #field) == #offset); })
    });
    quote! {
        #docs
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub struct #name {
            #(#fields)*
        }

        const _: () = {
            ::core::assert!(::core::mem::size_of::<#name>() == #size);
            #(#asserts)*
        };
    }
}
