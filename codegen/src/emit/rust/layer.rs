//! Layers: every call of an interface passes through them, on its way down and on its way back.

use proc_macro2::TokenStream;
use quote::quote;

use super::form::{Form, Output, forms, is_fallible, named, outputs};
use super::pieces::{alone, reached};
use super::traits::signature;
use super::{Context, names};
use crate::model::{Extent, Function, Param, ParamId, ResultKind, Ty, TypeKind};

pub(super) fn emit(context: Context) -> TokenStream {
    let name = names::trait_of(context.interface);
    let methods = context.interface.methods().map(|function| method(context, function));
    let has_questions = context.interface.methods().any(|function| function.question.is_some());
    let of_question = has_questions.then(|| {
        quote! {
            /// How a question ended.
            fn of_question(result: &'a Result<bool>) -> Self {
                Self { error: result.as_ref().err(), answer: result.as_ref().ok().copied() }
            }
        }
    });
    quote! {
        /// Sees every call on its way to the implementation and on its way back.
        ///
        /// It is called on the thread that makes the call, by many at once.
        pub trait Layer: ::core::marker::Send + ::core::marker::Sync + 'static {
            /// Before the call, with the implementation below for what the layer wants to ask it.
            ///
            /// The number comes back in [`after`](Layer::after).
            ///
            /// # Errors
            /// An error refuses the call: nothing below sees it, and the caller gets the error.
            fn before(&self, call: &::tenon::reflect::Call<'_>, next: &dyn #name) -> Result<u64>;

            /// After the call, also where something below refused it. Outputs are among the arguments now.
            fn after(
                &self,
                call: &::tenon::reflect::Call<'_>,
                note: u64,
                outcome: &Outcome<'_>,
                next: &dyn #name,
            );
        }

        /// How a call ended.
        #[derive(Clone, Copy, Debug)]
        pub struct Outcome<'a> {
            /// Why it failed; `None`: it succeeded.
            pub error: ::core::option::Option<&'a Error>,
            /// What a question was answered with.
            pub answer: ::core::option::Option<bool>,
        }

        impl<'a> Outcome<'a> {
            /// How a call ended that is no question.
            #[allow(dead_code, reason = "an interface may have no function that fails")]
            fn of<T>(result: &'a Result<T>) -> Self {
                Self { error: result.as_ref().err(), answer: ::core::option::Option::None }
            }

            #of_question
        }

        impl Function {
            /// A call of the function, as layers see it.
            fn called_with(self, arguments: &[u64]) -> ::tenon::reflect::Call<'_> {
                ::tenon::reflect::Call { function: self.info(), index: self as usize, arguments }
            }
        }

        /// An implementation behind layers, the first of them outermost.
        pub struct Layered<D> {
            inner: D,
            layers: ::std::vec::Vec<::std::sync::Arc<dyn Layer>>,
        }

        impl<D> Layered<D> {
            /// The most layers that there can be.
            pub const MOST: usize = 8;

            /// Puts layers around an implementation.
            ///
            /// # Panics
            /// If there are more layers than [`MOST`](Self::MOST).
            pub fn new(inner: D, layers: ::std::vec::Vec<::std::sync::Arc<dyn Layer>>) -> Self {
                ::core::assert!(layers.len() <= Self::MOST, "at most {} layers", Self::MOST);
                Self { inner, layers }
            }

            /// What is behind the layers.
            pub fn inner(&self) -> &D {
                &self.inner
            }
        }

        impl<D: #name> Layered<D> {
            __comment!("The notes stay where they are: to copy them right after they were written costs more than the call.");
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
                __comment!("By index: a zip that runs backwards first takes what the longer side has more, one by one.");
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
    let forms = forms(context, function);
    let signature = signature(context, function, &forms);
    let (trait_name, name) = (names::trait_of(context.interface), names::snake(&function.name.value));
    let variant = names::pascal(&function.name.value);
    let given: Vec<TokenStream> = function
        .params
        .iter()
        .zip(&forms)
        .enumerate()
        .map(|(index, (param, form))| bits(context, function, &forms, ParamId(index), param, form))
        .collect();
    let passed = function.params.iter().zip(&forms).filter_map(|(param, form)| {
        let name = names::snake(&param.name.value);
        match form {
            Form::Consumed | Form::Output(_) => None,
            Form::InOut => Some(quote!(&mut *#name)),
            _ => Some(quote!(#name)),
        }
    });
    let updates = updates(context, function, &forms);
    let call = quote!(Function::#variant.called_with(&__words));
    let (mutable, record) = match updates.is_empty() {
        true => (TokenStream::new(), TokenStream::new()),
        false => (
            quote!(mut),
            if is_fallible(context, function) {
                let is_read = outputs(function, &forms)
                    .iter()
                    .any(|(_, param, output)| matches!(output, Output::Value) && has_bits(context, param));
                match is_read {
                    true => quote! {
                        if let ::core::result::Result::Ok(__yielded) = &__returned { #updates }
                    },
                    false => quote! { if __returned.is_ok() { #updates } },
                }
            } else {
                updates
            },
        ),
    };
    let (start, outcome) = match &function.result {
        _ if is_fallible(context, function) => {
            let of = if function.question.is_some() { quote!(of_question) } else { quote!(of) };
            (quote! { self.before(&#call, &mut __kept_notes)?; }, quote!(Outcome::#of(&__returned)))
        }
        other => {
            let default = default_value(context, other);
            (
                quote! { if self.before(&#call, &mut __kept_notes).is_err() { return #default; } },
                quote! { Outcome { error: ::core::option::Option::None, answer: ::core::option::Option::None } },
            )
        }
    };
    let is_silent = matches!(function.result, ResultKind::None) && !is_fallible(context, function);
    let (bind, end) = if is_silent {
        (quote!(let () =), TokenStream::new())
    } else {
        (quote!(let __returned =), quote!(__returned))
    };
    quote! {
        #signature {
            let #mutable __words: [u64; _] = [#(#given),*];
            let mut __kept_notes = [0; 8];
            #start
            #bind #trait_name::#name(&self.inner, #(#passed),*);
            #record
            self.after(&#call, &__kept_notes, &#outcome);
            #end
        }
    }
}

/// What a function without a status yields where it was not called.
pub(super) fn default_value(context: Context, result: &ResultKind) -> TokenStream {
    let ResultKind::Value(result) = result else { return quote!(()) };
    let ty = super::types::value(context, result.ty, result.space);
    match (result.ty, named(context, result.ty)) {
        (Ty::String, _) => quote!(c""),
        (Ty::Pointer, _) | (_, Some(TypeKind::Handle { .. })) => quote!(#ty::NULL),
        (_, Some(TypeKind::Id { .. } | TypeKind::Enum { .. })) => quote!(#ty(0)),
        _ => quote!(::core::default::Default::default()),
    }
}

/// An argument before the call.
fn bits(
    context: Context,
    function: &Function,
    forms: &[Form],
    id: ParamId,
    param: &Param,
    form: &Form,
) -> TokenStream {
    let name = names::snake(&param.name.value);
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
        Form::Consumed => match consumed(function, forms, id) {
            Some(Consumed::Length(carrier)) if carrier.nullable => {
                let carrier = names::snake(&carrier.name.value);
                quote!(#carrier.as_ref().map_or(0, |given| given.len() as u64))
            }
            Some(Consumed::Length(carrier)) => {
                let carrier = names::snake(&carrier.name.value);
                quote!(#carrier.len() as u64)
            }
            Some(Consumed::Context(callback)) if callback.nullable => {
                let callback = names::snake(&callback.name.value);
                quote!(#callback.map_or(0, |given| given.context().addr() as u64))
            }
            Some(Consumed::Context(callback)) => {
                let callback = names::snake(&callback.name.value);
                quote!(#callback.context().addr() as u64)
            }
            None => quote!(0),
        },
    }
}

/// What carries a parameter that is none in Rust.
pub(super) enum Consumed<'a> {
    /// The length of a slice.
    Length(&'a Param),
    /// The pointer that a callback gets.
    Context(&'a Param),
}

/// Finds what carries a consumed parameter; `None` for a status that the call reports through.
pub(super) fn consumed<'a>(function: &'a Function, forms: &[Form], id: ParamId) -> Option<Consumed<'a>> {
    if let Some(callback) = function.param(id).context_of {
        return Some(Consumed::Context(function.param(callback)));
    }
    let carrier = forms.iter().position(|form| form.length() == Some(&Extent::Param(id)))?;
    Some(Consumed::Length(&function.params[carrier]))
}

/// Writes what the call yielded, and what it changed, into the arguments.
fn updates(context: Context, function: &Function, forms: &[Form]) -> TokenStream {
    let outputs = outputs(function, forms);
    let single = outputs.len() == 1;
    let yielded =
        outputs.iter().filter(|(_, _, output)| matches!(output, Output::Value)).map(|(id, param, _)| {
            let index = names::number(id.0 as u64);
            let field = names::snake(&param.name.value);
            let place = if single { quote!((*__yielded)) } else { quote!(__yielded.#field) };
            let bits = value_bits(context, param, &place);
            quote! { __words[#index] = #bits; }
        });
    let changed = function.params.iter().zip(forms).enumerate().filter_map(|(index, (param, form))| {
        let name = names::snake(&param.name.value);
        let index = names::number(index as u64);
        matches!(form, Form::InOut).then(|| {
            let bits = value_bits(context, param, &quote!((*#name)));
            quote! { __words[#index] = #bits; }
        })
    });
    quote! { #(#yielded)* #(#changed)* }
}

/// Whether there is anything of a value in its 64 bits.
fn has_bits(context: Context, param: &Param) -> bool {
    !matches!(named(context, param.ty), Some(TypeKind::Struct { .. } | TypeKind::Callback { .. }))
}

/// A value as 64 bits.
fn value_bits(context: Context, param: &Param, value: &TokenStream) -> TokenStream {
    let (alone, reached) = (alone(value), reached(value));
    match (param.ty, named(context, param.ty)) {
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
