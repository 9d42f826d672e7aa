//! The spec as data at run time: one description for each function, for layers, reports and conformance cases.

use proc_macro2::TokenStream;
use quote::quote;

use super::form::named;
use super::{Context, names};
use crate::emit::words::Words;
use crate::model::{
    Availability, Direction, Extent, FallbackKind, Function, Length, Need, Param, ParamId, ReleaseId, Role,
    Rule, Space, Ty, TypeKind,
};

pub(super) fn emit(context: Context) -> TokenStream {
    let count = names::number(context.interface.functions.len() as u64);
    let entries = context.interface.functions.iter().map(|function| entry(context, function));
    quote! {
        /// The spec as data at run time.
        pub mod reflection {
            use ::tenon::reflect::*;

            /// What the spec says of each function: `FUNCTIONS[Function::X as usize]`.
            pub static FUNCTIONS: [FunctionInfo; #count] = [#(#entries),*];
        }

        impl Function {
            /// What the spec says of it.
            pub fn info(self) -> &'static ::tenon::reflect::FunctionInfo {
                &reflection::FUNCTIONS[self as usize]
            }

            /// The function of a name, if the spec has it.
            pub fn of_name(name: &str) -> ::core::option::Option<Self> {
                Self::ALL.into_iter().find(|function| function.name() == name)
            }
        }
    }
}

