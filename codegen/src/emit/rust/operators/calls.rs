//! The implementation of the traits: each method calls its kernel.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::signature::signature;
use super::{files, methods, names, trait_name};
use crate::emit::text::sentence;
use crate::emit::{EmitError, Emitter, Job, Takes};
use crate::model::{Arity, Method, OperatorGroup, Operators, OutputPlace, Work};
use crate::out::Output;

/// The methods of all operators, as calls of the crate of kernels.
pub struct OperatorCalls;

impl Emitter for OperatorCalls {
    const KEY: &'static str = "rust_operator_calls";
    const DOC: &'static str =
        "Folder of the Rust implementation of the traits of operators by kernels, one file for each group.";
    const TAKES: Takes = Takes::OwnFolder;

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        match &job.spec.operators {
            None => Ok(Vec::new()),
            Some(operators) => files(job, operators, root(operators), module),
        }
    }
}

fn root(operators: &Operators) -> TokenStream {
    let modules = operators.groups.iter().map(|group| names::snake(&group.name));
    quote! {
        //! The operators of the spec, as calls of the functions of `tenon-kernels`.

        #(mod #modules;)*
    }
}

fn module(group: &OperatorGroup) -> TokenStream {
    let methods = methods(group);
    let name = trait_name(group);
    let doc = format!(" {}", sentence(&group.summary));
    let is = |found: fn(&Work) -> bool| methods.iter().any(|method| found(&method.work));
    let formulas = is(|work| matches!(work, Work::Formula(_) | Work::Gradient(..))).then(|| {
        quote!(
            use tenon_kernels::formulas;
        )
    });
    let done = is(|work| !matches!(work, Work::Gradient(..))).then(|| quote!(done,));
    let gradient = is(|work| matches!(work, Work::Gradient(..))).then(|| quote!(gradient,));
    let operands = Operands::of(&methods).imports();
    let group = names::snake(&group.name);
    let methods = methods.iter().map(|method| {
        let (signature, body) = (signature(method), body(&group, method));
        quote!(#signature { #body })
    });
    quote! {
        #![doc = #doc]

        use tenon::device::Result;
        use tenon::operators::{#name, Launch, TensorMut, TensorRef};
        #formulas

        use crate::CpuOperators;
        use crate::host::{#done #gradient #operands ready};

        impl #name for CpuOperators {
            #(#methods)*
        }
    }
}

fn body(group: &Ident, method: &Method) -> TokenStream {
    match method.work {
        Work::Kernel(path) => kernel(method, path),
        Work::Formula(_) => {
            let (function, arguments) = (names::snake(&method.name), arguments(method));
            let (out, _) = &method.outputs()[0];
            let out = names::snake(out);
            quote! {
                ready(launch)?;
                done(formulas::#group::#function(&mut view_mut(#out)?, #(#arguments),*))
            }
        }
        Work::Gradient(..) => of_gradient(group, method),
        Work::Shape(path) => {
            let (function, arguments) = (function(path), arguments(method));
            quote! {
                ready(launch)?;
                done(#function(#(#arguments),*))
            }
        }
    }
}

/// A gradient, which is summed over the dimensions along which its operand was repeated.
fn of_gradient(group: &Ident, method: &Method) -> TokenStream {
    let function = names::snake(&method.name);
    let (out, _) = &method.outputs()[0];
    let out = names::snake(out);
    let name = |variable| names::snake(&method.operator.variable_name(variable));
    let operands: Vec<Ident> = method.inputs.iter().map(|variable| name(*variable)).collect();
    let used = method.formula().map(|(formulas, formula)| formulas.uses(formula)).unwrap_or_default();
    let tensors = method.inputs.iter().filter(|variable| used.contains(variable)).map(|input| name(*input));
    let attributes = attributes(method);
    quote! {
        ready(launch)?;
        #(let #operands = view(#operands)?;)*
        gradient(#out, &[#(&#operands),*], |#out| {
            formulas::#group::#function(#out, #(&#tensors,)* #(#attributes),*)
        })
    }
}

fn kernel(method: &Method, path: &str) -> TokenStream {
    let function = function(path);
    let operator = method.operator;
    let arguments = arguments(method);
    let outputs = operator.outputs.iter().map(|output| {
        let name = names::snake(&output.name);
        match output.arity {
            Arity::One => quote!(&mut view_mut(#name)?),
            Arity::Optional => quote!(optional_mut(#name)?.as_mut()),
            Arity::List | Arity::OptionalList => quote!(&mut views_mut(#name)?),
        }
    });
    let random = operator.random.then(|| quote!(seed, offset));
    quote! {
        ready(launch)?;
        done(#function(#(#outputs,)* #(#arguments,)* #random))
    }
}

/// The path of a function of the kernels.
fn function(path: &str) -> TokenStream {
    let path = path.split("::").map(names::snake);
    quote!(tenon_kernels::#(#path)::*)
}

/// The inputs and the attributes as a kernel takes them.
fn arguments(method: &Method) -> Vec<TokenStream> {
    let inputs = method.inputs.iter().map(|variable| {
        let name = names::snake(&method.operator.variable_name(*variable));
        match method.operator.arity(*variable) {
            Arity::One => quote!(&view(#name)?),
            Arity::Optional => quote!(optional(#name)?.as_ref()),
            Arity::List => quote!(&views(#name)?),
            Arity::OptionalList => quote!(optional_views(#name)?.as_deref()),
        }
    });
    inputs.chain(attributes(method)).collect()
}

fn attributes(method: &Method) -> Vec<TokenStream> {
    let attribute = |index: &usize| {
        let name = names::snake(&method.operator.attributes[*index].name);
        quote!(#name)
    };
    method.attributes.iter().map(attribute).collect()
}

/// The functions that make views of the tensors of some methods.
#[derive(Default)]
struct Operands {
    names: Vec<&'static str>,
}

impl Operands {
    fn of(methods: &[Method]) -> Self {
        let mut operands = Operands::default();
        for method in methods {
            for variable in &method.inputs {
                operands.add(match method.operator.arity(*variable) {
                    Arity::One => "view",
                    Arity::Optional => "optional",
                    Arity::List => "views",
                    Arity::OptionalList => "optional_views",
                });
            }
            for (_, output) in method.outputs() {
                match output.map(|output| output.arity) {
                    // `gradient` makes the view of its output.
                    None => {}
                    Some(Arity::One) => operands.add("view_mut"),
                    Some(Arity::Optional) => operands.add("optional_mut"),
                    Some(Arity::List | Arity::OptionalList) => operands.add("views_mut"),
                }
            }
        }
        operands.names.sort_unstable();
        operands
    }

    fn add(&mut self, name: &'static str) {
        if !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    fn imports(&self) -> TokenStream {
        let names = self.names.iter().map(|name| names::snake(name));
        quote!(#(#names,)*)
    }
}
