//! Layers: every call of an interface passes through them before and after it runs.

use crate::emit::rust::types::api_type;
use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::method::form::{Form, Output, is_fallible, outputs};
use crate::emit::rust::method::pieces::{alone, reached};
use crate::emit::rust::method::traits::signature;
use crate::emit::rust::names;
use crate::model::{Carrier, Function, Param, ResultKind, Ty, TypeKind};

pub fn emit(context: Context) -> TokenStream {
    let name = names::trait_of(context.interface);
    let methods = context.interface.methods().map(|function| method(context, function));
    let has_questions = context.interface.methods().any(|function| function.question.is_some());
    let question = has_questions.then(|| {
        quote! {
            /// Makes a call like [`pass`](Self::pass), for a function with a boolean result.
            #[inline]
            fn pass_question(
                &self,
                function: Function,
                __words: &mut [u64],
                call: impl FnOnce(&D, &mut [u64]) -> Result<bool>,
            ) -> Result<bool> {
                let mut notes = [0; 8];
                self.before(&function.called_with(__words), &mut notes)?;
                let __returned = call(&self.inner, __words);
                let outcome = Outcome { error: __returned.as_ref().err(), answer: __returned.as_ref().ok().copied() };
                self.after(&function.called_with(__words), &notes, &outcome);
                __returned
            }
        }
    });
    let has_values = context.interface.methods().any(|function| !is_fallible(context, function));
    let value = has_values.then(|| {
        quote! {
            /// Makes a call like [`pass`](Self::pass), for a function that cannot fail. Returns `refused` if a layer
            /// rejects the call.
            #[inline]
            fn pass_value<T>(
                &self,
                function: Function,
                refused: T,
                __words: &mut [u64],
                call: impl FnOnce(&D, &mut [u64]) -> T,
            ) -> T {
                let mut notes = [0; 8];
                if self.before(&function.called_with(__words), &mut notes).is_err() {
                    return refused;
                }
                let __returned = call(&self.inner, __words);
                let outcome =
                    Outcome { error: ::core::option::Option::None, answer: ::core::option::Option::None };
                self.after(&function.called_with(__words), &notes, &outcome);
                __returned
            }
        }
    });
    quote! {
        /// Observes every call before and after it reaches the implementation.
        ///
        /// Its methods run on the calling thread. Many threads may call them at the same time.
        pub trait Layer: ::core::marker::Send + ::core::marker::Sync + 'static {
            /// Runs before the call. The layer can query the implementation below.
            ///
            /// The returned number is passed to [`after`](Layer::after).
            ///
            /// # Errors
            /// An error rejects the call: no layer below sees it, and the caller receives the error.
            fn before(&self, call: &::tenon::reflect::Call<'_>, next: &dyn #name) -> Result<u64>;

            /// Runs after the call, even if a layer below rejected it. The arguments now include the outputs.
            fn after(
                &self,
                call: &::tenon::reflect::Call<'_>,
                note: u64,
                outcome: &Outcome<'_>,
                next: &dyn #name,
            );
        }

        /// The outcome of a call.
        #[derive(Clone, Copy, Debug)]
        pub struct Outcome<'a> {
            /// The error; `None`: the call succeeded.
            pub error: ::core::option::Option<&'a Error>,
            /// The boolean result of a query.
            pub answer: ::core::option::Option<bool>,
        }

        impl Function {
            /// Describes a call of the function for layers.
            fn called_with(self, arguments: &[u64]) -> ::tenon::reflect::Call<'_> {
                ::tenon::reflect::Call { function: self.info(), index: self as usize, arguments }
            }
        }

        /// An implementation behind layers. The first layer is the outermost.
        pub struct Layered<D> {
            inner: D,
            layers: ::std::vec::Vec<::std::sync::Arc<dyn Layer>>,
        }

        impl<D> Layered<D> {
            /// Maximum number of layers.
            pub const MOST: usize = 8;

            /// Puts layers around an implementation.
            ///
            /// # Panics
            /// If there are more layers than [`MOST`](Self::MOST).
            pub fn new(inner: D, layers: ::std::vec::Vec<::std::sync::Arc<dyn Layer>>) -> Self {
                ::core::assert!(layers.len() <= Self::MOST, "at most {} layers", Self::MOST);
                Self { inner, layers }
            }

            /// Returns the implementation behind the layers.
            pub fn inner(&self) -> &D {
                &self.inner
            }
        }

        impl<D: #name> Layered<D> {
            /// Makes a call through the layers. Its arguments are numbers; the results of the call are written to
            /// them.
            #[inline]
            #[allow(dead_code, reason = "an interface may have no function that fails")]
            fn pass<T>(
                &self,
                function: Function,
                __words: &mut [u64],
                call: impl FnOnce(&D, &mut [u64]) -> Result<T>,
            ) -> Result<T> {
                let mut notes = [0; 8];
                self.before(&function.called_with(__words), &mut notes)?;
                let __returned = call(&self.inner, __words);
                let outcome =
                    Outcome { error: __returned.as_ref().err(), answer: ::core::option::Option::None };
                self.after(&function.called_with(__words), &notes, &outcome);
                __returned
            }

            #question
            #value

            __comment!("The notes are not moved: copying them right after they were written would cost more than the call.");
            fn before(&self, call: &::tenon::reflect::Call<'_>, notes: &mut [u64; 8]) -> Result<()> {
                for (index, layer) in self.layers.iter().enumerate() {
                    match layer.before(call, &self.inner) {
                        ::core::result::Result::Ok(note) => notes[index] = note,
                        ::core::result::Result::Err(error) => {
                            let outcome =
                                Outcome { error: ::core::option::Option::Some(&error), answer: ::core::option::Option::None };
                            for above in (0..index).rev() {
                                self.layers[above].after(call, notes[above], &outcome, &self.inner);
                            }
                            return ::core::result::Result::Err(error);
                        }
                    }
                }
                ::core::result::Result::Ok(())
            }

            fn after(&self, call: &::tenon::reflect::Call<'_>, notes: &[u64; 8], outcome: &Outcome<'_>) {
                __comment!("Iterates by index: a reversed `zip` would first drop the additional items of the longer side, one by one.");
                for index in (0..self.layers.len()).rev() {
                    self.layers[index].after(call, notes[index], outcome, &self.inner);
                }
            }
        }

        impl<D: Partial> Partial for Layered<D> {
            fn provides(&self, function: Function) -> bool {
                Partial::provides(&self.inner, function)
            }
        }

        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        impl<D: #name> #name for Layered<D> {
            #(#methods)*
        }
    }
}

