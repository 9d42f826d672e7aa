//! Exported functions that compute operators: each reads its arguments, and then takes its steps.

mod argument;
mod step;

use crate::emit::rust::doc::of_file;
use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::emit::rust::context::Context;
use crate::emit::rust::files::group_files;
use crate::emit::rust::names;
use crate::emit::rust::operators::StructNames;
use crate::emit::rust::text::imports::Used;
use crate::emit::rust::types::raw_types::{convention, raw_param, raw_result};
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{Function, GroupId, Interface, OutputPlace, ParamId};
use crate::out::Output;
use crate::text::{count, sentence};

/// The computed functions of an interface.
pub struct Computations;

impl Emitter for Computations {
    const KIND: &'static OutputKind = &outputs::RUST_COMPUTATIONS;

    fn emit(job: &Job, place: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let Some(id) = &place.interface else { return Ok(Vec::new()) };
        let interface = &job.spec.interfaces[id.value.0];
        let context = Context { spec: job.spec, interface };
        let computed = |id| interface.in_group(id).filter(|function| !function.compute.is_empty());
        let groups: Vec<GroupId> =
            (0..interface.groups.len()).map(GroupId).filter(|id| computed(*id).next().is_some()).collect();
        let structs = job.spec.operators.as_ref().map(StructNames::of);
        let modules = groups.iter().map(|id| {
            let (group, functions) = (&interface.groups[id.0], computed(*id).collect::<Vec<_>>());
            let module = module(context, structs.as_ref(), &group.summary, &functions);
            (&*group.name, count(functions.len(), "function"), module)
        });
        let note = count(groups.len(), "group");
        Ok(group_files(&job.stamp.interface(interface), note, root(interface, &groups), modules))
    }
}

fn root(interface: &Interface, groups: &[GroupId]) -> TokenStream {
    let modules = groups.iter().map(|id| names::snake(&interface.groups[id.0].name));
    quote! {
        //! The functions that are computed with operators.

        #(mod #modules;)*
    }
}

fn module(
    context: Context,
    structs: Option<&StructNames>,
    summary: &str,
    functions: &[&Function],
) -> TokenStream {
    let doc = of_file(summary);
    let functions: TokenStream = functions.iter().map(|function| self::function(context, function)).collect();
    let used = Used::by(&functions);
    let names = ["BOOL", "COMPLEX", "DataType", "FLOAT", "INTEGER", "Method", "enter", "rules", "wide"];
    let names = used.import(quote!(crate::compute), &names);
    let attributes = structs.map(|structs| structs.import(quote!(tenon_operators::attributes), &used));
    let interfaces = context.interface.uses.iter().map(|id| context.spec.interfaces[id.0].ident());
    quote! {
        #doc

        #(use crate::#interfaces;)*
        #names
        #attributes

        #functions
    }
}

fn function(context: Context, function: &Function) -> TokenStream {
    let name = names::symbol(&function.c_name);
    let (convention, text) = (convention(context), &function.c_name);
    let inputs = function.params.iter().enumerate().map(|(index, param)| {
        let (name, ty) = (argument::declared(context, function, ParamId(index)), raw_param(context, param));
        quote!(#name: #ty)
    });
    let many = (function.params.len() > 7)
        .then(|| quote! { #[allow(clippy::too_many_arguments, reason = "the interface has that many")] });
    let steps: Vec<String> = function.compute.iter().map(|step| format!(" {}", step.text)).collect();
    let summary = format!(" {}", sentence(&function.summary));
    let result = raw_result(context, function);
    let surroundings = argument::surroundings(context, function);
    let arguments = argument::read(context, function);
    let body = step::steps(context, function);
    quote! {
        #[doc = #summary]
        ///
        /// ```text
        #(#[doc = #steps])*
        /// ```
        ///
        /// # Safety
        /// Handles are live handles of the host, and pointers are null or valid.
        #many
        #[unsafe(no_mangle)]
        pub unsafe extern #convention fn #name(#(#inputs),*) #result {
            enter(#text, #surroundings, &mut |call| {
                #arguments
                #(#body)*
                Ok(())
            })
        }
    }
}
