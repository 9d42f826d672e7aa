//! Thunks: from the ABI to the trait and back. They check what can be checked, and nothing unwinds out of them.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::ffi::{convention, raw_param, raw_result};
use super::form::{Form, Output, forms, named, outputs};
use super::types::{is_by_pointer, value};
use super::{Context, names};
use crate::model::{
    Absent, Constant, Direction, Extent, Function, Length, Param, ReleaseId, ResultKind, Ty, TypeKind,
};

pub(super) fn emit(context: Context) -> TokenStream {
    let thunks = context.interface.functions.iter().flat_map(|function| {
        signatures(context, function).into_iter().map(move |release| thunk(context, function, release))
    });
    quote! {
        /// From the ABI to the trait and back.
        #[allow(unused_variables, reason = "a release may pass what the trait does not take")]
        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        mod thunk {
            use super::*;

            #(#thunks)*
        }
    }
}

/// A release for each signature that a function has, newest first; `None`: there is only one.
fn signatures(context: Context, function: &Function) -> Vec<Option<ReleaseId>> {
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
                format_ident!("{}_until_{}", function.name.value, until)
            },
        )
}

fn thunk(context: Context, function: &Function, release: Option<ReleaseId>) -> TokenStream {
    let name = thunk_name(context, function, release);
    let convention = convention(context);
    let forms = forms(context, function);
    let is_passed = |param: &Param| release.is_none_or(|release| param.availability.contains(release));
    let inputs = function.params.iter().filter(|param| is_passed(param)).map(|param| {
        let (name, ty) = (names::snake(&param.name.value), raw_param(context, param));
        quote!(#name: #ty)
    });
    let prepare = function.params.iter().zip(&forms).map(|(param, form)| {
        if is_passed(param) { prepare(context, function, param, form) } else { stand_in(context, param) }
    });
    let arguments = function.params.iter().zip(&forms).filter_map(|(param, form)| argument(param, form));
    let method = names::snake(&function.name.value);
    let write_back = function.params.iter().zip(&forms).filter_map(|(param, form)| {
        let name = names::snake(&param.name.value);
        let place = format_ident!("{}_place", param.name.value);
        let raw = to_raw(context, param, &quote!(#name));
        // SAFETY of the emitted code: the place was checked before the call.
        matches!(form, Form::InOut).then(|| {
            quote! {
                // SAFETY: checked to be not null and aligned; the host lends it for the call.
                unsafe { #place.write(#raw) };
            }
        })
    });
    let output = raw_result(context, function);
    let text = &function.name.value;
    let body = match &function.result {
        ResultKind::Status => {
            let yields = yields(context, function, &forms);
            let is_empty = function.question.is_none() && outputs(function, &forms).is_empty();
            let bind = (!is_empty).then(|| quote!(let yielded =));
            quote! {
                ::tenon::support::call(#text, || {
                    let this = WithFallbacks(D::instance());
                    #(#prepare)*
                    #bind this.#method(#(#arguments),*)?;
                    #(#write_back)*
                    #yields
                })
            }
        }
        ResultKind::None | ResultKind::Value(_) => {
            let convert = match &function.result {
                ResultKind::Value(result) => to_raw(context, result, &quote!(yielded)),
                _ => quote!(yielded),
            };
            let default = match &function.result {
                ResultKind::Value(result)
                    if matches!(result.ty, Ty::Pointer | Ty::String) || is_raw_pointer(context, result) =>
                {
                    quote!(::core::ptr::null_mut())
                }
                ResultKind::Value(_) => quote!(::core::default::Default::default()),
                _ => quote!(()),
            };
            quote! {
                ::tenon::support::call_value(#text, #default, || {
                    let this = WithFallbacks(D::instance());
                    #(#prepare)*
                    let yielded = this.#method(#(#arguments),*);
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

fn is_raw_pointer(context: Context, param: &Param) -> bool {
    matches!(named(context, param.ty), Some(TypeKind::Handle { .. } | TypeKind::Id { .. }))
}

/// Turns what the ABI passes into what the trait takes, under the parameter's own name.
fn prepare(context: Context, function: &Function, param: &Param, form: &Form) -> TokenStream {
    let name = names::snake(&param.name.value);
    let text = &param.name.value;
    let length = |extent: &Extent| length(function, extent);
    match form {
        Form::Consumed => TokenStream::new(),
        Form::Value => value_of(context, function, param),
        Form::InOut => {
            let place = format_ident!("{}_place", param.name.value);
            let from = from_raw(context, param, &quote!(unsafe { #place.read() }));
            quote! {
                let #place = ::tenon::support::place(#text, #name)?;
                // SAFETY: checked to be not null and aligned; the host lends it for the call.
                let mut #name = #from;
            }
        }
        Form::Bytes { len, mutable } | Form::Slice { len, mutable } => {
            let len = length(len);
            let element = match form {
                Form::Bytes { .. } => quote!(u8),
                _ => value(context, param.ty, param.space),
            };
            let slice = if *mutable {
                quote!(::tenon::support::slice_mut(#text, #name.cast::<#element>(), #len)?)
            } else {
                quote!(::tenon::support::slice(#text, #name.cast::<#element>(), #len)?)
            };
            if param.nullable {
                quote! {
                    let #name = if #name.is_null() {
                        ::core::option::Option::None
                    } else {
                        // SAFETY: the host lends the memory for the call.
                        ::core::option::Option::Some(unsafe { #slice })
                    };
                }
            } else {
                quote! {
                    // SAFETY: the host lends the memory for the call.
                    let #name = unsafe { #slice };
                }
            }
        }
        Form::ByteBuffer { mutable } => {
            let (size, data) = byte_buffer_fields(context, param);
            let slice = if *mutable {
                quote!(::tenon::support::slice_mut(#text, buffer.#data.cast::<u8>(), buffer.#size)?)
            } else {
                quote!(::tenon::support::slice(#text, buffer.#data.cast_const().cast::<u8>(), buffer.#size)?)
            };
            quote! {
                let #name = ::tenon::support::non_null(#text, #name)?;
                // SAFETY: checked to be not null and aligned; the host lends it and its bytes for the call.
                let #name = unsafe {
                    let buffer = #name.read();
                    #slice
                };
            }
        }
        Form::Text => {
            if param.nullable {
                quote! {
                    let #name = if #name.is_null() {
                        ::core::option::Option::None
                    } else {
                        // SAFETY: the host lends the text for the call.
                        ::core::option::Option::Some(unsafe { ::tenon::support::text(#text, #name)? })
                    };
                }
            } else {
                quote! {
                    // SAFETY: the host lends the text for the call.
                    let #name = unsafe { ::tenon::support::text(#text, #name)? };
                }
            }
        }
        Form::StructRef { mutable } => {
            let reference = if *mutable { quote!(&mut *#name) } else { quote!(&*#name) };
            let check = if *mutable { quote!(place) } else { quote!(non_null) };
            quote! {
                let #name = ::tenon::support::#check(#text, #name)?;
                // SAFETY: checked to be not null and aligned; the host lends it for the call.
                let #name = unsafe { #reference };
            }
        }
        Form::Callback { context: taken } => {
            let ty = value(context, param.ty, None);
            let taken = taken.map(|taken| {
                let name = names::snake(&function.param(taken).name.value);
                quote!(, ::tenon::AnyPtr::from_ptr(#name))
            });
            // SAFETY of the emitted code: the host promises that the callback may be called with its context.
            let wrap = quote!(unsafe { #ty::from_raw(#name #taken) });
            if param.nullable {
                quote! {
                    // SAFETY: the host hands the callback over to be called with its context.
                    let #name = #name.is_some().then(|| #wrap);
                }
            } else {
                quote! {
                    if #name.is_none() {
                        return ::core::result::Result::Err(Error::invalid(concat!("`", #text, "` is null")));
                    }
                    // SAFETY: the host hands the callback over to be called with its context.
                    let #name = #wrap;
                }
            }
        }
        Form::Output(_) => place_of(param),
    }
}

/// A value of the ABI, checked.
fn value_of(context: Context, function: &Function, param: &Param) -> TokenStream {
    let name = names::snake(&param.name.value);
    let text = &param.name.value;
    let converted = from_raw(context, param, &quote!(#name));
    match (param.ty, named(context, param.ty)) {
        (_, Some(TypeKind::Handle { null, .. })) => {
            let check = (null.is_none() && !param.nullable).then(|| {
                quote! {
                    if #name.is_null() {
                        return ::core::result::Result::Err(Error::invalid(concat!("`", #text, "` is null")));
                    }
                }
            });
            quote! { #check let #name = #converted; }
        }
        (_, Some(TypeKind::Id { .. })) => quote! {
            let #name = ::tenon::support::non_null(#text, #name)?;
            // SAFETY: checked to be not null and aligned; the host lends it for the call.
            let #name = #converted;
        },
        (Ty::Pointer, _) => {
            // Memory that is handed over stays an address: only its range can be checked here.
            let check = match &param.length {
                Some(Length::Bytes(extent)) if !param.nullable => {
                    let len = length(function, extent);
                    Some(quote! { ::tenon::support::range(#text, #name.addr(), #len)?; })
                }
                _ if !param.nullable && param.space.is_some() => Some(quote! {
                    ::tenon::support::range(#text, #name.addr(), 1)?;
                }),
                _ => None,
            };
            quote! { #check let #name = #converted; }
        }
        // What is the same on both sides goes through under its own name.
        _ => TokenStream::new(),
    }
}

/// The place that a result goes to, checked before the call so that nothing is made that cannot be handed over.
fn place_of(param: &Param) -> TokenStream {
    let name = names::snake(&param.name.value);
    let place = format_ident!("{}_place", param.name.value);
    let text = &param.name.value;
    if param.nullable {
        quote! {
            let #place = if #name.is_null() { #name } else { ::tenon::support::place(#text, #name)? };
        }
    } else {
        quote! { let #place = ::tenon::support::place(#text, #name)?; }
    }
}

/// What the implementation gets from a host that does not pass the parameter.
fn stand_in(context: Context, param: &Param) -> TokenStream {
    let name = names::snake(&param.name.value);
    let value = match &param.absent {
        Some(Absent::Call(function)) => {
            let method = names::snake(&context.interface.function(*function).name.value);
            quote!(this.#method()?)
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

fn argument(param: &Param, form: &Form) -> Option<TokenStream> {
    let name = names::snake(&param.name.value);
    match form {
        Form::Consumed | Form::Output(_) => None,
        Form::InOut => Some(quote!(&mut #name)),
        _ => Some(quote!(#name)),
    }
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
        return quote! { ::core::result::Result::Ok(if yielded { #yes } else { #no }) };
    }
    let success = statuses.iter().position(|value| value.value == 0).map(status);
    let outputs = outputs(function, forms);
    let single = outputs.len() == 1;
    let writes = outputs.iter().map(|(_, param, output)| {
        let field = names::snake(&param.name.value);
        let yielded = if single { quote!(yielded) } else { quote!(yielded.#field) };
        write_output(context, param, output, &yielded)
    });
    quote! {
        #(#writes)*
        ::core::result::Result::Ok(#success)
    }
}

fn write_output(context: Context, param: &Param, output: &Output, yielded: &TokenStream) -> TokenStream {
    let place = format_ident!("{}_place", param.name.value);
    let text = &param.name.value;
    let write = match output {
        Output::Value if matches!(named(context, param.ty), Some(TypeKind::Id { .. })) => {
            let raw = to_raw(context, param, yielded);
            quote! { (*#place) = #raw; }
        }
        Output::Value => {
            let raw = to_raw(context, param, yielded);
            quote! { #place.write(#raw); }
        }
        Output::Array(count) => {
            let count = names::number(*count);
            let element = value(context, param.ty, param.space);
            quote! { #place.cast::<[#element; #count]>().write(#yielded); }
        }
        Output::Vec(function) => {
            let method = names::snake(&context.interface.function(*function).name.value);
            let element = value(context, param.ty, param.space);
            return quote! {
                let count = this.#method()?;
                if #yielded.len() != count {
                    return ::core::result::Result::Err(Error::new(
                        <_ as ::tenon::StatusCode>::INTERNAL,
                        format!("{} elements of `{}`, where {} says {}", #yielded.len(), #text, stringify!(#method), count),
                    ));
                }
                // SAFETY: checked to be not null and aligned; the host has room for as many as it was told.
                unsafe {
                    ::core::ptr::copy_nonoverlapping(#yielded.as_ptr(), #place.cast::<#element>(), count);
                }
            };
        }
        Output::Text(capacity) => {
            let capacity = names::number(*capacity);
            quote! { ::tenon::support::write_text(#text, #place, #capacity, &#yielded)?; }
        }
    };
    if param.nullable {
        quote! {
            if !#place.is_null() {
                // SAFETY: checked to be not null and aligned; the host lends it for the call.
                unsafe { #write }
            }
        }
    } else {
        quote! {
            // SAFETY: checked to be not null and aligned; the host lends it for the call.
            unsafe { #write }
        }
    }
}

/// The number of elements or bytes that a length says, as `usize`.
fn length(function: &Function, extent: &Extent) -> TokenStream {
    match extent {
        Extent::Number(number) => {
            let number = names::number(*number);
            quote!(#number)
        }
        Extent::Call(_) => quote!(0),
        Extent::Param(id) => {
            let param = function.param(*id);
            let name = names::snake(&param.name.value);
            let text = &param.name.value;
            match (param.ty, param.dir) {
                (Ty::Size, Direction::In) => quote!(#name),
                (Ty::Size, _) => quote!({
                    let place = ::tenon::support::non_null(#text, #name)?;
                    // SAFETY: checked to be not null and aligned; the host lends it for the call.
                    unsafe { place.read() }
                }),
                _ => quote!(usize::try_from(#name)
                    .map_err(|_| Error::invalid(format!("`{}` is no length: {}", #text, #name)))?),
            }
        }
    }
}

/// A raw value as the author sees it.
pub(super) fn from_raw(context: Context, param: &Param, raw: &TokenStream) -> TokenStream {
    match (param.ty, named(context, param.ty)) {
        (_, Some(kind @ TypeKind::Handle { .. })) => {
            let ty = value(context, param.ty, None);
            let raw = if is_by_pointer(kind) { quote!(#raw as *mut _) } else { raw.clone() };
            quote!(#ty::from_raw(#raw))
        }
        (_, Some(TypeKind::Id { field, .. })) => {
            let (ty, field) = (value(context, param.ty, None), names::snake(field));
            quote!(#ty(unsafe { (*#raw).#field }))
        }
        (Ty::Pointer, _) => {
            let ty = value(context, param.ty, param.space);
            quote!(#ty::from_ptr(#raw))
        }
        _ => raw.clone(),
    }
}

/// A value of the author's as the ABI passes it.
pub(super) fn to_raw(context: Context, param: &Param, safe: &TokenStream) -> TokenStream {
    match (param.ty, named(context, param.ty)) {
        (_, Some(TypeKind::Handle { .. })) => quote!(#safe.as_raw()),
        (_, Some(TypeKind::Id { tag, field, .. })) => {
            let (tag, field) = (names::symbol(tag), names::snake(field));
            quote!(ffi::#tag { #field: #safe.0 })
        }
        (Ty::Pointer, _) => quote!(#safe.as_ptr()),
        (Ty::String, _) => quote!(#safe.as_ptr()),
        _ => safe.clone(),
    }
}

/// The names of the size and the address in a struct of bytes.
fn byte_buffer_fields(context: Context, param: &Param) -> (Ident, Ident) {
    match named(context, param.ty) {
        Some(TypeKind::Struct { fields, .. }) if fields.len() == 2 => {
            (names::snake(&fields[0].name.value), names::snake(&fields[1].name.value))
        }
        _ => (names::symbol("size"), names::symbol("data")),
    }
}
