//! Types of the raw ABI without the names of the spec, for functions that pass their arguments on or ignore them. They
//! are compatible with the named types: an enum is passed as its number, all addresses are passed alike, and so are all
//! function pointers.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::api_type::scalar;
use super::raw_types::ffi_path;
use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::model::{Function, Param, ResultKind, Ty, TypeKind};

/// Returns the parameters of a function: their names and types.
pub fn parameters(context: Context, function: &Function) -> Vec<(Ident, TokenStream)> {
    match &function.args {
        Some(_) => vec![(names::symbol("arguments"), quote!(*mut ::core::ffi::c_void))],
        None => function.params.iter().map(|param| (param.ident(), passed(context, param))).collect(),
    }
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
