//! The arguments of a function, as its steps use them.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::emit::rust::context::Context;
use crate::model::{
    AttributeType, Carrier, ComputeKind, Direction, Extent, Form, Function, Length, Param, ParamId, Ty,
    TypeKind,
};

/// A parameter of a computed function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    /// A tensor.
    Tensor,
    /// A tensor that may be null.
    OptionalTensor,
    /// A list of tensors.
    Tensors,
    /// A number with its type.
    Number,
    /// A value that is used as it is, or as a wrapper that rules understand.
    Value,
}

/// Returns the form of a parameter in steps.
pub(super) fn argument(context: Context, param: &Param) -> Argument {
    match context.spec.compute_kind(param.ty) {
        Some(ComputeKind::Tensor) if param.dir == Direction::Out => Argument::Value,
        Some(ComputeKind::Tensor) if param.length.is_some() => Argument::Tensors,
        Some(ComputeKind::Tensor) if param.nullable => Argument::OptionalTensor,
        Some(ComputeKind::Tensor) => Argument::Tensor,
        Some(ComputeKind::Number) if !param.nullable => Argument::Number,
        _ => Argument::Value,
    }
}

/// Emits the parameter with the surroundings of the call, or a null pointer if there is none.
pub(super) fn surroundings(context: Context, function: &Function) -> TokenStream {
    let param =
        function.params.iter().find(|param| context.spec.compute_kind(param.ty) == Some(ComputeKind::Call));
    param.map_or_else(
        || quote!(::core::ptr::null_mut()),
        |param| {
            let name = param.ident();
            quote!(#name)
        },
    )
}

/// Emits the statement that reads the arguments that the steps use.
pub(super) fn read(context: Context, function: &Function) -> TokenStream {
    let params = (0..function.params.len()).map(ParamId);
    let (names, values): (Vec<Ident>, Vec<TokenStream>) = params
        .filter(|id| !matches!(function.forms[id.0], Form::Carried(_)) && is_used(function, *id))
        .map(|id| function.param(id))
        .filter_map(|param| Some((param.ident(), value(context, function, param)?)))
        .unzip();
    match names.as_slice() {
        [] => TokenStream::new(),
        [name] => quote! {
            __comment!("SAFETY: by the promise of the caller.");
            let #name = unsafe { #(#values)* };
        },
        _ => quote! {
            __comment!("SAFETY: by the promise of the caller.");
            let (#(#names),*) = unsafe { (#(#values),*) };
        },
    }
}

/// Returns true if the steps use a parameter.
fn is_used(function: &Function, id: ParamId) -> bool {
    function.compute.iter().any(|step| step.uses(id))
}

/// Returns the name of a parameter in the signature, with an underscore if nothing uses it.
pub(super) fn declared(context: Context, function: &Function, id: ParamId) -> Ident {
    let param = function.param(id);
    let is_length = match function.forms[id.0] {
        Form::Carried(Carrier::Slice(list)) => is_used(function, list),
        _ => context.spec.compute_kind(param.ty) == Some(ComputeKind::Call),
    };
    if is_length || is_used(function, id) { param.ident() } else { format_ident!("_{}", param.name.value) }
}

/// Reads an argument; `None` for one that is used as it is.
fn value(context: Context, function: &Function, param: &Param) -> Option<TokenStream> {
    let (name, text) = (param.ident(), &param.name.value);
    let is_const = param.constness == Some(true);
    let handle = if is_const { quote!(#name.cast_mut()) } else { quote!(#name) };
    let is_output = param.dir == Direction::Out;
    Some(match (context.spec.compute_kind(param.ty), &param.length) {
        (Some(ComputeKind::Call), _) => return None,
        (Some(ComputeKind::Tensor), Some(Length::Count(Extent::Param(count)))) => {
            let count = function.param(*count);
            let number = count.ident();
            let is_wide = matches!(count.ty, Ty::Int { bits: 64, .. });
            let number = if is_wide { quote!(#number) } else { quote!(#number.into()) };
            let read = if param.nullable { quote!(optional_tensors) } else { quote!(tensors) };
            quote!(call.#read(#text, #name.cast(), #number)?)
        }
        (Some(ComputeKind::Tensor), _) if is_output && param.nullable => {
            quote!(call.optional_place(#text, #name)?)
        }
        (Some(ComputeKind::Tensor), _) if is_output => quote!(call.place(#text, #name)?),
        (Some(ComputeKind::Tensor), _) if param.nullable => quote!(call.optional_tensor(#text, #handle)?),
        (Some(ComputeKind::Tensor), _) => quote!(call.tensor(#text, #handle)?),
        (Some(ComputeKind::Number), _) if param.nullable => quote!(call.optional_number(#text, #name)?),
        (Some(ComputeKind::Number), _) => quote!(call.number(#text, #name)?),
        (Some(ComputeKind::Integers), _) if param.by_pointer => quote!(call.optional_integers(#text, #name)?),
        (Some(ComputeKind::Integers), _) => quote!(call.integers(#text, #name)?),
        (Some(ComputeKind::Generator), _) => quote!(call.generator(#text, #handle)?),
        (None, _) if param.ty == Ty::String => quote!(call.text(#text, #name)?),
        (None, _) if param.dir != Direction::In => quote!(call.target(#text, #name)?),
        (None, Some(Length::Count(Extent::Number(1)))) => quote!(call.optional_value(#name)),
        (None, _) => return None,
    })
}

/// Converts a parameter that is not a tensor to the type of an attribute.
pub(super) fn attribute(context: Context, param: &Param, ty: AttributeType) -> TokenStream {
    let name = param.ident();
    let is_enum = matches!(context.spec.kind(param.ty), Some(TypeKind::Enum { .. }));
    match (context.spec.compute_kind(param.ty), ty, param.ty) {
        (Some(ComputeKind::Number), AttributeType::F64, _) => quote!(#name.to_f64()),
        (Some(ComputeKind::Number), AttributeType::I64, _) => quote!(#name.to_i64()),
        (Some(ComputeKind::Number), AttributeType::Bool, _) => quote!(#name.to_bool()),
        (None, AttributeType::F64, Ty::F32) => quote!(f64::from(#name)),
        (None, AttributeType::F64, Ty::Int { .. }) => quote!(#name as f64),
        (None, AttributeType::I64, Ty::Int { bits: 8..=32, .. }) => quote!(i64::from(#name)),
        _ if is_enum => quote!(i64::from(#name.0)),
        _ => quote!(#name),
    }
}
