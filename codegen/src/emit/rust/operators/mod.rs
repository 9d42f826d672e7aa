//! Operators in Rust: the traits, one for each group, the list of their methods, from which macros implement the traits, the
//! loops of formulas, and the plans of those that other operators compute.

mod attributes;
mod expression;
mod formulas;
mod list;
mod loops;
mod plans;
mod reductions;
mod signature;
mod table;
mod traits;

pub use attributes::OperatorAttributes;
pub(super) use attributes::{StructNames, arguments};
pub use formulas::Formulas;
pub use list::OperatorList;
pub use plans::OperatorPlans;
pub(super) use table::groups as table;
pub use traits::OperatorTraits;

use proc_macro2::{Ident, TokenStream};

use crate::emit::emitter::{EmitError, Job};
use crate::emit::rust::files::group_files;
use crate::emit::rust::names;
use crate::model::{Method, OperatorGroup, Operators};
use crate::out::Output;
use crate::text::count;

/// Returns the methods of a group, in the order of the spec.
fn methods(group: &OperatorGroup) -> Vec<Method<'_>> {
    group.operators.iter().flat_map(|operator| operator.methods()).collect()
}

/// Returns the name of a group's trait.
fn trait_name(group: &OperatorGroup) -> Ident {
    names::pascal(&group.name)
}

/// Creates a file for the root and one for each group; none if the spec has no operators.
fn files(
    job: &Job,
    root: impl Fn(&Operators) -> TokenStream,
    module: impl Fn(&OperatorGroup) -> TokenStream,
) -> Result<Vec<Output>, EmitError> {
    let Some(operators) = &job.spec.operators else { return Ok(Vec::new()) };
    let groups = operators.groups.iter();
    let modules = groups.map(|group| (&*group.name, count(methods(group).len(), "method"), module(group)));
    let note = count(operators.groups.len(), "group");
    Ok(group_files(&job.stamp.operators(operators), note, root(operators), modules))
}
