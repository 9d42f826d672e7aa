//! The values that steps pass to methods and to functions that are written by hand.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, quote};

use crate::emit::rust::attribute::{constant, number};
use crate::emit::rust::names;
use crate::model::{AttributeType, Callee, ComputeValue, Method, OperatorCall, ParamId, TensorName};

/// A writer of steps: it knows what a name stands for, and stores the results of nested calls.
pub trait Values {
    /// Emits a parameter as it is passed to a function.
    fn param(&self, id: ParamId) -> TokenStream;

    /// Emits a name as it is passed to a function.
    fn passed(&self, name: &TensorName) -> TokenStream {
        match name {
            TensorName::Local(name) => {
                let name = names::snake(name);
                quote!(&#name)
            }
            TensorName::Param(id) => self.param(*id),
        }
    }

    /// Emits a nested call and stores its result in a variable. Returns the variable.
    fn part(&mut self, call: &OperatorCall) -> Ident;

    /// Emits a value for an attribute of a type.
    fn attribute(&mut self, value: &ComputeValue, ty: AttributeType) -> TokenStream;

    /// Emits the attributes that a call passes to a method: its own values, or the defaults.
    fn attributes(&mut self, call: &OperatorCall, method: &Method) -> Vec<TokenStream> {
        let attributes = method.attributes.iter().map(|index| &method.operator.attributes[*index]);
        attributes
            .map(|wanted| match call.attribute(&wanted.name) {
                Some(value) => self.attribute(value, wanted.ty),
                None => wanted.default.as_ref().map(constant).unwrap_or_default(),
            })
            .collect()
    }

    /// Emits the call of a function that is written by hand. It takes some arguments before those of the call.
    fn rule(&mut self, call: &OperatorCall, first: &[TokenStream]) -> TokenStream {
        let Callee::Rule(path) = &call.callee else { return TokenStream::new() };
        let path = names::path(path);
        let values: Vec<TokenStream> = call.values().map(|value| self.value(value)).collect();
        quote!(#path(#(#first,)* #(#values),*)?)
    }

    /// Emits a value as it is passed to a function.
    fn value(&mut self, value: &ComputeValue) -> TokenStream {
        match value {
            ComputeValue::Name(name) => self.passed(name),
            ComputeValue::Integer(value) => Literal::i64_unsuffixed(*value).into_token_stream(),
            ComputeValue::Number(value) => number(*value),
            ComputeValue::Truth(value) => quote!(#value),
            ComputeValue::Text(text) => quote!(#text),
            ComputeValue::Absent => quote!(None),
            ComputeValue::List(values) => {
                let values: Vec<TokenStream> = values.iter().map(|value| self.value(value)).collect();
                quote!(&[#(#values),*])
            }
            ComputeValue::Call(call) => {
                let part = self.part(call);
                quote!(&#part)
            }
        }
    }
}
