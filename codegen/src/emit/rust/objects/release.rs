//! The releases of a host whose functions or objects have no table of their own.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::names;

/// Emits the enum of releases, or the name of the one that another interface has; nothing without releases.
pub fn emit(context: Context) -> TokenStream {
    let interface = context.interface;
    if interface.releases.is_empty() {
        return TokenStream::new();
    }
    if let Some(other) = interface.releases_of {
        let module = context.spec.interfaces[other.0].ident();
        return quote! {
            #[doc(inline)]
            pub use #module::Release;
        };
    }
    let variants: Vec<_> =
        interface.releases.iter().map(|release| names::release_variant(&release.name.value)).collect();
    let names_: Vec<&str> = interface.releases.iter().map(|release| &*release.name.value).collect();
    let docs = names_.iter().map(|name| format!(" Release {name}."));
    let (count, newest) = (names::number(variants.len() as u64), variants.last());
    let numbers: Option<Vec<_>> = interface.releases.iter().map(|release| release.number).collect();
    let numbered = numbers.map(|numbers| {
        let numbers = numbers.into_iter().map(|number| names::number(u64::from(number)));
        quote! {
            /// Returns the number with which a program asks for it.
            pub const fn number(self) -> u32 {
                match self { #(Self::#variants => #numbers,)* }
            }

            /// Returns the newest release whose number is not above that of a host; `None` for an older host.
            pub fn of_host(number: u32) -> ::core::option::Option<Self> {
                Self::ALL.into_iter().rev().find(|release| release.number() <= number)
            }
        }
    });
    quote! {
        /// A release of the host.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Release {
            #(#[doc = #docs] #variants,)*
        }

        impl Release {
            /// Every release, oldest first.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];

            /// The newest release.
            pub const NEWEST: Self = Self::#newest;

            /// Returns its name in the spec.
            pub const fn name(self) -> &'static str {
                match self { #(Self::#variants => #names_,)* }
            }

            #numbered
        }
    }
}
