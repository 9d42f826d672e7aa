//! Types of the Rust API: newtypes for handles, ids and enums.

use super::callbacks;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::api_type::{is_by_pointer, scalar, type_path};
use crate::emit::rust::context::Context;
use crate::emit::rust::doc::doc;
use crate::emit::rust::names;
use crate::model::{EnumValue, GroupId, Meaning, Representation, Type, TypeId, TypeKind};

pub fn emit(context: Context) -> TokenStream {
    let types = context.interface.implemented_types().map(|ty| emit_type(context, ty));
    quote! { #(#types)* }
}

/// Emits the types of a group.
pub fn of_group(context: Context, group: GroupId) -> TokenStream {
    let types = context.interface.implemented_types().filter(|ty| ty.group == group);
    let types = types.map(|ty| emit_type(context, ty));
    quote! { #(#types)* }
}

/// Emits `Error` and `Result` with the interface's own status.
pub fn error_aliases(context: Context) -> TokenStream {
    let Some(status) = context.interface.status else { return TokenStream::new() };
    let path = type_path(context, status);
    quote! {
        /// A status with a message.
        pub type Error = ::tenon::Error<#path>;
        /// The result of a function of this interface.
        pub type Result<T> = ::core::result::Result<T, Error>;
    }
}

fn emit_type(context: Context, ty: &Type) -> TokenStream {
    let name = names::symbol(&ty.name.value);
    let doc = doc(&ty.summary, &ty.doc);
    match &ty.kind {
        // Its name is that of the trait.
        TypeKind::Handle { object: Some(_), .. } => TokenStream::new(),
        TypeKind::Handle { null, .. } => {
            let c_name = names::symbol(&ty.c_name);
            let null = null.as_ref().map(|meaning| quote! { #[null(#meaning)] });
            let raw = if is_by_pointer(&ty.kind) { quote!(*mut ffi::#c_name) } else { quote!(ffi::#c_name) };
            quote! {
                #[__list(tenon::handle)]
                { #doc #null pub struct #name(#raw); }
            }
        }
        TypeKind::Id { ty: inner, .. } => {
            let inner = scalar(context, *inner);
            quote! {
                #doc
                #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
                #[repr(transparent)]
                pub struct #name(pub #inner);
            }
        }
        TypeKind::Enum { values, representation, .. } => emit_enum(context, ty, values, *representation),
        TypeKind::Struct { fields, .. } if crate::model::is_byte_buffer(fields) => TokenStream::new(),
        TypeKind::Struct { .. } => {
            let c_name = names::symbol(&ty.c_name);
            if c_name == name {
                quote! { #doc pub use ffi::#name; }
            } else {
                quote! { #doc pub use ffi::#c_name as #name; }
            }
        }
        TypeKind::Callback { params, result, .. } => {
            callbacks::wrapper(context, ty, params, result.as_deref())
        }
    }
}

fn emit_enum(
    context: Context,
    ty: &Type,
    values: &[EnumValue],
    representation: Representation,
) -> TokenStream {
    let name = names::symbol(&ty.name.value);
    let integer = scalar(context, representation.ty());
    let type_doc = doc(&ty.summary, &ty.doc);
    let constants = values.iter().map(|value| {
        let name = names::constant(&value.name.value);
        let doc = doc(&value.summary, "");
        let number = Literal::i64_unsuffixed(value.value);
        let alias = original(value, values).map(|original| quote! { #[alias(#original)] });
        quote! { #doc #alias #name = #number }
    });
    let is_status = context.interface.status.is_some_and(|id| std::ptr::eq(context.spec_type(id), ty));
    let status = context.interface.status.filter(|_| is_status);
    let status = status.map(|id| status_code(context, id));
    quote! {
        #[__list(tenon::numbers)]
        {
            #type_doc
            #[repr(#integer)]
            pub enum #name { #(#constants,)* }
        }

        #status
    }
}

/// Returns the constant that an alias is another name of.
fn original(alias: &EnumValue, values: &[EnumValue]) -> Option<Ident> {
    let same = |value: &&EnumValue| !value.alias && value.value == alias.value;
    let original = values.iter().filter(|_| alias.alias).find(same)?;
    Some(names::constant(&original.name.value))
}

/// Emits the values of a status that the run-time library returns.
fn status_code(context: Context, id: TypeId) -> TokenStream {
    let ty = context.spec.ty(id);
    let name = names::symbol(&ty.name.value);
    // The rules about statuses make sure that there is a value for success and one for failures.
    let constant = |value: Option<&EnumValue>| {
        let constant = value.map(|value| names::constant(&value.name.value));
        quote!(Self::#constant)
    };
    let success = constant(ty.enum_values().iter().find(|value| value.value == 0));
    let [invalid, unsupported, internal] =
        [Meaning::InvalidArgument, Meaning::Unsupported, Meaning::Internal]
            .map(|meaning| constant(context.spec.failure(id, meaning)));
    quote! {
        impl ::tenon::StatusCode for #name {
            const SUCCESS: Self = #success;
            const INVALID_ARGUMENT: Self = #invalid;
            const UNSUPPORTED: Self = #unsupported;
            const INTERNAL: Self = #internal;

            fn code(self) -> i32 {
                self.0
            }
        }
    }
}

impl<'a> Context<'a> {
    /// Returns the described type with an id.
    pub fn spec_type(self, id: TypeId) -> &'a Type {
        self.spec.ty(id)
    }
}
