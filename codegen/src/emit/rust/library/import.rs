//! Symbols that a host exports and that are looked up at run time. The output is a list of declarations, from which a macro
//! makes the calls.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::doc::doc;
use crate::emit::rust::method::form::{Form, Output};
use crate::emit::rust::names;
use crate::emit::rust::types::api_type::{is_by_pointer, status_type, type_path, value};
use crate::emit::rust::types::raw_types::{convention, raw_param, raw_result};
use crate::model::{Direction, ErrorObject, Function, Param, ResultKind, Role, Ty, TypeKind};

/// Emits the list of the functions, from which the macro `import_functions` makes the struct and its methods.
pub fn emit(context: Context, libraries: &[String]) -> TokenStream {
    let unit = quote!(;);
    list(context, libraries, &unit)
}

fn list(context: Context, libraries: &[String], state: &TokenStream) -> TokenStream {
    let name = names::symbol(&context.interface.trait_name);
    let docs = doc(&context.interface.summary, &context.interface.doc);
    let functions = context.interface.functions.iter().map(|function| declaration(context, function));
    let unwinds = context.interface.unwinds.then(|| {
        quote! {
            ///
            /// A call may throw a C++ exception, which then passes through the caller's frames.
        }
    });
    let convention = convention(context);
    quote! {
        #[__list(tenon::import_functions)]
        {
            #docs
            #unwinds
            pub struct #name #state
            type Failure = Error;
            const LIBRARIES: &'static [&'static str] = &[#(#libraries),*];
            unsafe extern #convention { #(#functions)* }
        }
    }
}

