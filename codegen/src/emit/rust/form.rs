//! How each parameter of the ABI appears in Rust.
//!
//! This is where safe signatures come from: a length that a slice carries is no parameter, what the function yields
//! is its result, a callback takes its context along.

use proc_macro2::TokenStream;
use quote::quote;

use super::types::{is_by_pointer, is_byte_buffer, value};
use super::{Context, names};
use crate::model::{
    Direction, Extent, Function, Length, Param, ParamId, ResultKind, Role, Space, Ty, TypeId, TypeKind,
};

/// The form of a parameter in Rust.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// Nothing: another parameter carries it.
    Consumed,
    /// A value: a scalar, a handle, an id, an enum, an address.
    Value,
    /// A reference to a value that the function reads and writes.
    InOut,
    /// Host bytes of a length.
    Bytes { len: Extent, mutable: bool },
    /// Elements of a count.
    Slice { len: Extent, mutable: bool },
    /// Bytes in a struct of length and address.
    ByteBuffer { mutable: bool },
    /// A NUL-terminated text.
    Text,
    /// A struct by reference.
    StructRef { mutable: bool },
    /// A callback, with the parameter that it takes along.
    Callback { context: Option<ParamId> },
    /// Part of the result.
    Output(Output),
}

/// The form of something that a function yields.
#[derive(Clone, Debug)]
pub(super) enum Output {
    /// A value.
    Value,
    /// An array of fixed length.
    Array(u64),
    /// As many elements as another function says.
    Vec(crate::model::FunctionId),
    /// A text in a buffer of fixed size.
    Text(u64),
    /// A list that belongs to somebody else, with the parameter that has its length.
    Lent { count: String },
}

impl Form {
    /// The length that a slice of this form carries.
    pub(super) fn length(&self) -> Option<&Extent> {
        match self {
            Form::Bytes { len, .. } | Form::Slice { len, .. } => Some(len),
            _ => None,
        }
    }
}

/// The forms of all parameters of a function.
pub(super) fn forms(context: Context, function: &Function) -> Vec<Form> {
    let own: Vec<Form> = function
        .params
        .iter()
        .enumerate()
        .map(|(index, param)| form(context, function, ParamId(index), param))
        .collect();
    (0..own.len())
        .map(|index| {
            let id = ParamId(index);
            let is_length = own.iter().any(|form| form.length() == Some(&Extent::Param(id)));
            let name = &function.param(id).name.value;
            if own.iter().any(|form| matches!(form, Form::Output(Output::Lent { count }) if count == name)) {
                return Form::Consumed;
            }
            if is_length && function.param(id).dir == Direction::In {
                Form::Consumed
            } else {
                own[index].clone()
            }
        })
        .collect()
}

fn form(context: Context, function: &Function, id: ParamId, param: &Param) -> Form {
    if param.is_status || param.context_of.is_some() {
        return Form::Consumed;
    }
    let mutable = param.dir != Direction::In;
    if let Some(kind) = named(context, param.ty)
        && param.length.is_none()
    {
        match kind {
            TypeKind::Struct { fields, .. } if is_byte_buffer(fields) => return Form::ByteBuffer { mutable },
            TypeKind::Struct { .. } if param.dir != Direction::Out => return Form::StructRef { mutable },
            // What C passes by its address it also changes through it; only what is made comes back.
            _ if is_by_pointer(kind) && param.role != Role::Creates => return Form::Value,
            TypeKind::Callback { .. } => {
                let taken = function.params.iter().position(|other| other.context_of == Some(id));
                return Form::Callback { context: taken.map(ParamId) };
            }
            _ => {}
        }
    }
    if let (true, Some(Length::Count(Extent::Param(count)))) = (param.lent, &param.length) {
        return Form::Output(Output::Lent { count: function.param(*count).name.value.clone() });
    }
    if param.is_output() {
        return Form::Output(output(param));
    }
    match (&param.length, param.ty) {
        (Some(Length::Bytes(len)), Ty::Pointer)
            if param.space == Some(Space::Host) && param.held.is_none() && param.role == Role::Uses =>
        {
            Form::Bytes { len: len.clone(), mutable }
        }
        (Some(Length::Bytes(len) | Length::Count(len)), Ty::Char) => {
            Form::Bytes { len: len.clone(), mutable }
        }
        (Some(Length::Bytes(len)), Ty::String) if mutable => Form::Bytes { len: len.clone(), mutable },
        // The array of addresses is the caller's to keep; `dir` speaks of the memory behind them.
        (Some(Length::Count(len)), Ty::Pointer) => Form::Slice { len: len.clone(), mutable: false },
        (Some(Length::Count(len)), _) => Form::Slice { len: len.clone(), mutable },
        (_, Ty::String) => Form::Text,
        (_, Ty::Pointer) => Form::Value,
        _ if param.dir == Direction::InOut => Form::InOut,
        _ => Form::Value,
    }
}

