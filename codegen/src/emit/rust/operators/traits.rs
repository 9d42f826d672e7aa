//! The traits of operators.

use crate::emit::rust::doc::{markdown, of_file};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::attributes::{StructNames, struct_name};
use super::signature::{is_long, signature};
use super::{files, methods, names, trait_name};
use crate::emit::descriptions::operator as descriptions;
use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::emit::rust::text::imports::Used;
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{Method, OperatorGroup, Operators, OutputPlace};
use crate::out::Output;
use crate::text::sentence;

/// The trait of each group of operators, and the one that combines them.
pub struct OperatorTraits;

impl Emitter for OperatorTraits {
    const KIND: &'static OutputKind = &outputs::RUST_OPERATORS;

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let structs = job.spec.operators.as_ref().map(StructNames::of);
        files(job, root, |group| module(structs.as_ref(), group))
    }
}

fn root(operators: &Operators) -> TokenStream {
    let modules: Vec<Ident> = operators.groups.iter().map(|group| names::snake(&group.name)).collect();
    let traits: Vec<Ident> = operators.groups.iter().map(trait_name).collect();
    quote! {
        //! The traits of operators, one for each group of the spec.

        #(mod #modules;)*

        #(pub use self::#modules::#traits;)*

        use tenon::device::DataType;

        /// All operators of the spec.
        ///
        /// `#[tenon_operators::operators]` on an `impl` of this trait accepts the methods of all groups, and records which ones the
        /// `impl` has. Hosts use these, and compute all other operators by themselves.
        pub trait Operators: #(#traits)+* {
            /// Returns true if a method is implemented for elements of a type.
            fn provides(&self, method: &str, ty: DataType) -> bool;
        }
    }
}

fn module(structs: Option<&StructNames>, group: &OperatorGroup) -> TokenStream {
    let methods = methods(group);
    let name = trait_name(group);
    let text = [sentence(&group.summary), group.doc.trim().to_owned()];
    let group_doc = markdown(text.join("\n\n").trim());
    let emitted = methods.iter().map(|method| {
        let (doc, signature, name) = (markdown(&description(method)), signature(method), &method.name);
        quote! {
            #doc
            #signature {
                Err(Error::unsupported(#name))
            }
        }
    });
    let many = methods.iter().any(is_long).then(
        || quote!(#[allow(clippy::too_many_arguments, reason = "some operators have that many tensors")]),
    );
    let inner = of_file(&group.summary);
    let emitted: TokenStream = emitted.collect();
    let used = Used::by(&emitted);
    let attributes = structs.map(|structs| structs.import(quote!(tenon_operators::attributes), &used));
    quote! {
        #inner

        use tenon::device::{Error, Result};
        use tenon_operators::{Launch, TensorMut, TensorRef};
        #attributes

        #group_doc
        #[allow(unused_variables, reason = "the parameters of a method that is not implemented")]
        #many
        pub trait #name: Send + Sync {
            #emitted
        }
    }
}

/// Formats the documentation of a method: what it computes, and its parameters.
fn description(method: &Method) -> String {
    let description = descriptions::method(method, |name| format!("[`{name}`](Self::{name})"));
    let with = struct_name(method);
    let has_struct = with.is_some();
    let is_in_struct =
        |name: &String| has_struct && method.attributes().any(|attribute| attribute.name == *name);
    let parameters = description.parameters.iter().filter(|(name, _)| !is_in_struct(name));
    let parameters = parameters.map(|(name, doc)| format!("* `{name}`: {doc}"));
    let with = with
        .filter(|_| !description.parameters.is_empty())
        .map(|name| format!("* `with`: The attributes, see [`{name}`]."));
    let parameters: Vec<String> = parameters.chain(with).collect();
    let parts = [description.summary, description.equation, description.doc, parameters.join("\n")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}