/// Emits the list of the functions of a host's table, and the function that reads their addresses from the table.
pub fn of_table(context: Context) -> TokenStream {
    let interface = context.interface;
    // The functions of error objects may be in another table, which then also states the release.
    let host = interface.host_error.map(|host| {
        let host = &context.spec.interfaces[host.0];
        let (module, name) = (host.ident(), names::trait_of(host));
        quote!(&'static #module::#name)
    });
    let has_releases = !interface.releases.is_empty();
    let state = match &host {
        Some(host) => Some((quote!(host), host.clone())),
        None => has_releases.then(|| (quote!(release), quote!(Release))),
    };
    let member = state.as_ref().map_or_else(|| quote!(;), |(name, ty)| quote!({ #name: #ty }));
    let imports = list(context, &[], &member);
    let name = names::symbol(&interface.trait_name);
    let slots: Vec<TokenStream> = (interface.functions.iter())
        .filter_map(|function| {
            let symbol = proc_macro2::Literal::byte_string(function.c_name.as_bytes());
            let slot = names::number(function.slot?);
            let since = function.availability.since.map(|since| {
                let since = names::variant_of(interface, since);
                quote!(if release >= Release::#since)
            });
            Some(quote! { #symbol #since => #slot, })
        })
        .collect();
    let (parameter, argument) = state.map(|(name, ty)| (quote!(, #name: #ty), quote!(#name,))).unzip();
    let grows = interface.functions.iter().any(|function| function.availability.since.is_some());
    let release = host.as_ref().filter(|_| grows).map(|_| quote!(let release = host.release();));
    let (of, given) = grows.then(|| (quote!(, release: Release), quote!(, release))).unzip();
    let of_release = if has_releases { " of a release: the functions of newer ones are absent" } else { "" };
    let docs = format!(" Reads the functions from a table of the host{of_release}.");
    let absent = has_releases.then(|| absent(context));
    let refused = match (interface.error, &host) {
        (Some(error), _) => Some(refused(context, error)),
        (None, Some(_)) => Some(quote! {
            fn refused(&self, function: &'static str, object: *mut ::core::ffi::c_void) -> ::core::option::Option<Error> {
                self.host.refused(function, object)
            }
        }),
        (None, None) => None,
    };
    quote! {
        #imports

        impl #name {
            #[doc = #docs]
            ///
            /// # Safety
            /// `table` is the host's, is as long as the release says, and stays as long as this struct is used.
            pub unsafe fn of_table(table: *const ::core::ffi::c_void #parameter) -> Self {
                #release
                __comment!("SAFETY: the caller promises the length of the table, and that its functions have the signatures of the spec.");
                unsafe {
                    Self::load(#argument |name| match Self::slot(name #given) {
                        ::core::option::Option::Some(slot) => {
                            table.cast::<*mut ::core::ffi::c_void>().add(slot).read()
                        }
                        ::core::option::Option::None => ::core::ptr::null_mut(),
                    })
                }
            }

            /// Returns the position of a function in the table, counted in pointers.
            pub fn slot(name: &::core::ffi::CStr #of) -> ::core::option::Option<usize> {
                ::core::option::Option::Some(match name.to_bytes() {
                    #(#slots)*
                    _ => return ::core::option::Option::None,
                })
            }

            #absent
            #refused
        }
    }
}

/// Emits the release that the functions are of, and the function that makes the error for an absent one.
fn absent(context: Context) -> TokenStream {
    let newer = context.interface.functions.iter().filter_map(|function| {
        let (name, since) = (&function.name.value, function.availability.since?);
        let since = &context.interface.releases[since.0].name.value;
        Some(quote! { #name => #since, })
    });
    let (title, status) = (&context.interface.title, status_type(context));
    let release = match context.interface.host_error {
        Some(_) => quote!(self.host.release()),
        None => quote!(self.release),
    };
    let newer: Vec<TokenStream> = newer.collect();
    let absent = if newer.is_empty() {
        quote!(Error::unsupported(function))
    } else {
        quote! {
            let since = match function {
                #(#newer)*
                _ => return Error::unsupported(function),
            };
            let message = ::std::format!("`{function}` is in {} since {since}, and this is {}", #title, self.release().name());
            Error::new(<#status as ::tenon::StatusCode>::UNSUPPORTED, message)
        }
    };
    quote! {
        /// Returns the release whose functions these are.
        pub fn release(&self) -> Release {
            #release
        }

        #[cold]
        fn absent(&self, function: &'static str) -> Error {
            #absent
        }
    }
}

/// Emits the function that reads an error object of the host and destroys it.
fn refused(context: Context, error: ErrorObject) -> TokenStream {
    let [code, message, destroy] =
        [error.code, error.message, error.destroy].map(|id| context.interface.function(id).ident());
    let (handle, status) = (type_path(context, error.ty), status_type(context));
    quote! {
        /// Returns the error of a call that returned an error object, which it destroys; `None` for null.
        #[doc(hidden)]
        pub fn refused(&self, function: &'static str, object: *mut ::core::ffi::c_void) -> ::core::option::Option<Error> {
            if object.is_null() {
                return ::core::option::Option::None;
            }
            let object = #handle::from_raw(object.cast());
            __comment!("SAFETY: the host returned the object, and it is destroyed once, when its text has been copied.");
            unsafe {
                let status = self.#code(object).unwrap_or(<#status as ::tenon::StatusCode>::INTERNAL);
                let message = self.#message(object).ok();
                let error = ::tenon::support::answered(function, status, message);
                let _ = self.#destroy(object);
                ::core::option::Option::Some(error)
            }
        }
    }
}

fn symbol(function: &Function) -> std::ffi::CString {
    std::ffi::CString::new(function.c_name.as_str()).unwrap_or_default()
}

/// Emits `unsafe fn name(&self, …) -> Result<…>`, without a body.
pub fn signature(context: Context, function: &Function) -> TokenStream {
    let name = function.ident();
    let is_input =
        |(param, form): &(&Param, &Form)| !param.is_status && !is_yielded(context, function, param, form);
    let inputs = function.formed().filter(is_input).map(|(param, _)| {
        let (name, ty) = (param.ident(), passed_type(context, param));
        quote!(#name: #ty)
    });
    let output = match &function.result {
        ResultKind::Value(result) => passed_type(context, result),
        ResultKind::Status => {
            let results = results(context, function).map(|param| value(context, param.ty, param.space));
            one_or_tuple(results.collect())
        }
        ResultKind::None => quote!(()),
    };
    quote! { unsafe fn #name(&self, #(#inputs),*) -> Result<#output> }
}

fn declaration(context: Context, function: &Function) -> TokenStream {
    let docs = doc(&function.summary, &function.doc);
    let (name, output) = (function.ident(), raw_result(context, function));
    let symbol = symbol(function);
    let mode = match &function.result {
        ResultKind::Status if context.spec.error_type(context.interface).is_some() => {
            quote!(, checked(object))
        }
        ResultKind::Status => quote!(, checked),
        ResultKind::Value(result) => {
            let becomes = is_safe_value(context, result).then(|| address(context, result));
            let becomes = becomes.flatten().map(|becomes| quote!((#becomes)));
            quote!(, returns #becomes)
        }
        ResultKind::None => TokenStream::new(),
    };
    let params = function.formed().map(|(param, form)| {
        let (name, raw) = (param.ident(), raw_param(context, param));
        if param.is_status {
            let raw = pointee(raw);
            quote!(#[status] #name: #raw)
        } else if is_yielded(context, function, param, form) {
            let becomes = address(context, param).map(|becomes| quote!((#becomes)));
            let raw = pointee(raw);
            quote!(#[out #becomes] #name: #raw)
        } else if !is_place(param) && is_safe_value(context, param) {
            let ty = value(context, param.ty, None);
            let role =
                if context.spec.points_to_const(param) { quote!(const_handle) } else { quote!(handle) };
            quote!(#[#role(#ty)] #name: #raw)
        } else {
            quote!(#name: #raw)
        }
    });
    quote! {
        #docs
        #[import(#symbol #mode)]
        fn #name(#(#params),*) #output;
    }
}

/// Returns the type that an address becomes, and how; `None` for what stays as it is.
fn address(context: Context, param: &Param) -> Option<TokenStream> {
    let ty = value(context, param.ty, param.space);
    match (param.ty, context.spec.kind(param.ty)) {
        // An object is passed by its address.
        _ if context.spec.object(param.ty).is_some() => None,
        (_, Some(TypeKind::Handle { .. })) => {
            let is_const =
                context.spec.const_handle_name(param).is_some() || context.spec.points_to_const(param);
            Some(if is_const { quote!(const_handle #ty) } else { quote!(handle #ty) })
        }
        (Ty::Pointer, _) => Some(quote!(address #ty)),
        _ => None,
    }
}

/// Returns true if a parameter points to the place for a handle.
fn is_place(param: &Param) -> bool {
    param.dir == Direction::Out && (param.role == Role::Creates || param.lent)
}

/// Returns what a `*mut` points to.
fn pointee(pointer: TokenStream) -> TokenStream {
    pointer.into_iter().skip(2).collect()
}

/// Returns true if a parameter of a function with a status is one of its results: a value that it always writes.
fn is_yielded(context: Context, function: &Function, param: &Param, form: &Form) -> bool {
    let is_value = *form == Form::Output(Output::Value)
        && (param.ty != Ty::String || param.lent)
        && !matches!(context.spec.kind(param.ty), Some(TypeKind::Id { .. }));
    matches!(function.result, ResultKind::Status) && is_value && !param.nullable
}

fn results<'a>(context: Context<'a>, function: &'a Function) -> impl Iterator<Item = &'a Param> {
    let params = function.formed();
    params.filter(move |(param, form)| is_yielded(context, function, param, form)).map(|(param, _)| param)
}

/// Returns the unit type, a single item, or a tuple; of types or of values.
fn one_or_tuple(items: Vec<TokenStream>) -> TokenStream {
    match items.as_slice() {
        [one] => one.clone(),
        _ => quote!((#(#items),*)),
    }
}

/// Returns true if a parameter is passed as a newtype. Others are passed as in the ABI.
fn is_safe_value(context: Context, param: &Param) -> bool {
    let is_pointer_handle = matches!(context.spec.kind(param.ty), Some(kind) if is_by_pointer(kind));
    param.length.is_none()
        && context.spec.object(param.ty).is_none()
        && match context.spec.kind(param.ty) {
            Some(TypeKind::Handle { .. }) => is_pointer_handle || param.dir == Direction::In,
            _ => false,
        }
}

/// Returns the type of a parameter or of the result.
fn passed_type(context: Context, param: &Param) -> TokenStream {
    if is_safe_value(context, param) { value(context, param.ty, None) } else { raw_param(context, param) }
}
