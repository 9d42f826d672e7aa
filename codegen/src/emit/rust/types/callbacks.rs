//! Safe types for callbacks.

use proc_macro2::TokenStream;
use quote::quote;

use super::api_type::{scalar, value};
use super::raw_types::{raw_param, raw_path};
use crate::emit::rust::context::Context;
use crate::emit::rust::doc::doc;
use crate::emit::rust::method::pieces::from_raw;
use crate::emit::rust::names;
use crate::model::{Direction, Param, Ty, Type, TypeKind};

/// Emits the type of a callback with its context pointer. Its values can be called, and sent to another thread.
pub fn wrapper(context: Context, ty: &Type, params: &[Param], result: Option<&Param>) -> TokenStream {
    let name = names::symbol(&ty.name.value);
    let c_name = names::symbol(&ty.c_name);
    let docs = doc(&ty.summary, &ty.doc);
    let given = params.iter().position(Param::is_context);
    let (field, parameter, init) = match given {
        Some(_) => (
            Some(quote!(context: ::tenon::AnyPtr,)),
            Some(quote!(context: ::tenon::AnyPtr,)),
            Some(quote!(context,)),
        ),
        None => (None, None, None),
    };
    let call = callback_call(context, params, result);
    let reader = given.map(|_| {
        quote! {
            /// Returns the context pointer that the function gets.
            pub fn context(self) -> ::tenon::AnyPtr {
                self.context
            }
        }
    });
    quote! {
        #docs
        #[derive(Clone, Copy, Debug)]
        pub struct #name {
            function: ffi::#c_name,
            #field
        }

        impl #name {
            /// Wraps a callback that was passed through the ABI.
            ///
            /// # Safety
            /// `function` may be called with this context, from any thread, as often as the interface says.
            pub unsafe fn from_raw(function: ffi::#c_name, #parameter) -> Self {
                Self { function, #init }
            }

            /// Returns the function of the ABI.
            pub fn as_raw(self) -> ffi::#c_name {
                self.function
            }

            #reader

            #call
        }
    }
}

/// Emits a safe `call` for callbacks that only take values.
fn callback_call(context: Context, params: &[Param], result: Option<&Param>) -> TokenStream {
    let kind = |param: &Param| context.spec.kind(param.ty);
    let plain = |param: &Param| {
        param.dir == Direction::In
            && param.length.is_none()
            && !matches!(param.ty, Ty::Pointer | Ty::String)
            && !matches!(kind(param), Some(TypeKind::Callback { .. }))
    };
    let status = params.iter().find(|param| param.is_status);
    if !params.iter().all(|param| param.is_status || param.is_context() || plain(param)) {
        return TokenStream::new();
    }
    let mut inputs = Vec::new();
    let mut prepare = Vec::new();
    let mut arguments = Vec::new();
    for param in params {
        let name = param.ident();
        if param.is_status {
            arguments.push(quote!(&raw mut __status_of_call));
        } else if param.is_context() {
            arguments.push(quote!(self.context.as_ptr()));
        } else {
            let ty = scalar(context, param.ty);
            inputs.push(quote!(#name: #ty));
            arguments.push(match kind(param) {
                Some(TypeKind::Id { tag, field, .. }) => {
                    let tag = param.ty.id().map(|id| raw_path(context, id, tag));
                    let field = names::snake(field);
                    prepare.push(quote! { let mut #name = #tag { #field: #name.0 }; });
                    quote!(&raw mut #name)
                }
                Some(TypeKind::Handle { .. }) => quote!(#name.as_raw()),
                _ => quote!(#name),
            });
        }
    }
    let status = status.map(|status| scalar(context, status.ty));
    let outcome = status.as_ref().map(|ty| {
        quote! { let mut __status_of_call = <#ty as ::tenon::StatusCode>::SUCCESS; }
    });
    let safety = quote! {
        __comment!("SAFETY: the creator of this value promised that the function may be called with its context.");
    };
    let called = quote!(unsafe { __callee(#(#arguments),*) });
    let Some(result) = result else {
        let (output, answer) = status.map(|ty| (quote!(-> #ty), quote!(__status_of_call))).unzip();
        return quote! {
            /// Calls the function.
            pub fn call(self, #(#inputs),*) #output {
                #outcome
                if let ::core::option::Option::Some(__callee) = self.function {
                    #(#prepare)*
                    #safety
                    #called;
                }
                #answer
            }
        };
    };
    let (ty, converted) = returned(context, result);
    let ty = quote!(::core::option::Option<#ty>);
    let called = match converted {
        Some(converted) => quote! { #safety let __returned = #called; #converted },
        None => quote! { #safety #called },
    };
    let called = quote!(self.function.map(|__callee| { #(#prepare)* #called }));
    let (output, body) = match status {
        Some(status) => (
            quote!((#status, #ty)),
            quote! { #outcome let __returned = #called; (__status_of_call, __returned) },
        ),
        None => (ty, called),
    };
    quote! {
        /// Calls the function, and returns its result; `None` if there is no function.
        pub fn call(self, #(#inputs),*) -> #output {
            #body
        }
    }
}

/// Returns the type of a callback's result, and the conversion of `__returned` if it is needed. What lies behind a text or
/// an id is the callee's, so that these stay pointers.
fn returned(context: Context, result: &Param) -> (TokenStream, Option<TokenStream>) {
    let (raw, kind) = (quote!(__returned), context.spec.kind(result.ty));
    match (result.ty, kind) {
        (Ty::String, _) | (_, Some(TypeKind::Id { .. })) => (raw_param(context, result), None),
        (Ty::Pointer, _) | (_, Some(TypeKind::Handle { .. })) => {
            (value(context, result.ty, result.space), Some(from_raw(context, result, &raw)))
        }
        _ => (value(context, result.ty, result.space), None),
    }
}
