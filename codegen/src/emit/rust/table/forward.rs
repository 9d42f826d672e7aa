//! Implementations that forward calls to another implementation.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::emit::rust::context::Context;
use crate::emit::rust::doc::doc;
use crate::emit::rust::method::form::parameters;
use crate::emit::rust::method::traits::signature;
use crate::emit::rust::names;
use crate::model::Function;

pub fn emit(context: Context) -> TokenStream {
    let name = names::trait_of(context.interface);
    let defaults = context.interface.methods().map(|function| {
        let (docs, default) =
            (doc(&function.summary, ""), method(context, function, &name, &quote!(Wrapper::target(self))));
        quote! { #docs #default }
    });
    let forwards = context
        .interface
        .methods()
        .map(|function| method(context, function, &quote!(Forward), &quote!(&self.0)));
    quote! {
        /// An implementation that wraps another one.
        pub trait Wrapper: ::core::marker::Send + ::core::marker::Sync + 'static {
            /// Returns the other implementation.
            fn target(&self) -> &dyn Partial;

            /// Returns true if the function is implemented.
            fn provides(&self, function: Function) -> bool {
                Partial::provides(Wrapper::target(self), function)
            }
        }

        /// An implementation that forwards each call to another one. Override the functions that should differ.
        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        pub trait Forward: Wrapper {
            #(#defaults)*
        }

        /// The interface of a [`Forward`].
        #[derive(Clone, Copy, Debug)]
        pub struct Forwarded<D>(pub D);

        impl<D: Forward> Partial for Forwarded<D> {
            fn provides(&self, function: Function) -> bool {
                Wrapper::provides(&self.0, function)
            }
        }

        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        impl<D: Forward> #name for Forwarded<D> {
            #(#forwards)*
        }
    }
}

fn method(context: Context, function: &Function, of: &dyn ToTokens, target: &TokenStream) -> TokenStream {
    let signature = signature(context, function);
    let name = function.ident();
    let arguments = parameters(context, function).map(|(name, _)| name);
    quote! {
        #signature {
            #of::#name(#target, #(#arguments),*)
        }
    }
}
