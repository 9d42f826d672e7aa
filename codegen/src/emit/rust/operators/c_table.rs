//! The implementation of the traits by a table of C functions, which a plugin in C or C++ fills.

use crate::emit::rust::doc::of_file;
use crate::emit::rust::text::imports::Used;

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::signature::signature;
use super::{files, methods, names, trait_name};
use crate::emit::c::{members, table_size};
use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{
    Arity, AttributeType, Method, OperatorGroup, Operators, OutputPlace, Parameter, ParameterKind,
};
use crate::out::Output;

/// The struct of the table, and the methods of all operators as calls of its functions.
pub struct OperatorTableCalls;

impl Emitter for OperatorTableCalls {
    const KIND: &'static OutputKind = &outputs::RUST_OPERATOR_TABLE;

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        files(job, root, module)
    }
}

fn root(operators: &Operators) -> TokenStream {
    let groups: Vec<Ident> = operators.groups.iter().map(|group| names::snake(&group.name)).collect();
    let members = members(operators);
    let size = Literal::usize_unsuffixed(table_size(members.len()));
    let methods = members.iter().map(|(method, hash)| {
        let (name, hash) = (&method.name, Literal::u64_unsuffixed(*hash));
        quote!((#name, #hash))
    });
    quote! {
        //! The operators of a plugin in C: the struct of `tenon/operators.h`, and the traits.

        #(mod #groups;)*

        /// The table of a plugin.
        #[repr(C)]
        pub struct TenonOperators {
            pub(crate) size: usize,
            pub(crate) layout: u64,
            #(#groups: #groups::Functions,)*
        }

        const _: [(); #size] = [(); size_of::<TenonOperators>()];

        /// The methods in the order of the table, each with a hash of its name and parameters.
        pub(crate) const METHODS: &[(&str, u64)] = &[#(#methods),*];
    }
}

fn module(group: &OperatorGroup) -> TokenStream {
    let methods = methods(group);
    let name = trait_name(group);
    let doc = of_file(&group.summary);
    let module = names::snake(&group.name);
    let fields = methods.iter().map(|method| {
        let (name, types) = (names::snake(&method.name), types(method));
        quote!(#name: Slot<unsafe extern "C-unwind" fn(*const ffi::Launch, #(#types),*) -> Status>)
    });
    let calls = methods.iter().map(|method| {
        let (signature, body) = (signature(method), body(&module, method));
        quote!(#signature { #body })
    });
    let calls: TokenStream = calls.collect();
    let arguments = Used::by(&calls).import(quote!(crate::arguments), &CONVERTERS);
    quote! {
        #doc

        use tenon::device::{Result, Status};
        use tenon::operators::{#name, Launch, TensorMut, TensorRef};

        #arguments
        use crate::call::{CTable, Slot};
        use crate::ffi;

        /// The functions of this group.
        #[repr(C)]
        pub(crate) struct Functions {
            #(#fields,)*
        }

        impl #name for CTable {
            #calls
        }
    }
}

/// Emits the types of the parameters after the launch.
fn types(method: &Method) -> Vec<TokenStream> {
    let shape = method.shape().map(|_| quote!(*mut ffi::Shape));
    let parameters = method.parameters();
    let parameters = parameters.iter().map(|parameter| match parameter.kind {
        ParameterKind::Output(arity) | ParameterKind::Input(arity) if arity.is_list() => {
            quote!(*const *const ffi::Tensor, usize)
        }
        ParameterKind::Output(_) | ParameterKind::Input(_) => quote!(*const ffi::Tensor),
        ParameterKind::Attribute(AttributeType::Bool) => quote!(bool),
        ParameterKind::Attribute(AttributeType::I64) | ParameterKind::Random => quote!(i64),
        ParameterKind::Attribute(AttributeType::F64) => quote!(f64),
        ParameterKind::Attribute(AttributeType::Integers) => quote!(*const i64, usize),
        ParameterKind::Attribute(AttributeType::Numbers) => quote!(*const f64, usize),
        ParameterKind::Attribute(AttributeType::Text) => quote!(*const core::ffi::c_char),
        ParameterKind::Attribute(AttributeType::Texts) => quote!(*const *const core::ffi::c_char, usize),
    });
    shape.into_iter().chain(parameters).collect()
}

fn body(group: &Ident, method: &Method) -> TokenStream {
    let name = &method.name;
    let field = names::snake(name);
    let parameters = method.parameters();
    let conversions = parameters.iter().filter_map(conversion);
    let arguments = parameters.iter().map(argument);
    let shape: Vec<Ident> = method.shape().map(names::snake).into_iter().collect();
    let run = if shape.is_empty() { quote!(call) } else { quote!(shape) };
    quote! {
        let callee = self.functions().#group.#field.get(#name)?;
        #(#conversions)*
        self.#run(#name, launch, |launch, #(#shape),*| {
            __comment!("SAFETY: the plugin promises a function with these parameters, which live during the call.");
            unsafe { callee(launch, #(#shape,)* #(#arguments),*) }
        })
    }
}

/// The functions of `arguments`.
const CONVERTERS: [&str; 7] = ["inputs", "optional", "optional_inputs", "outputs", "tensor", "text", "texts"];

/// Returns the function of `arguments` that converts a parameter, or `None` if the parameter is passed as it is.
fn converter(kind: ParameterKind) -> Option<&'static str> {
    match kind {
        ParameterKind::Output(Arity::One) | ParameterKind::Input(Arity::One) => Some("tensor"),
        ParameterKind::Output(Arity::Optional) | ParameterKind::Input(Arity::Optional) => Some("optional"),
        ParameterKind::Output(Arity::List | Arity::OptionalList) => Some("outputs"),
        ParameterKind::Input(Arity::List) => Some("inputs"),
        ParameterKind::Input(Arity::OptionalList) => Some("optional_inputs"),
        ParameterKind::Attribute(AttributeType::Text) => Some("text"),
        ParameterKind::Attribute(AttributeType::Texts) => Some("texts"),
        ParameterKind::Attribute(_) | ParameterKind::Random => None,
    }
}

fn conversion(parameter: &Parameter) -> Option<TokenStream> {
    let name = names::snake(&parameter.name);
    let function = names::snake(converter(parameter.kind)?);
    Some(match parameter.kind {
        ParameterKind::Attribute(_) => {
            let shown = &parameter.name;
            quote!(let #name = #function(#shown, #name)?;)
        }
        _ => quote!(let #name = #function(#name);),
    })
}

/// Emits the arguments for a parameter: two for a list.
fn argument(parameter: &Parameter) -> TokenStream {
    let name = names::snake(&parameter.name);
    match parameter.kind {
        ParameterKind::Output(arity) | ParameterKind::Input(arity) if arity.is_list() => {
            quote!(#name.first(), #name.count())
        }
        ParameterKind::Output(Arity::Optional) | ParameterKind::Input(Arity::Optional) => {
            quote!(#name.as_ref().map_or(core::ptr::null(), core::ptr::from_ref))
        }
        ParameterKind::Output(_) | ParameterKind::Input(_) => quote!(&raw const #name),
        ParameterKind::Attribute(AttributeType::Integers | AttributeType::Numbers) => {
            quote!(#name.as_ptr(), #name.len())
        }
        ParameterKind::Attribute(AttributeType::Text) => quote!(#name.as_ptr()),
        ParameterKind::Attribute(AttributeType::Texts) => quote!(#name.first(), #name.count()),
        ParameterKind::Attribute(_) | ParameterKind::Random => quote!(#name),
    }
}
