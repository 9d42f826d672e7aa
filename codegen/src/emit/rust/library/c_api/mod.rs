//! The functions of the SDK: one C export for each function of a table, which converts between C types and the trait.
//!
//! The crate that contains them has a module `call`, which looks up handles and records errors.

mod callback;
mod raw_call;
mod status;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::emit::rust::context::Context;
use crate::emit::rust::doc::doc;
use crate::emit::rust::method::form::{Form, Output};
use crate::emit::rust::method::pieces::{
    Report, argument, is_unsafe, place_of, prepare, results, safety, write_back, write_output,
};
use crate::emit::rust::names;
use crate::emit::rust::types::raw_types::raw_param;
use crate::model::{Direction, Extent, Function, Param};
use crate::sdk::{ANSWER, Handle, PLUGIN, SdkApi};
use callback::Translated;

/// Emits the exports of an interface, with the type of their statuses.
pub fn expand(sdk_api: SdkApi) -> TokenStream {
    let SdkApi { spec, interface, .. } = sdk_api;
    let exports = Exports { context: Context { spec, interface }, sdk_api };
    let module = interface.ident();
    let status = exports.status();
    let callbacks =
        interface.types.iter().filter(|ty| sdk_api.is_translated(ty)).map(|ty| exports.callback(ty));
    let functions = interface.functions.iter().map(|function| exports.function(function));
    let call_raw = exports.call_raw();
    quote! {
        #[allow(unused_imports, reason = "the spec determines which of the names are used")]
        use ::tenon::#module::*;

        /// The error type of argument checks.
        type Error = ::tenon::Error<Status>;

        #status
        #(#callbacks)*
        #(#functions)*
        #call_raw
    }
}

struct Exports<'a> {
    context: Context<'a>,
    sdk_api: SdkApi<'a>,
}

