//! The functions of objects: each finds the value in the object and calls its method.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::method::thunk::{body, failure, inputs};
use crate::emit::rust::names;
use crate::emit::rust::types::api_type::value;
use crate::emit::rust::types::raw_types::{convention, raw_error, raw_result};
use crate::model::{Extent, Function, Length, ParamId, ResultKind};

/// Emits the start of the module `thunk`, and its content.
pub fn emit(context: Context) -> (TokenStream, TokenStream) {
    let functions = context.interface.functions.iter().filter(|function| function.is_of_object);
    let thunks = functions.map(|function| thunk(context, function));
    let statuses = statuses(context);
    let module = quote! {
        /// The functions of objects.
        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        #[allow(unused_variables, reason = "what releases another object does not use its own")]
    };
    (module, quote! { #(#thunks)* #statuses })
}

fn thunk(context: Context, function: &Function) -> TokenStream {
    let newest = context.interface.newest();
    let (name, convention) = (function.ident(), convention(context));
    let (inputs, output) = (inputs(context, function, newest), raw_result(context, function));
    let body = match function.releases {
        Some(released) => release(context, function, released),
        None => body(context, function, newest, &quote!(__object.value())),
    };
    let text = &function.name.value;
    let call = match &function.result {
        ResultKind::Status if context.interface.host_error.is_some() => {
            let receiver = &function.params[0];
            let (kind, object) = (value(context, receiver.ty, None), receiver.ident());
            quote! {
                __comment!("SAFETY: as above.");
                let __host = unsafe { ::tenon::support::host_of::<dyn #kind>(#object) };
                status(#text, __host, __body)
            }
        }
        ResultKind::Status if function.question.is_some() => {
            quote!(::tenon::support::call_question(#text, __body))
        }
        ResultKind::Status => quote!(::tenon::support::call(#text, __body)),
        ResultKind::Value(result) => {
            let failure = failure(context, result);
            quote!(::tenon::support::call_value(#text, #failure, __body))
        }
        ResultKind::None => quote!(::tenon::support::call_value(#text, (), __body)),
    };
    quote! {
        pub(super) unsafe extern #convention fn #name(#(#inputs),*) #output {
            #body
            #call
        }
    }
}

/// Emits `__body`, which releases an object, or each one of an array.
fn release(context: Context, function: &Function, released: ParamId) -> TokenStream {
    let param = function.param(released);
    let (name, text, kind) = (param.ident(), &param.name.value, value(context, param.ty, None));
    if param.holds.is_some() {
        return quote! {
            __comment!("SAFETY: the host gives the value up, and no thread uses it.");
            let __body = || -> Result<()> { unsafe { ::tenon::support::release_value(#text, #name) } };
        };
    }
    let release = match &param.length {
        Some(Length::Count(Extent::Param(count))) => {
            let count = function.param(*count).ident();
            quote! {
                let __count = ::tenon::support::count(#text, #count)?;
                ::tenon::support::release_objects::<_, dyn #kind>(#text, #name, __count)
            }
        }
        _ => quote!(::tenon::support::release_object::<_, dyn #kind>(#text, #name)),
    };
    quote! {
        let __body = || -> Result<()> {
            __comment!("SAFETY: the host gives the object up, and no thread uses it.");
            unsafe { #release }
        };
    }
}

/// Emits the functions that make the statuses of a host, if the interface returns them.
fn statuses(context: Context) -> TokenStream {
    let interface = context.interface;
    let made = interface.host_error.and_then(|host| {
        let host = &context.spec.interfaces[host.0];
        Some(host.function(host.error?.make?))
    });
    let Some(make) = made else { return TokenStream::new() };
    let (name, make) = (names::trait_of(interface), make.ident());
    let error = raw_error(context);
    quote! {
        /// The host of the first object: it makes the status of a call whose object is null.
        static FIRST: ::std::sync::OnceLock<#name> = ::std::sync::OnceLock::new();

        pub(super) fn remember(host: #name) {
            let _ = FIRST.set(host);
        }

        /// Runs the body of a function. Returns null if it succeeds, else a status that the host makes and releases.
        fn status(
            function: &'static str,
            host: ::core::option::Option<#name>,
            body: impl FnOnce() -> Result<()>,
        ) -> #error {
            let ::core::result::Result::Err((status, message)) = ::tenon::support::outcome(function, body) else {
                return ::core::ptr::null_mut();
            };
            let made = host.or(FIRST.get().copied()).map(|host| {
                __comment!("SAFETY: the text lives until the call ends.");
                unsafe { host.host.#make(status, message.as_ptr()) }
            });
            match made {
                ::core::option::Option::Some(::core::result::Result::Ok(made)) => made.as_raw(),
                _ => {
                    ::tenon::support::write_line(::core::format_args!("no status can be made for a failure of {message:?}"));
                    ::core::ptr::null_mut()
                }
            }
        }
    }
}
