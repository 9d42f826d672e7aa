//! Unchecked calls of a plugin with exactly the caller's arguments, for tests of plugins.

use crate::emit::rust::types::api_type::{self, status_type};
use proc_macro2::TokenStream;
use quote::quote;

use super::signature::{self, for_each_signature};
use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::model::{Direction, Function, Param, ResultKind, Ty, TypeKind};

/// Emits a method that calls a slot with arguments as numbers.
pub fn emit(context: Context) -> TokenStream {
    let status = status_type(context);
    let arms = context.interface.functions.iter().filter(|function| is_callable(function)).map(|function| {
        let variant = function.variant();
        let call = call(context, function);
        let text = &function.name.value;
        let status = match context.interface.error {
            Some(_) => quote! {
                self.refused(#text, (#call).cast()).map_or(::tenon::StatusCode::SUCCESS, |__error| __error.status)
            },
            None => call,
        };
        quote! { Function::#variant => #status, }
    });
    let partial = context.interface.functions.iter().any(|function| !is_callable(function));
    let rest = partial.then(|| quote! { _ => return ::core::option::Option::None, });
    let arms: Vec<TokenStream> = arms.collect();
    let call = if arms.is_empty() {
        quote!(::core::option::Option::None)
    } else {
        quote! {
            __comment!("SAFETY: the function has the signature of the plugin's release, and the caller promises the arguments.");
            unsafe {
                ::core::option::Option::Some(match function { #(#arms)* #rest })
            }
        }
    };
    quote! {
        impl Loaded {
            /// Returns the plugin's message about the last failed call on this thread, if it has one.
            pub fn last_error(&self) -> ::core::option::Option<::std::string::String> {
                let last_error = self.last_error?;
                __comment!("SAFETY: the creator of this object promised that the function may be called.");
                let __call = || unsafe { last_error() };
                let text = ::tenon::support::guard(self.name.as_deref(), "tenon_last_error", __call);
                if text.is_null() {
                    return ::core::option::Option::None;
                }
                __comment!("SAFETY: the function returns a string that lives until the thread's next failure.");
                let text = unsafe { ::core::ffi::CStr::from_ptr(text) };
                ::core::option::Option::Some(text.to_string_lossy().into_owned())
            }

            /// Calls a function as the ABI does. Checks nothing, and adapts only the signature.
            ///
            /// There is one number for each parameter of the spec. Devices, structs and outputs are passed by
            /// address, floating-point numbers as the bits of an `f64`. Returns `None` if the plugin lacks the
            /// function, if it returns no status, or if there are fewer arguments than parameters.
            ///
            /// # Safety
            /// The function may be called with these arguments.
            #[allow(clippy::too_many_lines, reason = "one arm for each function")]
            pub unsafe fn call_raw(&self, function: Function, arguments: &[u64]) -> ::core::option::Option<#status> {
                let slot = self.slots[function as usize];
                if slot.is_null() || arguments.len() < function.info().params.len() {
                    return ::core::option::Option::None;
                }
                #call
            }
        }
    }
}

/// Returns true if the function returns a status and takes separate arguments.
fn is_callable(function: &Function) -> bool {
    matches!(function.result, ResultKind::Status) && function.args.is_none()
}

/// Emits the call with the signature in the plugin's release.
fn call(context: Context, function: &Function) -> TokenStream {
    for_each_signature(context, function, &quote!(self.release), |release| {
        let params = function.params.iter().enumerate();
        let passed = params.filter(|(_, param)| param.availability.is_in(release));
        let arguments = passed.map(|(index, param)| argument(context, index, param));
        let ty = signature::path(context, function, release);
        let name = &function.name.value;
        quote! {
            ::tenon::support::guard(
                self.name.as_deref(),
                #name,
                || ::tenon::support::function::<#ty>(slot)(#(#arguments),*),
            )
        }
    })
}

/// Converts a number to the argument that the ABI passes.
pub fn argument(context: Context, index: usize, param: &Param) -> TokenStream {
    let index = names::number(index as u64);
    let bits = quote!(arguments[#index]);
    let pointer = quote!(::tenon::support::pointer(#bits));
    if param.dir != Direction::In || param.length.is_some() {
        return pointer;
    }
    match (param.ty, context.spec.kind(param.ty)) {
        (_, Some(TypeKind::Callback { .. })) => quote!(::tenon::support::function(#pointer)),
        (_, Some(TypeKind::Enum { .. })) => {
            let path = api_type::scalar(context, param.ty);
            quote!(#path(#bits as _))
        }
        (Ty::Pointer | Ty::String, _) | (_, Some(_)) => pointer,
        (Ty::Bool, _) => quote!(#bits != 0),
        (Ty::F32, _) => quote!(f64::from_bits(#bits) as f32),
        (Ty::F64, _) => quote!(f64::from_bits(#bits)),
        _ => quote!(#bits as _),
    }
}
