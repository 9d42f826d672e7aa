//! Functions that a library exports only to refuse them.
//!
//! The output is a list of declarations. The macro `refuse_functions` of the crate `tenon` defines a function for each of
//! them. The parent of its module has the interface as `api`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::method::thunk::failure;
use crate::emit::rust::names;
use crate::emit::rust::types::api_type::status_value;
use crate::emit::rust::types::erased;
use crate::emit::rust::types::raw_types::{convention, raw_result};
use crate::model::{Function, ResultKind, StatusValue};

/// The module of the list.
pub const MODULE: &str = "refused";

/// Emits the list of the functions; nothing if there is none.
pub fn list(context: Context) -> TokenStream {
    let functions: Vec<_> = context
        .interface
        .refusals()
        .map(|(function, status, message)| declaration(context, function, status, message))
        .collect();
    if functions.is_empty() {
        return TokenStream::new();
    }
    let convention = convention(context);
    quote! {
        #[__list(tenon::refuse_functions)]
        { unsafe extern #convention { #(#functions)* } }
    }
}

fn declaration(context: Context, function: &Function, status: StatusValue, message: &str) -> TokenStream {
    let status = status_value(context, status);
    let failure = match &function.result {
        ResultKind::Status => None,
        ResultKind::Value(result) => {
            let failure = failure(context, result);
            Some(quote!(, #failure))
        }
        ResultKind::None => Some(quote!(, ())),
    };
    let symbol = (!context.is_forwarded()).then(|| quote! { #[unsafe(no_mangle)] });
    let name = names::symbol(&function.c_name);
    let types = erased::parameters(context, function).into_iter().map(|(_, ty)| ty);
    let output = raw_result(context, function);
    quote! {
        #[refuse(#status, #message #failure)]
        #symbol
        fn #name(#(_: #types),*) #output;
    }
}
