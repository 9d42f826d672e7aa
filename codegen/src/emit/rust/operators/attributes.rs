//! The attributes of methods that take them as one struct.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{methods, names};
use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::emit::rust::attribute::constant;
use crate::emit::rust::doc::{markdown, of_file};
use crate::emit::rust::files::group_files;
use crate::emit::rust::text::imports::Used;
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{Attribute, AttributeType, AttributeValue, Method, OperatorGroup, Operators, OutputPlace};
use crate::out::Output;
use crate::text::{count, enumerate};

/// The structs of attributes, one file for each group.
pub struct OperatorAttributes;

impl Emitter for OperatorAttributes {
    const KIND: &'static OutputKind = &outputs::RUST_OPERATOR_ATTRIBUTES;

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let Some(operators) = &job.spec.operators else { return Ok(Vec::new()) };
        let groups = operators.groups.iter().map(|group| (group, Structs::of(group)));
        let groups: Vec<_> = groups.filter(|(_, structs)| !structs.0.is_empty()).collect();
        let modules = groups
            .iter()
            .map(|(group, structs)| (&*group.name, count(structs.0.len(), "struct"), structs.module(group)));
        let note = count(groups.len(), "group");
        Ok(group_files(&job.stamp.operators(operators), note, root(&groups), modules))
    }
}

/// Returns the name of the struct of a method's attributes; `None` if the method takes each by itself.
pub fn struct_name(method: &Method) -> Option<Ident> {
    method.attributes_as_struct().map(|operator| format_ident!("{}Attributes", names::pascal(&operator)))
}

/// Emits the attributes of a method as arguments, given the value of each: one struct, or the values.
pub fn arguments(method: &Method, values: &[TokenStream]) -> TokenStream {
    let Some(name) = struct_name(method) else { return quote!(#(#values,)*) };
    let fields = method.attributes().zip(values).map(|(attribute, value)| {
        let name = names::snake(&attribute.name);
        // A field has no other name for a variable of its own name.
        if name == value.to_string() { quote!(#name) } else { quote!(#name: #value) }
    });
    quote!(&#name { #(#fields),* },)
}

/// The names of all structs.
pub struct StructNames(BTreeSet<String>);

impl StructNames {
    pub fn of(operators: &Operators) -> Self {
        let methods = operators.groups.iter().flat_map(methods);
        Self(methods.filter_map(|method| struct_name(&method)).map(|name| name.to_string()).collect())
    }

    /// Emits the import of the structs that some code uses, from a module; nothing if it uses none.
    pub fn import(&self, module: TokenStream, used: &Used) -> TokenStream {
        used.import_of(module, self.0.iter().map(String::as_str))
    }
}

/// The structs of a group, each with the methods that take it.
struct Structs<'a>(Vec<(Ident, Vec<Method<'a>>)>);

impl<'a> Structs<'a> {
    fn of(group: &'a OperatorGroup) -> Self {
        let mut structs: Vec<(Ident, Vec<Method<'a>>)> = Vec::new();
        for method in methods(group) {
            let Some(name) = struct_name(&method) else { continue };
            match structs.iter_mut().find(|(other, _)| *other == name) {
                Some((_, methods)) => methods.push(method),
                None => structs.push((name, vec![method])),
            }
        }
        Structs(structs)
    }

    fn module(&self, group: &OperatorGroup) -> TokenStream {
        let inner = of_file(&format!("The attributes of {}", group.title.to_lowercase()));
        let structs = self.0.iter().map(|(name, methods)| declaration(name, methods));
        quote!(#inner #(#structs)*)
    }
}

fn root(groups: &[(&OperatorGroup, Structs)]) -> TokenStream {
    let modules: Vec<Ident> = groups.iter().map(|(group, _)| names::snake(&group.name)).collect();
    quote! {
        //! The attributes of operators that have several, one file for each group of the spec.
        #(mod #modules;)*
        #(pub use self::#modules::*;)*
    }
}

/// Emits a struct and its defaults.
fn declaration(name: &Ident, methods: &[Method]) -> TokenStream {
    let attributes: Vec<&Attribute> =
        methods.first().map(|method| method.attributes().collect()).unwrap_or_default();
    let of = methods.iter().map(|method| format!("`{}`", method.name)).collect::<Vec<_>>();
    let doc = markdown(&format!("The attributes of {}.", enumerate(&of)));
    let borrows = attributes.iter().any(|attribute| borrows(attribute.ty));
    let lifetime = borrows.then(|| quote!(<'a>));
    let any = borrows.then(|| quote!(<'_>));
    let fields = attributes.iter().map(|attribute| {
        let (name, ty, doc) = (
            names::snake(&attribute.name),
            attribute_type(attribute.ty, Some(quote!('a))),
            markdown(&attribute.doc),
        );
        quote!(#doc pub #name: #ty)
    });
    let values: Vec<AttributeValue> = attributes
        .iter()
        .map(|attribute| attribute.default.clone().unwrap_or_else(|| zero(attribute.ty)))
        .collect();
    let is_zero = attributes.iter().zip(&values).all(|(attribute, value)| *value == zero(attribute.ty));
    let derived = is_zero.then(|| quote!(Default,));
    let stated = (!is_zero).then(|| {
        let names = attributes.iter().map(|attribute| names::snake(&attribute.name));
        let values = values.iter().map(constant);
        quote! {
            impl Default for #name #any {
                fn default() -> Self {
                    Self { #(#names: #values),* }
                }
            }
        }
    });
    quote! {
        #doc
        #[derive(Clone, Copy, Debug, #derived PartialEq)]
        pub struct #name #lifetime { #(#fields),* }

        #stated
    }
}

/// Returns the value of an attribute without a default in a struct that a caller fills in part.
fn zero(ty: AttributeType) -> AttributeValue {
    match ty {
        AttributeType::Bool => AttributeValue::Truth(false),
        AttributeType::I64 => AttributeValue::Integer(0),
        AttributeType::F64 => AttributeValue::Number(0.0),
        AttributeType::Integers => AttributeValue::Integers(Vec::new()),
        AttributeType::Numbers => AttributeValue::Numbers(Vec::new()),
        AttributeType::Text => AttributeValue::Text(String::new()),
        AttributeType::Texts => AttributeValue::Texts(Vec::new()),
    }
}

/// Emits the type of an attribute, with the lifetime of what it borrows if the place needs one.
pub(super) fn attribute_type(ty: AttributeType, lifetime: Option<TokenStream>) -> TokenStream {
    match ty {
        AttributeType::Bool => quote!(bool),
        AttributeType::I64 => quote!(i64),
        AttributeType::F64 => quote!(f64),
        AttributeType::Integers => quote!(&#lifetime [i64]),
        AttributeType::Numbers => quote!(&#lifetime [f64]),
        AttributeType::Text => quote!(&#lifetime str),
        AttributeType::Texts => quote!(&#lifetime [&#lifetime str]),
    }
}

/// Returns true for a type with a lifetime.
pub(super) fn borrows(ty: AttributeType) -> bool {
    !matches!(ty, AttributeType::Bool | AttributeType::I64 | AttributeType::F64)
}
