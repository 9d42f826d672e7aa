//! The implementation of the traits for a device that lacks methods: they are composed of those that it has.

mod formula;
mod sequence;

use crate::emit::rust::doc::of_file;
use crate::emit::rust::text::imports::Used;
use std::collections::HashMap;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::signature::signature;
use super::{files, methods, names, trait_name};
use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::formula::Ty;
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{Arity, Composition, Method, OperatorGroup, Operators, OutputPlace, Recipe};
use crate::out::Output;

/// The methods of all operators, as calls of a device's methods.
pub struct OperatorCompositions;

impl Emitter for OperatorCompositions {
    const KIND: &'static OutputKind = &outputs::RUST_OPERATOR_COMPOSITIONS;

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let Some(operators) = &job.spec.operators else { return Ok(Vec::new()) };
        let compositions = operators.compositions();
        let root = root(operators, &compositions);
        let compositions: Known =
            compositions.iter().map(|composition| (composition.method.name.as_str(), composition)).collect();
        files(job, |_| root.clone(), |group| module(operators, group, &compositions))
    }
}

/// The compositions by the names of their methods.
type Known<'a> = HashMap<&'a str, &'a Composition<'a>>;

fn root(operators: &Operators, compositions: &[Composition]) -> TokenStream {
    let groups = operators.groups.iter().map(|group| names::snake(&group.name));
    let entries = compositions.iter().map(|composition| {
        let method = &composition.method.name;
        let named = |of_truth: bool| {
            let parts = composition.parts.iter().filter(move |part| part.of_truth == of_truth);
            parts.map(|part| part.method.as_str())
        };
        let (parts, tests) = (named(false), named(true));
        quote!(Composition { method: #method, parts: &[#(#parts),*], tests: &[#(#tests),*] })
    });
    quote! {
        //! The methods that other methods can compute.

        #(mod #groups;)*

        /// A method that other methods can compute.
        pub(super) struct Composition {
            pub(super) method: &'static str,
            /// The methods that it calls, for elements of its own type.
            pub(super) parts: &'static [&'static str],
            /// The methods that it calls for booleans.
            pub(super) tests: &'static [&'static str],
        }

        /// All of them.
        pub(super) const COMPOSITIONS: &[Composition] = &[#(#entries),*];
    }
}

fn module(operators: &Operators, group: &OperatorGroup, compositions: &Known) -> TokenStream {
    let name = trait_name(group);
    let doc = of_file(&group.summary);
    let methods = methods(group);
    let methods = methods.iter().map(|method| {
        let (signature, forward) = (signature(method), forward(method));
        let body = match compositions.get(method.name.as_str()) {
            None => quote!(self.own(|own| #forward)),
            Some(composition) => {
                let (ty, name, body) = (elements(method), &method.name, body(operators, composition));
                quote! {
                    let ty = #ty;
                    if !self.composes(#name, ty) {
                        return self.own(|own| #forward);
                    }
                    #body
                }
            }
        };
        quote!(#signature { #body })
    });
    let methods: TokenStream = methods.collect();
    let used = Used::by(&methods);
    let device = used.import(quote!(tenon::device), &["DataType", "Error", "Result"]);
    let rules = used.import(quote!(crate::operators::composed), &["rules"]);
    // The traits of the methods of other groups that are called.
    let is_called = |group: &&OperatorGroup| self::methods(group).iter().any(|it| used.calls(&it.name));
    let others = operators.groups.iter().filter(|other| other.name != group.name);
    let traits = others.filter(is_called).map(trait_name);
    quote! {
        #doc

        #device
        use tenon::operators::{#name, #(#traits,)* Launch, TensorMut, TensorRef};

        use crate::operators::composed::Composed;
        #rules

        impl #name for Composed<'_> {
            #methods
        }
    }
}

/// Emits the call of the device's own method.
fn forward(method: &Method) -> TokenStream {
    let name = names::snake(&method.name);
    let arguments = method.parameters().into_iter().map(|parameter| names::snake(&parameter.name));
    quote!(own.#name(launch, #(#arguments),*))
}

/// Emits the type of elements that decides whether the device has the method.
fn elements(method: &Method) -> TokenStream {
    let inputs = method.inputs.iter().filter(|variable| method.operator.arity(**variable) == Arity::One);
    let inputs: Vec<Ident> =
        inputs.map(|variable| names::snake(&method.operator.variable_name(*variable))).collect();
    match inputs.as_slice() {
        [input] => quote!(#input.data_type()),
        _ => quote!(Self::elements(&[#(#inputs),*])),
    }
}

fn body(operators: &Operators, composition: &Composition) -> TokenStream {
    match &composition.recipe {
        Recipe::Formula(parts, value) => formula::body(&composition.method, parts, value),
        Recipe::Sequence(steps) => sequence::body(operators, &composition.method, steps),
    }
}

/// Emits the type of the elements of a result.
fn result_type(ty: Ty) -> TokenStream {
    match ty {
        Ty::Truth => quote!(DataType::BOOL),
        Ty::Number => quote!(ty),
    }
}
