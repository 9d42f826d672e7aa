//! Types of the Rust API: newtypes for handles, ids and enums.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Context, names};
use crate::model::{EnumValue, GroupId, HandleForm, Meaning, Param, Space, Ty, Type, TypeId, TypeKind};

pub(super) fn emit(context: Context) -> TokenStream {
    let types = context.interface.types.iter().map(|ty| emit_type(context, ty));
    quote! { #(#types)* }
}

/// Emits the types of a group.
pub(super) fn of_group(context: Context, group: GroupId) -> TokenStream {
    let types = context.interface.types.iter().filter(|ty| ty.group == group);
    let types = types.map(|ty| emit_type(context, ty));
    quote! { #(#types)* }
}

/// Emits `Error` and `Result` with the interface's own status.
pub(super) fn error_aliases(context: Context) -> TokenStream {
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
        TypeKind::Handle { null, .. } => {
            let c_name = names::symbol(&ty.c_name);
            let null_doc = match null {
                Some(meaning) => format!(" The null handle: {meaning}."),
                None => " The null handle, which no function accepts as live.".to_owned(),
            };
            let debug = format!("{}({{:#x}})", ty.name.value);
            let raw = if is_by_pointer(&ty.kind) { quote!(*mut ffi::#c_name) } else { quote!(ffi::#c_name) };
            quote! {
                #doc
                #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
                #[repr(transparent)]
                pub struct #name(usize);

                impl #name {
                    #[doc = #null_doc]
                    pub const NULL: Self = Self(0);

                    /// Makes a handle from the number that the implementation chose for it.
                    pub const fn from_addr(addr: usize) -> Self {
                        Self(addr)
                    }

                    /// Returns the number of the handle.
                    pub const fn addr(self) -> usize {
                        self.0
                    }

                    /// Returns true if it is the null handle.
                    pub const fn is_null(self) -> bool {
                        self.0 == 0
                    }

                    /// Makes a handle from a pointer of the ABI.
                    pub fn from_raw(raw: #raw) -> Self {
                        Self(raw.expose_provenance())
                    }

                    /// Returns the pointer of the ABI.
                    pub fn as_raw(self) -> #raw {
                        ::core::ptr::with_exposed_provenance_mut(self.0)
                    }
                }

                impl ::core::fmt::Debug for #name {
                    fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                        ::core::write!(formatter, #debug, self.0)
                    }
                }
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
        TypeKind::Enum { values, .. } => emit_enum(context, ty, values),
        TypeKind::Struct { fields, .. } if crate::model::is_byte_buffer(fields) => TokenStream::new(),
        TypeKind::Struct { .. } => {
            let c_name = names::symbol(&ty.c_name);
            if c_name == name {
                quote! { #doc pub use ffi::#name; }
            } else {
                quote! { #doc pub use ffi::#c_name as #name; }
            }
        }
        TypeKind::Callback { params, .. } => super::callbacks::wrapper(context, ty, params),
    }
}

fn emit_enum(context: Context, ty: &Type, values: &[EnumValue]) -> TokenStream {
    let name = names::symbol(&ty.name.value);
    let type_doc = doc(&ty.summary, &ty.doc);
    let constants = values.iter().map(|value| {
        let name = names::constant(&value.name.value);
        let doc = doc(&value.summary, "");
        let number = Literal::i64_unsuffixed(value.value);
        quote! { #doc pub const #name: Self = Self(#number); }
    });
    let known = values.iter().filter(|value| !value.alias).map(|value| {
        let number = Literal::i64_unsuffixed(value.value);
        let name = &value.name.value;
        quote! { #number => ::core::option::Option::Some(#name), }
    });
    let debug = format!("{}({{}})", ty.name.value);
    let is_status = context.interface.status.is_some_and(|id| std::ptr::eq(context.spec_type(id), ty));
    let status = is_status.then(|| status_code(&name, values));
    quote! {
        #type_doc
        ///
        /// Numbers without a name are valid too, because a newer host may know more values.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct #name(pub i32);

        impl #name {
            #(#constants)*

            /// Its name in the spec, if it has one.
            pub const fn name(self) -> ::core::option::Option<&'static str> {
                match self.0 {
                    #(#known)*
                    _ => ::core::option::Option::None,
                }
            }
        }

        impl ::core::fmt::Debug for #name {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self.name() {
                    ::core::option::Option::Some(name) => formatter.write_str(name),
                    ::core::option::Option::None => ::core::write!(formatter, #debug, self.0),
                }
            }
        }

        #status
    }
}

/// Returns the value with a meaning; if the spec names none, the first that is not success.
fn status_code(name: &proc_macro2::Ident, values: &[EnumValue]) -> TokenStream {
    let constant = |value: Option<&EnumValue>| {
        let constant =
            value.map_or_else(|| names::symbol("UNNAMED"), |value| names::constant(&value.name.value));
        quote!(Self::#constant)
    };
    let failure = values.iter().find(|value| value.value != 0);
    let meaning = |meaning| constant(values.iter().find(|value| value.means == Some(meaning)).or(failure));
    let success = constant(values.iter().find(|value| value.value == 0));
    let invalid = meaning(Meaning::InvalidArgument);
    let unsupported = meaning(Meaning::Unsupported);
    let internal = meaning(Meaning::Internal);
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
    pub(super) fn spec_type(self, id: TypeId) -> &'a Type {
        self.spec.ty(id)
    }
}

/// Returns true if C passes a handle as `Name*`.
pub(super) fn is_by_pointer(kind: &TypeKind) -> bool {
    matches!(kind, TypeKind::Handle { form: HandleForm::Pointee(_), .. })
}

/// Returns the path of a type: types of another interface are in the module beside this one.
pub(super) fn type_path(context: Context, id: TypeId) -> TokenStream {
    let ty = context.spec.ty(id);
    let name = names::symbol(&ty.name.value);
    let owner = &context.spec.interfaces[id.interface.0];
    if std::ptr::eq(owner, context.interface) {
        quote!(#name)
    } else {
        let module = names::snake(&owner.name.value);
        quote!(#module::#name)
    }
}

/// Returns a type by value in the Rust API; for a pointer, it depends on the memory that it points to.
pub(super) fn value(context: Context, ty: Ty, space: Option<Space>) -> TokenStream {
    match (ty, space) {
        (Ty::Pointer, Some(Space::Device)) => quote!(::tenon::DevicePtr),
        (Ty::Pointer, Some(Space::Host)) => quote!(::tenon::HostPtr),
        (Ty::Pointer, Some(Space::Unified)) => quote!(::tenon::UnifiedPtr),
        (Ty::Pointer, Some(Space::Any) | None) => quote!(::tenon::AnyPtr),
        _ => scalar(context, ty),
    }
}

/// Returns a type by value that is not a pointer.
pub(super) fn scalar(context: Context, ty: Ty) -> TokenStream {
    match ty {
        Ty::Bool => quote!(bool),
        Ty::Int { bits, signed } => {
            let name = names::symbol(&format!("{}{bits}", if signed { 'i' } else { 'u' }));
            quote!(#name)
        }
        Ty::F32 => quote!(f32),
        Ty::F64 => quote!(f64),
        Ty::Size => quote!(usize),
        Ty::ULongLong => quote!(u64),
        Ty::Char => quote!(::core::ffi::c_char),
        Ty::String => quote!(&::core::ffi::CStr),
        Ty::Pointer => quote!(::tenon::AnyPtr),
        Ty::Named(id) => type_path(context, id),
    }
}

/// Emits the doc attributes of a field: the spec's documentation, or its name.
pub(super) fn field_doc(field: &Param) -> TokenStream {
    doc(&field_text(field), "")
}

/// Returns the spec's documentation of a field, or its name.
pub(super) fn field_text(field: &Param) -> String {
    if field.doc.trim().is_empty() {
        format!("The field `{}`.", field.name.value)
    } else {
        field.doc.to_string()
    }
}

/// Emits the doc attributes of a summary and further text.
pub(super) fn doc(summary: &str, more: &str) -> TokenStream {
    let mut text = summary.trim().to_owned();
    if !text.is_empty() && !text.ends_with(['.', '!', '?', ':']) {
        text.push('.');
    }
    if !more.trim().is_empty() {
        text.push_str("\n\n");
        text.push_str(more.trim());
    }
    let lines = text.lines().map(|line| format!(" {line}"));
    quote! { #(#[doc = #lines])* }
}
