//! Fallbacks, which complete an implementation that lacks functions.

use proc_macro2::TokenStream;
use quote::quote;

use super::form::{Form, Output, assemble, is_fallible, parameters};
use super::traits::signature;
use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::emit::rust::types::api_type::{self, status_value};
use crate::model::{
    Argument, Buffer, Call, Carrier, Constant, Extent, FallbackKind, Function, Param, ParamId,
};

pub fn emit(context: Context) -> TokenStream {
    let name = names::trait_of(context.interface);
    let methods = context.interface.methods().map(|function| method(context, function));
    quote! {
        /// An implementation that knows which functions it has.
        pub trait Partial: #name {
            /// Returns true if the function is implemented; the default method only refuses.
            fn provides(&self, function: Function) -> bool;
        }

        /// An implementation whose absent functions are the spec's fallbacks.
        #[derive(Clone, Copy, Debug)]
        pub struct WithFallbacks<P>(pub P);

        /// The functions that the implementation itself has: fallbacks do not count.
        impl<P> Partial for WithFallbacks<P>
        where
            P: ::core::ops::Deref<Target: Partial> + ::core::marker::Send + ::core::marker::Sync + 'static,
        {
            fn provides(&self, function: Function) -> bool {
                Partial::provides(&*self.0, function)
            }
        }

        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        #[allow(unused_variables, reason = "a fallback may ignore some")]
        impl<P> #name for WithFallbacks<P>
        where
            P: ::core::ops::Deref<Target: Partial> + ::core::marker::Send + ::core::marker::Sync + 'static,
        {
            #(#methods)*
        }
    }
}

fn method(context: Context, function: &Function) -> TokenStream {
    let signature = signature(context, function);
    let name = names::method(context.interface, function);
    let arguments: Vec<_> = parameters(context, function).map(|(name, _)| name).collect();
    let Some(fallback) = &function.fallback else {
        return quote! { #signature { #name(&*self.0, #(#arguments),*) } };
    };
    let variant = function.variant();
    let body = body(context, function, &fallback.kind);
    quote! {
        #signature {
            if Partial::provides(&*self.0, Function::#variant) {
                return #name(&*self.0, #(#arguments),*);
            }
            #body
        }
    }
}

