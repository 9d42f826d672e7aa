//! Functions that a library exports and forwards to another library, which has them by name.
//!
//! They are in a module whose parent has the interface as `api`, and a type `Function` that finds a function by name.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::emit::emitter::Emitter;
use crate::emit::rust::method::thunk::inputs;
use crate::emit::rust::types::raw_types::{convention, function_pointer, raw_result};
use crate::emit::rust::{Context, Forwarders, doc, names};
use crate::model::{Function, GroupId};

/// Returns true if another library exports the functions of an interface.
pub fn is_forwarded(context: Context) -> bool {
    let mut places =
        context.spec.outputs.places(Forwarders::KEY).filter_map(|place| place.interface.as_ref());
    places.any(|id| std::ptr::eq(&context.spec.interfaces[id.value.0], context.interface))
}

/// Emits the names that forwarders use.
pub fn head() -> TokenStream {
    quote! {
        use super::api;
        use super::Function as __Function;
    }
}

/// Emits the function that returns the address of a function by its name in C.
pub fn addresses(context: Context) -> TokenStream {
    let arms = context.interface.functions.iter().map(|function| {
        let (text, name) = (&function.c_name, names::symbol(&function.c_name));
        let module = names::snake(&names::part(context, &context.interface.groups[function.group.0]));
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

/// Emits the forwarders of a group.
pub fn functions(context: Context, group: GroupId) -> TokenStream {
    let functions = context.interface.in_group(group).map(|function| forwarder(context, function));
    quote! { #(#functions)* }
}

fn forwarder(context: Context, function: &Function) -> TokenStream {
    let name = names::symbol(&function.c_name);
    let (inputs, output) = (inputs(context, function, None), raw_result(context, function));
    let arguments = function.params.iter().map(|param| names::snake(&param.name.value));
    let (convention, pointer) = (convention(context), function_pointer(context, function, None));
    let many = (inputs.len() > 7)
        .then(|| quote! { #[allow(clippy::too_many_arguments, reason = "the spec has that many")] });
    let docs = doc::doc(&function.summary, "");
    let text = std::ffi::CString::new(function.c_name.as_str()).unwrap_or_default();
    let text = Literal::c_string(&text);
    quote! {
        #docs
        #many
        #[unsafe(no_mangle)]
        pub unsafe extern #convention fn #name(#(#inputs),*) #output {
            static __FUNCTION: __Function = __Function::new(#text);
            __comment!("SAFETY: the function of this name has this type, and the caller makes the same promises to it.");
            unsafe {
                let __function: #pointer = ::core::mem::transmute(__FUNCTION.address());
                __function(#(#arguments),*)
            }
        }
    }
}
