//! The pieces of a function between the ABI and the trait: how each parameter comes in, and how each result goes out.
//!
//! The thunks of a table are put together from them, and so are the functions of the SDK.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::quote;

use super::ffi::raw_path;
use super::form::{Form, Output, element, named, named_id, outputs};
use super::types::{is_by_pointer, value};
use super::{Context, names};
use crate::model::{Direction, Extent, Function, Length, Param, Ty, TypeKind};

/// How the checks report.
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

    /// The status of a check that has a type to infer behind it.
    fn length(self) -> Option<TokenStream> {
        self.beside()
    }

    fn refuse(self, error: &TokenStream) -> TokenStream {
        match self {
            Report::Interface => quote! { return ::core::result::Result::Err(#error); },
            Report::Own => quote! { return ::core::result::Result::Err(#error.into()); },
        }
    }

    fn refuse_null(self, name: &str) -> TokenStream {
        self.refuse(&quote!(Error::invalid(::core::concat!("`", #name, "` is null"))))
    }
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
            let place = names::place(&param.name.value);
            let from = from_raw(context, param, &quote!(unsafe { #place.read() }));
            quote! {
                let #place = ::tenon::support::place #beside(#text, #name)?;
                __comment!("SAFETY: checked to be not null and aligned; the host lends it for the call.");
                let mut #name = #from;
            }
        }
        Form::Bytes { len, mutable } | Form::Slice { len, mutable } => {
            // A length that has to be read is read first: what reads it is `unsafe` by itself.
            let (read, len) = match is_read(function, len) {
                true => {
                    let len = length(len);
                    (Some(quote! { let __length = #len; }), quote!(__length))
                }
                false => (None, length(len)),
            };
            let element = match form {
                Form::Bytes { .. } => quote!(u8),
                _ => element(context, param),
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
                        #read
                        __comment!("SAFETY: the host lends the memory for the call.");
                        ::core::option::Option::Some(unsafe { #slice })
                    };
                }
            } else {
                quote! {
                    #read
                    __comment!("SAFETY: the host lends the memory for the call.");
                    let #name = unsafe { #slice };
                }
            }
        }
        Form::ByteBuffer { mutable } => {
            let (size, data) = byte_buffer_fields(context, param);
            let slice = if *mutable {
                quote!(::tenon::support::slice_mut #beside(#text, __memory.#data.cast::<u8>(), __memory.#size)?)
            } else {
                quote!(::tenon::support::slice #beside(#text, __memory.#data.cast_const().cast::<u8>(), __memory.#size)?)
            };
            quote! {
                let #name = ::tenon::support::non_null #beside(#text, #name)?;
                __comment!("SAFETY: checked to be not null and aligned; the host lends it and its bytes for the call.");
                let #name = unsafe {
                    let __memory = #name.read();
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
                        __comment!("SAFETY: the host lends the text for the call.");
                        ::core::option::Option::Some(unsafe { ::tenon::support::text #alone(#text, #name)? })
                    };
                }
            } else {
                quote! {
                    __comment!("SAFETY: the host lends the text for the call.");
                    let #name = unsafe { ::tenon::support::text #alone(#text, #name)? };
                }
            }
        }
        Form::StructRef { mutable: false } if !param.by_pointer => quote! { let #name = &#name; },
        Form::StructRef { mutable } => {
            let reference = if *mutable { quote!(&mut *#name) } else { quote!(&*#name) };
            let check = if *mutable { quote!(place) } else { quote!(non_null) };
            if param.nullable {
                quote! {
                    let #name = if #name.is_null() {
                        ::core::option::Option::None
                    } else {
                        let #name = ::tenon::support::#check #beside(#text, #name)?;
                        __comment!("SAFETY: checked to be aligned; the host lends it for the call.");
                        ::core::option::Option::Some(unsafe { #reference })
                    };
                }
            } else {
                quote! {
                    let #name = ::tenon::support::#check #beside(#text, #name)?;
                    __comment!("SAFETY: checked to be not null and aligned; the host lends it for the call.");
                    let #name = unsafe { #reference };
                }
            }
        }
        Form::Callback { context: taken } => {
            let ty = value(context, param.ty, None);
            let has_context = match named(context, param.ty) {
                Some(TypeKind::Callback { params, .. }) => params.iter().any(Param::is_context),
                _ => false,
            };
            let taken = match taken {
                Some(taken) => {
                    let name = names::snake(&function.param(*taken).name.value);
                    Some(quote!(, ::tenon::AnyPtr::from_ptr(#name)))
                }
                // A function that takes one away again is told which, and not what it would be called with.
                None => has_context.then(|| quote!(, ::tenon::AnyPtr::NULL)),
            };
            // SAFETY of the emitted code: the host promises that the callback may be called with its context.
            let wrap = quote!(unsafe { #ty::from_raw(#name #taken) });
            if param.nullable {
                quote! {
                    __comment!("SAFETY: the host hands the callback over to be called with its context.");
                    let #name = #name.is_some().then(|| #wrap);
                }
            } else {
                let refuse = report.refuse_null(text);
                quote! {
                    if #name.is_none() { #refuse }
                    __comment!("SAFETY: the host hands the callback over to be called with its context.");
                    let #name = #wrap;
                }
            }
        }
        Form::Output(Output::Lent { count }) => {
            let list = place_of(param, report);
            let count = function.params.iter().find(|param| param.name.value == *count);
            let count = count.map(|count| place_of(count, report));
            quote! { #list #count }
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
            __comment!("SAFETY: checked to be not null and aligned; the host lends it for the call.");
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
    let place = names::place(&param.name.value);
    let text = &param.name.value;
    if param.nullable {
        quote! {
            let #place = if #name.is_null() { #name } else { ::tenon::support::place #beside(#text, #name)? };
        }
    } else {
        quote! { let #place = ::tenon::support::place #beside(#text, #name)?; }
    }
}

/// Hands over what the method left in a value that it reads and writes.
pub(super) fn write_back(context: Context, param: &Param, form: &Form) -> Option<TokenStream> {
    let name = names::snake(&param.name.value);
    let place = names::place(&param.name.value);
    let raw = to_raw(context, param, &quote!(#name));
    // SAFETY of the emitted code: the place was checked before the call.
    matches!(form, Form::InOut).then(|| {
        quote! {
            __comment!("SAFETY: checked to be not null and aligned; the host lends it for the call.");
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

/// What the method yielded, one by one: a parameter, its form, and where its value is.
pub(super) fn yielded<'a>(
    function: &'a Function,
    forms: &'a [Form],
) -> impl Iterator<Item = (&'a Param, &'a Output, TokenStream)> {
    let outputs = outputs(function, forms);
    let single = outputs.len() == 1;
    outputs.into_iter().map(move |(_, param, output)| {
        let field = names::snake(&param.name.value);
        (param, output, if single { quote!(__yielded) } else { quote!(__yielded.#field) })
    })
}

pub(super) fn write_output(
    context: Context,
    param: &Param,
    output: &Output,
    yielded: &TokenStream,
    report: Report,
) -> TokenStream {
    let place = names::place(&param.name.value);
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
            let counted = &context.interface.function(*function).name.value;
            let (trait_name, method) = (names::trait_of(context.interface), names::snake(counted));
            let element = value(context, param.ty, param.space);
            let refuse = report.refuse(&quote!(Error::new(
                <_ as ::tenon::StatusCode>::INTERNAL,
                ::std::format!("{} elements of `{}`, where {} says {}", #yielded.len(), #text, #counted, __expected),
            )));
            return quote! {
                let __expected = #trait_name::#method(__this)?;
                if #yielded.len() != __expected { #refuse }
                __comment!("SAFETY: checked to be not null and aligned; the host has room for as many as it was told.");
                unsafe {
                    ::core::ptr::copy_nonoverlapping(#yielded.as_ptr(), #place.cast::<#element>(), __expected);
                }
            };
        }
        Output::Lent { count } => {
            let count_place = names::place(count);
            let alone = report.length();
            quote! {
                #count_place.write(::tenon::support::length #alone(#count, &[::core::option::Option::Some(#yielded.len())])?);
                #place.write(#yielded.as_ptr().cast());
            }
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
                __comment!("SAFETY: checked to be not null and aligned; the host lends it for the call.");
                unsafe { #write }
            }
        }
    } else {
        quote! {
            __comment!("SAFETY: checked to be not null and aligned; the host lends it for the call.");
            unsafe { #write }
        }
    }
}

/// Whether a length is behind a pointer.
fn is_read(function: &Function, extent: &Extent) -> bool {
    matches!(extent, Extent::Param(id)
        if function.param(*id).ty == Ty::Size && function.param(*id).dir != Direction::In)
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
                    let __checked = ::tenon::support::non_null #beside(#text, #name)?;
                    __comment!("SAFETY: checked to be not null and aligned; the host lends it for the call.");
                    unsafe { __checked.read() }
                }),
                _ => quote!(::core::primitive::usize::try_from(#name)
                    .map_err(|_| Error::invalid(::std::format!("`{}` is no length: {}", #text, #name)))?),
            }
        }
    }
}

/// A raw value as the author sees it.
pub(super) fn from_raw(context: Context, param: &Param, raw: &TokenStream) -> TokenStream {
    match (param.ty, named(context, param.ty)) {
        (_, Some(kind @ TypeKind::Handle { .. })) => {
            let ty = value(context, param.ty, None);
            let is_const = context.spec.const_handle_name(param).is_some();
            let raw = if is_by_pointer(kind) || is_const { quote!(#raw as *mut _) } else { raw.clone() };
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
    let reached = reached(safe);
    match (param.ty, named(context, param.ty)) {
        (_, Some(TypeKind::Handle { .. })) => quote!(#reached.as_raw()),
        (_, Some(TypeKind::Id { tag, field, .. })) => {
            let tag = named_id(param.ty).map(|id| raw_path(context, id, tag));
            let field = names::snake(field);
            quote!(#tag { #field: #reached.0 })
        }
        (Ty::Pointer, _) => quote!(#reached.as_ptr()),
        (Ty::String, _) => quote!(#reached.as_ptr()),
        _ => alone(safe),
    }
}

/// A value where it stands by itself: without the brackets that a method behind it would need.
pub(super) fn alone(value: &TokenStream) -> TokenStream {
    let mut tokens = value.clone().into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::Parenthesis => {
            group.stream()
        }
        _ => value.clone(),
    }
}

/// A value in front of a member or a method, which reach through a reference: `(*name)` is `name` there.
pub(super) fn reached(value: &TokenStream) -> TokenStream {
    let inner = alone(value);
    let mut tokens = inner.clone().into_iter();
    match tokens.next() {
        Some(TokenTree::Punct(punct)) if punct.as_char() == '*' => tokens.collect(),
        _ => value.clone(),
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
