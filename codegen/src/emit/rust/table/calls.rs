//! The list of the methods of a trait, from which the macro `calls` makes forwarding, layers, and calls with arguments as
//! numbers.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::doc::doc;
use crate::emit::rust::method::form::{
    Form, Output, default_value, is_fallible, output_type, outputs, parameter_type, return_type,
};
use crate::emit::rust::names;
use crate::emit::rust::types::api_type::{type_path, value};
use crate::model::{Carrier, Extent, Function, Interface, InterfaceKind, Param, Ty, TypeId, TypeKind};

pub fn emit(context: Context) -> TokenStream {
    let name = names::trait_of(context.interface);
    let methods = context.interface.methods().map(|function| method(context, function));
    // Layers need errors, and so a status type, which an interface may lack.
    let layers = has_layers(context.interface).then(|| quote! { #[layers(Error)] });
    let words = has_layers(context.interface).then(|| words(context));
    quote! {
        #[__list(tenon::calls)]
        {
            #[forward(Function)]
            #layers
            trait #name: Partial { #(#methods)* }
        }

        #words
    }
}

/// Returns true if the calls of an interface can pass through layers.
fn has_layers(interface: &Interface) -> bool {
    interface.status.is_some() && matches!(interface.kind, InterfaceKind::Table(_))
}

fn method(context: Context, function: &Function) -> TokenStream {
    let docs = doc(&function.summary, "");
    let (name, variant) = (function.ident(), function.variant());
    let mode = if function.question.is_some() {
        Some(quote!(, asks))
    } else if is_fallible(context, function) {
        None
    } else {
        let refused = default_value(context, &function.result);
        Some(quote!(, returns(#refused)))
    };
    let params = function.formed().map(|(param, form)| parameter(context, function, param, form));
    let result = return_type(context, function).map(|ty| quote!(-> #ty));
    quote! {
        #docs
        #[call(#variant #mode)]
        fn #name(#(#params),*) #result;
    }
}

/// Emits a parameter of the ABI: its role, its name and its type.
fn parameter(context: Context, function: &Function, param: &Param, form: &Form) -> TokenStream {
    let name = param.ident();
    let role = role(context, function, param, form).map(|role| quote!(#[#role]));
    let ty = match form {
        Form::Output(output) => output_type(context, param, output),
        _ => parameter_type(context, param, form).unwrap_or_else(|| value(context, param.ty, param.space)),
    };
    quote!(#role #name: #ty)
}

/// Returns what the macro does with a parameter; `None` for a value.
fn role(context: Context, function: &Function, param: &Param, form: &Form) -> Option<TokenStream> {
    let name_of = |id| -> Ident { function.param(id).ident() };
    let is_in_words =
        !matches!(context.spec.kind(param.ty), Some(TypeKind::Struct { .. } | TypeKind::Callback { .. }));
    Some(match form {
        Form::Value | Form::InOut if !is_in_words => quote!(unseen),
        Form::Value if param.ty == Ty::String => quote!(lent),
        // Only objects have a receiver among their parameters, and make others.
        Form::Value | Form::Receiver { .. } | Form::Object | Form::Own => return None,
        Form::InOut if param.ty == Ty::String => quote!(unseen),
        Form::InOut => quote!(changed),
        Form::Bytes { len, .. } | Form::Slice { len, .. } => match len {
            Extent::Call(_) => quote!(lent),
            _ if matches!(param.ty, Ty::String | Ty::Char) => quote!(lent),
            Extent::Param(id) => {
                let length = name_of(*id);
                quote!(slice(#length))
            }
            Extent::Number(number) => {
                let number = names::number(*number);
                quote!(slice(#number))
            }
        },
        Form::Text => quote!(text),
        Form::Callback { context: Some(id) } if !param.nullable => {
            let user_data = name_of(*id);
            quote!(callback(#user_data))
        }
        Form::ByteBuffer { .. } | Form::StructRef { .. } | Form::Callback { .. } => quote!(lent),
        Form::Carried(Carrier::Slice(id)) => {
            let carrier = name_of(*id);
            quote!(length(#carrier))
        }
        Form::Carried(Carrier::Callback(id)) => {
            let carrier = name_of(*id);
            quote!(context(#carrier))
        }
        Form::Output(Output::Value) if is_in_words => {
            if outputs(function).len() == 1 {
                quote!(result)
            } else {
                quote!(member)
            }
        }
        Form::Output(_) | Form::Carried(Carrier::Result | Carrier::Lent(_)) => quote!(output),
    })
}

/// Emits how numbers represent the types in the calls of an interface.
fn words(context: Context) -> TokenStream {
    let (mut addresses, mut numbers, mut callbacks, mut functions) = (vec![], vec![], vec![], vec![]);
    for id in represented(context) {
        let kinds = match &context.spec.ty(id).kind {
            TypeKind::Handle { .. } => &mut addresses,
            TypeKind::Id { .. } | TypeKind::Enum { .. } => &mut numbers,
            TypeKind::Callback { params, .. } if params.iter().any(Param::is_context) => &mut callbacks,
            TypeKind::Callback { .. } => &mut functions,
            TypeKind::Struct { .. } => continue,
        };
        kinds.push(type_path(context, id));
    }
    let kinds =
        [("address", addresses), ("number", numbers), ("callback", callbacks), ("function", functions)];
    let lists = kinds.iter().filter(|(_, types)| !types.is_empty()).map(|(kind, types)| {
        let kind = names::symbol(kind);
        quote! { ::tenon::word! { #kind #(#types),* } }
    });
    quote! { #(#lists)* }
}

/// Returns the types that this interface has to represent: those in its calls, each by the first interface that may.
fn represented(context: Context) -> Vec<TypeId> {
    let spec = context.spec;
    let is_mine = |id: &TypeId| {
        let owner = &spec.interfaces[id.interface.0];
        if has_layers(owner) {
            return std::ptr::eq(owner, context.interface);
        }
        let first = spec.interfaces.iter().find(|user| has_layers(user) && types_of(user).contains(id));
        first.is_some_and(|first| std::ptr::eq(first, context.interface))
    };
    types_of(context.interface).into_iter().filter(is_mine).collect()
}

/// Returns the types of the parameters and results of the methods, in the order of the spec.
fn types_of(interface: &Interface) -> BTreeSet<TypeId> {
    let values =
        interface.methods().flat_map(|function| function.params.iter().chain(function.result.value()));
    values.filter_map(|value| value.ty.id()).collect()
}
