//! A function that calls any export with arguments as numbers, for programs that test the library.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Exports, names};
use crate::emit::rust::table::raw_call::argument;
use crate::model::{Direction, Function, Param};
use crate::sdk::Handle;

impl Exports<'_> {
    /// Emits the function that calls any export.
    pub(super) fn call_raw(&self) -> TokenStream {
        let functions = &self.context.interface.functions;
        let arms = functions.iter().map(|function| {
            let (variant, call) = (function.variant(), self.raw_call(function));
            quote! { Function::#variant => #call, }
        });
        quote! {
            /// Calls the export of a function with arguments as numbers, for programs that test the library.
            ///
            /// There is one number for each parameter of the spec, and after them the address for the answer of a
            /// question. Devices are handles of the library, floating-point numbers are the bits of an `f64`, and
            /// everything else is passed as in C. `plugin` is for functions without a device. Returns `None` if there
            /// are fewer arguments than parameters.
            ///
            /// # Safety
            /// The arguments are as `functions.h` says; what can be checked is checked.
            #[allow(clippy::too_many_lines, reason = "one arm for each function")]
            pub unsafe fn call_raw(
                function: Function,
                plugin: u64,
                arguments: &[u64],
            ) -> ::core::option::Option<Status> {
                let info = function.info();
                if arguments.len() < info.params.len() + usize::from(info.question) {
                    return ::core::option::Option::None;
                }
                __comment!("SAFETY: the caller's promise.");
                unsafe {
                    ::core::option::Option::Some(match function { #(#arms)* })
                }
            }
        }
    }

    fn raw_call(&self, function: &Function) -> TokenStream {
        let export = names::symbol(&self.sdk_api.function(function));
        let plugin = (self.sdk_api.called_with(function) == Handle::Plugin)
            .then(|| quote!(crate::PluginHandle(plugin as usize)));
        let arguments =
            function.params.iter().enumerate().map(|(index, param)| self.raw_argument(index, param));
        let answer = function.question.map(|_| {
            let index = names::number(function.params.len() as u64);
            quote!(::tenon::support::pointer(arguments[#index]))
        });
        let arguments = plugin.into_iter().chain(arguments).chain(answer);
        quote!(#export(#(#arguments),*))
    }

    fn raw_argument(&self, index: usize, param: &Param) -> TokenStream {
        if self.sdk_api.is_device(param) && param.dir == Direction::In {
            let index = names::number(index as u64);
            return quote!(crate::DeviceHandle(arguments[#index] as usize));
        }
        argument(self.context, index, param)
    }
}
