//! The statuses of the SDK as a type, with their names and texts.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Exports, names};
use crate::emit::rust::doc::doc;
use crate::sdk::SdkStatus;

impl Exports<'_> {
    pub(super) fn status(&self) -> TokenStream {
        let statuses = self.sdk_api.statuses();
        let number = |status: &SdkStatus| Literal::i64_unsuffixed(status.value);
        let constants = statuses.iter().map(|status| {
            let (name, number) = (names::constant(&status.name), number(status));
            let docs = doc(&self.sdk_api.meaning(status), "");
            quote! { #docs pub const #name: Self = Self(#number); }
        });
        let known = statuses.iter().map(|status| names::constant(&status.name));
        let count = names::number(statuses.len() as u64);
        let arms = |text: &dyn Fn(&SdkStatus) -> String| -> Vec<TokenStream> {
            statuses
                .iter()
                .map(|status| {
                    let number = number(status);
                    let text = std::ffi::CString::new(text(status)).unwrap_or_default();
                    quote! { #number => ::core::option::Option::Some(#text), }
                })
                .collect()
        };
        let c_names = arms(&|status| self.sdk_api.status(&status.name));
        let texts = arms(&|status| self.sdk_api.meaning(status));
        let theirs = self.context.spec.status_values(self.context.interface).iter();
        let theirs = theirs.map(|value| Literal::i64_unsuffixed(value.value));
        let device_status = self.context.interface.status.map(|id| {
            let name = names::symbol(&self.context.spec.ty(id).name.value);
            let module = self.context.interface.ident();
            quote!(::tenon::#module::#name)
        });
        let theirs: Vec<_> = theirs.collect();
        quote! {
            /// The status that functions of the library return.
            ///
            /// The first are those of a device, with the same numbers; the library's own begin at 16.
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
            #[repr(transparent)]
            pub struct Status(pub i32);

            impl Status {
                #(#constants)*

                /// Every status, in the order of the numbers.
                pub const ALL: [Self; #count] = [#(Self::#known),*];

                /// Returns its name in C, if it is a known one.
                pub const fn name(self) -> ::core::option::Option<&'static ::core::ffi::CStr> {
                    match self.0 {
                        #(#c_names)*
                        _ => ::core::option::Option::None,
                    }
                }

                /// Returns its meaning, without a full stop, if it is a known one.
                pub const fn text(self) -> ::core::option::Option<&'static ::core::ffi::CStr> {
                    match self.0 {
                        #(#texts)*
                        _ => ::core::option::Option::None,
                    }
                }

                /// Converts the status of a device; an unknown number counts as an internal failure of the device.
                #[allow(clippy::manual_range_patterns, reason = "each number is a status of the spec")]
                pub const fn of_device(status: #device_status) -> Self {
                    match status.0 {
                        #(#theirs)|* => Self(status.0),
                        _ => Self(<#device_status as ::tenon::StatusCode>::INTERNAL.0),
                    }
                }

                /// Returns the status for a device that called a callback; devices only know their own statuses.
                #[allow(clippy::manual_range_patterns, reason = "each number is a status of the spec")]
                pub const fn to_device(self) -> #device_status {
                    match self.0 {
                        #(#theirs)|* => #device_status(self.0),
                        _ => <#device_status as ::tenon::StatusCode>::INVALID_ARGUMENT,
                    }
                }
            }

            impl ::tenon::StatusCode for Status {
                const SUCCESS: Self = Self(0);
                const INVALID_ARGUMENT: Self = Self::INVALID_ARGUMENT;
                const UNSUPPORTED: Self = Self::UNSUPPORTED;
                const INTERNAL: Self = Self(<#device_status as ::tenon::StatusCode>::INTERNAL.0);

                fn code(self) -> i32 {
                    self.0
                }
            }
        }
    }
}