fn output(param: &Param) -> Output {
    match (&param.length, param.ty) {
        (Some(Length::Count(Extent::Number(count)) | Length::Bytes(Extent::Number(count))), Ty::Char)
        | (Some(Length::Bytes(Extent::Number(count))), Ty::String) => Output::Text(*count),
        (Some(Length::Count(Extent::Number(count))), _) => Output::Array(*count),
        (Some(Length::Count(Extent::Call(function))), _) => Output::Vec(*function),
        _ => Output::Value,
    }
}

/// What a described type is.
pub(super) fn named<'a>(context: Context<'a>, ty: Ty) -> Option<&'a TypeKind> {
    match ty {
        Ty::Named(id) => Some(&context.spec.ty(id).kind),
        _ => None,
    }
}

/// The described type of a parameter that has one.
pub(super) fn named_id(ty: Ty) -> Option<TypeId> {
    match ty {
        Ty::Named(id) => Some(id),
        _ => None,
    }
}

/// The type of a parameter in a signature; `None` for what is no parameter there.
pub(super) fn parameter_type(context: Context, param: &Param, form: &Form) -> Option<TokenStream> {
    let plain = element(context, param);
    let reference =
        |mutable: bool, target: TokenStream| if mutable { quote!(&mut #target) } else { quote!(&#target) };
    let optional = |ty: TokenStream| {
        if param.nullable { quote!(::core::option::Option<#ty>) } else { ty }
    };
    Some(match form {
        Form::Consumed | Form::Output(_) => return None,
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

/// The type of a value, or of an element of an array.
pub(super) fn element(context: Context, param: &Param) -> TokenStream {
    match (param.ty, &param.length) {
        (Ty::String, Some(Length::Count(_))) => quote!(*const ::core::ffi::c_char),
        _ => value(context, param.ty, param.space),
    }
}

/// The parameters of a signature: names and types.
pub(super) fn parameters<'a>(
    context: Context<'a>,
    function: &'a Function,
    forms: &'a [Form],
) -> impl Iterator<Item = (proc_macro2::Ident, TokenStream)> + 'a {
    function.params.iter().zip(forms).filter_map(move |(param, form)| {
        Some((names::snake(&param.name.value), parameter_type(context, param, form)?))
    })
}

/// The type of one thing that a function yields.
pub(super) fn output_type(context: Context, param: &Param, output: &Output) -> TokenStream {
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
    }
}

/// What a function yields, with the parameters it comes through.
pub(super) fn outputs<'a>(
    function: &'a Function,
    forms: &'a [Form],
) -> Vec<(ParamId, &'a Param, &'a Output)> {
    function
        .params
        .iter()
        .zip(forms)
        .enumerate()
        .filter_map(|(index, (param, form))| match form {
            Form::Output(output) => Some((ParamId(index), param, output)),
            _ => None,
        })
        .collect()
}

/// Whether a method answers in a `Result`: where the ABI returns a status, and in an export, which keeps the error of
/// a call that returns something else for whoever asks.
pub(super) fn is_fallible(context: Context, function: &Function) -> bool {
    match function.result {
        ResultKind::Status => true,
        ResultKind::None | ResultKind::Value(_) => super::export::keeps_failures(context),
    }
}

/// What a method of the trait returns inside its `Result`.
pub(super) fn result_type(context: Context, function: &Function, forms: &[Form]) -> TokenStream {
    if function.question.is_some() {
        return quote!(bool);
    }
    if let ResultKind::Value(result) = &function.result {
        return match result.ty {
            // A library may hand out what it has to keep; a plugin answers with what is in its own code.
            Ty::String if super::export::keeps_failures(context) => {
                let text = quote!(::std::borrow::Cow<'static, ::core::ffi::CStr>);
                if result.nullable { quote!(::core::option::Option<#text>) } else { text }
            }
            Ty::String => quote!(&'static ::core::ffi::CStr),
            ty => value(context, ty, result.space),
        };
    }
    let outputs = outputs(function, forms);
    match outputs.as_slice() {
        [] => quote!(()),
        [(_, param, output)] => output_type(context, param, output),
        _ => {
            let name = names::pascal(&function.name.value);
            quote!(#name)
        }
    }
}

/// The return type of a method of the trait; `None`: it returns nothing.
pub(super) fn return_type(context: Context, function: &Function, forms: &[Form]) -> Option<TokenStream> {
    let is_empty = || matches!(function.result, ResultKind::None) && outputs(function, forms).is_empty();
    if is_fallible(context, function) {
        let inner = result_type(context, function, forms);
        Some(quote!(Result<#inner>))
    } else {
        (!is_empty()).then(|| result_type(context, function, forms))
    }
}
