//! Functions that a library exports and forwards to another library, which has them by name.
//!
//! The output is a list of declarations, because nobody reads the functions. Its parent module has the interface as `api`,
//! and a macro `forward` that makes a function of each declaration.

use proc_macro2::TokenStream;
use quote::quote;

use super::refusal;
use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::emit::rust::types::erased;
use crate::emit::rust::types::raw_types::convention;

/// Emits the function that returns the address of a function by its name in C.
pub fn addresses(context: Context) -> TokenStream {
    let arms = context.interface.functions.iter().map(|function| {
        let (text, name) = (&function.c_name, names::symbol(&function.c_name));
        let module = match context.interface.refusal(function) {
            Some(_) => refusal::MODULE.to_owned(),
            None => names::part(context, &context.interface.groups[function.group.0]),
        };
        let module = names::snake(&module);
        quote!(#text => #module::#name as *const ::core::ffi::c_void)
    });
    quote! {
        /// Returns the address of a function by its name in C; null if there is none.
        pub fn address(name: &str) -> *const ::core::ffi::c_void {
            match name {
                #(#arms,)*
                _ => ::core::ptr::null(),
            }
        }
    }
}

/// Emits the list of the functions, from which the macro `forward` makes them.
pub fn list(context: Context) -> TokenStream {
    let functions = context.interface.functions.iter().map(|function| {
        let name = names::symbol(&function.c_name);
        let inputs = erased::parameters(context, function).into_iter().map(|(name, ty)| quote!(#name: #ty));
        let output = erased::output(context, function);
        quote!(fn #name(#(#inputs),*) #output;)
    });
    let convention = convention(context);
    quote! {
        #[__list(forward)]
        { unsafe extern #convention { #(#functions)* } }
    }
}
