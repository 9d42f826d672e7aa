//! The functions of an interface as data: their names, and the set of functions that an implementation has.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::doc::doc;
use crate::emit::rust::names;

use super::trait_table::SlotFilled;

pub fn emit(context: Context) -> TokenStream {
    let functions = &context.interface.functions;
    let count = names::number(functions.len() as u64);
    let variants = functions.iter().map(|function| {
        let (name, docs) = (function.variant(), doc(&function.summary, ""));
        quote! { #docs #name, }
    });
    let all = functions.iter().map(|function| {
        let name = function.variant();
        quote! { Self::#name, }
    });
    let texts = functions.iter().map(|function| &function.name.value);
    let required = functions.iter().map(|function| !function.is_optional());
    let always = functions.iter().map(|function| function.fill_always);
    let fillable = functions.iter().map(|function| SlotFilled::of(function) != SlotFilled::Never);
    let number = names::symbol(if functions.len() <= 256 { "u8" } else { "u16" });
    quote! {
        /// A function of the interface.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(#number)]
        pub enum Function {
            #(#variants)*
        }

        impl Function {
            /// Every function, in the order of the spec.
            pub const ALL: [Self; #count] = [#(#all)*];

            /// Returns its name in the spec.
            pub const fn name(self) -> &'static str {
                const NAMES: [&str; #count] = [#(#texts),*];
                NAMES[self as usize]
            }

            /// Returns true if an implementation must have it.
            pub const fn is_required(self) -> bool {
                const REQUIRED: [bool; #count] = [#(#required),*];
                REQUIRED[self as usize]
            }

            /// Returns true if its slot is filled with the fallback even unasked, since null is unsound in a
            /// host.
            pub const fn is_always_filled(self) -> bool {
                const ALWAYS: [bool; #count] = [#(#always),*];
                ALWAYS[self as usize]
            }

            /// Returns true if its slot can be filled with a fallback that does more than to refuse.
            pub const fn has_fallback(self) -> bool {
                const FALLBACK: [bool; #count] = [#(#fillable),*];
                FALLBACK[self as usize]
            }
        }

        /// The functions that an implementation has.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct Provided([bool; #count]);

        impl Provided {
            /// Makes the set of exactly these functions.
            pub const fn of(functions: &[Function]) -> Self {
                Self([false; #count]).with(functions)
            }

            /// Returns the set with further functions.
            #[must_use]
            pub const fn with(mut self, functions: &[Function]) -> Self {
                let mut index = 0;
                while index < functions.len() {
                    self.0[functions[index] as usize] = true;
                    index += 1;
                }
                self
            }

            /// Returns true if a function is among them.
            pub const fn has(&self, function: Function) -> bool {
                self.0[function as usize]
            }
        }
    }
}
