//! The raw ABI: names and layouts as C has them.

use proc_macro2::TokenStream;
use quote::quote;

use super::form::named_id;
use super::types::{doc, field_doc, field_text, is_by_pointer, scalar, type_path};
use super::{Context, names, signature};
use crate::abi;
use crate::model::{
    Direction, Extension, Extent, Function, HandleForm, Length, Param, Release, ReleaseId, ResultKind, Role,
    Ty, Type, TypeId, TypeKind,
};

/// The beginning of the module `ffi`, and its content.
pub(super) fn emit(context: Context) -> (TokenStream, TokenStream) {
    let types = context.interface.types.iter().map(|ty| emit_type(context, ty));
    let args = super::args::structs(context);
    let releases = context.interface.release_ids().map(|(id, release)| emit_release(context, id, release));
    // Types that are the same in every release are outside of the release modules. They may be all types.
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
pub(super) fn struct_path(context: Context, id: TypeId, release: &TokenStream) -> TokenStream {
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
    let c_name = names::symbol(&ty.c_name);
    let docs = doc(&ty.summary, &ty.doc);
    let layout = abi::struct_layout(context.spec, fields, release);
    let members = layout.fields.iter().map(|(index, _, _)| {
        let field = &fields[*index];
        let (name, ty, docs) =
            (names::snake(&field.name.value), field_type(context, field), field_doc(field));
        quote! { #docs pub #name: #ty, }
    });
    let size = names::number(layout.size);
    let asserts = layout.fields.iter().map(|(index, offset, _)| {
        let (name, offset) = (names::snake(&fields[*index].name.value), names::number(*offset));
        quote! { ::core::assert!(::core::mem::offset_of!(#c_name, #name) == #offset); }
    });
    quote! {
        #docs
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub struct #c_name {
            #(#members)*
        }

        const _: () = {
            ::core::assert!(::core::mem::size_of::<#c_name>() == #size);
            #(#asserts)*
        };
    }
}

fn emit_union(context: Context, ty: &Type, fields: &[Param]) -> TokenStream {
    let c_name = names::symbol(&ty.c_name);
    let docs = doc(&ty.summary, &ty.doc);
    let members = fields.iter().map(|field| {
        let (name, ty, docs) =
            (names::snake(&field.name.value), field_type(context, field), field_doc(field));
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

/// Types that differ by release: the structs with fields that came or went, and the table.
fn emit_layouts(context: Context, release: Option<ReleaseId>) -> TokenStream {
    let structs = context.interface.types.iter().filter_map(|ty| match &ty.kind {
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
    let mut members = Vec::new();
    let mut asserts = Vec::new();
    for member in &layout.members {
        let (field, ty, docs) = match &member.kind {
            abi::MemberKind::Size => {
                (names::snake(&table.size_field), quote!(usize), "Size of the table in bytes.".to_owned())
            }
            abi::MemberKind::Function(id) => {
                let function = context.interface.function(*id);
                (
                    names::snake(&function.c_name),
                    option_of(&signature::path(context, function, release)),
                    function.summary.clone(),
                )
            }
            abi::MemberKind::Field(block, field) => {
                let field = &table.blocks[*block].fields[*field].param;
                (names::snake(&field.name.value), field_type(context, field), field_text(field))
            }
            abi::MemberKind::Reserved(name, count) => {
                let count = names::number(*count);
                (names::snake(name), quote!([*mut ::core::ffi::c_void; #count]), "Unused.".to_owned())
            }
        };
        let (docs, offset) = (doc(&docs, ""), names::number(member.offset));
        asserts.push(quote! { ::core::assert!(::core::mem::offset_of!(#name, #field) == #offset); });
        members.push(quote! { #docs pub #field: #ty, });
    }
    let size = names::number(layout.size);
    quote! {
        /// The table of function pointers.
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub struct #name {
            #(#members)*
        }

        const _: () = {
            ::core::assert!(::core::mem::size_of::<#name>() == #size);
            #(#asserts)*
        };
    }
}

/// The second table: its size, its version, and a pointer for each function.
fn emit_extension(context: Context, extension: &Extension) -> TokenStream {
    let name = names::symbol(&extension.c_name);
    let (slots, size) = abi::extension_layout(extension);
    let newest = context.interface.newest();
    let members = slots.iter().map(|(id, _)| {
        let function = context.interface.function(*id);
        let (field, docs) = (names::snake(&function.c_name), doc(&function.summary, ""));
        let ty = option_of(&signature::path(context, function, newest));
        quote! { #docs pub #field: #ty, }
    });
    let asserts = slots.iter().map(|(id, offset)| {
        let field = names::snake(&context.interface.function(*id).c_name);
        let offset = names::number(*offset);
        quote! { ::core::assert!(::core::mem::offset_of!(#name, #field) == #offset); }
    });
    let size = names::number(size);
    quote! {
        /// The functions that the host's table has no slot for.
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub struct #name {
            /// Size of the struct in bytes.
            pub size: usize,
            /// Major number of the version: another one means another layout.
            pub major: u32,
            /// Minor number of the version: a newer one appends functions.
            pub minor: u32,
            #(#members)*
        }

        const _: () = {
            ::core::assert!(::core::mem::size_of::<#name>() == #size);
            #(#asserts)*
        };
    }
}

fn option_of(ty: &TokenStream) -> TokenStream {
    quote!(::core::option::Option<#ty>)
}

/// The type of a pointer to a function in a release.
pub(super) fn function_pointer(
    context: Context,
    function: &Function,
    release: Option<ReleaseId>,
) -> TokenStream {
    let convention = convention(context);
    let inputs = raw_inputs(context, function, release);
    let output = raw_result(context, function);
    quote!(unsafe extern #convention fn(#(#inputs),*) #output)
}

/// The types of what a function is passed in a release: its parameters, or the struct with them.
pub(super) fn raw_inputs(
    context: Context,
    function: &Function,
    release: Option<ReleaseId>,
) -> Vec<TokenStream> {
    match &function.args {
        Some(args) => {
            let name = names::symbol(&args.c_name);
            vec![quote!(*mut ffi::#name)]
        }
        None => function.params_in(release).map(|param| raw_param(context, param)).collect(),
    }
}

/// `"C"`, or `"C-unwind"` where C++ exceptions may come through.
pub(super) fn convention(context: Context) -> &'static str {
    if context.interface.unwinds { "C-unwind" } else { "C" }
}

/// The return type of a function in the ABI, with its arrow.
pub(super) fn raw_result(context: Context, function: &Function) -> TokenStream {
    match &function.result {
        ResultKind::Status => match context.interface.status {
            Some(_) if context.interface.error.is_some() => {
                let object = context.interface.error.map(|error| raw_handle(context, error.ty));
                quote!(-> #object)
            }
            Some(status) => {
                let path = type_path(context, status);
                quote!(-> #path)
            }
            None => TokenStream::new(),
        },
        ResultKind::None => TokenStream::new(),
        ResultKind::Value(result) => {
            let ty = raw_param(context, result);
            quote!(-> #ty)
        }
    }
}

/// A handle by itself.
fn raw_handle(context: Context, id: TypeId) -> TokenStream {
    let path = ffi_path(context, id);
    if is_by_pointer(&context.spec.ty(id).kind) { quote!(*mut #path) } else { path }
}

/// What a function writes through a pointer, where that is a value or the address of a lent list.
pub(super) fn raw_written(context: Context, param: &Param) -> TokenStream {
    let element = raw_element(context, param);
    match param.ty {
        _ if param.lent => quote!(*const #element),
        Ty::Pointer => quote!(*mut ::core::ffi::c_void),
        _ => element,
    }
}

/// A parameter as the ABI passes it.
pub(super) fn raw_param(context: Context, param: &Param) -> TokenStream {
    if param.lent {
        let list = raw_written(context, param);
        return quote!(*mut #list);
    }
    let written = param.dir != Direction::In;
    let pointer = |target: TokenStream, is_const: bool| {
        if param.constness.unwrap_or(is_const) { quote!(*const #target) } else { quote!(*mut #target) }
    };
    let is_array = matches!(param.length, Some(Length::Count(_)))
        || matches!(param.ty, Ty::Char if param.length.is_some());
    if is_array {
        let element = raw_element(context, param);
        // Of a handle, `const` says whether the object may be changed, not the array.
        return match super::form::named(context, param.ty) {
            Some(TypeKind::Handle { .. }) if written => quote!(*mut #element),
            Some(TypeKind::Handle { .. }) => quote!(*const #element),
            _ => pointer(element, !written),
        };
    }
    match param.ty {
        Ty::Pointer if param.role == Role::Creates && written => quote!(*mut *mut ::core::ffi::c_void),
        Ty::Pointer => {
            let read_only = !written && param.length.is_some() && param.role != Role::Destroys;
            pointer(quote!(::core::ffi::c_void), read_only)
        }
        Ty::String => pointer(quote!(::core::ffi::c_char), !written),
        Ty::Named(id) if is_by_pointer(&context.spec.ty(id).kind) => {
            let target = ffi_path(context, id);
            let is_made = written && param.role == Role::Creates;
            match context.spec.points_to_const(param) {
                _ if is_made => quote!(*mut *mut #target),
                true => quote!(*const #target),
                false => quote!(*mut #target),
            }
        }
        Ty::Named(id) if param.by_pointer => pointer(ffi_path(context, id), !written),
        Ty::Named(id) if matches!(context.spec.ty(id).kind, TypeKind::Id { .. }) => ffi_path(context, id),
        _ => {
            let ty = raw_element(context, param);
            if written { quote!(*mut #ty) } else { ty }
        }
    }
}

/// An element of an array, or a value by itself.
fn raw_element(context: Context, param: &Param) -> TokenStream {
    if let (Ty::Named(id), Some(name)) = (param.ty, context.spec.const_handle_name(param)) {
        return raw_path(context, id, name);
    }
    match param.ty {
        Ty::Pointer if param.constness.unwrap_or(param.dir == Direction::In) => {
            quote!(*const ::core::ffi::c_void)
        }
        Ty::Pointer => quote!(*mut ::core::ffi::c_void),
        Ty::String => quote!(*const ::core::ffi::c_char),
        Ty::Named(id) => match context.spec.ty(id).kind {
            // An enum is its number on both sides.
            TypeKind::Enum { .. } => type_path(context, id),
            TypeKind::Handle { form: HandleForm::Pointee(_), .. } => {
                let target = ffi_path(context, id);
                quote!(*mut #target)
            }
            _ => ffi_path(context, id),
        },
        ty => scalar(context, ty),
    }
}

/// Returns the path of the raw form of a type.
pub(super) fn ffi_path(context: Context, id: TypeId) -> TokenStream {
    raw_path(context, id, &context.spec.ty(id).c_name)
}

/// Where something is that a type puts into the raw ABI: its C name, or its tag.
pub(super) fn raw_path(context: Context, id: TypeId, name: &str) -> TokenStream {
    let name = names::symbol(name);
    let owner = &context.spec.interfaces[id.interface.0];
    if std::ptr::eq(owner, context.interface) {
        quote!(ffi::#name)
    } else {
        let module = names::snake(&owner.name.value);
        quote!(#module::ffi::#name)
    }
}

/// A callback with the pointer that it was handed: callable, and movable to the thread that calls it.
pub(super) fn callback_wrapper(context: Context, ty: &Type, params: &[Param]) -> TokenStream {
    let name = names::symbol(&ty.name.value);
    let c_name = names::symbol(&ty.c_name);
    let docs = doc(&ty.summary, &ty.doc);
    let given = params.iter().position(Param::is_context);
    let (field, parameter, init) = match given {
        Some(_) => (
            Some(quote!(context: ::tenon::AnyPtr,)),
            Some(quote!(context: ::tenon::AnyPtr,)),
            Some(quote!(context,)),
        ),
        None => (None, None, None),
    };
    let call = callback_call(context, params);
    let reader = given.map(|_| {
        quote! {
            /// The pointer that the function gets back.
            pub fn context(self) -> ::tenon::AnyPtr {
                self.context
            }
        }
    });
    quote! {
        #docs
        #[derive(Clone, Copy, Debug)]
        pub struct #name {
            function: ffi::#c_name,
            #field
        }

        impl #name {
            /// A callback from what the ABI hands over.
            ///
            /// # Safety
            /// `function` may be called with this context, from any thread, as often as the interface says.
            pub unsafe fn from_raw(function: ffi::#c_name, #parameter) -> Self {
                Self { function, #init }
            }

            /// The function of the ABI.
            pub fn as_raw(self) -> ffi::#c_name {
                self.function
            }

            #reader

            #call
        }
    }
}

/// A safe `call`, for callbacks that take nothing but values.
fn callback_call(context: Context, params: &[Param]) -> TokenStream {
    let kind = |param: &Param| match param.ty {
        Ty::Named(id) => Some(&context.spec.ty(id).kind),
        _ => None,
    };
    let plain = |param: &Param| {
        param.dir == Direction::In
            && param.length.is_none()
            && !matches!(param.ty, Ty::Pointer | Ty::String)
            && !matches!(kind(param), Some(TypeKind::Callback { .. }))
    };
    let status = params.iter().find(|param| param.is_status);
    if !params.iter().all(|param| param.is_status || param.is_context() || plain(param)) {
        return TokenStream::new();
    }
    let mut inputs = Vec::new();
    let mut prepare = Vec::new();
    let mut arguments = Vec::new();
    for param in params {
        let name = names::snake(&param.name.value);
        if param.is_status {
            arguments.push(quote!(&raw mut __status_of_call));
        } else if param.is_context() {
            arguments.push(quote!(self.context.as_ptr()));
        } else {
            let ty = scalar(context, param.ty);
            inputs.push(quote!(#name: #ty));
            arguments.push(match kind(param) {
                Some(TypeKind::Id { tag, field, .. }) => {
                    let tag = named_id(param.ty).map(|id| raw_path(context, id, tag));
                    let field = names::snake(field);
                    prepare.push(quote! { let mut #name = #tag { #field: #name.0 }; });
                    quote!(&raw mut #name)
                }
                Some(TypeKind::Handle { .. }) => quote!(#name.as_raw()),
                _ => quote!(#name),
            });
        }
    }
    let (output, outcome, answer) = match status {
        Some(status) => {
            let ty = scalar(context, status.ty);
            (
                quote!(-> #ty),
                quote! { let mut __status_of_call = <#ty as ::tenon::StatusCode>::SUCCESS; },
                quote!(__status_of_call),
            )
        }
        None => Default::default(),
    };
    quote! {
        /// Calls the function.
        pub fn call(self, #(#inputs),*) #output {
            #outcome
            if let ::core::option::Option::Some(__callee) = self.function {
                #(#prepare)*
                __comment!("SAFETY: whoever made this promised that the function may be called with its context.");
                unsafe { __callee(#(#arguments),*) };
            }
            #answer
        }
    }
}
