//! The trait that a device implements, with idiomatic Rust signatures.

use super::fallback;
use crate::emit::rust::library::import;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::form::{Form, is_fallible, output_type, outputs, parameters, return_type};
use crate::emit::rust::doc::{doc, field_doc};

use crate::emit::rust::context::Context;
use crate::emit::rust::{names, text};
use crate::model::{Fallback, FallbackKind, Function, GroupId, Interface, InterfaceKind, Need, Param, Spec};

/// Emits the single trait of an interface.
pub fn emit(context: Context) -> TokenStream {
    let interface = context.interface;
    let docs = doc(&interface.summary, &interface.doc);
    let methods = of_functions(context, &names::trait_of(interface), &docs, interface.methods());
    let structs = interface.methods().filter_map(|function| output_struct(context, function));
    quote! { #methods #(#structs)* }
}

/// Emits the trait of a group.
pub fn of_group(context: Context, id: GroupId) -> TokenStream {
    let interface = context.interface;
    let group = &interface.groups[id.0];
    let name = names::symbol(&interface.group_trait(id));
    let docs = match interface.object_in(id) {
        Some((ty, _)) => doc(&ty.summary, &ty.doc),
        None => doc(&group.summary, &group.doc),
    };
    let methods = of_functions(context, &name, &docs, interface.methods_in(id));
    let structs = interface.methods_in(id).filter_map(|function| output_struct(context, function));
    quote! { #methods #(#structs)* }
}

/// Emits the trait of an interface whose groups have traits.
pub fn sum(context: Context) -> TokenStream {
    let interface = context.interface;
    let (name, docs) = (names::trait_of(interface), doc(&interface.summary, &interface.doc));
    let parts: Vec<Ident> = interface
        .trait_groups()
        .into_iter()
        .map(|(id, _)| names::symbol(&interface.group_trait(id)))
        .collect();
    quote! {
        #docs
        ///
        /// It combines the traits of its groups: a type that implements all of them implements it.
        pub trait #name: #(#parts)+* {}

        impl<D: #(#parts)+*> #name for D {}
    }
}

fn of_functions<'a>(
    context: Context<'a>,
    name: &Ident,
    docs: &TokenStream,
    functions: impl Iterator<Item = &'a Function>,
) -> TokenStream {
    let functions: Vec<_> = functions.collect();
    let has = |function: &&Function, least: usize| parameters(context, function).count() >= least;
    // Clippy counts `self`.
    let many = functions.iter().any(|function| has(function, 7)).then(|| {
        quote! { #[allow(clippy::too_many_arguments, reason = "the ABI has that many")] }
    });
    let ignores = |function: &&Function| has_default(context, function) && has(function, 1);
    let unused = functions.iter().copied().any(|function| ignores(&function)).then(|| {
        quote! { #[allow(unused_variables, reason = "a default method may ignore its arguments")] }
    });
    let methods = functions.iter().map(|function| method(context, function));
    let provides = matches!(context.interface.kind, InterfaceKind::Objects).then(|| {
        quote! {
            /// Returns true if the implementation has the method of this name: a host sees the others as absent. The attribute
            /// `tenon::object` writes it.
            fn provides(&self, method: &str) -> bool;
        }
    });
    quote! {
        #docs
        #many
        #unused
        pub trait #name: ::core::marker::Send + ::core::marker::Sync + 'static {
            #(#methods)*
            #provides
        }
    }
}

/// Emits `fn name(&self, …) -> …`, without a body.
pub fn signature(context: Context, function: &Function) -> TokenStream {
    let name = function.ident();
    let parameters = parameters(context, function).map(|(name, ty)| quote!(#name: #ty));
    let output = return_type(context, function).map(|ty| quote!(-> #ty));
    quote! { fn #name(&self, #(#parameters),*) #output }
}

/// Returns true if the trait has a body for a method: one that refuses, or a fallback.
fn has_default(context: Context, function: &Function) -> bool {
    let is_of_object = matches!(context.interface.kind, InterfaceKind::Objects);
    default_fallback(context, function).is_some()
        || (function.is_optional() && (is_of_object || is_fallible(context, function)))
}

/// Returns the fallback that is the body of a method. Nothing records which functions an export lacks, and a function that
/// cannot fail cannot refuse.
fn default_fallback<'a>(context: Context, function: &'a Function) -> Option<&'a Fallback> {
    let is_body = matches!(context.interface.kind, InterfaceKind::Export | InterfaceKind::Objects);
    function.fallback.as_ref().filter(|_| is_body || !is_fallible(context, function))
}

fn method(context: Context, function: &Function) -> TokenStream {
    let signature = signature(context, function);
    let docs = doc(&function.summary, &details(context, function));
    if let Some(fallback) = default_fallback(context, function) {
        let body = fallback::body(context, function, &fallback.kind);
        let calls = matches!(
            fallback.kind,
            FallbackKind::Call(_) | FallbackKind::Sequence { .. } | FallbackKind::Strategy { .. }
        );
        let bound = (calls && !context.interface.trait_groups().is_empty()).then(|| {
            let name = names::trait_of(context.interface);
            quote!(where Self: #name)
        });
        return quote! { #docs #signature #bound { #body } };
    }
    if !has_default(context, function) {
        return quote! { #docs #signature; };
    }
    let name = &function.name.value;
    let body = if is_fallible(context, function) {
        quote!(::core::result::Result::Err(Error::unsupported(#name)))
    } else {
        // A host does not see it.
        quote!(::core::unimplemented!(#name))
    };
    quote! { #docs #signature { #body } }
}

/// Returns the rest of a method's documentation.
fn details(context: Context, function: &Function) -> String {
    let mut text = function.doc.to_string();
    let listed = |title: &str, entries: Vec<String>| {
        if entries.is_empty() { String::new() } else { format!("\n\n# {title}\n{}", entries.join("\n")) }
    };
    let entry = |param: &Param| {
        (!param.doc.is_empty()).then(|| format!("- `{}`: {}", param.name.value, param.doc.replace('\n', " ")))
    };
    let given = |(param, form): (&Param, &Form)| match form {
        Form::Carried(_) | Form::Output(_) | Form::Receiver { is_passed: false } => None,
        _ => entry(param),
    };
    text += &listed("Arguments", function.formed().filter_map(given).collect());
    let results = outputs(function).iter().filter_map(|(_, param, _)| entry(param)).collect();
    text += &listed("Returns", results);
    let statuses = context.spec.status_values(context.interface);
    let errors = function.returns.iter().filter_map(|(status, when)| {
        let value = statuses.get(status.0)?;
        Some(format!("- `{}`: {}", names::constant(&value.name.value), when.replace('\n', " ")))
    });
    text += &listed("Status", errors.collect());
    text += match function.need {
        Need::Load if function.is_of_object => "\n\nRequired: a host refuses an object without it.",
        Need::Use if function.is_of_object => "\n\nRequired: a host misbehaves without it.",
        Need::Load => "\n\nRequired: a host refuses a plugin without it.",
        Need::Use => "\n\nRequired: a host loads a plugin without it, and then misbehaves.",
        Need::Optional => "\n\nOptional.",
    };
    if !function.when_null.is_empty() {
        text += &format!(" If missing: {}", function.when_null);
    }
    text
}

/// Emits the struct for the results of a function that has several.
fn output_struct(context: Context, function: &Function) -> Option<TokenStream> {
    let outputs = outputs(function);
    if outputs.len() < 2 {
        return None;
    }
    let name = function.variant();
    let docs = format!(" The results of `{}`.", function.name.value);
    let fields = outputs.iter().map(|(_, param, output)| {
        let (name, ty, docs) = (param.ident(), output_type(context, param, output), field_doc(param));
        quote! { #docs pub #name: #ty, }
    });
    Some(quote! {
        #[doc = #docs]
        #[derive(Clone, Debug)]
        pub struct #name {
            #(#fields)*
        }
    })
}

/// Returns the signature of a function in Rust for the docs, with paths without the crate.
pub fn signature_text(spec: &Spec, interface: &Interface, function: &Function) -> String {
    let context = Context { spec, interface };
    let tokens = match interface.kind {
        InterfaceKind::Import { .. } | InterfaceKind::HostTable { .. } => {
            import::signature(context, function)
        }
        _ => signature(context, function),
    };
    text::signature::text(tokens)
}
