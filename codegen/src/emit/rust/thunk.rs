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

/// How the checks of a thunk report, which the pieces below are told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// In the status of the interface, which the compiler infers.
    Interface,
    /// In a type `Status` of the place where the pieces stand; its `Error` becomes what the body returns.
    Own,
}

impl Report {
    /// The status of a check that has no other type parameter.
    fn alone(self) -> Option<TokenStream> {
        (self == Report::Own).then(|| quote!(::<Status>))
    }

    /// The status of a check that has a type to infer beside it.
    fn beside(self) -> Option<TokenStream> {
        (self == Report::Own).then(|| quote!(::<Status, _>))
    }

    fn refuse(self, error: &TokenStream) -> TokenStream {
        match self {
            Report::Interface => quote! { return ::core::result::Result::Err(#error); },
            Report::Own => quote! { return ::core::result::Result::Err(#error.into()); },
        }
    }

    fn refuse_null(self, name: &str) -> TokenStream {
        self.refuse(&quote!(Error::invalid(concat!("`", #name, "` is null"))))
    }
}

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
        match is_passed(param) {
            true => prepare(context, function, param, form, Report::Interface),
            false => stand_in(context, param),
        }
    });
    let arguments = function.params.iter().zip(&forms).filter_map(|(param, form)| argument(param, form));
    let method = names::snake(&function.name.value);
    let write_back =
        function.params.iter().zip(&forms).filter_map(|(param, form)| write_back(context, param, form));
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
pub(super) fn prepare(
    context: Context,
    function: &Function,
    param: &Param,
    form: &Form,
    report: Report,
) -> TokenStream {
    let name = names::snake(&param.name.value);
    let text = &param.name.value;
    let length = |extent: &Extent| length(function, extent, report);
    let (alone, beside) = (report.alone(), report.beside());
    match form {
        Form::Consumed => TokenStream::new(),
        Form::Value => value_of(context, function, param, report),
        Form::InOut => {
            let place = format_ident!("{}_place", param.name.value);
            let from = from_raw(context, param, &quote!(unsafe { #place.read() }));
            quote! {
                let #place = ::tenon::support::place #beside(#text, #name)?;
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
                quote!(::tenon::support::slice_mut #beside(#text, #name.cast::<#element>(), #len)?)
            } else {
                quote!(::tenon::support::slice #beside(#text, #name.cast::<#element>(), #len)?)
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
                quote!(::tenon::support::slice_mut #beside(#text, buffer.#data.cast::<u8>(), buffer.#size)?)
            } else {
                quote!(::tenon::support::slice #beside(#text, buffer.#data.cast_const().cast::<u8>(), buffer.#size)?)
            };
            quote! {
                let #name = ::tenon::support::non_null #beside(#text, #name)?;
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
                        ::core::option::Option::Some(unsafe { ::tenon::support::text #alone(#text, #name)? })
                    };
                }
            } else {
                quote! {
                    // SAFETY: the host lends the text for the call.
                    let #name = unsafe { ::tenon::support::text #alone(#text, #name)? };
                }
            }
        }
        Form::StructRef { mutable } => {
            let reference = if *mutable { quote!(&mut *#name) } else { quote!(&*#name) };
            let check = if *mutable { quote!(place) } else { quote!(non_null) };
            quote! {
                let #name = ::tenon::support::#check #beside(#text, #name)?;
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
                let refuse = report.refuse_null(text);
                quote! {
                    if #name.is_none() { #refuse }
                    // SAFETY: the host hands the callback over to be called with its context.
                    let #name = #wrap;
                }
            }
        }
        Form::Output(_) => place_of(param, report),
    }
}

/// A value of the ABI, checked.
fn value_of(context: Context, function: &Function, param: &Param, report: Report) -> TokenStream {
    let (alone, beside) = (report.alone(), report.beside());
    let name = names::snake(&param.name.value);
    let text = &param.name.value;
    let converted = from_raw(context, param, &quote!(#name));
    match (param.ty, named(context, param.ty)) {
        (_, Some(TypeKind::Handle { null, .. })) => {
            let check = (null.is_none() && !param.nullable).then(|| {
                let refuse = report.refuse_null(text);
                quote! { if #name.is_null() { #refuse } }
            });
            quote! { #check let #name = #converted; }
        }
        (_, Some(TypeKind::Id { .. })) => quote! {
            let #name = ::tenon::support::non_null #beside(#text, #name)?;
            // SAFETY: checked to be not null and aligned; the host lends it for the call.
            let #name = #converted;
        },
        (Ty::Pointer, _) => {
            // Memory that is handed over stays an address: only its range can be checked here.
            let check = match &param.length {
                Some(Length::Bytes(extent)) if !param.nullable => {
                    let len = length(function, extent, report);
                    Some(quote! { ::tenon::support::range #alone(#text, #name.addr(), #len)?; })
                }
                _ if !param.nullable && param.space.is_some() => Some(quote! {
                    ::tenon::support::range #alone(#text, #name.addr(), 1)?;
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
pub(super) fn place_of(param: &Param, report: Report) -> TokenStream {
    let beside = report.beside();
    let name = names::snake(&param.name.value);
    let place = format_ident!("{}_place", param.name.value);
    let text = &param.name.value;
    if param.nullable {
        quote! {
            let #place = if #name.is_null() { #name } else { ::tenon::support::place #beside(#text, #name)? };
        }
    } else {
        quote! { let #place = ::tenon::support::place #beside(#text, #name)?; }
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

/// Hands over what the method left in a value that it reads and writes.
pub(super) fn write_back(context: Context, param: &Param, form: &Form) -> Option<TokenStream> {
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
}

pub(super) fn argument(param: &Param, form: &Form) -> Option<TokenStream> {
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
    let writes = yielded(function, forms)
        .map(|(param, output, yielded)| write_output(context, param, output, &yielded, Report::Interface));
    quote! {
        #(#writes)*
        ::core::result::Result::Ok(#success)
    }
}

/// What the method yielded, one by one: a parameter, its form, and where its value is.
pub(super) fn yielded<'a>(
    function: &'a Function,
    forms: &'a [Form],
) -> impl Iterator<Item = (&'a Param, &'a Output, TokenStream)> {
    let outputs = outputs(function, forms);
    let single = outputs.len() == 1;
    outputs.into_iter().map(move |(_, param, output)| {
        let field = names::snake(&param.name.value);
        (param, output, if single { quote!(yielded) } else { quote!(yielded.#field) })
    })
}

pub(super) fn write_output(
    context: Context,
    param: &Param,
    output: &Output,
    yielded: &TokenStream,
    report: Report,
) -> TokenStream {
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
            let refuse = report.refuse(&quote!(Error::new(
                <_ as ::tenon::StatusCode>::INTERNAL,
                format!("{} elements of `{}`, where {} says {}", #yielded.len(), #text, stringify!(#method), count),
            )));
            return quote! {
                let count = this.#method()?;
                if #yielded.len() != count { #refuse }
                // SAFETY: checked to be not null and aligned; the host has room for as many as it was told.
                unsafe {
                    ::core::ptr::copy_nonoverlapping(#yielded.as_ptr(), #place.cast::<#element>(), count);
                }
            };
        }
        Output::Text(capacity) => {
            let capacity = names::number(*capacity);
            let alone = report.alone();
            quote! { ::tenon::support::write_text #alone(#text, #place, #capacity, &#yielded)?; }
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
fn length(function: &Function, extent: &Extent, report: Report) -> TokenStream {
    let beside = report.beside();
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
                    let place = ::tenon::support::non_null #beside(#text, #name)?;
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
