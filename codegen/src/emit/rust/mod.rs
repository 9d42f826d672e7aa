//! Rust: what the proc-macros expand to.
//!
//! An interface becomes a module: its types, the raw ABI in `ffi`, and by its kind a trait with thunks and fallbacks
//! (table, export) or a struct of loaded symbols (import).

mod args;
mod attribute;
mod c_api;
mod error_object;
mod export;
mod fallback;
mod ffi;
mod form;
mod functions;
mod import;
mod layer;
mod loaded;
mod names;
mod pieces;
mod plugin;
mod raw_call;
mod reflection;
mod thunk;
mod traits;
mod types;

use proc_macro2::TokenStream;
use quote::quote;

pub use attribute::{Attribute, NO_NAME, expand_impl};
pub use c_api::expand_c_api;
pub use traits::signature_text;

use crate::model::{Interface, InterfaceKind, Spec};

/// The interface that is emitted and the spec that it stands in.
#[derive(Clone, Copy)]
struct Context<'a> {
    spec: &'a Spec,
    interface: &'a Interface,
}

/// The module of an interface.
pub fn expand_interface(spec: &Spec, interface: &Interface) -> TokenStream {
    let context = Context { spec, interface };
    let types = types::emit(context);
    let ffi = ffi::emit(context);
    let body = match &interface.kind {
        // Types that others use.
        _ if interface.functions.is_empty() => TokenStream::new(),
        InterfaceKind::Table(table) => {
            let functions = functions::emit(context);
            let traits = traits::emit(context);
            let fallbacks = fallback::emit(context);
            let thunks = thunk::emit(context);
            let plugin = plugin::emit(context, table);
            let reflection = reflection::emit(context);
            // Both speak in statuses, and an interface need not have any.
            let layer = interface.status.map(|_| layer::emit(context));
            let loaded = interface.status.map(|_| loaded::emit(context));
            let raw_call = interface.status.map(|_| raw_call::emit(context));
            quote! { #functions #reflection #traits #fallbacks #layer #thunks #plugin #loaded #raw_call }
        }
        InterfaceKind::Export => {
            let functions = functions::emit(context);
            let traits = traits::emit(context);
            let fallbacks = fallback::emit(context);
            let thunks = thunk::emit(context);
            let export = export::emit(context);
            let reflection = reflection::emit(context);
            let layer = interface.status.map(|_| layer::emit(context));
            quote! { #functions #reflection #traits #fallbacks #layer #thunks #export }
        }
        InterfaceKind::Import { libraries } => import::emit(context, libraries),
    };
    // Types of other interfaces go by their module's name, also in the modules below this one.
    let others = context.interface.uses.iter().map(|id| {
        let module = names::snake(&spec.interfaces[id.0].name.value);
        quote! {
            #[allow(unused_imports, reason = "what is used of it may be in a macro that nobody calls")]
            pub(crate) use super::#module;
        }
    });
    quote! { #(#others)* #types #ffi #body }
}

/// The module of an interface as formatted text, for reading.
///
/// # Errors
/// A message when the expansion is not valid Rust, which is a mistake of the generator.
pub fn interface_text(spec: &Spec, interface: &Interface) -> Result<String, String> {
    let file: syn::File =
        syn::parse2(expand_interface(spec, interface)).map_err(|error| error.to_string())?;
    Ok(prettyplease::unparse(&file))
}
