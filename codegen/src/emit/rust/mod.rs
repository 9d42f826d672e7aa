//! Rust: the module of an interface, as a file and as what `tenon_interface::interface!` expands to.
//!
//! An interface becomes a module: its types, the raw ABI in `ffi`, and by its kind a trait with thunks and fallbacks
//! (table, export) or a struct of loaded symbols (import).

mod args;
mod c_api;
mod comments;
mod error_object;
mod export;
mod fallback;
mod ffi;
mod file;
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
mod short;
mod thunk;
mod trait_table;
mod traits;
mod types;

use proc_macro2::TokenStream;
use quote::quote;

pub use trait_table::{TraitEntry, TraitFunction, TraitTable, traits};
pub use traits::signature_text;

use crate::model::{Interface, InterfaceKind, Spec};
use crate::sdk::Face;

/// The interface that is emitted and the spec that it stands in.
#[derive(Clone, Copy)]
struct Context<'a> {
    spec: &'a Spec,
    interface: &'a Interface,
}

/// The module of an interface, for a compiler.
pub fn expand_interface(spec: &Spec, interface: &Interface) -> TokenStream {
    comments::remove(module(spec, interface))
}

/// The module of an interface, with comments.
fn module(spec: &Spec, interface: &Interface) -> TokenStream {
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

/// The module of an interface as formatted text, for people and for a compiler.
///
/// # Errors
/// A message when the expansion is not valid Rust, which is a mistake of the generator.
pub fn interface_text(spec: &Spec, interface: &Interface) -> Result<String, String> {
    // Functions written by hand are in a module beside that of the interface.
    let strategy = (!interface.strategies.is_empty()).then(|| quote! { use super::strategy; });
    let module = module(spec, interface);
    file::text(quote! { #strategy #module })
}

/// The table of traits for the attributes as formatted text.
///
/// # Errors
/// A message when the table is not valid Rust, which is a mistake of the generator.
pub fn traits_text(spec: &Spec) -> Result<String, String> {
    file::text(trait_table::source(spec))
}

/// The C functions that the SDK offers for an interface as formatted text.
///
/// # Errors
/// A message when the expansion is not valid Rust, which is a mistake of the generator.
pub fn c_api_text(face: Face) -> Result<String, String> {
    file::text(c_api::expand(face))
}
