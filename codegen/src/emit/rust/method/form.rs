//! Parameter forms in Rust.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::emit::rust::types::api_type::value;
use crate::emit::rust::types::raw_types::raw_param;
pub use crate::model::{Form, Output};
use crate::model::{Function, InterfaceKind, Length, Param, ParamId, ResultKind, Ty, TypeKind};

/// Returns the type of a parameter in a signature; `None` if it is not in the signature.
pub fn parameter_type(context: Context, param: &Param, form: &Form) -> Option<TokenStream> {
    let plain = element(context, param);
    let reference =
        |mutable: bool, target: TokenStream| if mutable { quote!(&mut #target) } else { quote!(&#target) };
    let optional = |ty: TokenStream| {
        if param.nullable { quote!(::core::option::Option<#ty>) } else { ty }
    };
    Some(match form {
        Form::Carried(_) | Form::Output(_) | Form::Receiver { is_passed: false } => return None,
        Form::Receiver { is_passed: true } => raw_param(context, param),
        Form::Object if is_null_object(context, param) => quote!(::core::option::Option<&dyn #plain>),
        Form::Object => quote!(&dyn #plain),
        Form::Own => quote!(&::tenon::OwnValue),
        Form::Value => plain,
        Form::InOut => quote!(&mut #plain),
        Form::Bytes { mutable, .. } => optional(reference(*mutable, quote!([u8]))),
        Form::Slice { mutable, .. } => optional(reference(*mutable, quote!([#plain]))),
        Form::ByteBuffer { mutable } => reference(*mutable, quote!([u8])),
        Form::Text => optional(quote!(&::core::ffi::CStr)),
        Form::StructRef { mutable } => optional(reference(*mutable, plain)),
        Form::Callback { .. } => optional(plain),
    })
}

/// Returns the type of an object that a method makes, or that it lends; `is_optional` if there may be none.
fn made_type(context: Context, param: &Param, is_optional: bool) -> TokenStream {
    let object = value(context, param.ty, param.space);
    let made =
        if param.lent { quote!(&::tenon::Made<dyn #object>) } else { quote!(::std::boxed::Box<dyn #object>) };
    if is_optional { quote!(::core::option::Option<#made>) } else { made }
}

/// Returns true if an object that is passed or returned may be null.
pub fn is_null_object(context: Context, param: &Param) -> bool {
    param.nullable || context.spec.has_null(param.ty)
}

/// Returns the type of a value, or of an array element.
pub fn element(context: Context, param: &Param) -> TokenStream {
    match (param.ty, &param.length) {
        (Ty::String, Some(Length::Count(_))) => quote!(*const ::core::ffi::c_char),
        _ => value(context, param.ty, param.space),
    }
}

/// Returns the parameters of a signature: names and types.
pub fn parameters<'a>(
    context: Context<'a>,
    function: &'a Function,
) -> impl Iterator<Item = (proc_macro2::Ident, TokenStream)> + 'a {
    function
        .formed()
        .filter_map(move |(param, form)| Some((param.ident(), parameter_type(context, param, form)?)))
}

/// Returns the type of one result of a function.
pub fn output_type(context: Context, param: &Param, output: &Output) -> TokenStream {
    let plain = value(context, param.ty, param.space);
    match output {
        Output::Value => plain,
        Output::Array(count) => {
            let count = names::number(*count);
            quote!([#plain; #count])
        }
        Output::Vec(_) => quote!(::std::vec::Vec<#plain>),
        Output::Text(_) => quote!(::std::string::String),
        Output::Lent { .. } => quote!(::tenon::Lent<#plain>),
        Output::Object => made_type(context, param, context.spec.has_null(param.ty)),
        Output::Own => quote!(::std::boxed::Box<::tenon::OwnValue>),
        Output::Objects { .. } => quote!(::std::vec::Vec<::std::boxed::Box<dyn #plain>>),
    }
}

/// Returns the results of a function, each with the parameter that returns it.
pub fn outputs(function: &Function) -> Vec<(ParamId, &Param, &Output)> {
    let output = |(id, param): (ParamId, _)| match &function.forms[id.0] {
        Form::Output(output) => Some((id, param, output)),
        _ => None,
    };
    function.param_ids().filter_map(output).collect()
}

/// Returns the result of a function, assembled from the values of its outputs.
pub fn assemble(function: &Function, value: impl Fn(ParamId, &Param, &Output) -> TokenStream) -> TokenStream {
    match outputs(function).as_slice() {
        [] => quote!(()),
        [(id, param, output)] => value(*id, param, output),
        several => {
            let name = function.variant();
            let fields = several.iter().map(|(id, param, output)| {
                let (field, value) = (param.ident(), value(*id, param, output));
                quote!(#field: #value)
            });
            quote!(#name { #(#fields),* })
        }
    }
}

/// Returns true if the exported functions record the last error per thread: if the interface has a status.
pub fn keeps_failures(context: Context) -> bool {
    matches!(context.interface.kind, InterfaceKind::Export) && context.interface.status.is_some()
}

/// Returns true if a method returns a `Result`: if the ABI returns a status. Also in an export, which records the
/// error of a call that returns another value.
pub fn is_fallible(context: Context, function: &Function) -> bool {
    match function.result {
        ResultKind::Status => true,
        ResultKind::None | ResultKind::Value(_) => keeps_failures(context),
    }
}

/// Returns true if a function returns an object that it makes or lends.
pub fn makes_object(context: Context, function: &Function) -> bool {
    let made = function.result.value().filter(|_| function.is_of_object);
    made.is_some_and(|made| context.spec.object(made.ty).is_some())
}

/// Returns the type in the `Result` of a trait method.
pub fn result_type(context: Context, function: &Function) -> TokenStream {
    if function.question.is_some() {
        return quote!(bool);
    }
    if let ResultKind::Value(result) = &function.result {
        return match result.ty {
            // A library may return text that it owns; a plugin returns text of its own code.
            Ty::String if keeps_failures(context) => {
                let text = quote!(::std::borrow::Cow<'static, ::core::ffi::CStr>);
                if result.nullable { quote!(::core::option::Option<#text>) } else { text }
            }
            // The text of an object lives as long as the object.
            Ty::String if function.is_of_object => quote!(&::core::ffi::CStr),
            Ty::String => quote!(&'static ::core::ffi::CStr),
            _ if makes_object(context, function) => {
                made_type(context, result, is_null_object(context, result))
            }
            ty => value(context, ty, result.space),
        };
    }
    let outputs = outputs(function);
    match outputs.as_slice() {
        [] => quote!(()),
        [(_, param, output)] => output_type(context, param, output),
        _ => {
            let name = function.variant();
            quote!(#name)
        }
    }
}

/// Returns the return type of a method of the trait; `None` if it returns nothing.
pub fn return_type(context: Context, function: &Function) -> Option<TokenStream> {
    let is_empty = || matches!(function.result, ResultKind::None) && outputs(function).is_empty();
    if is_fallible(context, function) {
        let inner = result_type(context, function);
        Some(quote!(Result<#inner>))
    } else {
        (!is_empty()).then(|| result_type(context, function))
    }
}

/// Emits the result of a function without a status that was not called.
pub fn default_value(context: Context, result: &ResultKind) -> TokenStream {
    let ResultKind::Value(result) = result else { return quote!(()) };
    let ty = value(context, result.ty, result.space);
    match (result.ty, context.spec.kind(result.ty)) {
        (Ty::String, _) => quote!(c""),
        (Ty::Pointer, _) | (_, Some(TypeKind::Handle { .. })) => quote!(#ty::NULL),
        (_, Some(TypeKind::Id { .. } | TypeKind::Enum { .. })) => quote!(#ty(0)),
        _ => quote!(::core::default::Default::default()),
    }
}