fn method(context: Context, function: &Function) -> TokenStream {
    let signature = signature(context, function);
    let (called, variant) = (names::method(context.interface, function), function.variant());
    let given: Vec<TokenStream> =
        function.formed().map(|(param, form)| bits(context, function, param, form)).collect();
    let passed = function.formed().filter_map(|(param, form)| {
        let name = param.ident();
        match form {
            Form::Carried(_) | Form::Output(_) => None,
            Form::InOut => Some(quote!(&mut *#name)),
            _ => Some(quote!(#name)),
        }
    });
    let updates = updates(context, function);
    let is_read = reads_result(context, function);
    let call = quote!(#called(__below, #(#passed),*));
    let (words, body) = match (updates.is_empty(), is_fallible(context, function)) {
        (true, _) => (quote!(_), quote! { #call }),
        (false, true) if is_read => (
            quote!(__words),
            quote! { let __returned = #call?; #updates ::core::result::Result::Ok(__returned) },
        ),
        // The result cannot be represented in 64 bits.
        (false, true) => (
            quote!(__words),
            quote! { let __returned = #call; if __returned.is_ok() { #updates } __returned },
        ),
        (false, false) => (quote!(__words), quote! { let __returned = #call; #updates __returned }),
    };
    let (method, refused) = match &function.result {
        _ if function.question.is_some() => (quote!(pass_question), None),
        _ if is_fallible(context, function) => (quote!(pass), None),
        other => (quote!(pass_value), Some(default_value(context, other))),
    };
    let refused = refused.map(|refused| quote!(#refused,));
    quote! {
        #signature {
            let mut __words: [u64; _] = [#(#given),*];
            let __body = |__below: &D, #words: &mut [u64]| { #body };
            self.#method(Function::#variant, #refused &mut __words, __body)
        }
    }
}

/// Emits the result of a function without a status that was not called.
pub fn default_value(context: Context, result: &ResultKind) -> TokenStream {
    let ResultKind::Value(result) = result else { return quote!(()) };
    let ty = api_type::value(context, result.ty, result.space);
    match (result.ty, context.spec.kind(result.ty)) {
        (Ty::String, _) => quote!(c""),
        (Ty::Pointer, _) | (_, Some(TypeKind::Handle { .. })) => quote!(#ty::NULL),
        (_, Some(TypeKind::Id { .. } | TypeKind::Enum { .. })) => quote!(#ty(0)),
        _ => quote!(::core::default::Default::default()),
    }
}

/// Emits an argument before the call.
fn bits(context: Context, function: &Function, param: &Param, form: &Form) -> TokenStream {
    let name = param.ident();
    let optional = |address: TokenStream, given: TokenStream| {
        if param.nullable {
            quote!(#name.as_ref().map_or(0, |given| #given as u64))
        } else {
            quote!(#address as u64)
        }
    };
    match form {
        Form::Output(_) => quote!(0),
        Form::Value => value_bits(context, param, &quote!(#name)),
        Form::InOut => value_bits(context, param, &quote!((*#name))),
        Form::Bytes { .. } | Form::Slice { .. } | Form::Text => {
            optional(quote!(#name.as_ptr().addr()), quote!(given.as_ptr().addr()))
        }
        Form::ByteBuffer { .. } => quote!(#name.as_ptr().addr() as u64),
        Form::StructRef { mutable: false } => optional(
            quote!(::core::ptr::from_ref(#name).addr()),
            quote!(::core::ptr::from_ref(*given).addr()),
        ),
        Form::StructRef { mutable: true } => optional(
            quote!(::core::ptr::from_ref(&*#name).addr()),
            quote!(::core::ptr::from_ref(&**given).addr()),
        ),
        Form::Callback { .. } => {
            let address = |name: TokenStream| quote!(#name.as_raw().map_or(0, |function| (function as *const ()).addr()));
            optional(address(quote!(#name)), address(quote!(given)))
        }
        Form::Carried(Carrier::Slice(carrier)) => {
            let carrier = function.param(*carrier);
            let name = carrier.ident();
            if carrier.nullable {
                quote!(#name.as_ref().map_or(0, |given| given.len() as u64))
            } else {
                quote!(#name.len() as u64)
            }
        }
        Form::Carried(Carrier::Callback(callback)) => {
            let callback = function.param(*callback);
            let name = callback.ident();
            if callback.nullable {
                quote!(#name.map_or(0, |given| given.context().addr() as u64))
            } else {
                quote!(#name.context().addr() as u64)
            }
        }
        Form::Carried(Carrier::Result | Carrier::Lent(_)) => quote!(0),
    }
}

/// Emits code that writes the results of the call, and the values that it changed, to the arguments.
pub fn updates(context: Context, function: &Function) -> TokenStream {
    let outputs = outputs(function);
    let single = outputs.len() == 1;
    let results =
        outputs.iter().filter(|(_, _, output)| matches!(output, Output::Value)).map(|(id, param, _)| {
            let index = names::number(id.0 as u64);
            let field = param.ident();
            let place = if single { quote!(__returned) } else { quote!(__returned.#field) };
            let bits = value_bits(context, param, &place);
            quote! { __words[#index] = #bits; }
        });
    let changed = function.formed().enumerate().filter_map(|(index, (param, form))| {
        let name = param.ident();
        let index = names::number(index as u64);
        matches!(form, Form::InOut).then(|| {
            let bits = value_bits(context, param, &quote!((*#name)));
            quote! { __words[#index] = #bits; }
        })
    });
    quote! { #(#results)* #(#changed)* }
}

/// Returns true if [`updates`] reads the result of the call.
pub fn reads_result(context: Context, function: &Function) -> bool {
    let is_read = |(_, param, output): &(_, &Param, &Output)| {
        matches!(output, Output::Value) && has_bits(context, param)
    };
    outputs(function).iter().any(is_read)
}

/// Returns true if a value can be represented in 64 bits.
fn has_bits(context: Context, param: &Param) -> bool {
    !matches!(context.spec.kind(param.ty), Some(TypeKind::Struct { .. } | TypeKind::Callback { .. }))
}

/// Emits a value as 64 bits.
fn value_bits(context: Context, param: &Param, value: &TokenStream) -> TokenStream {
    let (alone, reached) = (alone(value), reached(value));
    match (param.ty, context.spec.kind(param.ty)) {
        (_, Some(TypeKind::Handle { .. })) | (Ty::Pointer, _) => quote!(#reached.addr() as u64),
        (_, Some(TypeKind::Id { .. } | TypeKind::Enum { .. })) => quote!(#reached.0 as i64 as u64),
        (_, Some(TypeKind::Struct { .. } | TypeKind::Callback { .. })) => quote!(0),
        (Ty::Bool, _) => quote!(::core::primitive::u64::from(#alone)),
        (Ty::Int { bits: 64, signed: false } | Ty::ULongLong, _) => alone,
        (Ty::Int { signed: false, .. }, _) => quote!(::core::primitive::u64::from(#alone)),
        (Ty::F32, _) => quote!(::core::primitive::f64::from(#alone).to_bits()),
        (Ty::F64, _) => quote!(#reached.to_bits()),
        (Ty::String, _) => quote!(#reached.as_ptr().addr() as u64),
        _ => quote!(#alone as u64),
    }
}
