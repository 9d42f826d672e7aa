//! Functions that a library exports: one C export for each, which calls the implementation. They are in a module
//! whose parent has the interface as `api`, and a function `instance` that returns the implementation.
//!
//! If another library forwards its own exports to them, they have no symbols, and a function finds them by name.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::doc::doc;
use crate::emit::rust::method::thunk::{body, failure, inputs};
use crate::emit::rust::names;
use crate::emit::rust::types::api_type::type_path;
use crate::emit::rust::types::raw_types::{convention, raw_result};
use crate::model::{Function, GroupId, ResultKind};

/// Emits the helpers of the exported functions, and the functions with which an implementation reads the last error.
pub fn failures(context: Context) -> TokenStream {
    let Some(status) = context.interface.status else { return TokenStream::new() };
    let status = type_path(context, status);
    let question =
        context.interface.functions.iter().any(|function| function.question.is_some()).then(|| {
            quote! {
                /// Runs the body of an exported function as [`call`] does. The body returns the status of a
                /// query.
                pub fn call_question(
                    function: &'static str,
                    body: impl FnOnce() -> Result<#status>,
                ) -> #status {
                    ::tenon::support::call_export_question(&LAST, function, body)
                }
            }
        });
    quote! {
        ::std::thread_local! {
            static LAST: ::tenon::support::LastFailure = const { ::tenon::support::LastFailure::new() };
        }

        /// Runs the body of an exported function. Records a failure as the thread's last error, and stops
        /// panics.
        pub fn call(function: &'static str, body: impl FnOnce() -> Result<()>) -> #status {
            ::tenon::support::call_export(&LAST, function, body)
        }

        #question

        /// Runs the body of an exported function without a status as [`call`] does. Returns `failure` if the
        /// body fails.
        pub fn call_value<T>(
            function: &'static str,
            failure: T,
            body: impl FnOnce() -> Result<T>,
        ) -> T {
            ::tenon::support::call_export_value(&LAST, function, failure, body)
        }

        /// Takes the message of the last exported function that failed on the calling thread: `function:
        /// why`.
        ///
        /// The next call returns `None` unless another function failed meanwhile. Successful calls do not
        /// change the message.
        pub fn take_last_message() -> ::core::option::Option<::std::ffi::CString> {
            LAST.try_with(::tenon::support::LastFailure::take).ok().flatten()
        }

        /// Returns the status of the last exported function that failed on the calling thread; it is kept
        /// until it is taken.
        pub fn last_status() -> ::core::option::Option<i32> {
            LAST.try_with(::tenon::support::LastFailure::code).ok().flatten()
        }

        /// Takes the status of the last exported function that failed on the calling thread. The message
        /// stays.
        pub fn take_last_status() -> ::core::option::Option<i32> {
            LAST.try_with(::tenon::support::LastFailure::take_code).ok().flatten()
        }
    }
}

/// Emits the names that the exported functions use.
pub fn head() -> TokenStream {
    quote! {
        use super::api;
        use super::instance as __instance;
    }
}

/// Emits the exported functions of a group.
pub fn functions(context: Context, group: GroupId) -> TokenStream {
    let functions = context.interface.methods_in(group).map(|function| exported(context, function));
    quote! { #(#functions)* }
}

fn exported(context: Context, function: &Function) -> TokenStream {
    let name = names::symbol(&function.c_name);
    let convention = convention(context);
    let (inputs, output) = (inputs(context, function, None), raw_result(context, function));
    let many = (inputs.len() > 7)
        .then(|| quote! { #[allow(clippy::too_many_arguments, reason = "the spec has that many")] });
    let docs = doc(&function.summary, "");
    let body = body(context, function, None, &quote!(__instance()));
    let text = &function.c_name;
    let symbol = (!context.is_forwarded()).then(|| quote! { #[unsafe(no_mangle)] });
    let call = match &function.result {
        ResultKind::Status if function.question.is_some() => quote!(call_question(#text, __body)),
        ResultKind::Status => quote!(call(#text, __body)),
        ResultKind::Value(result) => {
            let failure = failure(context, result);
            quote!(call_value(#text, #failure, __body))
        }
        ResultKind::None => quote!(call_value(#text, (), __body)),
    };
    quote! {
        #docs
        #many
        #symbol
        pub unsafe extern #convention fn #name(#(#inputs),*) #output {
            #body
            api::#call
        }
    }
}
