//! The attribute `object`: the methods that an `impl` has are those that a host sees.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{ImplItem, ItemImpl, parse_quote};

/// Adds the method `provides` to an `impl` of the trait of an object.
pub fn expand(mut item: ItemImpl) -> syn::Result<TokenStream> {
    if item.trait_.is_none() {
        let message = "`#[tenon::object]` belongs on an `impl` of the trait of an object";
        return Err(syn::Error::new(item.self_ty.span(), message));
    }
    let methods = item.items.iter().filter_map(|item| match item {
        ImplItem::Fn(method) => Some(&method.sig.ident),
        _ => None,
    });
    let names: Vec<String> =
        methods.map(|name| name.to_string().trim_start_matches("r#").to_owned()).collect();
    let known = if names.is_empty() { quote!(false) } else { quote!(::core::matches!(method, #(#names)|*)) };
    item.items.push(parse_quote! {
        fn provides(&self, method: &str) -> bool {
            #known
        }
    });
    Ok(quote!(#item))
}
