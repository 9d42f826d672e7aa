//! Error objects: thunks create them, the functions of a plugin's table read them, and loaded plugins convert them.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::types::api_type::status_type;
use crate::emit::rust::types::raw_types::{convention, raw_inputs, raw_result};
use crate::model::{ErrorObject, Function, FunctionId};

/// Emits one of the three functions of error objects. Implementations do not have them.
pub fn thunk(context: Context, error: ErrorObject, id: FunctionId, function: &Function) -> TokenStream {
    let (name, convention) = (function.ident(), convention(context));
    let inputs = raw_inputs(context, function, None);
    let output = raw_result(context, function);
    let address = quote!(error as *const ::core::ffi::c_void);
    let body = if id == error.code {
        let status = status_type(context);
        quote!(#status(::tenon::support::error_object_code(#address)))
    } else if id == error.message {
        quote!(::tenon::support::error_object_message(#address))
    } else {
        quote!(::tenon::support::error_object_destroy(#address))
    };
    quote! {
        pub unsafe extern #convention fn #name<D: Plugin>(error: #(#inputs),*) #output {
            __comment!("SAFETY: the host passes null, or an object that a function of this table returned and that is alive.");
            unsafe { #body }
        }
    }
}

/// Emits the code with which a loaded plugin's error object is read.
pub fn reader(context: Context, error: ErrorObject) -> TokenStream {
    let convention = convention(context);
    let slot = |id: FunctionId| {
        let function = context.interface.function(id);
        let variant = function.variant();
        let (inputs, output) = (raw_inputs(context, function, None), raw_result(context, function));
        let ty = quote!(unsafe extern #convention fn(#(#inputs),*) #output);
        quote!(::core::mem::transmute::<*const ::core::ffi::c_void, #ty>(self.slots[Function::#variant as usize]))
    };
    let (code, message, destroy) = (slot(error.code), slot(error.message), slot(error.destroy));
    let variants =
        [error.code, error.message, error.destroy].map(|id| context.interface.function(id).variant());
    let status = status_type(context);
    quote! {
        fn check(&self, function: &'static str, object: *mut ::core::ffi::c_void) -> Result<()> {
            self.refused(function, object).map_or(::core::result::Result::Ok(()), ::core::result::Result::Err)
        }

        /// Destroys an error object and returns its parts. `None`: null, which is success.
        fn refused(
            &self,
            function: &'static str,
            object: *mut ::core::ffi::c_void,
        ) -> ::core::option::Option<Error> {
            if object.is_null() {
                return ::core::option::Option::None;
            }
            let readers = [#(Function::#variants),*];
            if readers.into_iter().any(|reader| !self.has(reader)) {
                let message = ::std::format!("`{function}` failed, and the plugin has no function that says why");
                return ::core::option::Option::Some(Error::new(<#status as ::tenon::StatusCode>::INTERNAL, message));
            }
            __comment!("SAFETY: the slots are those of the three functions; the plugin returned the object, and it is destroyed once, when its text has been copied.");
            unsafe {
                let mut status: #status = #code(object.cast());
                if ::tenon::StatusCode::code(status) == 0 {
                    status = <#status as ::tenon::StatusCode>::INTERNAL;
                }
                let error = ::tenon::support::answered(
                    function,
                    status,
                    ::core::option::Option::Some(#message(object.cast())),
                );
                #destroy(object.cast());
                ::core::option::Option::Some(error)
            }
        }
    }
}
