//! Structs of arguments: thunks unpack them, and loaded plugins receive them packed.
//!
//! The struct begins with its size in the caller's release. Members beyond that size are not accessed: inputs have
//! the spec's default or zero, and outputs are written to a local variable.

use super::api_type::constant;
use super::layout::{Member, layout_struct};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::raw_types::{raw_param, raw_written};
use crate::emit::rust::context::Context;
use crate::emit::rust::doc::{doc, field_text};
use crate::emit::rust::method::form::{Form, Output};
use crate::emit::rust::method::pieces::to_raw;
use crate::emit::rust::names;
use crate::model::abi::{self, ArgsMember};
use crate::model::{Absent, ArgsStruct, Constant, Direction, Function, Param};

/// Emits the structs whose members are the parameters of a function.
pub fn structs(context: Context) -> TokenStream {
    let functions = &context.interface.functions;
    let passed = functions.iter().filter(|function| context.interface.refusal(function).is_none());
    let structs = passed.filter_map(|function| {
        let args = function.args.as_ref()?;
        let layout = abi::args_layout(context.spec, function, args);
        let members = layout.members.iter().map(|&(member, offset, _)| {
            let (name, ty, docs) = match member {
                ArgsMember::Size => (
                    names::snake(&args.size_field),
                    quote!(usize),
                    "Size of this struct in bytes in the caller's release.".to_owned(),
                ),
                ArgsMember::Extension => (
                    names::snake(args.extension.as_deref().unwrap_or_default()),
                    quote!(*mut ::core::ffi::c_void),
                    "Reserved; null.".to_owned(),
                ),
                ArgsMember::Param(id) => {
                    let param = function.param(id);
                    let ty = if context.spec.is_written_in_args(param) {
                        raw_written(context, param)
                    } else {
                        raw_param(context, param)
                    };
                    (param.ident(), ty, field_text(param))
                }
            };
            Member { name, ty, docs, offset: Some(offset) }
        });
        let members: Vec<Member> = members.collect();
        let docs = doc(&format!("The arguments of `{}`", function.name.value), "");
        Some(layout_struct(&names::symbol(&args.c_name), &docs, &members, layout.size))
    });
    quote! { #(#structs)* }
}

/// Emits the parameter through which a thunk gets the struct of arguments.
pub fn input(args: &ArgsStruct) -> TokenStream {
    let name = names::symbol(&args.c_name);
    quote!(__packed: *mut ffi::#name)
}

/// Binds each member to the name of its parameter, as if it were passed separately.
pub fn unpack(context: Context, function: &Function, args: &ArgsStruct, this: &TokenStream) -> TokenStream {
    let layout = abi::args_layout(context.spec, function, args);
    let (size_field, least) = (names::snake(&args.size_field), names::number(layout.least));
    let members = layout.members.iter().filter_map(|(member, offset, size)| match member {
        ArgsMember::Param(id) => Some(unpack_member(context, function.param(*id), offset + size, this)),
        ArgsMember::Size | ArgsMember::Extension => None,
    });
    quote! {
        let __packed = ::tenon::support::place("args", __packed)?;
        let __known = (&raw const (*__packed).#size_field).read();
        if __known < #least {
            return ::core::result::Result::Err(Error::invalid(::std::format!(
                "`args` has {} bytes, but {} are needed", __known, #least
            )));
        }
        #(#members)*
    }
}

fn unpack_member(context: Context, param: &Param, end: u64, this: &TokenStream) -> TokenStream {
    let name = param.ident();
    let is_written = context.spec.is_written_in_args(param);
    let member = if is_written {
        quote!(&raw mut (*__packed).#name)
    } else {
        quote!((&raw const (*__packed).#name).read())
    };
    if param.availability.since.is_none() {
        return quote! { let #name = #member; };
    }
    let end = names::number(end);
    let stand_in = absent(context, param, this).unwrap_or_else(zero);
    if !is_written {
        return quote! { let #name = if __known >= #end { #member } else { #stand_in }; };
    }
    let (spare, ty) = (format_ident!("__spare_{}", param.name.value), raw_written(context, param));
    let initial = match param.dir {
        Direction::InOut => stand_in,
        _ => zero(),
    };
    quote! {
        let mut #spare: #ty = #initial;
        let #name = if __known >= #end { #member } else { &raw mut #spare };
    }
}

/// Returns the default of a member that the caller lacks, as the ABI would pass it; `None`: zero.
fn absent(context: Context, param: &Param, this: &TokenStream) -> Option<TokenStream> {
    Some(match &param.absent {
        Some(Absent::Call(function)) => {
            let function = context.interface.function(*function);
            let method = names::method(context.interface, function);
            to_raw(context, param, &quote!(#method(#this)?))
        }
        Some(Absent::Constant(Constant::Null)) | None => return None,
        Some(Absent::Constant(value)) => constant(context, param, *value),
    })
}

/// Returns zero, which is a valid value of every type that is passed or written.
fn zero() -> TokenStream {
    quote!(::core::mem::zeroed())
}

/// Packs the struct from the arguments, by parameter index.
pub fn pack(
    context: Context,
    function: &Function,
    args: &ArgsStruct,
    passed: impl Fn(&Param, &Form) -> TokenStream,
) -> TokenStream {
    let (name, size_field) = (names::symbol(&args.c_name), names::snake(&args.size_field));
    let extension = args.extension.as_deref().map(|extension| {
        let extension = names::snake(extension);
        quote! { #extension: ::core::ptr::null_mut(), }
    });
    let members = function.formed().map(|(param, form)| {
        let field = param.ident();
        let value = match (context.spec.is_written_in_args(param), form) {
            (true, Form::InOut) => {
                let local = local(param);
                quote!(#local)
            }
            (true, _) => zero(),
            (false, _) => passed(param, form),
        };
        if field == value.to_string() {
            quote! { #field, }
        } else {
            quote! { #field: #value, }
        }
    });
    quote! {
        let mut __packed = ffi::#name { #size_field: ::core::mem::size_of::<ffi::#name>(), #extension #(#members)* };
    }
}

/// Moves the outputs from the struct to variables, as if the function had written them.
pub fn written(context: Context, function: &Function) -> TokenStream {
    let moved = function.formed().filter(|(param, _)| context.spec.is_written_in_args(param));
    let moved = moved.filter_map(|(param, form)| {
        let (field, local) = (param.ident(), local(param));
        match form {
            Form::InOut => Some(quote! { #local = __packed.#field; }),
            Form::Output(Output::Value | Output::Lent { .. }) | Form::Carried(_) => {
                Some(quote! { #local.write(__packed.#field); })
            }
            _ => None,
        }
    });
    quote! { #(#moved)* }
}

fn local(param: &Param) -> proc_macro2::Ident {
    names::raw(&param.name.value)
}
