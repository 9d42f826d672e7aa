//! The parameters of methods.

use proc_macro2::TokenStream;
use quote::quote;

use super::attributes::{attribute_type, borrows, struct_name};
use super::names;
use crate::model::{Arity, Method, ParameterKind};

/// Returns true if a method has more parameters than the linter accepts without a reason.
pub(super) fn is_long(method: &Method) -> bool {
    const ACCEPTED: usize = 7;
    // The device and the launch are two more.
    parameters(method).len() + 2 > ACCEPTED
}

/// Emits the signature of a method, without a body.
pub(super) fn signature(method: &Method) -> TokenStream {
    let (name, parameters) = (names::snake(&method.name), parameters(method));
    let result = if method.shape().is_some() { quote!(Vec<usize>) } else { quote!(()) };
    quote! {
        fn #name(&self, launch: Launch, #(#parameters),*) -> Result<#result>
    }
}

/// Emits the parameters after the launch: the attributes are one struct if they are several.
fn parameters(method: &Method) -> Vec<TokenStream> {
    let mut with = struct_name(method).map(|name| {
        let lifetime = method.attributes().any(|attribute| borrows(attribute.ty)).then(|| quote!(<'_>));
        quote!(with: &#name #lifetime)
    });
    let has_struct = with.is_some();
    let parameters = method.parameters().into_iter().filter_map(|parameter| {
        let name = names::snake(&parameter.name);
        let ty = match parameter.kind {
            ParameterKind::Attribute(_) if has_struct => return with.take(),
            ParameterKind::Output(arity) => output_type(arity),
            ParameterKind::Input(arity) => input_type(arity),
            ParameterKind::Attribute(ty) => attribute_type(ty, None),
            ParameterKind::Random => quote!(i64),
        };
        Some(quote!(#name: #ty))
    });
    parameters.collect()
}

fn output_type(arity: Arity) -> TokenStream {
    match arity {
        Arity::One => quote!(&mut TensorMut<'_>),
        Arity::Optional => quote!(Option<&mut TensorMut<'_>>),
        Arity::List | Arity::OptionalList => quote!(&mut [Option<TensorMut<'_>>]),
    }
}

fn input_type(arity: Arity) -> TokenStream {
    match arity {
        Arity::One => quote!(&TensorRef<'_>),
        Arity::Optional => quote!(Option<&TensorRef<'_>>),
        Arity::List => quote!(&[TensorRef<'_>]),
        Arity::OptionalList => quote!(Option<&[TensorRef<'_>]>),
    }
}
