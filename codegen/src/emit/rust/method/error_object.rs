//! Error objects: thunks create them, the functions of a plugin's table read them, and loaded plugins convert them.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::emit::rust::types::api_type::status_type;
use crate::emit::rust::types::args;
use crate::emit::rust::types::raw_types::{convention, raw_inputs, raw_result};
use crate::model::abi::args_layout;
use crate::model::{ArgsStruct, Direction, ErrorObject, Function, FunctionId, Param, ResultKind, Ty};

/// Emits one of the three functions of error objects. Implementations do not have them.
pub fn thunk(context: Context, error: ErrorObject, id: FunctionId, function: &Function) -> TokenStream {
    let (name, convention) = (function.ident(), convention(context));
    let output = raw_result(context, function);
    if let Some(args) = &function.args {
        let (input, body) = (args::input(args), of_args(context, error, id, function, args));
        return quote! {
            pub unsafe extern #convention fn #name<D: Plugin>(#input) #output { #body }
        };
    }
    let inputs = raw_inputs(context, function, None);
    let body = read(context, error, id);
    quote! {
        pub unsafe extern #convention fn #name<D: Plugin>(error: #(#inputs),*) #output {
            let __error = error as *const ::core::ffi::c_void;
            __comment!("SAFETY: the host passes null, or an object that a function of this table returned and that is alive.");
            unsafe { #body }
        }
    }
}

/// Emits what a function reads from `__error`, or that it destroys it.
fn read(context: Context, error: ErrorObject, id: FunctionId) -> TokenStream {
    if id == error.code {
        let status = status_type(context);
        quote!(#status(::tenon::support::error_object_code(__error)))
    } else if id == error.message {
        quote!(::tenon::support::error_object_message(__error))
    } else {
        quote!(::tenon::support::error_object_destroy(__error))
    }
}

/// Emits the body of a function with a struct of arguments.
fn of_args(
    context: Context,
    error: ErrorObject,
    id: FunctionId,
    function: &Function,
    args: &ArgsStruct,
) -> TokenStream {
    let (size, least) =
        (names::snake(&args.size_field), names::number(args_layout(context.spec, function, args).least));
    let object = member(function, |param| param.ty == Ty::Named(error.ty));
    let read = read(context, error, id);
    let value = member(function, |param| param.dir == Direction::Out && param.ty != Ty::Size);
    let length = length(function);
    let value = value.map(|value| quote! { (*__packed).#value = #read; });
    let length = length.map(|length| {
        quote! { (*__packed).#length = ::tenon::support::error_object_length(__error); }
    });
    let destroys = (id == error.destroy).then(|| quote! { #read; });
    let text = &function.name.value;
    let call = match function.result {
        ResultKind::Status => quote!(::tenon::support::call_object(#text, __body).cast()),
        _ => quote!(::tenon::support::call_value(#text, (), __body)),
    };
    quote! {
        __comment!("SAFETY: the host passes its arguments, with null or an object that a function of this table returned and that is alive.");
        let __body = || -> Result<()> {
            unsafe {
                let __packed = ::tenon::support::place("args", __packed)?;
                if (*__packed).#size < #least {
                    return ::core::result::Result::Err(Error::invalid("`args` is too short"));
                }
                let __error = (*__packed).#object as *const ::core::ffi::c_void;
                #value
                #length
                #destroys
                ::core::result::Result::Ok(())
            }
        };
        #call
    }
}

/// Returns the name of the first parameter for which a test is true.
fn member(function: &Function, is_meant: impl Fn(&Param) -> bool) -> Option<Ident> {
    function.params.iter().find(|param| is_meant(param)).map(Param::ident)
}

/// Returns the output that has the length of the text.
fn length(function: &Function) -> Option<Ident> {
    member(function, |param| param.dir == Direction::Out && param.ty == Ty::Size)
}

/// Emits the code with which a loaded plugin's error object is read.
pub fn reader(context: Context, error: ErrorObject) -> TokenStream {
    let call = |id: FunctionId| call(context, error, id);
    let (code, message, destroy) = (call(error.code), call(error.message), call(error.destroy));
    let variants =
        [error.code, error.message, error.destroy].map(|id| context.interface.function(id).variant());
    let status = status_type(context);
    let has_length = length(context.interface.function(error.message)).is_some();
    let answered = if has_length {
        quote!({
            let (text, length) = #message;
            ::tenon::support::answered_with(function, status, text, length)
        })
    } else {
        quote!(::tenon::support::answered(function, status, ::core::option::Option::Some(#message)))
    };
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
                let mut status: #status = #code;
                if ::tenon::StatusCode::code(status) == 0 {
                    status = <#status as ::tenon::StatusCode>::INTERNAL;
                }
                let error = #answered;
                #destroy;
                ::core::option::Option::Some(error)
            }
        }
    }
}

/// Emits a call of one of the three functions with `object`: its value, which the struct of arguments may have.
fn call(context: Context, error: ErrorObject, id: FunctionId) -> TokenStream {
    let convention = convention(context);
    let function = context.interface.function(id);
    let variant = function.variant();
    let (inputs, output) = (raw_inputs(context, function, None), raw_result(context, function));
    let ty = quote!(unsafe extern #convention fn(#(#inputs),*) #output);
    let callee = quote!(::core::mem::transmute::<*const ::core::ffi::c_void, #ty>(self.slots[Function::#variant as usize]));
    let Some(args) = &function.args else { return quote!(#callee(object.cast())) };
    let (name, size) = (names::symbol(&args.c_name), names::snake(&args.size_field));
    let passed = member(function, |param| param.ty == Ty::Named(error.ty));
    let value = member(function, |param| param.dir == Direction::Out && param.ty != Ty::Size);
    let value = value.map(|value| match length(function) {
        Some(length) => quote!((__packed.#value, __packed.#length)),
        None => quote!(__packed.#value),
    });
    quote! {{
        let mut __packed: ffi::#name = ::core::mem::zeroed();
        __packed.#size = ::core::mem::size_of::<ffi::#name>();
        __packed.#passed = object.cast();
        let _ = #callee(&raw mut __packed);
        #value
    }}
}
