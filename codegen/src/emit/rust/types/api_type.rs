//! Types in the Rust API: the types of parameters, fields and results.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::model::{Constant, HandleForm, Param, Space, StatusValue, Ty, TypeId, TypeKind};

/// Returns true if C passes a handle as `Name*`.
pub fn is_by_pointer(kind: &TypeKind) -> bool {
    matches!(kind, TypeKind::Handle { form: HandleForm::Pointee(_), .. })
}

/// Returns the path of a type: types of another interface are in the module beside this one.
pub fn type_path(context: Context, id: TypeId) -> TokenStream {
    let ty = context.spec.ty(id);
    let name = names::symbol(&ty.name.value);
    let owner = &context.spec.interfaces[id.interface.0];
    if std::ptr::eq(owner, context.interface) {
        quote!(#name)
    } else {
        let module = owner.ident();
        quote!(#module::#name)
    }
}

/// Returns the type of the interface's status, if it has one.
pub fn status_type(context: Context) -> Option<TokenStream> {
    context.interface.status.map(|id| type_path(context, id))
}

/// Returns the path of a value of the interface's status.
pub fn status_value(context: Context, value: StatusValue) -> TokenStream {
    let path = status_type(context);
    let name = names::constant(&context.spec.status_values(context.interface)[value.0].name.value);
    quote!(#path::#name)
}

/// Returns a type by value in the Rust API; for a pointer, it depends on the memory that it points to.
pub fn value(context: Context, ty: Ty, space: Option<Space>) -> TokenStream {
    match (ty, space) {
        (Ty::Pointer, Some(Space::Device)) => quote!(::tenon::DevicePtr),
        (Ty::Pointer, Some(Space::Host)) => quote!(::tenon::HostPtr),
        (Ty::Pointer, Some(Space::Unified)) => quote!(::tenon::UnifiedPtr),
        (Ty::Pointer, Some(Space::Any) | None) => quote!(::tenon::AnyPtr),
        _ => scalar(context, ty),
    }
}

/// Returns a type by value that is not a pointer.
pub fn scalar(context: Context, ty: Ty) -> TokenStream {
    match ty {
        Ty::Bool => quote!(bool),
        Ty::Int { bits, signed } => {
            let name = names::symbol(&format!("{}{bits}", if signed { 'i' } else { 'u' }));
            quote!(#name)
        }
        Ty::F32 => quote!(f32),
        Ty::F64 => quote!(f64),
        Ty::Size => quote!(usize),
        Ty::ULongLong => quote!(u64),
        Ty::Char => quote!(::core::ffi::c_char),
        Ty::String => quote!(&::core::ffi::CStr),
        Ty::Pointer => quote!(::tenon::AnyPtr),
        Ty::Named(id) => type_path(context, id),
    }
}

/// Returns a constant as a value of a parameter.
pub fn constant(context: Context, param: &Param, constant: Constant) -> TokenStream {
    match constant {
        Constant::Bool(value) => quote!(#value),
        Constant::Null => {
            let ty = value(context, param.ty, param.space);
            quote!(#ty::NULL)
        }
        Constant::Integer(number) => {
            let literal = match param.ty {
                Ty::F32 | Ty::F64 => Literal::f64_unsuffixed(number as f64),
                _ => Literal::i64_unsuffixed(number),
            };
            match context.spec.kind(param.ty) {
                Some(TypeKind::Enum { .. } | TypeKind::Id { .. }) => {
                    let ty = value(context, param.ty, None);
                    quote!(#ty(#literal))
                }
                _ => quote!(#literal),
            }
        }
    }
}
