//! Callbacks with a device or a status: a wrapper converts these to the SDK's types and calls the caller's function.

use heck::{ToShoutySnakeCase, ToSnakeCase};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{Exports, names};
use crate::emit::rust::doc::doc;
use crate::emit::rust::method::form::Form;
use crate::emit::rust::types::raw_types::raw_param;
use crate::model::{Function, Param, Ty, Type, TypeKind};

impl Exports<'_> {
    /// Emits a callback with the library's own handles and statuses: its type, the data that is kept until it is
    /// called, and the wrapper that a device calls.
    pub(super) fn callback(&self, ty: &Type) -> TokenStream {
        let TypeKind::Callback { params, .. } = &ty.kind else { return TokenStream::new() };
        let Translated { function, carried, kept, shim } = Translated::of(ty);
        let docs = doc(&ty.summary, "");
        let own = params.iter().map(|param| self.callback_param(param));
        let raw = params.iter().map(|param| {
            let (name, ty) = (param.ident(), self.device_param(param));
            quote!(#name: #ty)
        });
        let context = params.iter().find(|param| param.is_context()).map(|param| param.ident());
        let statuses = || params.iter().filter(|param| param.is_status);
        let outcomes = statuses().map(|param| {
            let outcome = format_ident!("__outcome_{}", param.name.value);
            quote! { let mut #outcome = Status::SUCCESS; }
        });
        let write = |param: &Param, value: TokenStream| {
            let name = param.ident();
            quote! {
                if !#name.is_null() {
                    __comment!("SAFETY: not null, and the device waits for the status there.");
                    unsafe { #name.write(#value.to_device()) };
                }
            }
        };
        let unknown = statuses().map(|param| write(param, quote!(<Status as ::tenon::StatusCode>::INTERNAL)));
        let reports = statuses().map(|param| {
            let outcome = format_ident!("__outcome_{}", param.name.value);
            write(param, quote!(#outcome))
        });
        let arguments = params.iter().map(|param| {
            let name = param.ident();
            if param.is_status {
                let outcome = format_ident!("__outcome_{}", param.name.value);
                quote!(&raw mut #outcome)
            } else if self.sdk_api.is_device(param) {
                quote!(__carried.device)
            } else if param.is_context() {
                quote!(__carried.context)
            } else {
                quote!(#name)
            }
        });
        quote! {
            #docs
            type #function = unsafe extern "C-unwind" fn(#(#own),*);

            /// The caller's function and context, kept until a device calls back.
            struct #carried {
                function: #function,
                context: *mut ::core::ffi::c_void,
                device: crate::DeviceHandle,
            }

            __comment!("SAFETY: the context is the caller's, which hands it over to whatever thread the device calls from.");
            unsafe impl Send for #carried {}

            static #kept: ::tenon::support::Kept<#carried> = ::tenon::support::Kept::new();

            /// Converts the arguments and calls the caller's function, once, however often the device calls.
            #[allow(unused_variables, reason = "the library knows the device without being told")]
            unsafe extern "C-unwind" fn #shim(#(#raw),*) {
                let ::core::option::Option::Some(__carried) = #kept.take(#context) else {
                    #(#unknown)*
                    return;
                };
                let __inside = crate::call::called_back();
                #(#outcomes)*
                __comment!("SAFETY: the caller handed the function over to be called with its context.");
                unsafe { (__carried.function)(#(#arguments),*) };
                #(#reports)*
            }
        }
    }

    /// Returns a parameter of a callback as the caller's function takes it.
    fn callback_param(&self, param: &Param) -> TokenStream {
        if param.is_status {
            quote!(*mut Status)
        } else if self.sdk_api.is_device(param) {
            quote!(crate::DeviceHandle)
        } else {
            raw_param(self.context, param)
        }
    }

    /// Returns a parameter of a callback as a device passes it: with the device's own status.
    fn device_param(&self, param: &Param) -> TokenStream {
        match self.context.interface.status {
            Some(id) if param.ty == Ty::Named(id) => {
                let name = names::symbol(&self.context.spec.ty(id).name.value);
                let module = self.context.interface.ident();
                quote!(*mut ::tenon::#module::#name)
            }
            _ => raw_param(self.context, param),
        }
    }

    /// Stores the caller's function and its context for the wrapper.
    pub(super) fn carry(&self, function: &Function, param: &Param, form: &Form) -> Option<TokenStream> {
        let ty = self.sdk_api.translated(param)?;
        let (name, text) = (param.ident(), &param.name.value);
        let wrapper = names::symbol(&ty.name.value);
        let carrier = format_ident!("__carried_{}", param.name.value);
        let Translated { carried, kept, shim, .. } = Translated::of(ty);
        let context = match form {
            Form::Callback { context: Some(id) } => {
                let context = function.param(*id).ident();
                quote!(#context)
            }
            _ => quote!(::core::ptr::null_mut()),
        };
        let keep = quote! {
            #kept.put(#carried { function: __callee, context: #context, device: __handle })
        };
        // The wrapper does not dereference anything that the device passes.
        let wrap = quote! {
            #wrapper::from_raw(::core::option::Option::Some(#shim), ::tenon::AnyPtr::from_ptr(#carrier))
        };
        Some(if param.nullable {
            quote! {
                let #carrier = #name.map_or(::core::ptr::null_mut(), |__callee| #keep);
                let #name = (!#carrier.is_null()).then(|| #wrap);
            }
        } else {
            quote! {
                let ::core::option::Option::Some(__callee) = #name else {
                    return ::core::result::Result::Err(Error::invalid(concat!("`", #text, "` is null")).into());
                };
                let #carrier = #keep;
                let #name = #wrap;
            }
        })
    }

    /// Drops the data that was kept for a callback, because a call that failed does not call back.
    pub(super) fn take_back(&self, param: &Param) -> Option<TokenStream> {
        let Translated { kept, .. } = Translated::of(self.sdk_api.translated(param)?);
        let carrier = format_ident!("__carried_{}", param.name.value);
        Some(quote! { #kept.take(#carrier); })
    }
}

/// Names of the parts of a wrapped callback.
pub(super) struct Translated {
    pub(super) function: Ident,
    carried: Ident,
    kept: Ident,
    shim: Ident,
}

impl Translated {
    pub(super) fn of(ty: &Type) -> Self {
        let name = &ty.name.value;
        Translated {
            function: format_ident!("{name}Function"),
            carried: format_ident!("Carried{name}"),
            kept: format_ident!("KEPT_{}", name.to_shouty_snake_case()),
            shim: format_ident!("call_{}", name.to_snake_case()),
        }
    }
}
