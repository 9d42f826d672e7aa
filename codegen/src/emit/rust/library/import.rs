//! Symbols that a host exports and that are looked up at run time. The output is a list of declarations, from which a macro
//! makes the calls.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::doc::doc;
use crate::emit::rust::method::form::{Form, Output};
use crate::emit::rust::names;
use crate::emit::rust::types::api_type::{is_by_pointer, value};
use crate::emit::rust::types::raw_types::{convention, raw_param, raw_result};
use crate::model::{Direction, Function, Param, ResultKind, Ty, TypeKind};

/// Emits the list of the functions, from which the macro `import_functions` makes the struct and its methods.
pub fn emit(context: Context, libraries: &[String]) -> TokenStream {
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
            pub struct #name;
            type Failure = Error;
            const LIBRARIES: &'static [&'static str] = &[#(#libraries),*];
            unsafe extern #convention { #(#functions)* }
        }
    }
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
    let symbol = std::ffi::CString::new(function.c_name.as_str()).unwrap_or_default();
    let mode = match &function.result {
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
        } else if is_safe_value(context, param) {
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
        (_, Some(TypeKind::Handle { .. })) => {
            let is_const =
                context.spec.const_handle_name(param).is_some() || context.spec.points_to_const(param);
            Some(if is_const { quote!(const_handle #ty) } else { quote!(handle #ty) })
        }
        (Ty::Pointer, _) => Some(quote!(address #ty)),
        _ => None,
    }
}

/// Returns what a `*mut` points to.
fn pointee(pointer: TokenStream) -> TokenStream {
    pointer.into_iter().skip(2).collect()
}

/// Returns true if a parameter of a function with a status is one of its results: a value that it always writes.
fn is_yielded(context: Context, function: &Function, param: &Param, form: &Form) -> bool {
    let is_value = *form == Form::Output(Output::Value)
        && param.ty != Ty::String
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
        && match context.spec.kind(param.ty) {
            Some(TypeKind::Handle { .. }) => is_pointer_handle || param.dir == Direction::In,
            _ => false,
        }
}

/// Returns the type of a parameter or of the result.
fn passed_type(context: Context, param: &Param) -> TokenStream {
    if is_safe_value(context, param) { value(context, param.ty, None) } else { raw_param(context, param) }
}
