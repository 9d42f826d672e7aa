//! Thunks: from the ABI to the trait and back. They check what can be checked, and nothing unwinds out of them.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::ffi::{convention, raw_param, raw_result};
use super::form::{Form, forms, is_fallible, named, outputs};
use super::pieces::{Report, argument, prepare, to_raw, write_back, write_output, yielded};
use super::types::value;
use super::{Context, args, error_object, export, names};
use crate::model::{Absent, Constant, Function, Param, ReleaseId, ResultKind, Ty, TypeKind};
use crate::sdk::Face;

pub(super) fn emit(context: Context) -> TokenStream {
    let thunks = context.interface.methods().flat_map(|function| {
        signatures(context, function).into_iter().map(move |release| thunk(context, function, release))
    });
    let of_errors = context.interface.error.into_iter().flat_map(|error| {
        let functions = context.interface.function_ids().filter(move |(id, _)| error.has(*id));
        functions.map(move |(id, function)| error_object::thunk(context, error, id, function))
    });
    quote! {
        /// From the ABI to the trait and back.
        #[allow(unused_variables, reason = "a release may pass what the trait does not take")]
        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        mod thunk {
            use super::*;

            #(#thunks)*
            #(#of_errors)*
        }
    }
}

/// A release for each signature that a function has, newest first; `None`: there is only one.
pub(super) fn signatures(context: Context, function: &Function) -> Vec<Option<ReleaseId>> {
    let changes = function.signature_changes(context.interface.releases.len());
    let older = changes.into_iter().rev().map(|(before, _)| Some(before));
    std::iter::once(context.interface.newest()).chain(older).collect()
}

/// The name of the thunk that has a function's signature in a release.
pub(super) fn thunk_name(context: Context, function: &Function, release: Option<ReleaseId>) -> Ident {
    let Some(release) = release else { return names::snake(&function.name.value) };
    function
        .signature_changes(context.interface.releases.len())
        .into_iter()
        .find(|(before, _)| release <= *before)
        .map_or_else(
            || names::snake(&function.name.value),
            |(before, _)| {
                let until = names::release_module(&context.interface.releases[before.0].name.value);
                format_ident!("__{}_until_{}", function.name.value, until)
            },
        )
}

fn thunk(context: Context, function: &Function, release: Option<ReleaseId>) -> TokenStream {
    let name = thunk_name(context, function, release);
    let convention = convention(context);
    let forms = forms(context, function);
    let is_passed = |param: &Param| release.is_none_or(|release| param.availability.contains(release));
    let inputs: Vec<TokenStream> = match &function.args {
        Some(args) => vec![args::input(args)],
        None => function
            .params
            .iter()
            .filter(|param| is_passed(param))
            .map(|param| {
                let (name, ty) = (names::snake(&param.name.value), raw_param(context, param));
                quote!(#name: #ty)
            })
            .collect(),
    };
    let unpack = function.args.as_ref().map(|args| args::unpack(context, function, args));
    let prepare = function.params.iter().zip(&forms).map(|(param, form)| match is_passed(param) {
        true => prepare(context, function, param, form, Report::Interface),
        false => stand_in(context, param),
    });
    let arguments = function.params.iter().zip(&forms).filter_map(|(param, form)| argument(param, form));
    let (trait_name, method) = (names::trait_of(context.interface), names::snake(&function.name.value));
    let write_back =
        function.params.iter().zip(&forms).filter_map(|(param, form)| write_back(context, param, form));
    let output = raw_result(context, function);
    // Programs know the function by its symbol, devices by its place in the table.
    let keeps = export::keeps_failures(context);
    let text = if keeps { &function.c_name } else { &function.name.value };
    let last = keeps.then(|| quote!(&LAST,));
    let (call, call_value) = match keeps {
        true => (quote!(call_export), quote!(call_export_value)),
        false if is_lifecycle(context, function) => (quote!(call_lifecycle), quote!(call_value)),
        false => (quote!(call), quote!(call_value)),
    };
    let body = match &function.result {
        ResultKind::Status => {
            let yields = yields(context, function, &forms);
            let is_empty = function.question.is_none() && outputs(function, &forms).is_empty();
            let bind = (!is_empty).then(|| quote!(let __yielded =));
            let (call, cast) = match context.interface.error {
                Some(_) => (quote!(call_object), Some(quote!(.cast()))),
                None => (call, None),
            };
            quote! {
                ::tenon::support::#call(#last #text, || {
                    let __this = &WithFallbacks(D::instance());
                    #unpack
                    #(#prepare)*
                    #bind #trait_name::#method(__this, #(#arguments),*)?;
                    #(#write_back)*
                    #yields
                })
                #cast
            }
        }
        ResultKind::None | ResultKind::Value(_) => {
            let (convert, default) = match &function.result {
                ResultKind::Value(result) => (returned(context, result, keeps), failure(context, result)),
                _ => (quote!(()), quote!(())),
            };
            let bind = matches!(function.result, ResultKind::Value(_)).then(|| quote!(let __yielded =));
            let question = is_fallible(context, function).then(|| quote!(?));
            quote! {
                ::tenon::support::#call_value(#last #text, #default, || {
                    let __this = &WithFallbacks(D::instance());
                    #unpack
                    #(#prepare)*
                    #bind #trait_name::#method(__this, #(#arguments),*) #question;
                    #(#write_back)*
                    ::core::result::Result::<_, Error>::Ok(#convert)
                })
            }
        }
    };
    quote! {
        pub(super) unsafe extern #convention fn #name<D: Plugin>(#(#inputs),*) #output {
            #body
        }
    }
}

