//! The values of attributes in generated code.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};

use crate::model::{AttributeValue, OutputType};

/// Returns the value of an attribute.
pub(super) fn constant(value: &AttributeValue) -> TokenStream {
    match value {
        AttributeValue::Truth(value) => quote!(#value),
        AttributeValue::Integer(value) => Literal::i64_unsuffixed(*value).into_token_stream(),
        AttributeValue::Number(value) => number(*value),
        AttributeValue::Integers(values) => {
            let values = values.iter().map(|value| Literal::i64_unsuffixed(*value));
            quote!(&[#(#values),*])
        }
        AttributeValue::Numbers(values) => {
            let values = values.iter().map(|value| number(*value));
            quote!(&[#(#values),*])
        }
        AttributeValue::Text(text) => quote!(#text),
        AttributeValue::Texts(texts) => quote!(&[#(#texts),*]),
    }
}

/// Returns a number, which may be infinite or NaN.
pub(super) fn number(value: f64) -> TokenStream {
    match value {
        f64::INFINITY => quote!(f64::INFINITY),
        f64::NEG_INFINITY => quote!(f64::NEG_INFINITY),
        value if value.is_nan() => quote!(f64::NAN),
        value => Literal::f64_unsuffixed(value).into_token_stream(),
    }
}

/// Emits the element type of an output; nothing if it is not the same in each call.
pub(super) fn data_type(ty: OutputType) -> TokenStream {
    match ty {
        OutputType::Bool => quote!(DataType::BOOL),
        OutputType::I32 => quote!(DataType::INT32),
        OutputType::I64 => quote!(DataType::INT64),
        OutputType::F32 => quote!(DataType::FLOAT32),
        OutputType::Like(_)
        | OutputType::Wide(_)
        | OutputType::ComplexOf(_)
        | OutputType::RealOf(_)
        | OutputType::Any => TokenStream::new(),
    }
}
