//! Operators as Rust traits, one for each group, and the implementations of these traits: by the crate of kernels, by the
//! functions of a plugin in C, and by other operators of the same device.

mod c_table;
mod calls;
mod compositions;
mod signature;
mod table;
mod traits;

pub use c_table::OperatorTableCalls;
pub use calls::OperatorCalls;
pub use compositions::OperatorCompositions;
pub(super) use table::groups as table;
pub use traits::OperatorTraits;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{file, names, output};
use crate::emit::text::count;
use crate::emit::{EmitError, Job};
use crate::model::{Method, OperatorGroup, Operators};
use crate::out::Output;

/// Returns the methods of a group, in the order of the spec.
fn methods(group: &OperatorGroup) -> Vec<Method<'_>> {
    group.operators.iter().flat_map(|operator| operator.methods()).collect()
}

/// Returns the name of a group's trait.
fn trait_name(group: &OperatorGroup) -> Ident {
    names::pascal(&group.name)
}

/// Creates a file for the root and one for each group.
fn files(
    job: &Job,
    operators: &Operators,
    root: TokenStream,
    module: impl Fn(&OperatorGroup) -> TokenStream,
) -> Result<Vec<Output>, EmitError> {
    let marker = job.stamp.operators(operators);
    let groups = count(operators.groups.len(), "group");
    let mut outputs = vec![output("mod.rs".to_owned(), file::text(root), &marker, groups)?];
    for group in &operators.groups {
        let note = count(methods(group).len(), "method");
        outputs.push(output(format!("{}.rs", group.name), file::text(module(group)), &marker, note)?);
    }
    Ok(outputs)
}

/// Emits lines of Markdown as a doc comment.
fn doc(text: &str) -> TokenStream {
    let lines = text.lines().map(|line| if line.is_empty() { String::new() } else { format!(" {line}") });
    quote!(#(#[doc = #lines])*)
}
