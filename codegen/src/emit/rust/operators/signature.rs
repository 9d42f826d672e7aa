//! The parameters of methods.

use proc_macro2::TokenStream;
use quote::quote;

use super::attributes::{borrows, struct_name};
use super::names;
use crate::model::{Arity, AttributeType, Method, ParameterKind};

/// Returns true if a method has more parameters than the linter accepts without a reason.
pub(super) fn is_long(method: &Method) -> bool {
    const ACCEPTED: usize = 7;
    let attributes = if struct_name(method).is_some() { method.attributes.len() - 1 } else { 0 };
    // The device and the launch are two more.
    method.parameters().len() - attributes + 2 > ACCEPTED
}

/// Emits the signature of a method, without a body.
pub(super) fn signature(method: &Method) -> TokenStream {
    let name = names::snake(&method.name);
    let mut with = struct_name(method).map(|name| {
        let lifetime = method.attributes().any(|attribute| borrows(attribute.ty)).then(|| quote!(<'_>));
        quote!(with: &#name #lifetime)
    });
    let has_struct = with.is_some();
    let parameters = method.parameters().into_iter().filter_map(|parameter| {
        if has_struct && matches!(parameter.kind, ParameterKind::Attribute(_)) {
            return with.take();
        }
        let name = names::snake(&parameter.name);
        let ty = match parameter.kind {
            ParameterKind::Output(arity) => output_type(arity),
            ParameterKind::Input(arity) => input_type(arity),
            ParameterKind::Attribute(ty) => attribute_type(ty),
            ParameterKind::Random => quote!(i64),
        };
        Some(quote!(#name: #ty))
    });
    let result = if method.shape().is_some() { quote!(Vec<usize>) } else { quote!(()) };
    quote! {
        fn #name(&self, launch: Launch, #(#parameters),*) -> Result<#result>
    }
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

fn attribute_type(ty: AttributeType) -> TokenStream {
    match ty {
        AttributeType::Bool => quote!(bool),
        AttributeType::I64 => quote!(i64),
        AttributeType::F64 => quote!(f64),
        AttributeType::Integers => quote!(&[i64]),
        AttributeType::Numbers => quote!(&[f64]),
        AttributeType::Text => quote!(&str),
        AttributeType::Texts => quote!(&[&str]),
    }
}
