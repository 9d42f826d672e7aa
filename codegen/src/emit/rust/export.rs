//! Symbols that a library offers: a macro that puts them into the library that asks for it.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::ffi::{convention, raw_param, raw_result};
use super::{Context, names};
use crate::model::{Function, InterfaceKind};

pub(super) fn emit(context: Context) -> TokenStream {
    let macro_name = format_ident!("export_{}", context.interface.name.value);
    let convention = convention(context);
    let docs = format!(
        " Exports the C functions of the `{}` interface for an implementation: `{macro_name}!(crate::path, MyType)`,",
        context.interface.name.value
    );
    let signatures: Vec<_> =
        context.interface.functions.iter().map(|function| Signature::of(context, function)).collect();
    let shims = signatures.iter().map(|Signature { name, c_name, inputs, arguments, output }| {
        let docs = format!(" `{c_name}` for an implementation.");
        quote! {
            #[doc = #docs]
            ///
            /// # Safety
            /// The arguments are as the interface says; what can be checked is checked.
            pub unsafe extern #convention fn #name<D: Plugin>(#inputs) #output {
                __comment!("SAFETY: the caller's promise is handed on.");
                unsafe { thunk::#name::<D>(#arguments) }
            }
        }
    });
    let exports = signatures.iter().map(|Signature { name, c_name, inputs, arguments, output }| {
        quote! {
            #[unsafe(no_mangle)]
            unsafe extern #convention fn #c_name(#inputs) #output {
                __comment!("SAFETY: the caller's promise is handed on.");
                unsafe { symbols::#name::<$implementation>(#arguments) }
            }
        }
    });
    let failures = keeps_failures(context).then(failures);
    quote! {
        #failures

        /// An implementation that can be exported: one instance.
        pub trait Plugin: 'static {
            /// What the symbols call. Mostly the type itself.
            type Instance: Partial + ?::core::marker::Sized;
            /// The functions that the implementation has.
            const PROVIDED: Provided;
            /// The instance that the symbols call. It is made at the first call.
            fn instance() -> &'static Self::Instance;
        }

        /// The C functions, for any implementation.
        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        pub mod symbols {
            use super::*;

            #(#shims)*
        }

        #[doc = #docs]
        /// where the path is that of this module.
        #[macro_export]
        macro_rules! #macro_name {
            ($module:path, $implementation:ty) => {
                const _: () = {
                    #[allow(unused_imports, reason = "an interface may name no type but its own")]
                    use $module::*;
                    #(#exports)*
                };
            };
        }
    }
}

/// Whether the exported functions keep what went wrong for each thread: in the status of the interface, if it has one.
pub(super) fn keeps_failures(context: Context) -> bool {
    matches!(context.interface.kind, InterfaceKind::Export) && context.interface.status.is_some()
}

/// What the exported functions keep of a failure, and how an implementation reads it.
fn failures() -> TokenStream {
    quote! {
        ::std::thread_local! {
            static LAST: ::tenon::support::LastFailure = const { ::tenon::support::LastFailure::new() };
        }

        /// Takes the message of the last exported function that failed on the calling thread: `function: why`.
        ///
        /// The next call yields nothing unless another one failed meanwhile. A call that succeeds leaves it alone.
        pub fn take_last_message() -> ::core::option::Option<::std::ffi::CString> {
            LAST.try_with(::tenon::support::LastFailure::take).ok().flatten()
        }

        /// The status of the last exported function that failed on the calling thread; it stays until it is taken.
        pub fn last_status() -> ::core::option::Option<i32> {
            LAST.try_with(::tenon::support::LastFailure::code).ok().flatten()
        }

        /// Takes the status of the last exported function that failed on the calling thread. The message stays.
        pub fn take_last_status() -> ::core::option::Option<i32> {
            LAST.try_with(::tenon::support::LastFailure::take_code).ok().flatten()
        }
    }
}

/// The parts of a function's signature in the ABI.
struct Signature {
    name: Ident,
    c_name: Ident,
    inputs: TokenStream,
    arguments: TokenStream,
    output: TokenStream,
}

impl Signature {
    fn of(context: Context, function: &Function) -> Self {
        let inputs = function.params.iter().map(|param| {
            let (name, ty) = (names::snake(&param.name.value), raw_param(context, param));
            quote!(#name: #ty)
        });
        let arguments = function.params.iter().map(|param| names::snake(&param.name.value));
        Signature {
            name: names::snake(&function.name.value),
            c_name: names::symbol(&function.c_name),
            inputs: quote!(#(#inputs),*),
            arguments: quote!(#(#arguments),*),
            output: raw_result(context, function),
        }
    }
}