impl Exports<'_> {
    fn function(&self, function: &Function) -> TokenStream {
        let export = names::symbol(&self.sdk_api.function(function));
        let handle = self.sdk_api.called_with(function);
        let plugin = names::symbol(PLUGIN);
        let answer = names::symbol(ANSWER);
        let leading = (handle == Handle::Plugin).then(|| quote!(#plugin: crate::PluginHandle));
        let inputs = function.params.iter().map(|param| {
            let (name, ty) = (param.ident(), self.input(param));
            quote!(#name: #ty)
        });
        let trailing = function.question.map(|_| quote!(#answer: *mut bool));
        let inputs: Vec<TokenStream> = leading.into_iter().chain(inputs).chain(trailing).collect();
        let many = (inputs.len() > 7)
            .then(|| quote! { #[allow(clippy::too_many_arguments, reason = "the spec has that many")] });
        let docs = doc(
            &function.summary,
            "# Safety\nThe arguments are as `functions.h` says; what can be checked is checked.",
        );
        let variant = function.variant();
        let body = self.body(function, handle);
        let (inputs_of_body, call) = match handle {
            Handle::Device(id) => {
                let device = function.param(id).ident();
                (
                    quote!(__this: &dyn Device, #device: DeviceId),
                    quote!(crate::call::on_device(#device, Function::#variant, __body)),
                )
            }
            Handle::Plugin => (
                quote!(__this: &dyn Device),
                quote!(crate::call::on_plugin(#plugin, Function::#variant, __body)),
            ),
        };
        let body = if self.is_unsafe(function) {
            let safety = safety();
            quote! { #safety let __body = |#inputs_of_body| unsafe { #body }; }
        } else {
            quote! { let __body = |#inputs_of_body| { #body }; }
        };
        let others = self.other_devices(function, handle).next().is_some();
        // The body binds the device's number to the same name.
        let first = match handle {
            Handle::Device(id) if others || self.carries(function) => {
                let device = function.param(id).ident();
                Some(quote! { let __handle = #device; })
            }
            _ => None,
        };
        quote! {
            #docs
            #many
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn #export(#(#inputs),*) -> Status {
                #first
                #body
                #call
            }
        }
    }

    /// Returns a parameter as C passes it.
    fn input(&self, param: &Param) -> TokenStream {
        if self.sdk_api.is_device(param) {
            return match param.dir {
                Direction::In => quote!(crate::DeviceHandle),
                _ => quote!(*mut crate::DeviceHandle),
            };
        }
        match self.sdk_api.translated(param) {
            Some(ty) => {
                let Translated { function, .. } = Translated::of(ty);
                quote!(::core::option::Option<#function>)
            }
            None => raw_param(self.context, param),
        }
    }

    /// Returns the devices of a call in addition to the one that the function is called with.
    fn other_devices<'f>(&self, function: &'f Function, handle: Handle) -> impl Iterator<Item = &'f Param> {
        let sdk_api = self.sdk_api;
        function.params.iter().enumerate().filter_map(move |(index, param)| {
            let is_first = handle == Handle::Device(crate::model::ParamId(index));
            (sdk_api.is_device(param) && param.dir == Direction::In && !is_first).then_some(param)
        })
    }

    fn carries(&self, function: &Function) -> bool {
        function.params.iter().any(|param| self.sdk_api.translated(param).is_some())
    }

    /// Returns true if a part of the body is unsafe.
    fn is_unsafe(&self, function: &Function) -> bool {
        let is_device_input = |param: &Param| self.sdk_api.is_device(param) && param.dir == Direction::In;
        function.question.is_some()
            || function.formed().any(|(param, form)| {
                !is_device_input(param) && is_unsafe(self.context, function, param, form)
            })
    }

    fn body(&self, function: &Function, handle: Handle) -> TokenStream {
        let context = self.context;
        let each = || function.formed();
        // The data for a callback is created last, so that earlier failures need not release it.
        let prepared = each().filter(|(param, _)| self.sdk_api.translated(param).is_none());
        let prepared = prepared.map(|(param, form)| self.prepare(function, handle, param, form));
        let carried = each().filter_map(|(param, form)| self.carry(function, param, form));
        let asked = function.question.map(|_| {
            let answer = names::symbol(ANSWER);
            quote! { ::tenon::support::place::<Status, _>(#ANSWER, #answer)?; }
        });
        let arguments = each().filter_map(|(param, form)| argument(param, form));
        let method = function.ident();
        let taken_back = each().filter_map(|(param, _)| self.take_back(param));
        let written_back = each().filter_map(|(param, form)| write_back(context, param, form));
        let bind = function.question.is_some() || results(function).next().is_some();
        let bind = bind.then(|| quote!(let __returned =));
        let answered = function.question.map(|_| {
            let answer = names::symbol(ANSWER);
            quote! { #answer.write(__returned); }
        });
        let writes =
            results(function).map(|(param, output, results)| self.write(function, param, output, &results));
        let call = quote!(__this.#method(#(#arguments),*));
        let call = if self.carries(function) {
            quote! {
                let __outcome = #call;
                if __outcome.is_err() { #(#taken_back)* }
                #bind __outcome?;
            }
        } else {
            quote! { #bind #call?; }
        };
        quote! {
            #(#prepared)*
            #asked
            #(#carried)*
            #call
            #(#written_back)*
            #answered
            #(#writes)*
            ::core::result::Result::Ok(())
        }
    }

    fn prepare(&self, function: &Function, handle: Handle, param: &Param, form: &Form) -> TokenStream {
        let (name, text) = (param.ident(), &param.name.value);
        if self.sdk_api.is_device(param) {
            let is_first = matches!(handle, Handle::Device(id) if std::ptr::eq(function.param(id), param));
            return match param.dir {
                Direction::In if is_first => TokenStream::new(),
                Direction::In => {
                    // Held until the body ends, so that no other thread closes the device during the call.
                    let held = format_ident!("__held_{}", param.name.value);
                    quote! {
                        let #held = crate::call::same_plugin(__handle, #name, #text)?;
                        let #name = #held.id();
                    }
                }
                _ => place_of(param, Report::Own),
            };
        }
        prepare(self.context, function, param, form, Report::Own)
    }

    fn write(
        &self,
        function: &Function,
        param: &Param,
        output: &Output,
        results: &TokenStream,
    ) -> TokenStream {
        if self.sdk_api.is_device(param) {
            let plugin = names::symbol(PLUGIN);
            let place = param.ident();
            return quote! { #place.write(crate::call::device_of_same(#plugin, #results)?); };
        }
        let shortage = self.sdk_api.allocates(param).and_then(|extent| {
            let Extent::Param(id) = extent else { return None };
            let size = function.param(*id).ident();
            Some(quote! {
                if #results.is_null() && #size > 0 {
                    return ::core::result::Result::Err(crate::call::Failure::OutOfMemory { bytes: #size });
                }
            })
        });
        let write = write_output(self.context, param, output, results, &quote!(__this), Report::Own);
        quote! { #shortage #write }
    }
}
