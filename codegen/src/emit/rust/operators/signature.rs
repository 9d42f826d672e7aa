//! The parameters of methods.

use proc_macro2::TokenStream;
use quote::quote;

use super::names;
use crate::model::{Arity, AttributeType, Method, ParameterKind};

/// Emits the signature of a method, without a body.
pub(super) fn signature(method: &Method) -> TokenStream {
    let name = names::snake(&method.name);
    let parameters = method.parameters().into_iter().map(|parameter| {
        let name = names::snake(&parameter.name);
        let ty = match parameter.kind {
            ParameterKind::Output(arity) => output_type(arity),
            ParameterKind::Input(arity) => input_type(arity),
            ParameterKind::Attribute(ty) => attribute_type(ty),
            ParameterKind::Random => quote!(i64),
        };
        quote!(#name: #ty)
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