/// Whether the host calls the function by itself, and gives up on the device when it fails.
fn is_lifecycle(context: Context, function: &Function) -> bool {
    Face::of(context.spec, context.interface).is_some_and(|face| face.manages(function))
}

/// What the method returned as the ABI returns it.
fn returned(context: Context, result: &Param, keeps: bool) -> TokenStream {
    let raw = to_raw(context, result, &quote!(__yielded));
    match result.ty {
        Ty::String if keeps => {
            let text = match result.nullable {
                true => quote!(__yielded),
                false => quote!(::core::option::Option::Some(__yielded)),
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

/// What a function without a status returns when it failed.
fn failure(context: Context, result: &Param) -> TokenStream {
    let number = proc_macro2::Literal::i64_unsuffixed(result.failure);
    match (result.ty, named(context, result.ty)) {
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

/// Whether a handle is returned as a pointer to const.
fn is_const_pointer(context: Context, result: &Param) -> bool {
    context.spec.points_to_const(result)
}

/// What the implementation gets from a host that does not pass the parameter.
fn stand_in(context: Context, param: &Param) -> TokenStream {
    let name = names::snake(&param.name.value);
    let value = match &param.absent {
        Some(Absent::Call(function)) => {
            let method = names::snake(&context.interface.function(*function).name.value);
            let trait_name = names::trait_of(context.interface);
            quote!(#trait_name::#method(__this)?)
        }
        Some(Absent::Constant(Constant::Integer(number))) => {
            let number = proc_macro2::Literal::i64_unsuffixed(*number);
            quote!(#number)
        }
        Some(Absent::Constant(Constant::Bool(value))) => quote!(#value),
        _ => {
            let ty = value(context, param.ty, param.space);
            quote!(#ty::NULL)
        }
    };
    quote! { let #name = #value; }
}

/// Hands over what the method yielded, and ends in the status.
fn yields(context: Context, function: &Function, forms: &[Form]) -> TokenStream {
    let statuses = context.spec.status_values(context.interface);
    let status = |index: usize| {
        let path = context.interface.status.map(|id| super::types::type_path(context, id));
        let name = names::constant(&statuses[index].name.value);
        quote!(#path::#name)
    };
    if let Some((yes, no)) = function.question {
        let (yes, no) = (status(yes.0), status(no.0));
        return quote! { ::core::result::Result::Ok(if __yielded { #yes } else { #no }) };
    }
    let success = statuses.iter().position(|value| value.value == 0).map(status);
    let writes = yielded(function, forms)
        .map(|(param, output, yielded)| write_output(context, param, output, &yielded, Report::Interface));
    quote! {
        #(#writes)*
        ::core::result::Result::Ok(#success)
    }
}
