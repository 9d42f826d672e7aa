//! The parameters of methods.

use proc_macro2::TokenStream;
use quote::quote;

use super::names;
use crate::model::{Arity, AttributeType, Method, Work};

/// The signature of a method, without a body.
pub(super) fn signature(method: &Method) -> TokenStream {
    let name = names::snake(&method.name);
    let outputs = method.outputs().into_iter().map(|(name, output)| {
        let name = names::snake(&name);
        let ty = match output {
            Some(output) => output_type(output.arity),
            None => output_type(Arity::One),
        };
        quote!(#name: #ty)
    });
    let inputs = method.inputs.iter().map(|variable| {
        let name = names::snake(&method.operator.variable_name(*variable));
        let ty = match method.operator.arity(*variable) {
            Arity::One => quote!(&TensorRef<'_>),
            Arity::Optional => quote!(Option<&TensorRef<'_>>),
            Arity::List => quote!(&[TensorRef<'_>]),
            Arity::OptionalList => quote!(Option<&[TensorRef<'_>]>),
        };
        quote!(#name: #ty)
    });
    let attributes = method.attributes.iter().map(|index| {
        let attribute = &method.operator.attributes[*index];
        let name = names::snake(&attribute.name);
        let ty = match attribute.ty {
            AttributeType::Bool => quote!(bool),
            AttributeType::I64 => quote!(i64),
            AttributeType::F64 => quote!(f64),
            AttributeType::Integers => quote!(&[i64]),
            AttributeType::Numbers => quote!(&[f64]),
            AttributeType::Text => quote!(&str),
            AttributeType::Texts => quote!(&[&str]),
        };
        quote!(#name: #ty)
    });
    let is_shape = matches!(method.work, Work::Shape(_));
    let random = (method.operator.random && !is_shape).then(|| quote!(seed: i64, offset: i64));
    let result = if is_shape { quote!(Vec<usize>) } else { quote!(()) };
    quote! {
        fn #name(&self, launch: Launch, #(#outputs,)* #(#inputs,)* #(#attributes,)* #random) -> Result<#result>
    }
}

fn output_type(arity: Arity) -> TokenStream {
    match arity {
        Arity::One => quote!(&mut TensorMut<'_>),
        Arity::Optional => quote!(Option<&mut TensorMut<'_>>),
        Arity::List | Arity::OptionalList => quote!(&mut [Option<TensorMut<'_>>]),
    }
}
