//! The functions of the SDK that make the calls in C.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::c::sdk_call_types;
use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::sdk::{Handle, SdkApi};

/// Emits the table of the SDK's functions; nothing for an interface without them.
pub fn emit(context: Context) -> TokenStream {
    let Some(sdk_api) = SdkApi::of(context.spec, context.interface) else { return TokenStream::new() };
    let functions = &sdk_api.interface.functions;
    let count = names::number(functions.len() as u64);
    let entries = functions.iter().map(|function| {
        let (name, params) = (sdk_api.function(function), sdk_call_types(sdk_api, function));
        let of_plugin = (sdk_api.called_with(function) == Handle::Plugin).then(|| quote!(.of_plugin()));
        let answers = function.question.is_some().then(|| quote!(.with_answer()));
        let managed = sdk_api.manages(function).then(|| quote!(.managed()));
        quote! { ::tenon::reflect::CFunction::new(#name, &[#(#params),*]) #of_plugin #answers #managed }
    });
    quote! {
        static C_FUNCTIONS: [::tenon::reflect::CFunction; #count] = [#(#entries),*];

        impl Function {
            /// Describes the function of the C SDK that makes this call.
            pub fn in_c(self) -> &'static ::tenon::reflect::CFunction {
                &C_FUNCTIONS[self as usize]
            }
        }
    }
}
