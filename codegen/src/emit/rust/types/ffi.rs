//! The raw ABI: names and layouts as in C.

use super::args;
use proc_macro2::TokenStream;
use quote::quote;

use super::api_type::scalar;
use super::layout::{Member, layout_struct};
use super::raw_types::{ffi_path, function_pointer, raw_element, raw_param};
use crate::emit::rust::context::Context;
use crate::emit::rust::doc::{doc, field_doc, field_text};
use crate::emit::rust::names;
use crate::emit::rust::table::signature;
use crate::model::abi;
use crate::model::{
    Extension, Extent, HandleForm, Length, Object, Param, Release, ReleaseId, Type, TypeId, TypeKind,
};

/// Emits the start of the module `ffi`, and its content.
pub fn emit(context: Context) -> (TokenStream, TokenStream) {
    let types = context.interface.implemented_types().map(|ty| emit_type(context, ty));
    let args = args::structs(context);
    let releases = context.interface.release_ids().map(|(id, release)| emit_release(context, id, release));
    // Types that are the same in every release are outside the release modules. That may be all types.
    let newest = context
        .interface
        .release_ids()
        .next_back()
        .filter(|(id, _)| !emit_layouts(context, Some(*id)).is_empty())
        .map(|(_, release)| {
            let module = names::release_module(&release.name.value);
            quote! { pub use self::#module::*; }
        });
    let unreleased = context.interface.releases.is_empty().then(|| emit_layouts(context, None));
    let module = quote! {
        /// The ABI as C has it: names, layouts and signatures.
        #[allow(non_camel_case_types, reason = "the names are the ABI's")]
        #[allow(non_snake_case, reason = "the names are the ABI's")]
        pub
    };
    let extension = context.interface.table().and_then(|table| table.extension.as_ref());
    let extension = extension.map(|extension| emit_extension(context, extension));
    (module, quote! { #(#types)* #args #(#releases)* #newest #unreleased #extension })
}

fn emit_type(context: Context, ty: &Type) -> TokenStream {
    let c_name = names::symbol(&ty.c_name);
    let docs = doc(&ty.summary, "");
    match &ty.kind {
        TypeKind::Handle { object: Some(object), .. } => emit_object(context, ty, object),
        TypeKind::Handle { form, const_name, .. } => {
            let Some(tag) = form.tag().map(names::symbol) else {
                return quote! { #docs pub type #c_name = *mut ::core::ffi::c_void; };
            };
            let alias = match form {
                HandleForm::Pointee(_) if tag == c_name => TokenStream::new(),
                HandleForm::Pointee(_) => quote! { #docs pub type #c_name = #tag; },
                HandleForm::Tagged(_) | HandleForm::Void => quote! { #docs pub type #c_name = *mut #tag; },
            };
            let const_alias = const_name.as_deref().map(names::symbol).map(|name| {
                quote! { #docs pub type #name = *const #tag; }
            });
            quote! {
                #docs
                #[repr(C)]
                pub struct #tag {
                    opaque: [u8; 0],
                }
                #alias
                #const_alias
            }
        }
        TypeKind::Id { tag, field, ty } => {
            let (tag, field, ty) = (names::symbol(tag), names::snake(field), scalar(context, *ty));
            quote! {
                #docs
                #[derive(Clone, Copy, Debug)]
                #[repr(C)]
                pub struct #tag {
                    /// The number.
                    pub #field: #ty,
                }
                #docs
                pub type #c_name = *mut #tag;
            }
        }
        TypeKind::Struct { fields, is_union: true, .. } => emit_union(context, ty, fields),
        TypeKind::Struct { fields, .. } if !depends_on_release(fields) => {
            emit_struct(context, ty, fields, None)
        }
        TypeKind::Callback { params, result, .. } => {
            let inputs = params.iter().map(|param| raw_param(context, param));
            let output = result.as_ref().map(|result| {
                let ty = raw_param(context, result);
                quote!(-> #ty)
            });
            quote! {
                #docs
                pub type #c_name = ::core::option::Option<unsafe extern "C-unwind" fn(#(#inputs),*) #output>;
            }
        }
        TypeKind::Enum { .. } | TypeKind::Struct { .. } => TokenStream::new(),
    }
}

/// Returns the path of the raw struct of a release: in the release's module only if it differs between
/// releases.
pub fn struct_path(context: Context, id: TypeId, release: &TokenStream) -> TokenStream {
    let ty = context.spec.ty(id);
    let c_name = names::symbol(&ty.c_name);
    match &ty.kind {
        TypeKind::Struct { fields, is_union: false, .. } if depends_on_release(fields) => {
            quote!(#release::#c_name)
        }
        _ => ffi_path(context, id),
    }
}

fn depends_on_release(fields: &[Param]) -> bool {
    fields.iter().any(|field| field.availability != crate::model::Availability::default())
}

fn emit_struct(context: Context, ty: &Type, fields: &[Param], release: Option<ReleaseId>) -> TokenStream {
    let layout = abi::struct_layout(context.spec, fields, release);
    let members = layout.fields.iter().map(|&(index, offset, _)| {
        let field = &fields[index];
        Member {
            name: field.ident(),
            ty: field_type(context, field),
            docs: field_text(field),
            offset: Some(offset),
        }
    });
    let members: Vec<Member> = members.collect();
    layout_struct(&names::symbol(&ty.c_name), &doc(&ty.summary, &ty.doc), &members, layout.size)
}

/// Emits the struct of an object as the newest release has it. Releases only add members at its end.
fn emit_object(context: Context, ty: &Type, object: &Object) -> TokenStream {
    let newest = context.interface.newest();
    let layout = abi::object_layout(context.spec, context.interface, (ty, object), newest);
    let name = names::symbol(&ty.c_name);
    let (mut members, mut functions) = (Vec::new(), Vec::new());
    for member in &layout.members {
        match &member.kind {
            abi::MemberKind::Function(id) => {
                let function = context.interface.function(*id);
                functions.push((
                    member.offset,
                    Member {
                        name: names::snake(&function.c_name),
                        ty: option_of(&function_pointer(context, function, newest)),
                        docs: function.summary.clone(),
                        offset: None,
                    },
                ));
            }
            abi::MemberKind::Field(block, field) => {
                let field = object.field(*block, *field);
                members.push(Member {
                    name: field.ident(),
                    ty: field_type(context, field),
                    docs: field_text(field),
                    offset: Some(member.offset),
                });
            }
            abi::MemberKind::Size | abi::MemberKind::Reserved(..) => {}
        }
    }
    let (first, size) = (layout.start_of_functions(), functions.len() as u64 * abi::POINTER);
    let place = members.iter().take_while(|member| member.offset < first).count();
    let inner = object.inner.as_ref().map(|inner| {
        let relative = functions
            .drain(..)
            .map(|(offset, member)| Member { offset: first.map(|first| offset - first), ..member });
        let relative: Vec<Member> = relative.collect();
        let struct_ = names::symbol(&inner.c_name);
        let docs = format!("The functions of `{}`", ty.c_name);
        members.insert(
            place,
            Member {
                name: names::snake(&inner.member),
                ty: quote!(#struct_),
                docs: docs.clone(),
                offset: first,
            },
        );
        layout_struct(&struct_, &doc(&docs, ""), &relative, size)
    });
    let functions = functions.into_iter().map(|(offset, member)| Member { offset: Some(offset), ..member });
    members.splice(place..place, functions);
    let outer = layout_struct(&name, &doc(&ty.summary, &ty.doc), &members, layout.size);
    quote! { #inner #outer }
}

fn emit_union(context: Context, ty: &Type, fields: &[Param]) -> TokenStream {
    let c_name = names::symbol(&ty.c_name);
    let docs = doc(&ty.summary, &ty.doc);
    let members = fields.iter().map(|field| {
        let (name, ty, docs) = (field.ident(), field_type(context, field), field_doc(field));
        quote! { #docs pub #name: #ty, }
    });
    let size = names::number(abi::union_layout(context.spec, fields, None).size);
    let debug = format!("{} {{{{ .. }}}}", ty.name.value);
    quote! {
        #docs
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub union #c_name {
            #(#members)*
        }

        impl ::core::fmt::Debug for #c_name {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::write!(formatter, #debug)
            }
        }

        const _: () = ::core::assert!(::core::mem::size_of::<#c_name>() == #size);
    }
}

fn field_type(context: Context, field: &Param) -> TokenStream {
    match &field.length {
        Some(Length::Count(Extent::Number(count))) => {
            let (element, count) = (raw_element(context, field), names::number(*count));
            quote!([#element; #count])
        }
        _ => raw_param(context, field),
    }
}

fn emit_release(context: Context, id: ReleaseId, release: &Release) -> TokenStream {
    let module = names::release_module(&release.name.value);
    let layouts = emit_layouts(context, Some(id));
    let docs = format!(" Layouts of release {}.", release.name.value);
    if layouts.is_empty() {
        return TokenStream::new();
    }
    quote! {
        #[doc = #docs]
        pub mod #module {
            use super::*;

            #layouts
        }
    }
}

/// Emits the types that differ by release: structs whose fields changed, and the table.
fn emit_layouts(context: Context, release: Option<ReleaseId>) -> TokenStream {
    let structs = context.interface.implemented_types().filter_map(|ty| match &ty.kind {
        TypeKind::Struct { fields, .. } if depends_on_release(fields) => {
            Some(emit_struct(context, ty, fields, release))
        }
        _ => None,
    });
    let table = emit_table(context, release);
    quote! { #(#structs)* #table }
}

fn emit_table(context: Context, release: Option<ReleaseId>) -> TokenStream {
    let Some(table) = context.interface.table() else { return TokenStream::new() };
    let name = names::symbol(&table.c_name);
    let layout = abi::table_layout(context.interface, table, release);
    let members = layout.members.iter().map(|member| {
        let (name, ty, docs) = match &member.kind {
            abi::MemberKind::Size => {
                (names::snake(&table.size_field), quote!(usize), "Size of the table in bytes.".to_owned())
            }
            abi::MemberKind::Function(id) => {
                let function = context.interface.function(*id);
                let ty = option_of(&signature::path(context, function, release));
                (names::snake(&function.c_name), ty, function.summary.clone())
            }
            abi::MemberKind::Field(block, field) => {
                let field = &table.blocks[*block].fields[*field].param;
                (field.ident(), field_type(context, field), field_text(field))
            }
            abi::MemberKind::Reserved(name, count) => {
                let count = names::number(*count);
                (names::snake(name), quote!([*mut ::core::ffi::c_void; #count]), "Unused.".to_owned())
            }
        };
        Member { name, ty, docs, offset: Some(member.offset) }
    });
    let members: Vec<Member> = members.collect();
    layout_struct(&name, &doc("The table of function pointers", ""), &members, layout.size)
}

/// Emits the second table: its size, its version, and a pointer for each function.
fn emit_extension(context: Context, extension: &Extension) -> TokenStream {
    let name = names::symbol(&extension.c_name);
    let (slots, size) = abi::extension_layout(extension);
    let newest = context.interface.newest();
    let head = [
        ("size", quote!(usize), "Size of the struct in bytes"),
        ("major", quote!(u32), "Major version: a different one has a different layout"),
        ("minor", quote!(u32), "Minor version: a newer one appends functions"),
    ];
    let head = head.map(|(name, ty, docs)| Member {
        name: names::symbol(name),
        ty,
        docs: docs.to_owned(),
        offset: None,
    });
    let functions = slots.iter().map(|(id, offset)| {
        let function = context.interface.function(*id);
        Member {
            name: names::snake(&function.c_name),
            ty: option_of(&signature::path(context, function, newest)),
            docs: function.summary.clone(),
            offset: Some(*offset),
        }
    });
    let members: Vec<Member> = head.into_iter().chain(functions).collect();
    layout_struct(&name, &doc("The functions that the host's table has no slot for", ""), &members, size)
}

fn option_of(ty: &TokenStream) -> TokenStream {
    quote!(::core::option::Option<#ty>)
}
