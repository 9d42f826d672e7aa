//! Conversions between the ABI and the trait: of each parameter to the trait, and of each result to the ABI.
//!
//! The thunks of a table and the functions of the SDK consist of them.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::{format_ident, quote};

use super::form::{Form, Output, element, is_null_object, outputs};
use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::emit::rust::types::api_type::{is_by_pointer, value};
use crate::emit::rust::types::raw_types::raw_path;
use crate::model::{Direction, Extent, Function, Length, Param, Ty, TypeKind};

/// The way in which a check reports a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// With the status of the interface, which the compiler infers.
    Interface,
    /// With the type `Status` that is in scope; its `Error` is converted to the body's error.
    Own,
}

impl Report {
    /// Returns the status type of a check that has no other type parameter.
    fn alone(self) -> Option<TokenStream> {
        (self == Report::Own).then(|| quote!(::<Status>))
    }

    /// Returns the status type of a check that also has an inferred type parameter.
    fn beside(self) -> Option<TokenStream> {
        (self == Report::Own).then(|| quote!(::<Status, _>))
    }

    /// Emits a check that a handle or callback is not null.
    fn refuse_null(self, name: &str, is_null: &TokenStream) -> TokenStream {
        let alone = self.alone();
        quote! { ::tenon::support::refuse_null #alone(#name, #is_null)?; }
    }
}

/// Returns the comment for a body with unsafe parts.
pub fn safety() -> TokenStream {
    quote! { __comment!("SAFETY: the arguments are as the interface says. They are checked as far as possible."); }
}

/// Returns true if a conversion of the parameter is unsafe, so that the body is unsafe.
pub fn is_unsafe(context: Context, function: &Function, param: &Param, form: &Form) -> bool {
    match form {
        Form::Carried(_) => false,
        Form::Value if function.releases.is_some() => true,
        Form::Value => {
            let has_read_length =
                matches!(&param.length, Some(Length::Bytes(extent)) if is_read(function, extent));
            has_read_length || matches!(context.spec.kind(param.ty), Some(TypeKind::Id { .. }))
        }
        Form::StructRef { mutable: false } => param.by_pointer,
        _ => true,
    }
}

/// Converts the ABI's argument to the trait's, under the parameter's name.
pub fn prepare(
    context: Context,
    function: &Function,
    param: &Param,
    form: &Form,
    report: Report,
) -> TokenStream {
    let name = param.ident();
    let text = &param.name.value;
    let (alone, beside) = (report.alone(), report.beside());
    let or_null =
        |read: &str| if param.nullable { format_ident!("{read}_or_null") } else { names::symbol(read) };
    match form {
        Form::Carried(_) => TokenStream::new(),
        Form::Receiver { .. } => {
            let kind = value(context, param.ty, None);
            quote! { let __object = ::tenon::support::object::<_, dyn #kind>(#text, #name)?; }
        }
        Form::Object => {
            let kind = value(context, param.ty, None);
            if is_null_object(context, param) {
                quote! { let #name = ::tenon::support::given_object_or_null::<_, dyn #kind>(#text, #name)?; }
            } else {
                quote! { let #name = ::tenon::support::given_object::<_, dyn #kind>(#text, #name)?; }
            }
        }
        Form::Own => quote! { let #name = ::tenon::support::own_value(#text, #name)?; },
        Form::Value => value_of(context, function, param, report),
        Form::InOut => {
            let place = names::place(&param.name.value);
            let from = from_raw(context, param, &quote!(#place.read()));
            quote! {
                let #place = ::tenon::support::place #beside(#text, #name)?;
                let mut #name = #from;
            }
        }
        Form::Bytes { len, mutable } | Form::Slice { len, mutable } => {
            let len = length(function, len, report);
            let element = match form {
                Form::Bytes { .. } => quote!(u8),
                _ => element(context, param),
            };
            let slice = names::symbol(if *mutable { "slice_mut" } else { "slice" });
            let slice = quote!(::tenon::support::#slice #beside(#text, #name.cast::<#element>(), #len));
            // Does not read or check the length of a null slice.
            if param.nullable {
                quote! { let #name = ::tenon::support::nullable(#name, |#name| #slice)?; }
            } else {
                quote! { let #name = #slice?; }
            }
        }
        Form::ByteBuffer { mutable } => {
            let (size, data) = byte_buffer_fields(context, param);
            let slice = match mutable {
                true => quote!(slice_mut #beside(#text, #name.#data.cast::<u8>(), #name.#size)),
                false => quote!(slice #beside(#text, #name.#data.cast_const().cast::<u8>(), #name.#size)),
            };
            quote! {
                let #name = ::tenon::support::non_null #beside(#text, #name)?.read();
                let #name = ::tenon::support::#slice?;
            }
        }
        Form::Text => {
            let read = or_null("text");
            quote! { let #name = ::tenon::support::#read #alone(#text, #name)?; }
        }
        Form::StructRef { mutable: false } if !param.by_pointer => quote! { let #name = &#name; },
        Form::StructRef { mutable } => {
            let read = or_null(if *mutable { "reference_mut" } else { "reference" });
            quote! { let #name = ::tenon::support::#read #beside(#text, #name)?; }
        }
        Form::Callback { context: taken } => {
            let ty = value(context, param.ty, None);
            let has_context = match context.spec.kind(param.ty) {
                Some(TypeKind::Callback { params, .. }) => params.iter().any(Param::is_context),
                _ => false,
            };
            let taken = match taken {
                Some(taken) => {
                    let name = function.param(*taken).ident();
                    Some(quote!(, ::tenon::AnyPtr::from_ptr(#name)))
                }
                // A function that unregisters a callback receives the callback without its context.
                None => has_context.then(|| quote!(, ::tenon::AnyPtr::NULL)),
            };
            let wrap = quote!(#ty::from_raw(#name #taken));
            if param.nullable {
                quote! { let #name = #name.is_some().then(|| #wrap); }
            } else {
                let refuse = report.refuse_null(text, &quote!(#name.is_none()));
                quote! { #refuse let #name = #wrap; }
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

/// Emits a checked value of the ABI.
fn value_of(context: Context, function: &Function, param: &Param, report: Report) -> TokenStream {
    let (alone, beside) = (report.alone(), report.beside());
    let name = param.ident();
    let text = &param.name.value;
    let converted = from_raw(context, param, &quote!(#name));
    match (param.ty, context.spec.kind(param.ty)) {
        (_, Some(TypeKind::Handle { null, .. })) => {
            let check = (null.is_none() && !param.nullable)
                .then(|| report.refuse_null(text, &quote!(#name.is_null())));
            quote! { #check let #name = #converted; }
        }
        (_, Some(TypeKind::Id { .. })) => {
            let read = from_raw(context, param, &quote!(::tenon::support::non_null #beside(#text, #name)?));
            quote! { let #name = #read; }
        }
        (Ty::Pointer, _) => {
            // Memory is passed on as an address, so only its range can be checked here.
            let len = match &param.length {
                Some(Length::Bytes(extent)) if !param.nullable => Some(length(function, extent, report)),
                _ if !param.nullable && param.space.is_some() => Some(quote!(1)),
                _ => None,
            };
            let check = len.map(|len| quote! { ::tenon::support::range #alone(#text, #name.addr(), #len)?; });
            quote! { #check let #name = #converted; }
        }
        // A value with the same type on both sides keeps its name.
        _ => TokenStream::new(),
    }
}

/// Checks the pointer to an output before the call, so that the call does not create a value that cannot be returned.
pub fn place_of(param: &Param, report: Report) -> TokenStream {
    let beside = report.beside();
    let name = param.ident();
    let text = &param.name.value;
    let check = names::symbol(if param.nullable { "place_or_null" } else { "place" });
    quote! { ::tenon::support::#check #beside(#text, #name)?; }
}

/// Writes a value back that the method reads and writes.
pub fn write_back(context: Context, param: &Param, form: &Form) -> Option<TokenStream> {
    let name = param.ident();
    let place = names::place(&param.name.value);
    let raw = to_raw(context, param, &quote!(#name));
    matches!(form, Form::InOut).then(|| quote! { #place.write(#raw); })
}

pub fn argument(param: &Param, form: &Form) -> Option<TokenStream> {
    let name = param.ident();
    match form {
        Form::Carried(_) | Form::Output(_) | Form::Receiver { is_passed: false } => None,
        Form::InOut => Some(quote!(&mut #name)),
        _ => Some(quote!(#name)),
    }
}

/// Returns the results of the method, one by one: a parameter, its form, and the expression of its value.
pub fn results(function: &Function) -> impl Iterator<Item = (&Param, &Output, TokenStream)> {
    let outputs = outputs(function);
    let single = outputs.len() == 1;
    outputs.into_iter().map(move |(_, param, output)| {
        let field = param.ident();
        (param, output, if single { quote!(__returned) } else { quote!(__returned.#field) })
    })
}

/// Writes a result of the method to its pointer, which was already checked. `this` is the receiver for calls of other
/// functions.
pub fn write_output(
    context: Context,
    param: &Param,
    output: &Output,
    results: &TokenStream,
    this: &TokenStream,
    report: Report,
) -> TokenStream {
    let place = param.ident();
    let text = &param.name.value;
    let (alone, beside) = (report.alone(), report.beside());
    let write = match output {
        Output::Value => {
            let raw = to_raw(context, param, results);
            quote! { #place.write(#raw); }
        }
        Output::Array(count) => {
            let count = names::number(*count);
            let element = value(context, param.ty, param.space);
            quote! { #place.cast::<[#element; #count]>().write(#results); }
        }
        Output::Vec(function) => {
            let counted = context.interface.function(*function);
            let method = names::method(context.interface, counted);
            let (element, counted) = (value(context, param.ty, param.space), &counted.name.value);
            quote! {
                let __expected = #method(#this)?;
                ::tenon::support::write_elements #beside(#text, #place.cast::<#element>(), &#results, (#counted, __expected))?;
            }
        }
        Output::Object => {
            let made = make_object(results, context.spec.has_null(param.ty));
            quote! { #place.write(#made); }
        }
        Output::Own => quote! { #place.write(::tenon::support::keep_value(#results)); },
        Output::Objects { count } => {
            let number = names::snake(count);
            quote! { __object.make_all((#text, #place), (#count, #number), #results)?; }
        }
        Output::Lent { count } => {
            let count_place = names::snake(count);
            quote! {
                #count_place.write(::tenon::support::length #beside(#count, &[::core::option::Option::Some(#results.len())])?);
                #place.write(#results.as_ptr().cast());
            }
        }
        Output::Text(capacity) => {
            let capacity = names::number(*capacity);
            quote! { ::tenon::support::write_text #alone(#text, #place, #capacity, &#results)?; }
        }
    };
    if param.nullable {
        quote! { if !#place.is_null() { #write } }
    } else {
        write
    }
}

/// Returns an object to the ABI: one that is made from a value, or one that is lent and there already.
pub fn returned_object(value: &TokenStream, is_optional: bool, is_lent: bool) -> TokenStream {
    match (is_lent, is_optional) {
        (true, true) => quote!(#value.map_or(::core::ptr::null_mut(), |lent| lent.as_raw())),
        (true, false) => quote!(#value.as_raw()),
        (false, _) => make_object(value, is_optional),
    }
}

/// Makes an object of the ABI from the value that implements it.
pub fn make_object(value: &TokenStream, is_optional: bool) -> TokenStream {
    if is_optional {
        quote!(#value.map_or(::core::ptr::null_mut(), |made| __object.make(made)))
    } else {
        quote!(__object.make(#value))
    }
}

/// Returns true if a length is behind a pointer.
fn is_read(function: &Function, extent: &Extent) -> bool {
    matches!(extent, Extent::Param(id)
        if function.param(*id).ty == Ty::Size && function.param(*id).dir != Direction::In)
}

/// Converts a length in elements or bytes to `usize`.
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
            let name = param.ident();
            let text = &param.name.value;
            match (param.ty, param.dir) {
                (Ty::Size, Direction::In) => quote!(#name),
                (Ty::Size, _) => quote!(::tenon::support::non_null #beside(#text, #name)?.read()),
                _ => {
                    let alone = report.alone();
                    quote!(::tenon::support::count #alone(#text, #name)?)
                }
            }
        }
    }
}

/// Converts a raw value to the trait's type.
pub fn from_raw(context: Context, param: &Param, raw: &TokenStream) -> TokenStream {
    match (param.ty, context.spec.kind(param.ty)) {
        (_, Some(kind @ TypeKind::Handle { .. })) => {
            let ty = value(context, param.ty, None);
            let is_const = context.spec.const_handle_name(param).is_some();
            let raw = if is_by_pointer(kind) || is_const { quote!(#raw as *mut _) } else { raw.clone() };
            quote!(#ty::from_raw(#raw))
        }
        (_, Some(TypeKind::Id { field, .. })) => {
            let (ty, field) = (value(context, param.ty, None), names::snake(field));
            quote!(#ty((*#raw).#field))
        }
        (Ty::Pointer, _) => {
            let ty = value(context, param.ty, param.space);
            quote!(#ty::from_ptr(#raw))
        }
        _ => raw.clone(),
    }
}

/// Converts a value of the trait's type to the ABI's.
pub fn to_raw(context: Context, param: &Param, safe: &TokenStream) -> TokenStream {
    let reached = reached(safe);
    match (param.ty, context.spec.kind(param.ty)) {
        (_, Some(TypeKind::Handle { .. })) => quote!(#reached.as_raw()),
        (_, Some(TypeKind::Id { tag, field, .. })) => {
            let tag = param.ty.id().map(|id| raw_path(context, id, tag));
            let field = names::snake(field);
            quote!(#tag { #field: #reached.0 })
        }
        (Ty::Pointer, _) => quote!(#reached.as_ptr()),
        (Ty::String, _) => quote!(#reached.as_ptr()),
        _ => alone(safe),
    }
}

/// Returns a value that no method call follows, so it needs no parentheses.
pub fn alone(value: &TokenStream) -> TokenStream {
    let mut tokens = value.clone().into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::Parenthesis => {
            group.stream()
        }
        _ => value.clone(),
    }
}

/// Returns a value before a member or a method. Both dereference automatically, so `(*name)` becomes `name`.
pub fn reached(value: &TokenStream) -> TokenStream {
    let inner = alone(value);
    let mut tokens = inner.clone().into_iter();
    match tokens.next() {
        Some(TokenTree::Punct(punct)) if punct.as_char() == '*' => tokens.collect(),
        _ => value.clone(),
    }
}

/// Returns the names of the size and the address in a struct of bytes.
fn byte_buffer_fields(context: Context, param: &Param) -> (Ident, Ident) {
    match context.spec.kind(param.ty) {
        Some(TypeKind::Struct { fields, .. }) if fields.len() == 2 => {
            (names::snake(&fields[0].name.value), names::snake(&fields[1].name.value))
        }
        _ => (names::symbol("size"), names::symbol("data")),
    }
}
