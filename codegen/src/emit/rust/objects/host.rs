//! The struct that makes objects for a host, and what each object is made with.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use heck::ToSnakeCase;

use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::model::abi::{self, MemberKind};
use crate::model::{Function, Holds, Need, Object, Param, Type};

/// Emits the struct, with a function that makes each object, and one that releases it.
pub fn emit(context: Context) -> TokenStream {
    let interface = context.interface;
    let name = names::trait_of(interface);
    let docs = crate::emit::rust::doc::doc(&interface.summary, &interface.doc);
    let release = (!interface.releases.is_empty()).then(|| {
        quote! {
            /// The release of the host: the functions and members of newer ones are absent.
            pub release: Release,
        }
    });
    let host = interface.host_error.map(|host| {
        let host = &context.spec.interfaces[host.0];
        let (module, name) = (host.ident(), names::trait_of(host));
        quote! {
            /// The functions of the host, which make the statuses that it receives.
            pub host: &'static #module::#name,
        }
    });
    let remember = host.is_some().then(|| quote! { thunk::remember(self); });
    let methods = interface.objects().filter(|(_, object)| object.is_by_hand).map(|(ty, _)| {
        let (kind, raw, part) = (names::symbol(&ty.name.value), raw(ty), ty.name.value.to_snake_case());
        let (make, release) = (format_ident!("make_{part}"), format_ident!("release_{part}"));
        let made = format!(" Makes the object `{}` for the host, without an owner. The value is dropped when it is released.", ty.c_name);
        let released = format!(" Releases an object `{}` that this library has made.", ty.c_name);
        quote! {
            #[doc = #made]
            pub fn #make(self, value: ::std::boxed::Box<dyn #kind>) -> *mut ffi::#raw {
                #remember
                ::tenon::support::make_object(self, ::core::ptr::null_mut(), value)
            }

            #[doc = #released]
            ///
            /// # Errors
            /// If it was released before, or is not of this library.
            ///
            /// # Safety
            /// No other thread uses the object.
            pub unsafe fn #release(object: *mut ffi::#raw) -> Result<()> {
                __comment!("SAFETY: the caller's promise.");
                unsafe { ::tenon::support::release_object::<_, dyn #kind>("object", object) }
            }
        }
    });
    let lent = interface.objects().filter(|(ty, _)| context.spec.lends(interface, ty)).map(|(ty, _)| {
        let (kind, part) = (names::symbol(&ty.name.value), ty.name.value.to_snake_case());
        let keep = format_ident!("keep_{part}");
        let docs =
            format!(" Makes an object `{}` that the implementation keeps, and lends to the host.", ty.c_name);
        quote! {
            #[doc = #docs]
            ///
            /// `owner` is the address of the object that lends it, or null.
            pub fn #keep(
                self,
                owner: *mut ::core::ffi::c_void,
                value: ::std::boxed::Box<dyn #kind>,
            ) -> ::tenon::Made<dyn #kind> {
                ::tenon::Made::new(self, owner, value)
            }
        }
    });
    let methods = methods.chain(lent);
    let kinds = interface.objects().map(|(ty, object)| kind(context, ty, object));
    quote! {
        #docs
        ///
        /// It makes objects for a host.
        #[derive(Clone, Copy, Debug)]
        pub struct #name {
            #release
            #host
        }

        impl #name {
            #(#methods)*
        }

        #(#kinds)*
    }
}

/// Emits what an object is made with: its data members, and a pointer for each function that the value has.
fn kind(context: Context, ty: &Type, object: &Object) -> TokenStream {
    let (kind, raw, name) = (names::symbol(&ty.name.value), raw(ty), &ty.name.value);
    let host = names::trait_of(context.interface);
    let layout =
        abi::object_layout(context.spec, context.interface, (ty, object), context.interface.newest());
    let (mut before, mut pointers, mut after) = (Vec::new(), Vec::new(), Vec::new());
    for member in &layout.members {
        match member.kind {
            MemberKind::Field(block, index) => {
                let part = if block == 0 { &mut before } else { &mut after };
                part.push(field(object.field(block, index), layout.size));
            }
            MemberKind::Function(id) => pointers.push(pointer(context, context.interface.function(id))),
            MemberKind::Size | MemberKind::Reserved(..) => {}
        }
    }
    let pointers = match &object.inner {
        Some(inner) => {
            let (inner, member) = (names::symbol(&inner.c_name), names::snake(&inner.member));
            quote! { #member: ffi::#inner { #(#pointers,)* }, }
        }
        None => quote! { #(#pointers,)* },
    };
    quote! {
        impl ::tenon::support::ObjectKind for dyn #kind {
            type Raw = ffi::#raw;
            type Host = #host;

            const NAME: &'static str = #name;

            #[allow(unused_variables, reason = "an object may state neither")]
            fn raw(&self, host: #host, owner: *mut ::core::ffi::c_void) -> ffi::#raw {
                ffi::#raw { #(#before,)* #pointers #(#after,)* }
            }
        }
    }
}

/// Emits a data member with its value.
fn field(field: &Param, size: u64) -> TokenStream {
    let name = field.ident();
    match field.holds {
        Some(Holds::Release) => quote!(#name: host.release.number()),
        Some(Holds::Size) => {
            let size = names::number(size);
            quote!(#name: #size)
        }
        Some(Holds::Owner) => quote!(#name: owner.cast()),
        Some(Holds::Constant(number)) => {
            let number = proc_macro2::Literal::i64_unsuffixed(number);
            quote!(#name: #number)
        }
        Some(Holds::Value) | None => quote! {
            #name: {
                __comment!("SAFETY: zero is a value of every type of the ABI.");
                unsafe { ::core::mem::zeroed() }
            }
        },
    }
}

/// Emits the pointer of a function: null for an optional function that the value lacks, or that the host's release does not
/// have.
fn pointer(context: Context, function: &Function) -> TokenStream {
    let (member, thunk) = (names::snake(&function.c_name), function.ident());
    let text = &function.name.value;
    let provided = (function.need == Need::Optional && !function.fill_always && function.releases.is_none())
        .then(|| quote!(self.provides(#text)));
    let known = function.availability.since.map(|since| {
        let since = names::variant_of(context.interface, since);
        quote!(host.release >= Release::#since)
    });
    let conditions: Vec<TokenStream> = known.into_iter().chain(provided).collect();
    if conditions.is_empty() {
        return quote!(#member: ::core::option::Option::Some(thunk::#thunk));
    }
    quote! {
        #member: if #(#conditions)&&* {
            ::core::option::Option::Some(thunk::#thunk)
        } else {
            ::core::option::Option::None
        }
    }
}

fn raw(ty: &Type) -> Ident {
    names::symbol(&ty.c_name)
}
