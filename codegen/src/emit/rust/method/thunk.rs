//! Thunks: convert calls of the ABI to calls of the trait. They check the arguments as far as possible, and catch
//! panics.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::error_object;
use super::form::{self, Output, is_fallible};
use super::pieces::{
    Report, argument, is_unsafe, prepare, results, returned_object, safety, to_raw, write_back, write_output,
};
use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::emit::rust::table::signature::{last_release, signatures};
use crate::emit::rust::types::api_type::{constant, status_value, value};
use crate::emit::rust::types::args;
use crate::emit::rust::types::raw_types::{convention, raw_param, raw_result};
use crate::model::{Absent, Constant, Function, Param, ReleaseId, ResultKind, Ty, TypeKind};
use crate::sdk::SdkApi;

/// Emits the start of the module `thunk`, and its content.
pub fn emit(context: Context) -> (TokenStream, TokenStream) {
    let thunks = context.interface.methods().flat_map(|function| {
        signatures(context, function).into_iter().map(move |release| thunk(context, function, release))
    });
    let of_errors = context.interface.error.into_iter().flat_map(|error| {
        let functions = context.interface.function_ids().filter(move |(id, _)| error.has(*id));
        functions.map(move |(id, function)| error_object::thunk(context, error, id, function))
    });
    let module = quote! {
        /// Converts calls of the ABI to calls of the trait.
        #[allow(unused_variables, reason = "a release may pass what the trait does not take")]
        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
    };
    (module, quote! { #(#thunks)* #(#of_errors)* })
}

/// Returns the name of the thunk for a function's signature in a release.
pub fn thunk_name(context: Context, function: &Function, release: Option<ReleaseId>) -> Ident {
    match last_release(context, function, release) {
        Some(last) => {
            let until = names::release_module(&context.interface.releases[last.0].name.value);
            format_ident!("__{}_until_{}", function.name.value, until)
        }
        None => function.ident(),
    }
}

fn thunk(context: Context, function: &Function, release: Option<ReleaseId>) -> TokenStream {
    let name = thunk_name(context, function, release);
    let convention = convention(context);
    let inputs = match &function.args {
        Some(args) => vec![args::input(args)],
        None => inputs(context, function, release),
    };
    let output = raw_result(context, function);
    let body = body(context, function, release, &quote!(&D::whole()));
    let text = &function.name.value;
    let call = match (&function.result, context.interface.error) {
        (ResultKind::Status, Some(_)) if function.question.is_some() => {
            quote!(call_object_question(#text, __body).cast())
        }
        (ResultKind::Status, Some(_)) => quote!(call_object(#text, __body).cast()),
        (ResultKind::Status, None) if function.question.is_some() => quote!(call_question(#text, __body)),
        (ResultKind::Status, None) if is_lifecycle(context, function) => {
            quote!(call_lifecycle(#text, __body))
        }
        (ResultKind::Status, None) => quote!(call(#text, __body)),
        (ResultKind::Value(result), _) => {
            let failure = failure(context, result);
            quote!(call_value(#text, #failure, __body))
        }
        (ResultKind::None, _) => quote!(call_value(#text, (), __body)),
    };
    quote! {
        pub(super) unsafe extern #convention fn #name<D: Plugin>(#(#inputs),*) #output {
            #body
            ::tenon::support::#call
        }
    }
}

/// Returns the parameters of a function in the ABI of a release.
pub fn inputs(context: Context, function: &Function, release: Option<ReleaseId>) -> Vec<TokenStream> {
    let passed = function.params.iter().filter(|param| param.availability.is_in(release));
    let input = |param: &Param| {
        let (name, ty) = (param.ident(), raw_param(context, param));
        quote!(#name: #ty)
    };
    passed.map(input).collect()
}

/// Emits `__body`, which checks the arguments, calls the method on `this` and writes its results.
pub fn body(
    context: Context,
    function: &Function,
    release: Option<ReleaseId>,
    this: &TokenStream,
) -> TokenStream {
    let is_passed = |param: &Param| param.availability.is_in(release);
    let each = || function.formed();
    let unpack = function.args.as_ref().map(|args| args::unpack(context, function, args, this));
    let prepare = each().map(|(param, form)| {
        if is_passed(param) {
            prepare(context, function, param, form, Report::Interface)
        } else {
            stand_in(context, param, this)
        }
    });
    let before = quote! { #unpack #(#prepare)* };
    let arguments = each().filter_map(|(param, form)| argument(param, form));
    let method = names::method(context.interface, function);
    let question_mark = is_fallible(context, function).then(|| quote!(?));
    let call = quote!(#method(#this, #(#arguments),*));
    let written: Vec<TokenStream> =
        each().filter_map(|(param, form)| write_back(context, param, form)).collect();
    let outputs: Vec<_> = results(function).collect();
    let statements = match (&function.result, function.question) {
        (ResultKind::Status, Some((yes, no))) => {
            let (yes, no) = (status_value(context, yes), status_value(context, no));
            quote! {
                #before
                let __returned = #call?;
                #(#written)*
                ::core::result::Result::Ok(if __returned { #yes } else { #no })
            }
        }
        (ResultKind::Status, None) if outputs.is_empty() && written.is_empty() => quote! { #before #call },
        (ResultKind::Status, None) => {
            let write = |(param, output, value): &(&Param, &Output, TokenStream)| {
                write_output(context, param, output, value, this, Report::Interface)
            };
            let call = match outputs.as_slice() {
                [] => quote! { #call?; },
                [(param, Output::Value, _)] if !param.nullable => {
                    write(&(*param, &Output::Value, quote!(#call?)))
                }
                several => {
                    let writes = several.iter().map(write);
                    quote! { let __returned = #call?; #(#writes)* }
                }
            };
            quote! {
                #before
                #call
                #(#written)*
                ::core::result::Result::Ok(())
            }
        }
        (ResultKind::Value(result), _) if written.is_empty() && returns_as_is(context, function, result) => {
            quote! { #before #call }
        }
        (ResultKind::Value(result), _) => {
            let value = returned(context, function, result);
            quote! {
                #before
                let __returned = #call #question_mark;
                #(#written)*
                ::core::result::Result::Ok::<_, Error>(#value)
            }
        }
        (ResultKind::None, _) => {
            let writes = outputs.iter().map(|(param, output, value)| {
                write_output(context, param, output, value, this, Report::Interface)
            });
            let returned = (!outputs.is_empty()).then(|| quote!(let __returned =));
            quote! {
                #before
                #returned #call #question_mark;
                #(#writes)*
                #(#written)*
                ::core::result::Result::Ok::<_, Error>(())
            }
        }
    };
    let is_unsafe = function.args.is_some()
        || each().any(|(param, form)| is_passed(param) && is_unsafe(context, function, param, form));
    if is_unsafe {
        let safety = safety();
        quote! { #safety let __body = || unsafe { #statements }; }
    } else {
        quote! { let __body = || { #statements }; }
    }
}

/// Returns true if a fallible method returns the same value as the ABI.
fn returns_as_is(context: Context, function: &Function, result: &Param) -> bool {
    let is_converted = form::makes_object(context, function)
        || matches!(result.ty, Ty::String | Ty::Pointer)
        || matches!(context.spec.kind(result.ty), Some(kind) if !matches!(kind, TypeKind::Enum { .. } | TypeKind::Struct { .. }));
    is_fallible(context, function) && !is_converted
}

/// Returns true if the host calls the function itself, and drops the device if the call fails.
fn is_lifecycle(context: Context, function: &Function) -> bool {
    SdkApi::of(context.spec, context.interface).is_some_and(|sdk_api| sdk_api.manages(function))
}

/// Converts the result of the method to that of the ABI.
fn returned(context: Context, function: &Function, result: &Param) -> TokenStream {
    if form::makes_object(context, function) {
        let is_optional = form::is_null_object(context, result);
        return returned_object(&quote!(__returned), is_optional, result.lent);
    }
    let raw = to_raw(context, result, &quote!(__returned));
    match result.ty {
        Ty::String if form::keeps_failures(context) => {
            let text = if result.nullable {
                quote!(__returned)
            } else {
                quote!(::core::option::Option::Some(__returned))
            };
            quote!({
                ::std::thread_local! {
                    static KEPT: ::tenon::support::KeptText = const { ::tenon::support::KeptText::new() };
                }
                ::tenon::support::lend(&KEPT, #text)
            })
        }
        _ if is_const_pointer(context, result) => quote!(#raw.cast_const()),
        _ => raw,
    }
}

/// Returns the result of a failed function without a status.
pub fn failure(context: Context, result: &Param) -> TokenStream {
    let number = proc_macro2::Literal::i64_unsuffixed(result.failure);
    match (result.ty, context.spec.kind(result.ty)) {
        (Ty::String, _) => quote!(::core::ptr::null()),
        (_, Some(TypeKind::Handle { .. })) if is_const_pointer(context, result) => {
            quote!(::core::ptr::null())
        }
        (Ty::Pointer, _) | (_, Some(TypeKind::Handle { .. } | TypeKind::Id { .. })) => {
            quote!(::core::ptr::null_mut())
        }
        (_, Some(TypeKind::Enum { .. })) => {
            let ty = value(context, result.ty, None);
            quote!(#ty(#number))
        }
        (Ty::Int { .. } | Ty::Size | Ty::ULongLong, _) => quote!(#number),
        _ => quote!(::core::default::Default::default()),
    }
}

/// Returns true if a handle is returned as a pointer to const.
fn is_const_pointer(context: Context, result: &Param) -> bool {
    context.spec.points_to_const(result)
}

/// Returns the value that the implementation receives from a host that does not pass the parameter.
fn stand_in(context: Context, param: &Param, this: &TokenStream) -> TokenStream {
    let name = param.ident();
    let value = match &param.absent {
        Some(Absent::Call(function)) => {
            let function = context.interface.function(*function);
            let method = names::method(context.interface, function);
            quote!(#method(#this)?)
        }
        Some(Absent::Constant(value)) => constant(context, param, *value),
        None => constant(context, param, Constant::Null),
    };
    quote! { let #name = #value; }
}
