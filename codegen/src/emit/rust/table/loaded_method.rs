//! The methods of a loaded plugin: each converts its arguments, calls a function pointer and converts the results.

use crate::emit::rust::types::raw_types;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::signature::{self, for_each_signature, signatures};
use crate::emit::rust::context::Context;
use crate::emit::rust::method::form::{Form, Output, assemble, default_value, outputs};
use crate::emit::rust::method::pieces::to_raw;
use crate::emit::rust::method::traits;
use crate::emit::rust::names;
use crate::emit::rust::types::api_type::{status_value, value};
use crate::emit::rust::types::args;
use crate::model::{Carrier, Extent, Function, Param, ParamId, ReleaseId, ResultKind, Ty, TypeKind};

/// Emits a method of `Loaded`, which calls the function in the slot.
pub fn method(context: Context, function: &Function) -> TokenStream {
    let signature = traits::signature(context, function);
    let prepare = function
        .formed()
        .enumerate()
        .map(|(index, (param, form))| prepare(context, function, ParamId(index), param, form));
    let (callee, call) = calls(context, function);
    let end = end(context, function);
    quote! {
        #signature {
            __comment!("SAFETY: the slot has this signature, and the arguments live during the call.");
            unsafe {
                #callee
                #(#prepare)*
                #call
                #end
            }
        }
    }
}