fn entry(context: Context, function: &Function) -> TokenStream {
    let words = Words::new(context.spec, context.interface);
    let (name, summary) = (&function.name.value, &function.summary);
    let group = &context.interface.groups[function.group.0].name;
    let params = function.params.iter().map(|param| param_entry(context, param));
    let need = match function.need {
        Need::Load => quote!(Need::Load),
        Need::Use => quote!(Need::Use),
        Need::Optional => quote!(Need::Optional),
    };
    let blocking = function.blocking;
    let stream_ordered = index(function.stream_ordered);
    let question = function.question.is_some();
    let fallback = option(function.fallback.as_ref().map(|fallback| {
        let text = words.fallback_action(function, &fallback.kind);
        let host_rule = fallback.rule == Rule::Host;
        let costs = fallback.costs.trim();
        let called = |id: crate::model::FunctionId| context.interface.function(id).name.value.clone();
        let (kind, calls): (_, Vec<String>) = match &fallback.kind {
            FallbackKind::Constant(_) => (quote!(Constant), Vec::new()),
            FallbackKind::Call(call) => (quote!(Call), vec![called(call.function.value)]),
            FallbackKind::Sequence { calls, .. } => {
                (quote!(Sequence), calls.iter().map(|call| called(call.function.value)).collect())
            }
            FallbackKind::Strategy { needs, .. } => {
                (quote!(Strategy), needs.iter().map(|need| called(need.value)).collect())
            }
            FallbackKind::Refuse { .. } => (quote!(Refuse), Vec::new()),
            FallbackKind::Nothing => (quote!(Nothing), Vec::new()),
        };
        quote! {
            FallbackInfo {
                kind: FallbackKind::#kind,
                text: #text,
                calls: &[#(#calls),*],
                host_rule: #host_rule,
                costs: #costs,
            }
        }
    }));
    let (since, until) = availability(&words, function.availability);
    let returns = function.returns.iter().map(|(status, when)| {
        let (status, when) = (&words.status(*status).name.value, &**when);
        quote!((#status, #when))
    });
    quote! {
        FunctionInfo {
            name: #name,
            group: #group,
            summary: #summary,
            params: &[#(#params),*],
            need: #need,
            blocking: #blocking,
            stream_ordered: #stream_ordered,
            question: #question,
            fallback: #fallback,
            since: #since,
            until: #until,
            returns: &[#(#returns),*],
        }
    }
}

fn param_entry(context: Context, param: &Param) -> TokenStream {
    let name = &param.name.value;
    let kind = kind(context, param);
    let direction = match param.dir {
        Direction::In => quote!(Direction::In),
        Direction::Out => quote!(Direction::Out),
        Direction::InOut => quote!(Direction::InOut),
    };
    let space = option(param.space.map(|space| match space {
        Space::Host => quote!(Space::Host),
        Space::Device => quote!(Space::Device),
        Space::Unified => quote!(Space::Unified),
        Space::Any => quote!(Space::Any),
    }));
    let extent = |extent: &Extent| match extent {
        Extent::Param(ParamId(index)) => {
            let index = names::number(*index as u64);
            quote!(Extent::Param(#index))
        }
        Extent::Number(number) => {
            let number = names::number(*number);
            quote!(Extent::Number(#number))
        }
        Extent::Call(id) => {
            let name = &context.interface.function(*id).name.value;
            quote!(Extent::Call(#name))
        }
    };
    let length = option(param.length.as_ref().map(|length| match length {
        Length::Bytes(bytes) => {
            let bytes = extent(bytes);
            quote!(Length::Bytes(#bytes))
        }
        Length::Count(count) => {
            let count = extent(count);
            quote!(Length::Count(#count))
        }
    }));
    let nullable = param.nullable;
    let role = match param.role {
        Role::Creates => quote!(Role::Creates),
        Role::Destroys => quote!(Role::Destroys),
        Role::Uses => quote!(Role::Uses),
    };
    let [of, held, context_of] = [param.of, param.held, param.context_of].map(index);
    let words = Words::new(context.spec, context.interface);
    let (since, until) = availability(&words, param.availability);
    quote! {
        ParamInfo {
            name: #name,
            kind: #kind,
            direction: #direction,
            space: #space,
            length: #length,
            nullable: #nullable,
            role: #role,
            of: #of,
            held: #held,
            context_of: #context_of,
            since: #since,
            until: #until,
        }
    }
}

/// The first and the last release of something.
fn availability(words: &Words, availability: Availability) -> (TokenStream, TokenStream) {
    let release = |id: Option<ReleaseId>| {
        option(id.map(|id| {
            let name = words.release(id);
            quote!(#name)
        }))
    };
    (release(availability.since), release(availability.until))
}

fn kind(context: Context, param: &Param) -> TokenStream {
    if let (Some(kind), Ty::Named(id)) = (named(context, param.ty), param.ty) {
        let name = &context.spec.ty(id).name.value;
        return match kind {
            TypeKind::Handle { null, .. } => {
                let null = null.is_some();
                quote!(Kind::Handle { name: #name, null: #null })
            }
            TypeKind::Id { .. } => quote!(Kind::Id(#name)),
            TypeKind::Enum { values, .. } => {
                let values = values.iter().filter(|value| !value.alias).map(|value| {
                    let (number, name) =
                        (proc_macro2::Literal::i64_unsuffixed(value.value), &value.name.value);
                    quote!((#number, #name))
                });
                quote!(Kind::Enum { name: #name, values: &[#(#values),*] })
            }
            TypeKind::Struct { .. } => quote!(Kind::Struct(#name)),
            TypeKind::Callback { .. } => quote!(Kind::Callback(#name)),
        };
    }
    match param.ty {
        Ty::Bool => quote!(Kind::Bool),
        Ty::Int { bits, signed } => {
            let bits = names::number(u64::from(bits));
            quote!(Kind::Int { bits: #bits, signed: #signed })
        }
        Ty::Size | Ty::ULongLong => quote!(Kind::Int { bits: 64, signed: false }),
        Ty::F32 => quote!(Kind::Float { bits: 32 }),
        Ty::F64 => quote!(Kind::Float { bits: 64 }),
        Ty::Char | Ty::String => quote!(Kind::Text),
        Ty::Pointer | Ty::Named(_) => quote!(Kind::Pointer),
    }
}

fn index(id: Option<ParamId>) -> TokenStream {
    option(id.map(|ParamId(index)| {
        let index = names::number(index as u64);
        quote!(#index)
    }))
}

fn option(value: Option<TokenStream>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}
