//! The table of the traits' methods, for the attribute on an `impl`.

use proc_macro2::TokenStream;
use quote::quote;

use super::{methods, trait_name};
use crate::model::Operators;

/// Emits the constant with the traits of operators and their methods.
pub fn groups(operators: &Operators) -> TokenStream {
    let groups = operators.groups.iter().map(|group| {
        let name = trait_name(group).to_string();
        let methods = methods(group).into_iter().map(|method| method.name);
        quote!((#name, &[#(#methods),*]))
    });
    quote! {
        /// The traits of operators, each with its methods.
        pub(crate) const OPERATORS: &[(&str, &[&str])] = &[#(#groups),*];
    }
}
