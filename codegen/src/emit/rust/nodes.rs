//! The nodes of a host's models: the kernels that it looks up by operator, version and type.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::emit::rust::attribute::constant;
use crate::emit::rust::doc::of_file;
use crate::emit::rust::files::group_files;
use crate::emit::rust::names;
use crate::emit::rust::text::imports::Used;
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{
    AttributeValue, Interface, ModelNode, NodeAttribute, NodeGroup, NodeWork, OperatorId, Operators,
    OutputPlace,
};
use crate::out::Output;
use crate::text::count;

/// The nodes of each interface that has some.
pub struct Nodes;

impl Emitter for Nodes {
    const KIND: &'static OutputKind = &outputs::RUST_NODES;

    fn emit(job: &Job, place: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let (Some(id), Some(operators)) = (&place.interface, &job.spec.operators) else {
            return Ok(Vec::new());
        };
        let interface = &job.spec.interfaces[id.value.0];
        let groups = interface.nodes.iter();
        let modules = groups.map(|it| (&*it.name, count(it.nodes.len(), "node"), module(operators, it)));
        let note = count(interface.nodes.len(), "group");
        Ok(group_files(&job.stamp.operators(operators), note, root(interface), modules))
    }
}

fn root(interface: &Interface) -> TokenStream {
    let modules: Vec<Ident> = interface.nodes.iter().map(|group| names::snake(&group.name)).collect();
    quote! {
        //! The list of kernels, by the operators of models that they compute.
        #(mod #modules;)*

        use crate::nodes::Node;

        /// Returns all kernels.
        pub(super) fn all() -> impl Iterator<Item = &'static Node> {
            [#(#modules::NODES),*].into_iter().flatten()
        }
    }
}

fn module(operators: &Operators, group: &NodeGroup) -> TokenStream {
    let nodes = group.nodes.iter().map(|node| entry(operators, node));
    let doc = of_file(&group.summary);
    let code = quote! {
        pub(super) static NODES: &[Node] = &[#(#nodes),*];
    };
    let used = Used::by(&code);
    let sets = ["BOOL", "FLOAT", "FLOAT32", "INT32", "INT64", "INT8", "INTEGER", "UINT8", "UNSIGNED"];
    let sets = used.import(quote!(crate::nodes::types), &sets);
    let rules = used.import(quote!(crate), &["rules"]);
    let kernels = used.import(quote!(crate::nodes), &["HostKernel"]);
    let steps = used.import(quote!(crate::rules::elementwise), &["elementwise", "fold"]);
    quote! {
        #doc
        use crate::nodes::Node;
        #kernels
        #sets
        #rules
        #steps

        #code
    }
}

fn entry(operators: &Operators, node: &ModelNode) -> TokenStream {
    let (name, since) = (&node.name.value, proc_macro2::Literal::u32_unsuffixed(node.since));
    let types = node.types.iter().map(|(name, sets)| {
        let mut sets = sets.iter().map(|set| format_ident!("{}", set.to_uppercase()));
        let first = sets.next();
        let rest = sets.map(|set| quote!(.and(#set)));
        quote!((#name, #first #(#rest)*))
    });
    let work = match &node.work {
        NodeWork::Operator { id, attributes, folds } => operator(operators, *id, attributes, *folds),
        NodeWork::Rule { path, uses } => {
            let uses = uses.iter().map(|id| &operators.operator(*id).name.value);
            let path = path.split("::").map(|part| format_ident!("{part}"));
            quote!((&[#(#uses),*], rules #(:: #path)*))
        }
        NodeWork::Host { kernel, uses } => {
            let uses = uses.iter().map(|id| &operators.operator(*id).name.value);
            let kernel = names::pascal(kernel);
            quote!((&[#(#uses),*], HostKernel::#kernel))
        }
    };
    let mut more = Vec::new();
    if !node.domain.is_empty() {
        let domain = &node.domain;
        more.push(quote!(.of(#domain)));
    }
    if let Some(until) = node.until {
        let until = proc_macro2::Literal::u32_unsuffixed(until);
        more.push(quote!(.until(#until)));
    }
    if !node.host_inputs.is_empty() {
        let inputs = node.host_inputs.iter().map(|input| proc_macro2::Literal::u32_unsuffixed(*input));
        more.push(quote!(.host(&[#(#inputs),*])));
    }
    if node.is_host_output {
        more.push(quote!(.host_output()));
    }
    if node.is_in_place {
        more.push(quote!(.in_place()));
    }
    let new = match &node.work {
        NodeWork::Host { .. } => quote!(of_the_host),
        _ => quote!(new),
    };
    quote!(Node::#new(#name, #since, &[#(#types),*], #work) #(#more)*)
}

/// Emits the methods that a node needs, and the function that reads its attributes.
fn operator(operators: &Operators, id: OperatorId, attributes: &[NodeAttribute], folds: bool) -> TokenStream {
    let operator = operators.operator(id);
    let (text, method) = (&operator.name.value, names::snake(&operator.name.value));
    if folds {
        return quote!((&[#text, "copy"], |_| {
            fold(|operators, launch, out, a, b| operators.#method(launch, out, a, b))
        }));
    }
    let inputs: Vec<Ident> = operator.inputs.iter().map(|input| names::snake(&input.name)).collect();
    let (mut reads, mut values) = (Vec::new(), Vec::new());
    for (attribute, given) in operator.attributes.iter().zip(attributes) {
        let value = constant(&given.value);
        let Some(name) = &given.name else {
            values.push(value);
            continue;
        };
        let variable = names::snake(&attribute.name);
        reads.push(match given.value {
            AttributeValue::Truth(_) => {
                quote!(let #variable = info.int(#name).map_or(#value, |flag| flag != 0);)
            }
            AttributeValue::Integer(_) => quote!(let #variable = info.int(#name).unwrap_or(#value);),
            _ => quote!(let #variable = info.float(#name).unwrap_or(#value);),
        });
        values.push(quote!(#variable));
    }
    let call = quote!(|operators, launch, out, [#(#inputs),*]| {
        operators.#method(launch, out, #(#inputs,)* #(#values),*)
    });
    match reads.as_slice() {
        [] => quote!((&[#text], |_| elementwise(#call))),
        _ => quote!((&[#text], |info| { #(#reads)* elementwise(move #call) })),
    }
}
