//! The types of parameters and results as the ABI passes them.

use proc_macro2::TokenStream;
use quote::quote;

use super::api_type::{is_by_pointer, scalar, type_path};
use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::model::{
    Direction, Function, HandleForm, Param, Passing, ReleaseId, ResultKind, Ty, TypeId, TypeKind,
};

/// Returns the type of a pointer to a function in a release.
pub fn function_pointer(context: Context, function: &Function, release: Option<ReleaseId>) -> TokenStream {
    let convention = convention(context);
    let inputs = raw_inputs(context, function, release);
    let output = raw_result(context, function);
    quote!(unsafe extern #convention fn(#(#inputs),*) #output)
}

/// Returns the types of a function's arguments in a release: its parameters, or the struct that contains them.
pub fn raw_inputs(context: Context, function: &Function, release: Option<ReleaseId>) -> Vec<TokenStream> {
    match &function.args {
        Some(args) => {
            let name = names::symbol(&args.c_name);
            vec![quote!(*mut ffi::#name)]
        }
        None => function.params_in(release).map(|param| raw_param(context, param)).collect(),
    }
}

/// Returns `"C"`, or `"C-unwind"` if calls may throw C++ exceptions. A plugin that fills a table or an object may throw one although
/// the interface forbids it: only with `"C-unwind"` can its caller say which function it was.
pub fn convention(context: Context) -> &'static str {
    if context.interface.unwinds || context.interface.kind.is_filled() { "C-unwind" } else { "C" }
}

/// Returns the return type of a function in the ABI, with its arrow.
pub fn raw_result(context: Context, function: &Function) -> TokenStream {
    match &function.result {
        ResultKind::Status => match context.interface.status {
            Some(_) if context.spec.error_type(context.interface).is_some() => {
                let object = raw_error(context);
                quote!(-> #object)
            }
            Some(status) => {
                let path = type_path(context, status);
                quote!(-> #path)
            }
            None => TokenStream::new(),
        },
        ResultKind::None => TokenStream::new(),
        ResultKind::Value(result) => {
            let ty = raw_param(context, result);
            quote!(-> #ty)
        }
    }
}

/// Returns the raw type of the error object that functions return.
pub fn raw_error(context: Context) -> Option<TokenStream> {
    context.spec.error_type(context.interface).map(|ty| raw_handle(context, ty))
}

/// Returns the raw type of a handle.
fn raw_handle(context: Context, id: TypeId) -> TokenStream {
    let path = ffi_path(context, id);
    if is_by_pointer(&context.spec.ty(id).kind) { quote!(*mut #path) } else { path }
}

/// Returns the type that a function writes through a pointer: a value, or the address of a borrowed list.
pub fn raw_written(context: Context, param: &Param) -> TokenStream {
    let element = raw_element(context, param);
    match param.ty {
        _ if param.is_lent_list() => quote!(*const #element),
        Ty::Pointer => quote!(*mut ::core::ffi::c_void),
        _ => element,
    }
}

/// Returns a parameter as the ABI passes it.
pub fn raw_param(context: Context, param: &Param) -> TokenStream {
    let pointer = |is_const: bool, target: TokenStream| {
        if is_const { quote!(*const #target) } else { quote!(*mut #target) }
    };
    let (memory, character) = (quote!(::core::ffi::c_void), quote!(::core::ffi::c_char));
    match context.spec.passing(param) {
        Passing::LentList => pointer(false, raw_written(context, param)),
        Passing::Array => {
            let element = raw_element(context, param);
            let is_read = param.dir == Direction::In;
            // For a handle, `const` applies to the object, not to the array.
            let is_handle = matches!(context.spec.kind(param.ty), Some(TypeKind::Handle { .. }));
            pointer(if is_handle { is_read } else { param.constness.unwrap_or(is_read) }, element)
        }
        Passing::Memory { is_const } => pointer(is_const, memory),
        Passing::MemoryPlace { is_const } => pointer(false, pointer(is_const, memory)),
        Passing::Text { is_const } => pointer(is_const, character),
        Passing::TextPlace { is_const } => pointer(false, pointer(is_const, character)),
        Passing::Object { is_const } => pointer(is_const, named(context, param)),
        Passing::ObjectPlace { is_const } => pointer(false, pointer(is_const, named(context, param))),
        Passing::Struct { is_const } => pointer(is_const, named(context, param)),
        Passing::Place { is_const } => pointer(is_const, raw_element(context, param)),
        Passing::Value => raw_element(context, param),
    }
}

/// Returns the path of a parameter's type, which the spec defines.
fn named(context: Context, param: &Param) -> TokenStream {
    param.ty.id().map_or_else(TokenStream::new, |id| ffi_path(context, id))
}

/// Returns the type of an array element or of a single value.
pub fn raw_element(context: Context, param: &Param) -> TokenStream {
    if let (Ty::Named(id), Some(name)) = (param.ty, context.spec.const_handle_name(param)) {
        return raw_path(context, id, name);
    }
    match param.ty {
        Ty::Pointer if param.constness.unwrap_or(param.dir == Direction::In) => {
            quote!(*const ::core::ffi::c_void)
        }
        Ty::Pointer => quote!(*mut ::core::ffi::c_void),
        Ty::String => quote!(*const ::core::ffi::c_char),
        Ty::Named(id) => match context.spec.ty(id).kind {
            // Both sides pass an enum as its number.
            TypeKind::Enum { .. } => type_path(context, id),
            TypeKind::Handle { form: HandleForm::Pointee(_), .. } => {
                let target = ffi_path(context, id);
                quote!(*mut #target)
            }
            _ => ffi_path(context, id),
        },
        ty => scalar(context, ty),
    }
}

/// Returns the path of the raw form of a type.
pub fn ffi_path(context: Context, id: TypeId) -> TokenStream {
    raw_path(context, id, &context.spec.ty(id).c_name)
}

/// Returns the path of an item of the raw ABI that a type defines: its C name or its tag.
pub fn raw_path(context: Context, id: TypeId, name: &str) -> TokenStream {
    let name = names::symbol(name);
    let owner = &context.spec.interfaces[id.interface.0];
    if std::ptr::eq(owner, context.interface) {
        quote!(ffi::#name)
    } else {
        let module = owner.ident();
        quote!(#module::ffi::#name)
    }
}
