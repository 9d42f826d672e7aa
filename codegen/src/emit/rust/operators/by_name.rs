//! Calls of the methods of operators by their names.

use crate::emit::rust::doc::of_file;

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::{files, methods};
use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::emit::rust::names;
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{
    Arity, AttributeType, Method, OperatorGroup, Operators, OutputPlace, Parameter, ParameterKind,
};
use crate::out::Output;

/// The functions that find a method by its name and pass its arguments.
pub struct OperatorsByName;

impl Emitter for OperatorsByName {
    const KIND: &'static OutputKind = &outputs::RUST_OPERATORS_BY_NAME;

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        files(job, root, module)
    }
}

fn root(operators: &Operators) -> TokenStream {
    let groups: Vec<Ident> = operators.groups.iter().map(|group| names::snake(&group.name)).collect();
    quote! {
        //! The methods of operators by their names.

        #(mod #groups;)*

        use super::by_name::Entry;

        /// Returns the method with a name.
        pub(super) fn find(method: &str) -> Option<Entry> {
            let find = [#(#groups::find),*];
            find.iter().find_map(|find| find(method))
        }
    }
}

fn module(group: &OperatorGroup) -> TokenStream {
    let doc = of_file(&group.summary);
    let methods = methods(group);
    let arms = methods.iter().filter_map(arm);
    quote! {
        #doc

        use crate::operators::by_name::Entry;

        /// Returns the method with a name.
        pub(super) fn find(method: &str) -> Option<Entry> {
            match method {
                #(#arms)*
                _ => None,
            }
        }
    }
}

/// Emits the arm of a method; `None` if an argument has no form in a call by name.
fn arm(method: &Method) -> Option<TokenStream> {
    let (name, function) = (&method.name, names::snake(&method.name));
    let parameters = method.parameters();
    let count = Literal::usize_unsuffixed(parameters.len());
    let values = parameters.iter().map(value).collect::<Option<Vec<TokenStream>>>()?;
    let make = if method.shape().is_some() { quote!(shape) } else { quote!(elements) };
    Some(quote! {
        #name => Entry::#make(#count, |operators, launch, arguments| {
            operators.#function(launch, #(#values),*)
        }),
    })
}

fn value(parameter: &Parameter) -> Option<TokenStream> {
    Some(match parameter.kind {
        ParameterKind::Output(Arity::One) => quote!(&mut arguments.output()?),
        ParameterKind::Output(Arity::Optional) => quote!(arguments.optional_output()?.as_mut()),
        ParameterKind::Output(Arity::List | Arity::OptionalList) => quote!(&mut arguments.outputs()?),
        ParameterKind::Input(Arity::One) => quote!(&arguments.input()?),
        ParameterKind::Input(Arity::Optional) => quote!(arguments.optional_input()?.as_ref()),
        ParameterKind::Input(Arity::List) => quote!(&arguments.inputs()?),
        ParameterKind::Input(Arity::OptionalList) => quote!(arguments.optional_inputs()?.as_deref()),
        ParameterKind::Attribute(AttributeType::Bool) => quote!(arguments.boolean()?),
        ParameterKind::Attribute(AttributeType::I64) | ParameterKind::Random => quote!(arguments.integer()?),
        ParameterKind::Attribute(AttributeType::F64) => quote!(arguments.number()?),
        ParameterKind::Attribute(AttributeType::Integers) => quote!(arguments.integers()?),
        ParameterKind::Attribute(AttributeType::Numbers) => quote!(arguments.numbers()?),
        ParameterKind::Attribute(AttributeType::Text) => quote!(arguments.text()?),
        ParameterKind::Attribute(AttributeType::Texts) => return None,
    })
}
