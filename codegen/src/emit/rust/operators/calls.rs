//! The implementation of the traits: each method calls its kernel.

use crate::emit::rust::doc::of_file;
use crate::emit::rust::text::imports::Used;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::signature::signature;
use super::{files, methods, names, trait_name};
use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::formula::{ExprKind, Variable};
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{
    Arity, AttributeType, Formula, Method, Operator, OperatorGroup, Operators, OutputPlace, Work,
};
use crate::out::Output;

/// The functions for shapes.
const SHAPES: [&str; 9] =
    ["done", "meta", "metas", "optional", "optional_meta", "optional_views", "ready", "view", "views"];

/// The names for work that may run later.
const QUEUED: [&str; 7] =
    ["Call", "borrowed", "common_shape", "expect_shape", "gradient", "same_gradient", "texts"];

/// The methods of all operators, as calls of the crate of kernels.
pub struct OperatorCalls;

impl Emitter for OperatorCalls {
    const KIND: &'static OutputKind = &outputs::RUST_OPERATOR_CALLS;

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        files(job, root, module)
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
    let doc = of_file(&group.summary);
    let group = names::snake(&group.name);
    let methods = methods.iter().map(|method| {
        let (signature, body) = (signature(method), body(&group, method));
        quote!(#signature { #body })
    });
    let methods: TokenStream = methods.collect();
    let used = Used::by(&methods);
    let formulas = used.import(quote!(tenon_kernels), &["formulas"]);
    let shapes = used.import(quote!(crate::host), &SHAPES);
    let queued = used.import(quote!(crate::queue), &QUEUED);
    quote! {
        #doc

        use tenon::device::Result;
        use tenon::operators::{#name, Launch, TensorMut, TensorRef};
        #formulas

        use crate::CpuOperators;
        #shapes
        #queued

        impl #name for CpuOperators {
            #methods
        }
    }
}

fn body(group: &Ident, method: &Method) -> TokenStream {
    match method.work {
        Work::Shape(path) => shape(method, path),
        Work::Kernel(path) => kernel(method, path),
        Work::Formula(_) => formula(group, method),
        Work::Gradient(..) => of_gradient(group, method),
    }
}

/// Emits the statements that compute the shape of an output, after waiting for the elements that it depends on.
fn shape(method: &Method, path: &str) -> TokenStream {
    let (function, attributes) = (function(path), attributes(method));
    let inputs: Vec<_> =
        method.inputs.iter().map(|variable| shape_input(method.operator, *variable)).collect();
    let wait = wait_for_elements(method);
    quote! {
        #wait
        done(#function(#(#inputs,)* #(#attributes),*))
    }
}

/// Emits the wait for the elements that decide about a shape, if the call has any.
fn wait_for_elements(method: &Method) -> TokenStream {
    let deciding = |variable: &&Variable| method.operator.decides_shape(**variable);
    let presence = |variable: &Variable| {
        let name = names::snake(&method.operator.variable_name(*variable));
        match method.operator.arity(*variable) {
            Arity::Optional | Arity::OptionalList => Some(quote!(#name.is_some())),
            Arity::One | Arity::List => None,
        }
    };
    let present: Vec<_> = method.inputs.iter().filter(deciding).map(presence).collect();
    match present.iter().cloned().collect::<Option<Vec<_>>>() {
        Some(present) if present.is_empty() => quote!(let _ = launch;),
        Some(present) => quote!(if #(#present)||* { ready(launch)?; }),
        None => quote!(ready(launch)?;),
    }
}

/// Emits an input as a function of a shape takes it: with its elements only if they decide about the shape.
fn shape_input(operator: &Operator, variable: Variable) -> TokenStream {
    let name = names::snake(&operator.variable_name(variable));
    match (operator.arity(variable), operator.decides_shape(variable)) {
        (Arity::One, true) => quote!(&view(#name)?),
        (Arity::Optional, true) => quote!(optional(#name)?.as_ref()),
        (Arity::List, true) => quote!(&views(#name)?),
        (Arity::OptionalList, true) => quote!(optional_views(#name)?.as_deref()),
        (Arity::One, false) => quote!(meta(#name)?),
        (Arity::Optional, false) => quote!(optional_meta(#name)?),
        (Arity::List, false) => quote!(&metas(#name)?),
        (Arity::OptionalList, false) => quote!(#name.map(metas).transpose()?.as_deref()),
    }
}

fn kernel(method: &Method, path: &str) -> TokenStream {
    let function = function(path);
    let operator = method.operator;
    let name = method.name.as_str();
    let makes = operator.outputs.iter().map(|output| {
        let name = names::snake(&output.name);
        match output.arity {
            Arity::One => quote!(let mut #name = call.output(#name)?;),
            Arity::Optional => quote!(let mut #name = call.optional_output(#name)?;),
            Arity::List | Arity::OptionalList => quote!(let mut #name = call.outputs(#name)?;),
        }
    });
    let outputs = operator.outputs.iter().map(|output| {
        let name = names::snake(&output.name);
        match output.arity {
            Arity::One | Arity::List | Arity::OptionalList => quote!(&mut #name),
            Arity::Optional => quote!(#name.as_mut()),
        }
    });
    let (own, arguments) = owned(method);
    let random = operator.random.then(|| quote!(seed, offset));
    quote! {
        let mut call = Call::new(launch);
        #(#makes)*
        #own
        call.run(#name, move || #function(#(#outputs,)* #(#arguments,)* #random))
    }
}

fn formula(group: &Ident, method: &Method) -> TokenStream {
    let function = names::snake(&method.name);
    let name = method.name.as_str();
    let (out, _) = &method.outputs()[0];
    let out = names::snake(out);
    let (own, arguments) = owned(method);
    let inputs = inputs(method);
    quote! {
        let mut call = Call::new(launch);
        let mut #out = call.output(#out)?;
        #own
        expect_shape(&#out, &[#(&#inputs),*])?;
        call.run(#name, move || formulas::#group::#function(&mut #out, #(#arguments),*))
    }
}

/// Emits the body of a gradient, which is summed over the dimensions along which its operand was repeated.
fn of_gradient(group: &Ident, method: &Method) -> TokenStream {
    let function = names::snake(&method.name);
    let name = method.name.as_str();
    let (out, _) = &method.outputs()[0];
    let out = names::snake(out);
    let inputs = inputs(method);
    let is_same =
        |formula: &Formula| matches!(formula.expr.kind, ExprKind::Variable(Variable::OutputGradient));
    if method.formula().is_some_and(|(_, formula)| is_same(formula)) {
        return quote! {
            let mut call = Call::new(launch);
            let mut #out = call.output(#out)?;
            #(let #inputs = call.input(#inputs)?;)*
            call.run(#name, move || same_gradient(&mut #out, #(&#inputs),*))
        };
    }
    let input = |variable| names::snake(&method.operator.variable_name(variable));
    let used = method.formula().map(|(formulas, formula)| formulas.uses(formula)).unwrap_or_default();
    let tensors = method.inputs.iter().filter(|variable| used.contains(variable)).map(|it| input(*it));
    let attributes = attributes(method);
    quote! {
        let mut call = Call::new(launch);
        let mut #out = call.output(#out)?;
        #(let #inputs = call.input(#inputs)?;)*
        let dims = common_shape(&[#(&#inputs),*])?;
        call.run(#name, move || {
            gradient(&mut #out, &dims, |#out| {
                formulas::#group::#function(#out, #(&#tensors,)* #(#attributes),*)
            })
        })
    }
}

fn inputs(method: &Method) -> Vec<Ident> {
    let name = |variable| names::snake(&method.operator.variable_name(variable));
    method.inputs.iter().map(|variable| name(*variable)).collect()
}

/// Emits the path of a function of the kernels.
fn function(path: &str) -> TokenStream {
    let path = names::path(path);
    quote!(tenon_kernels::#path)
}

fn attributes(method: &Method) -> Vec<TokenStream> {
    let attribute = |index: &usize| {
        let name = names::snake(&method.operator.attributes[*index].name);
        quote!(#name)
    };
    method.attributes.iter().map(attribute).collect()
}

/// Makes the inputs and the attributes part of work that may run later, and returns them as a kernel takes them.
fn owned(method: &Method) -> (TokenStream, Vec<TokenStream>) {
    let mut own = TokenStream::new();
    let mut arguments = Vec::new();
    for variable in &method.inputs {
        let name = names::snake(&method.operator.variable_name(*variable));
        let (make, argument) = match method.operator.arity(*variable) {
            Arity::One => (quote!(input), quote!(&#name)),
            Arity::Optional => (quote!(optional), quote!(#name.as_ref())),
            Arity::List => (quote!(inputs), quote!(&#name)),
            Arity::OptionalList => (quote!(optional_inputs), quote!(#name.as_deref())),
        };
        own.extend(quote!(let #name = call.#make(#name)?;));
        arguments.push(argument);
    }
    for index in &method.attributes {
        let attribute = &method.operator.attributes[*index];
        let name = names::snake(&attribute.name);
        let (copy, argument) = match attribute.ty {
            AttributeType::Bool | AttributeType::I64 | AttributeType::F64 => (None, quote!(#name)),
            AttributeType::Integers | AttributeType::Numbers => {
                (Some(quote!(#name.to_vec())), quote!(&#name))
            }
            AttributeType::Text => (Some(quote!(#name.to_owned())), quote!(&#name)),
            AttributeType::Texts => (Some(quote!(texts(#name))), quote!(&borrowed(&#name))),
        };
        own.extend(copy.map(|copy| quote!(let #name = #copy;)));
        arguments.push(argument);
    }
    (own, arguments)
}
