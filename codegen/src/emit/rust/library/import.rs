//! Symbols that a host exports: a struct of pointers that are looked up at run time.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::doc::doc;
use crate::emit::rust::method::form::{Form, Output};
use crate::emit::rust::method::pieces::{from_raw, to_raw};
use crate::emit::rust::names;
use crate::emit::rust::types::api_type::{is_by_pointer, type_path, value};
use crate::emit::rust::types::raw_types::{function_pointer, raw_param};
use crate::model::{Direction, Function, Param, ResultKind, Ty, TypeKind};

pub fn emit(context: Context, libraries: &[String]) -> TokenStream {
    let name = names::symbol(&context.interface.trait_name);
    let docs = doc(&context.interface.summary, &context.interface.doc);
    let functions = &context.interface.functions;
    let fields = functions.iter().map(|function| {
        let (field, ty) = (function.ident(), function_pointer(context, function, None));
        quote! { #field: ::core::option::Option<#ty>, }
    });
    let loads = functions.iter().map(|function| {
        let field = function.ident();
        let symbol = std::ffi::CString::new(function.c_name.as_str()).unwrap_or_default();
        quote! { #field: ::tenon::support::function(look_up(#symbol)), }
    });
    let missing = functions.iter().map(|function| {
        let (field, text) = (function.ident(), &function.c_name);
        quote! { if self.#field.is_none() { missing.push(#text); } }
    });
    let methods = functions.iter().map(|function| method(context, function));
    let unwinds = context.interface.unwinds.then(|| {
        quote! {
            ///
            /// A call may throw a C++ exception, which then passes through the caller's frames.
        }
    });
    quote! {
        #docs
        #unwinds
        #[derive(Clone, Copy, Debug)]
        #[allow(clippy::type_complexity, reason = "the ABI has that many parameters")]
        pub struct #name {
            #(#fields)*
        }

        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        impl #name {
            /// Libraries that export the symbols, in the order of lookup.
            pub const LIBRARIES: &'static [&'static str] = &[#(#libraries),*];

            /// Looks every symbol up. Symbols that are not found are absent.
            ///
            /// # Safety
            /// `look_up` returns null, or the function of that name in a host of the
            /// releases that the spec describes, and stays loaded as long as this struct is used.
            pub unsafe fn load(mut look_up: impl FnMut(&::core::ffi::CStr) -> *mut ::core::ffi::c_void) -> Self {
                __comment!("SAFETY: the caller promises that a symbol of a name has this signature; null becomes `None`.");
                unsafe { Self { #(#loads)* } }
            }

            /// Returns the names of the symbols that were not found.
            pub fn missing(&self) -> ::std::vec::Vec<&'static str> {
                let mut missing = ::std::vec::Vec::new();
                #(#missing)*
                missing
            }

            #(#methods)*
        }
    }
}

/// Emits `unsafe fn name(&self, …) -> Result<…>`, without a body.
pub fn signature(context: Context, function: &Function) -> TokenStream {
    let name = function.ident();
    let is_input =
        |(param, form): &(&Param, &Form)| !param.is_status && !is_yielded(context, function, param, form);
    let inputs = function.formed().filter(is_input).map(|(param, _)| {
        let (name, ty) = (param.ident(), passed_type(context, param));
        quote!(#name: #ty)
    });
    let output = match &function.result {
        ResultKind::Value(result) => passed_type(context, result),
        ResultKind::Status => {
            let results = results(context, function).map(|param| value(context, param.ty, param.space));
            one_or_tuple(results.collect())
        }
        ResultKind::None => quote!(()),
    };
    quote! { unsafe fn #name(&self, #(#inputs),*) -> Result<#output> }
}

fn method(context: Context, function: &Function) -> TokenStream {
    let signature = signature(context, function);
    let docs = doc(
        &function.summary,
        &format!(
            "{}\n\n# Errors\nIf the symbol is missing, or the host reports a failure.\n\n# Safety\nThe handles are live handles of the host, and the pointers are valid as the interface requires.",
            function.doc
        ),
    );
    let field = function.ident();
    let text = &function.name.value;
    let status = function.params.iter().find(|param| param.is_status);
    let arguments = function.formed().map(|(param, form)| {
        let name = param.ident();
        if param.is_status {
            quote!(&raw mut __status_of_call)
        } else if is_yielded(context, function, param, form) {
            quote!(#name.as_mut_ptr())
        } else if is_safe_value(context, param) {
            let raw = to_raw(context, param, &quote!(#name));
            if context.spec.points_to_const(param) { quote!(#raw.cast_const()) } else { raw }
        } else {
            quote!(#name)
        }
    });
    let (before, after) = match (status, context.interface.status) {
        (Some(_), Some(id)) => {
            let path = type_path(context, id);
            (
                quote! { let mut __status_of_call = <#path as ::tenon::StatusCode>::SUCCESS; },
                quote! {
                    if __status_of_call != <#path as ::tenon::StatusCode>::SUCCESS {
                        return ::core::result::Result::Err(Error::new(__status_of_call, ::core::concat!("the host failed in `", #text, "`")));
                    }
                },
            )
        }
        _ => (TokenStream::new(), TokenStream::new()),
    };
    let value = match &function.result {
        ResultKind::Value(result) if is_safe_value(context, result) => {
            from_raw(context, result, &quote!(__returned))
        }
        ResultKind::Value(_) => quote!(__returned),
        ResultKind::None => quote!(()),
        ResultKind::Status => one_or_tuple(
            results(context, function)
                .map(|param| {
                    let name = param.ident();
                    from_raw(context, param, &quote!(#name))
                })
                .collect(),
        ),
    };
    let bind = (!matches!(function.result, ResultKind::None)).then(|| quote!(let __returned =));
    let places = results(context, function).map(|param| {
        let name = param.ident();
        quote! { let mut #name = ::core::mem::MaybeUninit::zeroed(); }
    });
    let taken = results(context, function).map(|param| {
        let name = param.ident();
        quote! {
            __comment!("SAFETY: zero is a value of the type, and the function may have written another.");
            let #name = unsafe { #name.assume_init() };
        }
    });
    let refuse =
        (matches!(function.result, ResultKind::Status) && context.interface.status.is_some()).then(|| {
            quote! {
                if ::tenon::StatusCode::code(__returned) != 0 {
                    return ::core::result::Result::Err(Error::new(__returned, ::core::concat!("the library refused `", #text, "`")));
                }
            }
        });
    quote! {
        #docs
        pub #signature {
            let __callee = self.#field.ok_or_else(|| Error::unsupported(#text))?;
            #before
            #(#places)*
            __comment!("SAFETY: the caller's promise is handed on.");
            #bind unsafe { __callee(#(#arguments),*) };
            #after
            #refuse
            #(#taken)*
            ::core::result::Result::Ok(#value)
        }
    }
}

/// Returns true if a parameter of a function with a status is one of its results: a value that it always writes.
fn is_yielded(context: Context, function: &Function, param: &Param, form: &Form) -> bool {
    let is_value = *form == Form::Output(Output::Value)
        && param.ty != Ty::String
        && !matches!(context.spec.kind(param.ty), Some(TypeKind::Id { .. }));
    matches!(function.result, ResultKind::Status) && is_value && !param.nullable
}

fn results<'a>(context: Context<'a>, function: &'a Function) -> impl Iterator<Item = &'a Param> {
    let params = function.formed();
    params.filter(move |(param, form)| is_yielded(context, function, param, form)).map(|(param, _)| param)
}

/// Returns the unit type, a single item, or a tuple; of types or of values.
fn one_or_tuple(items: Vec<TokenStream>) -> TokenStream {
    match items.as_slice() {
        [one] => one.clone(),
        _ => quote!((#(#items),*)),
    }
}

/// Returns true if a parameter is passed as a newtype. Others are passed as in the ABI.
fn is_safe_value(context: Context, param: &Param) -> bool {
    let is_pointer_handle = matches!(context.spec.kind(param.ty), Some(kind) if is_by_pointer(kind));
    param.length.is_none()
        && match context.spec.kind(param.ty) {
            Some(TypeKind::Handle { .. }) => is_pointer_handle || param.dir == Direction::In,
            _ => false,
        }
}

/// Returns the type of a parameter or of the result.
fn passed_type(context: Context, param: &Param) -> TokenStream {
    if is_safe_value(context, param) { value(context, param.ty, None) } else { raw_param(context, param) }
}
