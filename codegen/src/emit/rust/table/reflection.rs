//! The spec as data at run time: a description of each function, for layers, reports and conformance cases.

use heck::ToSnakeCase;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::emit::descriptions::Describer;
use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::model::{
    Availability, Direction, Extent, FallbackKind, Function, Length, Need, Param, ParamId, ReleaseId, Role,
    Rule, Space, Ty, TypeId, TypeKind,
};

/// Emits the start of the module `reflection`, and its content.
pub fn emit(context: Context) -> (TokenStream, TokenStream) {
    let count = names::number(context.interface.functions.len() as u64);
    let enums = named_enums(context).into_iter().map(|id| {
        let ty = context.spec.ty(id);
        let (name, values) = (values_name(context, id), ty.enum_values());
        let values = values.iter().filter(|value| !value.alias).map(|value| {
            let (number, name) = (proc_macro2::Literal::i64_unsuffixed(value.value), &value.name.value);
            quote!((#number, #name))
        });
        quote! { const #name: &[(i64, &str)] = &[#(#values),*]; }
    });
    let entries = context.interface.functions.iter().map(|function| entry(context, function));
    let content = quote! {
        use ::tenon::reflect::*;

        #(#enums)*

        /// The description of each function: `FUNCTIONS[Function::X as usize]`.
        pub static FUNCTIONS: [FunctionInfo; #count] = [#(#entries),*];
    };
    let module = quote! {
        /// The spec as data at run time.
        pub
    };
    (module, content)
}

/// Emits the methods of `Function` that read it.
pub fn of_functions() -> TokenStream {
    quote! {
        impl Function {
            /// Returns its description in the spec.
            pub fn info(self) -> &'static ::tenon::reflect::FunctionInfo {
                &reflection::FUNCTIONS[self as usize]
            }

            /// Looks a function up by its name in the spec.
            pub fn of_name(name: &str) -> ::core::option::Option<Self> {
                Self::ALL.into_iter().find(|function| function.name() == name)
            }
        }
    }
}

fn entry(context: Context, function: &Function) -> TokenStream {
    let describer = Describer::new(context.spec, context.interface);
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
        let text = describer.fallback_action(function, &fallback.kind);
        let host_rule = fallback.rule == Rule::Host;
        let costs = fallback.costs.trim();
        let called = |id: crate::model::FunctionId| context.interface.function(id).name.value.clone();
        let (kind, calls): (_, Vec<String>) = match &fallback.kind {
            FallbackKind::Constant { .. } => (quote!(Constant), Vec::new()),
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
    let (since, until) = availability(&describer, function.availability);
    let returns = function.returns.iter().map(|(status, when)| {
        let (status, when) = (&describer.status(*status).name.value, &**when);
        quote!((#status, #when))
    });
    let has_returns = !function.returns.is_empty();
    let fields = [
        unless(function.need == Need::Optional, quote!(need: #need,)),
        unless(!blocking, quote!(blocking: #blocking,)),
        unless(function.stream_ordered.is_none(), quote!(stream_ordered: #stream_ordered,)),
        unless(!question, quote!(question: #question,)),
        unless(function.fallback.is_none(), quote!(fallback: #fallback,)),
        unless(function.availability.since.is_none(), quote!(since: #since,)),
        unless(function.availability.until.is_none(), quote!(until: #until,)),
        unless(!has_returns, quote!(returns: &[#(#returns),*],)),
    ];
    quote! {
        FunctionInfo {
            name: #name,
            group: #group,
            summary: #summary,
            params: &[#(#params),*],
            #(#fields)*
            ..FunctionInfo::OPTIONAL
        }
    }
}

fn param_entry(context: Context, param: &Param) -> TokenStream {
    let name = &param.name.value;
    let kind = kind(context, param);
    let start = match param.dir {
        Direction::In => quote!(input),
        Direction::Out => quote!(output),
        Direction::InOut => quote!(changed),
    };
    let space = param.space.map(|space| match space {
        Space::Host => quote!(.space(Space::Host)),
        Space::Device => quote!(.space(Space::Device)),
        Space::Unified => quote!(.space(Space::Unified)),
        Space::Any => quote!(.space(Space::Any)),
    });
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
    let length = param.length.as_ref().map(|length| match length {
        Length::Bytes(bytes) => {
            let bytes = extent(bytes);
            quote!(.bytes(#bytes))
        }
        Length::Count(count) => {
            let count = extent(count);
            quote!(.count(#count))
        }
    });
    let nullable = param.nullable.then(|| quote!(.nullable()));
    let role = match param.role {
        Role::Creates => Some(quote!(.creates())),
        Role::Destroys => Some(quote!(.destroys())),
        Role::Uses => None,
    };
    let other = |id: Option<ParamId>, method: TokenStream| {
        id.map(|ParamId(index)| {
            let index = names::number(index as u64);
            quote!(.#method(#index))
        })
    };
    let of = other(param.of, quote!(of));
    let held = other(param.held, quote!(held));
    let context_of = other(param.context_of, quote!(context_of));
    let describer = Describer::new(context.spec, context.interface);
    let release = |id: Option<ReleaseId>, method: TokenStream| {
        id.map(|id| {
            let name = describer.release(id);
            quote!(.#method(#name))
        })
    };
    let since = release(param.availability.since, quote!(since));
    let until = release(param.availability.until, quote!(until));
    quote!(ParamInfo::#start(#name, #kind) #space #length #nullable #role #of #held #context_of #since #until)
}

/// Returns the first and the last release of an item.
fn availability(describer: &Describer, availability: Availability) -> (TokenStream, TokenStream) {
    let release = |id: Option<ReleaseId>| {
        option(id.map(|id| {
            let name = describer.release(id);
            quote!(#name)
        }))
    };
    (release(availability.since), release(availability.until))
}

fn kind(context: Context, param: &Param) -> TokenStream {
    if let (Some(kind), Ty::Named(id)) = (context.spec.kind(param.ty), param.ty) {
        let name = &context.spec.ty(id).name.value;
        return match kind {
            TypeKind::Handle { null, .. } => {
                let null = null.is_some();
                quote!(Kind::handle(#name, #null))
            }
            TypeKind::Id { .. } => quote!(Kind::Id(#name)),
            TypeKind::Enum { .. } => {
                let values = values_name(context, id);
                quote!(Kind::named(#name, #values))
            }
            TypeKind::Struct { .. } => quote!(Kind::Struct(#name)),
            TypeKind::Callback { .. } => quote!(Kind::Callback(#name)),
        };
    }
    match param.ty {
        Ty::Bool => quote!(Kind::Bool),
        Ty::Int { bits, signed } => {
            let bits = names::number(u64::from(bits));
            quote!(Kind::int(#bits, #signed))
        }
        Ty::Size | Ty::ULongLong => quote!(Kind::int(64, false)),
        Ty::F32 => quote!(Kind::Float { bits: 32 }),
        Ty::F64 => quote!(Kind::Float { bits: 64 }),
        Ty::Char | Ty::String => quote!(Kind::Text),
        Ty::Pointer | Ty::Named(_) => quote!(Kind::Pointer),
    }
}

/// Returns the enums that parameters have, in the order of their first use.
fn named_enums(context: Context) -> Vec<TypeId> {
    let mut enums = Vec::new();
    for param in context.interface.functions.iter().flat_map(|function| &function.params) {
        if let (Some(TypeKind::Enum { .. }), Ty::Named(id)) = (context.spec.kind(param.ty), param.ty)
            && !enums.contains(&id)
        {
            enums.push(id);
        }
    }
    enums
}

/// Returns the constant for the values of an enum: `DataType` → `DATA_TYPE_VALUES`. An enum of another interface has
/// that interface's name in front.
fn values_name(context: Context, id: TypeId) -> Ident {
    let owner = &context.spec.interfaces[id.interface.0];
    let name = context.spec.ty(id).name.value.to_snake_case();
    let name =
        if std::ptr::eq(owner, context.interface) { name } else { format!("{}_{name}", owner.name.value) };
    format_ident!("{}_VALUES", name.to_uppercase())
}

/// Emits a field only if its value differs from the default.
fn unless(is_usual: bool, field: TokenStream) -> Option<TokenStream> {
    (!is_usual).then_some(field)
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