/// Emits the function in the slot. If it is missing, the method returns.
fn callee(context: Context, function: &Function, release: Option<ReleaseId>) -> TokenStream {
    let (variant, ty) = (function.variant(), signature::path(context, function, release));
    match &function.result {
        ResultKind::Status => quote! { let __callee: #ty = self.callable(Function::#variant)?; },
        other => {
            let absent = default_value(context, other);
            quote! {
                let ::core::result::Result::Ok(__callee) = self.callable::<#ty>(Function::#variant) else { return #absent };
            }
        }
    }
}

/// Emits a call that ends the process with a message if an exception escapes.
fn guarded(function: &Function, call: TokenStream) -> TokenStream {
    let name = &function.name.value;
    quote! { ::tenon::support::guard(self.name.as_deref(), #name, || #call) }
}

/// Emits the function in the slot and the call, with the signature of the plugin's release.
fn calls(context: Context, function: &Function) -> (TokenStream, TokenStream) {
    let bind = match function.result {
        ResultKind::None => quote!(let () =),
        _ => quote!(let __returned =),
    };
    if let Some(packed) = &function.args {
        let passed = |param: &Param, form: &Form| argument(context, function, param, form);
        let pack = args::pack(context, function, packed, passed);
        let (callee, written) = (callee(context, function, None), args::written(context, function));
        let call = guarded(function, quote! { __callee(&raw mut __packed) });
        return (callee, quote! { #pack #bind #call; #written });
    }
    let call = |release: Option<ReleaseId>| {
        let passed = function.formed().filter(|(param, _)| param.availability.is_in(release));
        let arguments = passed.map(|(param, form)| argument(context, function, param, form));
        guarded(function, quote! { __callee(#(#arguments),*) })
    };
    if let [only] = signatures(context, function)[..] {
        let call = call(only);
        return (callee(context, function, only), quote! { #bind #call; });
    }
    let chosen = for_each_signature(context, function, &quote!(self.release), |release| {
        let (callee, call) = (callee(context, function, release), call(release));
        quote! { #callee #call }
    });
    (TokenStream::new(), quote! { #bind #chosen; })
}

/// Emits local variables for values that are passed by pointer.
fn prepare(context: Context, function: &Function, id: ParamId, param: &Param, form: &Form) -> TokenStream {
    let name = param.ident();
    let (local, text) = (local(param), &param.name.value);
    match form {
        Form::Value if matches!(context.spec.kind(param.ty), Some(TypeKind::Id { .. })) => {
            let raw = to_raw(context, param, &quote!(#name));
            quote! { let mut #local = #raw; }
        }
        Form::InOut => {
            let raw = to_raw(context, param, &quote!((*#name)));
            quote! { let mut #local = #raw; }
        }
        Form::ByteBuffer { mutable } => {
            let Some(TypeKind::Struct { fields, .. }) = context.spec.kind(param.ty) else {
                return TokenStream::new();
            };
            let path = param.ty.id().map(|id| raw_types::ffi_path(context, id));
            let fields = fields.iter().map(|field| field.ident()).collect::<Vec<_>>();
            let [size, data] = fields.as_slice() else { return TokenStream::new() };
            let address =
                if *mutable { quote!(#name.as_mut_ptr()) } else { quote!(#name.as_ptr().cast_mut()) };
            quote! { let mut #local = #path { #size: #name.len(), #data: #address.cast() }; }
        }
        Form::Output(Output::Value) => quote! { let mut #local = ::core::mem::MaybeUninit::zeroed(); },
        Form::Output(Output::Array(count)) => {
            let (count, element) = (names::number(*count), value(context, param.ty, param.space));
            quote! { let mut #local = ::core::mem::MaybeUninit::<[#element; #count]>::zeroed(); }
        }
        Form::Output(Output::Vec(counted)) => {
            let counted = names::method(context.interface, context.interface.function(*counted));
            let element = value(context, param.ty, param.space);
            let attempt = tried(
                context,
                function,
                quote!(#counted(self).and_then(|count| ::tenon::support::elements::<_, #element>(#text, count))),
            );
            quote! { let mut #local = #attempt; }
        }
        Form::Output(Output::Text(count)) => {
            let count = names::number(*count);
            quote! { let mut #local = [0 as ::core::ffi::c_char; #count]; }
        }
        Form::Output(Output::Lent { .. }) => quote! { let mut #local = ::core::mem::MaybeUninit::zeroed(); },
        // The length of a borrowed list.
        Form::Carried(Carrier::Lent(_)) => {
            quote! { let mut #local = ::core::mem::MaybeUninit::zeroed(); }
        }
        Form::Carried(Carrier::Slice(_)) => length(context, function, id, param),
        _ => TokenStream::new(),
    }
}

/// Emits a conversion that may fail before the call. If it does, a function without a status returns its default.
fn tried(context: Context, function: &Function, attempt: TokenStream) -> TokenStream {
    match &function.result {
        ResultKind::Status => quote!(#attempt?),
        other => {
            let default = default_value(context, other);
            quote! {
                match #attempt {
                    ::core::result::Result::Ok(value) => value,
                    ::core::result::Result::Err::<_, Error>(_) => return #default,
                }
            }
        }
    }
}

/// Emits the length of all slices that share a length parameter.
fn length(context: Context, function: &Function, id: ParamId, param: &Param) -> TokenStream {
    let (local, text) = (local(param), &param.name.value);
    let carriers = function.formed().filter(|(_, form)| form.length() == Some(&Extent::Param(id))).map(
        |(carrier, _)| {
            let name = carrier.ident();
            if carrier.nullable {
                quote!(#name.as_ref().map(|given| given.len()))
            } else {
                quote!(::core::option::Option::Some(#name.len()))
            }
        },
    );
    let attempt = tried(context, function, quote!(::tenon::support::length(#text, &[#(#carriers),*])));
    quote! { let #local = #attempt; }
}

fn local(param: &Param) -> Ident {
    names::raw(&param.name.value)
}

/// Emits an argument as the ABI passes it.
fn argument(context: Context, function: &Function, param: &Param, form: &Form) -> TokenStream {
    let (name, local) = (param.ident(), local(param));
    let address = |of: &dyn Fn(TokenStream) -> TokenStream| {
        if param.nullable {
            let given = of(quote!(given));
            quote!(#name.map_or(::core::ptr::null_mut(), |given| #given))
        } else {
            of(quote!(#name))
        }
    };
    match form {
        // Only objects have them.
        Form::Receiver { .. } | Form::Object | Form::Own => TokenStream::new(),
        Form::Value => match context.spec.kind(param.ty) {
            Some(TypeKind::Id { .. }) => quote!(&raw mut #local),
            _ => to_raw(context, param, &quote!(#name)),
        },
        Form::InOut | Form::ByteBuffer { .. } => quote!(&raw mut #local),
        Form::Bytes { mutable: true, .. } | Form::Slice { mutable: true, .. } => {
            address(&|given| quote!(#given.as_mut_ptr().cast()))
        }
        Form::Bytes { .. } | Form::Slice { .. } | Form::Text => {
            address(&|given| quote!(#given.as_ptr().cast_mut().cast()))
        }
        Form::StructRef { mutable: true } => address(&|given| quote!(::core::ptr::from_mut(#given).cast())),
        Form::StructRef { mutable: false } => {
            address(&|given| quote!(::core::ptr::from_ref(#given).cast_mut().cast()))
        }
        Form::Callback { .. } if param.nullable => quote!(#name.and_then(|given| given.as_raw())),
        Form::Callback { .. } => quote!(#name.as_raw()),
        Form::Output(Output::Value | Output::Lent { .. }) => quote!(#local.as_mut_ptr()),
        Form::Output(_) => quote!(#local.as_mut_ptr().cast()),
        Form::Carried(Carrier::Callback(callback)) => {
            let callback = function.param(*callback);
            let name = callback.ident();
            if callback.nullable {
                quote!(#name.map_or(::core::ptr::null_mut(), |given| given.context().as_ptr()))
            } else {
                quote!(#name.context().as_ptr())
            }
        }
        Form::Carried(Carrier::Slice(_)) => quote!(#local),
        Form::Carried(Carrier::Result | Carrier::Lent(_)) => quote!(#local.as_mut_ptr()),
    }
}

/// Emits the results of the method, from the function's return value and the variables that it wrote.
fn end(context: Context, function: &Function) -> TokenStream {
    let text = &function.name.value;
    let changed = function.formed().filter_map(|(param, form)| {
        let (name, local) = (param.ident(), local(param));
        matches!(form, Form::InOut).then(|| {
            let value = from_value(context, param, &quote!(#local));
            quote! { *#name = #value; }
        })
    });
    match &function.result {
        ResultKind::None => quote! { #(#changed)* },
        ResultKind::Value(result) => {
            let value = match result.ty {
                // By the interface's contract, the string lives as long as the library.
                Ty::String => quote! {
                    if __returned.is_null() { c"" } else { ::core::ffi::CStr::from_ptr(__returned) }
                },
                _ => from_value(context, result, &quote!(__returned)),
            };
            quote! { #(#changed)* #value }
        }
        ResultKind::Status => {
            let has_object = context.interface.error.is_some();
            let failure = if has_object {
                quote!(__refused.unwrap_or_else(|| Error::new(__returned, #text)))
            } else {
                quote!(self.failure(#text, __returned))
            };
            if let Some((yes, no)) = function.question {
                let (yes, no) = (status_value(context, yes), status_value(context, no));
                let read = has_object.then(|| {
                    quote! {
                        let __refused = self.refused(#text, __returned.cast());
                        let __returned =
                            __refused.as_ref().map_or(::tenon::StatusCode::SUCCESS, |__error| __error.status);
                    }
                });
                return quote! {
                    #read
                    #(#changed)*
                    if __returned == #yes {
                        ::core::result::Result::Ok(true)
                    } else if __returned == #no {
                        ::core::result::Result::Ok(false)
                    } else {
                        ::core::result::Result::Err(#failure)
                    }
                };
            }
            let outputs = outputs(function);
            let taken = outputs.iter().filter_map(|(_, param, output)| taken(param, output));
            let value = assemble(function, |_, param, output| results(context, param, output));
            let returned = if has_object { quote!(__returned.cast()) } else { quote!(__returned) };
            let check = quote!(self.check(#text, #returned));
            let changed: Vec<TokenStream> = changed.collect();
            if outputs.is_empty() && changed.is_empty() {
                return check;
            }
            let refuse = quote! { #check?; };
            quote! {
                #refuse
                #(#changed)*
                #(#taken)*
                ::core::result::Result::Ok(#value)
            }
        }
    }
}

fn results(context: Context, param: &Param, output: &Output) -> TokenStream {
    let local = local(param);
    match output {
        Output::Value => from_value(context, param, &quote!(#local)),
        Output::Text(_) => quote!(::tenon::support::text_in(&#local)),
        Output::Array(_) | Output::Vec(_) => quote!(#local),
        // Only functions of objects make them.
        Output::Object | Output::Own | Output::Objects { .. } => TokenStream::new(),
        Output::Lent { count } => {
            let count = names::raw(count);
            // By the plugin's contract, the list has that length, and lives as long as the spec says.
            quote!(::tenon::Lent::from_raw(#local.assume_init().cast(), #count.assume_init()))
        }
    }
}

/// Emits the value that a function wrote to its variable.
fn taken(param: &Param, output: &Output) -> Option<TokenStream> {
    let local = local(param);
    matches!(output, Output::Value | Output::Array(_)).then(|| {
        // Zero is a valid value of the type, and the function may have written another.
        quote! { let #local = #local.assume_init(); }
    })
}

/// Converts a value of the ABI to the trait's type.
fn from_value(context: Context, param: &Param, raw: &TokenStream) -> TokenStream {
    let ty = || value(context, param.ty, param.space);
    match (param.ty, context.spec.kind(param.ty)) {
        (_, Some(TypeKind::Handle { .. })) => {
            let ty = ty();
            if context.spec.points_to_const(param) {
                quote!(#ty::from_raw(#raw.cast_mut()))
            } else {
                quote!(#ty::from_raw(#raw))
            }
        }
        (_, Some(TypeKind::Id { field, .. })) => {
            let (ty, field) = (ty(), names::snake(field));
            quote!(#ty(#raw.#field))
        }
        (Ty::Pointer, _) => {
            let ty = ty();
            quote!(#ty::from_ptr(#raw))
        }
        _ => raw.clone(),
    }
}