/// Returns the fallback of a function.
pub fn body(context: Context, function: &Function, kind: &FallbackKind) -> TokenStream {
    let wrap = |value: TokenStream| {
        if is_fallible(context, function) { quote!(::core::result::Result::Ok(#value)) } else { value }
    };
    match kind {
        FallbackKind::Nothing => wrap(quote!(())),
        FallbackKind::Constant { outputs, returned } => {
            if let (Some(returned), Some(result)) = (returned, function.result.value()) {
                return wrap(api_type::constant(context, result, *returned));
            }
            let value = assemble(function, |id, param, output| {
                let constant = outputs.iter().find(|(known, _)| *known == id).map(|(_, constant)| *constant);
                constant_value(context, param, output, constant.unwrap_or(Constant::Integer(0)))
            });
            wrap(value)
        }
        FallbackKind::Refuse { status, message } => {
            let status = status_value(context, *status);
            quote! { ::core::result::Result::Err(Error::new(#status, #message)) }
        }
        FallbackKind::Strategy { name, .. } => {
            let strategy = names::snake(&name.value);
            let arguments = parameters(context, function).map(|(name, _)| name);
            quote! { strategy::#strategy(self, #(#arguments),*) }
        }
        FallbackKind::Call(call) => {
            let lengths = lengths(function);
            let call = emit_call(context, Caller { function, buffers: &[] }, call);
            quote! { #lengths #call }
        }
        FallbackKind::Sequence { buffers, calls, answer } => {
            let lengths = lengths(function);
            let made = buffers.iter().map(|buffer| make_buffer(function, buffer));
            let steps = calls.iter().map(|call| {
                let tokens = emit_call(context, Caller { function, buffers }, call);
                match yielded_name(context, function, call) {
                    Some(name) => quote! { let #name = #tokens?; },
                    None => quote! { #tokens?; },
                }
            });
            let value = match answer {
                Some(answer) => quote!(#answer),
                None => assemble(function, |_, param, _| {
                    let name = param.ident();
                    quote!(#name)
                }),
            };
            quote! { #lengths #(#made)* #(#steps)* ::core::result::Result::Ok(#value) }
        }
    }
}

fn constant_value(context: Context, param: &Param, output: &Output, constant: Constant) -> TokenStream {
    match output {
        Output::Value => api_type::constant(context, param, constant),
        Output::Array(count) => {
            let (each, count) = (api_type::constant(context, param, constant), names::number(*count));
            quote!([#each; #count])
        }
        Output::Vec(_) => quote!(::std::vec::Vec::new()),
        Output::Text(_) => quote!(::std::string::String::new()),
        Output::Lent { .. } => quote!(::tenon::Lent::EMPTY),
        Output::Object => quote!(::core::option::Option::None),
        Output::Own => quote!(::std::boxed::Box::new(())),
        Output::Objects { .. } => quote!(::std::vec::Vec::new()),
    }
}

/// Binds the lengths of slices to their names in the spec.
fn lengths(function: &Function) -> TokenStream {
    let named = function.formed().filter_map(|(param, form)| {
        let Form::Carried(Carrier::Slice(slice)) = form else { return None };
        let carrier = function.param(*slice);
        let (name, slice) = (param.ident(), carrier.ident());
        Some(if carrier.nullable {
            quote! { let #name = #slice.as_ref().map_or(0, |slice| slice.len()); }
        } else {
            quote! { let #name = #slice.len(); }
        })
    });
    quote! { #(#named)* }
}

fn make_buffer(function: &Function, buffer: &Buffer) -> TokenStream {
    let name = names::snake(&buffer.name.value);
    let bytes = names::snake(&function.param(buffer.bytes).name.value);
    let fill = match buffer.fill {
        Some(fill) => {
            let fill = function.param(fill).ident();
            quote!(#fill)
        }
        None => quote!(0),
    };
    // The callee's parameter decides whether the buffer is written; a buffer that is only read is not borrowed mutably.
    quote! {
        #[allow(unused_mut, reason = "some steps only read it")]
        let mut #name = ::tenon::support::buffer(#bytes, #fill)?;
    }
}

/// Returns the caller's out-parameter that a step writes, if there is one.
fn yielded_name(context: Context, function: &Function, call: &Call) -> Option<proc_macro2::Ident> {
    let callee = context.interface.function(call.function.value);
    call.arguments.iter().find_map(|(id, argument)| match (&callee.forms[id.0], argument.value) {
        (Form::Output(_), Argument::Param(own)) => Some(function.param(own).ident()),
        _ => None,
    })
}

fn emit_call(context: Context, caller: Caller, call: &Call) -> TokenStream {
    let callee = context.interface.function(call.function.value);
    let find = |id: ParamId| {
        call.arguments.iter().find(|(known, _)| *known == id).map(|(_, argument)| argument.value)
    };
    let arguments = callee.formed().enumerate().filter_map(|(index, (param, form))| {
        if matches!(form, Form::Carried(_) | Form::Output(_)) {
            return None;
        }
        let len = match form.length() {
            Some(Extent::Param(id)) => find(*id),
            _ => None,
        };
        Some(caller.argument(context, param, form, find(ParamId(index))?, len))
    });
    let method = names::method(context.interface, callee);
    quote! { #method(self, #(#arguments),*) }
}

/// The function that a fallback replaces; the arguments of calls refer to its parameters.
#[derive(Clone, Copy)]
struct Caller<'a> {
    function: &'a Function,
    buffers: &'a [Buffer],
}

impl Caller<'_> {
    /// Converts an argument of the caller to the type of the callee's parameter.
    fn argument(
        self,
        context: Context,
        param: &Param,
        form: &Form,
        argument: Argument,
        len: Option<Argument>,
    ) -> TokenStream {
        let own_name = |id: ParamId| self.function.param(id).ident();
        match argument {
            Argument::Constant(constant) => api_type::constant(context, param, constant),
            Argument::Buffer(index) => {
                let name = names::snake(&self.buffers[index].name.value);
                match form {
                    Form::Bytes { mutable: true, .. } => quote!(&mut #name),
                    Form::Bytes { mutable: false, .. } => quote!(&#name),
                    _ => quote!(::tenon::HostPtr::from_ptr(#name.as_ptr())),
                }
            }
            Argument::Param(id) => {
                let name = own_name(id);
                match (&self.function.forms[id.0], form) {
                    (Form::Value, Form::Bytes { mutable, .. }) => {
                        let len = match len {
                            Some(Argument::Param(len)) => {
                                let len = own_name(len);
                                quote!(#len)
                            }
                            _ => quote!(0),
                        };
                        let view = if *mutable { quote!(bytes_mut) } else { quote!(bytes) };
                        quote! {{
                            __comment!("SAFETY: the caller holds the memory until its stream has passed it; this call ends before.");
                            unsafe { #name.#view(#len) }
                        }}
                    }
                    (Form::Bytes { .. }, Form::Value) => quote!(::tenon::HostPtr::from_ptr(#name.as_ptr())),
                    (Form::Bytes { mutable: true, .. }, Form::Bytes { .. }) => quote!(&mut *#name),
                    (Form::InOut, Form::Value) => quote!(*#name),
                    _ => quote!(#name),
                }
            }
        }
    }
}
