//! Types of the raw ABI without names of the spec, for functions that pass their arguments on, or ignore them. Rust
//! calls a function through such a type as through the one with names: an enum is its number, and any address and any
//! function pointer has the same ABI.

use proc_macro2::TokenStream;
use quote::quote;

use super::api_type::scalar;
use super::raw_types::ffi_path;
use crate::emit::rust::Context;
use crate::model::{Function, Param, ResultKind, Ty, TypeKind};

/// Returns the types of the parameters of a function.
pub fn types(context: Context, function: &Function) -> Vec<TokenStream> {
    match &function.args {
        Some(_) => vec![quote!(*mut ::core::ffi::c_void)],
        None => function.params.iter().map(|param| passed(context, param)).collect(),
    }
}

/// Returns the parameters of a function, each with its name.
pub fn inputs(context: Context, function: &Function) -> Vec<TokenStream> {
    let named = function.params.iter().map(|param| {
        let (name, ty) = (param.ident(), passed(context, param));
        quote!(#name: #ty)
    });
    if function.args.is_some() { vec![quote!(arguments: *mut ::core::ffi::c_void)] } else { named.collect() }
}

fn passed(context: Context, param: &Param) -> TokenStream {
    if param.is_by_value() { value(context, param.ty) } else { quote!(*mut ::core::ffi::c_void) }
}

/// Returns the return type, with its arrow.
pub fn output(context: Context, function: &Function) -> TokenStream {
    let ty = match (&function.result, context.interface.status) {
        (ResultKind::Value(result), _) => result.ty,
        (ResultKind::Status, Some(status)) => Ty::Named(status),
        (ResultKind::Status, None) | (ResultKind::None, _) => return TokenStream::new(),
    };
    let ty = value(context, ty);
    quote!(-> #ty)
}

fn value(context: Context, ty: Ty) -> TokenStream {
    match (ty, context.spec.kind(ty)) {
        (_, Some(TypeKind::Enum { representation, .. })) => scalar(context, representation.ty()),
        (_, Some(TypeKind::Callback { .. })) => {
            quote!(::core::option::Option<unsafe extern "C-unwind" fn()>)
        }
        (Ty::Named(id), Some(TypeKind::Struct { .. })) => ffi_path(context, id),
        (Ty::Pointer | Ty::String | Ty::Named(_), _) => quote!(*mut ::core::ffi::c_void),
        _ => scalar(context, ty),
    }
}
