//! Tenon's macros for a spec that is not Tenon's.
//!
//! They run the generator while a crate is compiled. The alternative is to commit its output: `rust` in `outputs` of
//! `spec.yaml`.

use codegen::emit::rust::{SlotFilled, TraitEntry, TraitTable, expand_exports, expand_interface};
use codegen::model::{Interface, Spec};
use codegen::source::Folder;
use codegen::{CheckedSpec, load};
use proc_macro::TokenStream;
use proc_macro2::{Span, TokenStream as TokenStream2};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{ItemImpl, LitStr, Token};
use tenon_macros_core::{Attribute, Entry, Extension, Filled, Function, Purpose, Specs, Trait};

/// Expands an interface of a spec in the module where it stands.
///
/// ```text
/// tenon_spec_macros::interface!("bus", spec = "path/to/spec");
/// ```
///
/// The path is relative to the crate's manifest. The expansion names the crate `tenon`.
#[proc_macro]
pub fn interface(input: TokenStream) -> TokenStream {
    let arguments = syn::parse_macro_input!(input as InterfaceArguments);
    finish(expand_arguments(&arguments, expand_interface))
}

/// Exports the C functions of an interface of the kind `export`.
///
/// ```text
/// use crate::kit as api;
///
/// fn instance() -> &'static Kit { … }
///
/// mod functions {
///     tenon_spec_macros::exports!("kit", spec = "path/to/spec");
/// }
/// ```
///
/// It stands in a separate module. The module above has the interface as `api`, and a function `instance` that returns
/// the implementation.
#[proc_macro]
pub fn exports(input: TokenStream) -> TokenStream {
    let arguments = syn::parse_macro_input!(input as InterfaceArguments);
    finish(expand_arguments(&arguments, expand_exports))
}

/// Makes an `impl` of a trait of a spec fill the slots of exactly the functions that it has, and a library a plugin.
///
/// ```text
/// #[tenon_spec_macros::plugin(spec = "path/to/spec", module = crate::bus)]
/// impl Bus for MyBus { … }
/// ```
///
/// Arguments: `spec` is the spec's folder, relative to the crate's manifest; `module` is the module that the interface
/// was expanded in; `device_type` names the device and exports the entry point; `fallbacks = true` fills absent
/// optional functions with the spec's fallbacks; `since = "…"` names the oldest release that the plugin is made for, and
/// refuses functions that came later; `new = …` makes the instance, `Default::default()` if left out. A plugin that owns its table has no `device_type`; `complete = …` names a function that takes the table by reference
/// and sets what the spec leaves open.
#[proc_macro_attribute]
pub fn plugin(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand_attribute(Purpose::Plugin, arguments, item)
}

/// Expands as [`macro@plugin`] does, without an entry point: for a device that another library passes on.
#[proc_macro_attribute]
pub fn device(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand_attribute(Purpose::Device, arguments, item)
}

fn expand_attribute(purpose: Purpose, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as ItemImpl);
    finish(Attribute::parse(Specs::Named, arguments.into()).and_then(|attribute| {
        let needed = |name: &str, example: &str| {
            syn::Error::new(Span::call_site(), format!("the attribute needs `{name} = {example}`"))
        };
        let spec = attribute.spec.as_ref().ok_or_else(|| needed("spec", "\"path/to/spec\""))?;
        if attribute.module.is_none() {
            return Err(needed("module", "path::of::the::interface"));
        }
        let (loaded, _) = load_spec(spec)?;
        let tables = codegen::emit::rust::traits(&loaded.spec);
        let functions: Vec<Vec<Function>> = tables.iter().map(functions).collect();
        let releases: Vec<Vec<&str>> = tables.iter().map(releases).collect();
        let traits =
            tables.iter().zip(&releases).zip(&functions).map(|((table, releases), functions)| Trait {
                name: &table.name,
                module: &table.module,
                entry: table.entry.as_ref().map(entry),
                extension: table
                    .extension
                    .as_ref()
                    .map(|extension| Extension { symbol: &extension.symbol, table: &extension.table }),
                releases,
                functions,
                // The argument is for Tenon's own trait.
                collectives: &[],
            });
        tenon_macros_core::expand(&traits.collect::<Vec<_>>(), purpose, &attribute, &item)
    }))
}

fn releases(table: &TraitTable) -> Vec<&str> {
    table.releases.iter().map(String::as_str).collect()
}

fn functions(table: &TraitTable) -> Vec<Function<'_>> {
    let functions = table.functions.iter().map(|function| Function {
        name: &function.name,
        variant: &function.variant,
        missing: function.missing.as_deref(),
        since: function.since.as_deref(),
        is_in_extension: function.is_in_extension,
        filled: match function.filled {
            SlotFilled::Never => Filled::Never,
            SlotFilled::OnRequest => Filled::OnRequest,
            SlotFilled::Always => Filled::Always,
        },
    });
    functions.collect()
}

fn entry(entry: &TraitEntry) -> Entry<'_> {
    match entry {
        TraitEntry::TakesParams(symbol) => Entry::TakesParams(symbol),
        TraitEntry::ReturnsTable { symbol, table } => Entry::ReturnsTable { symbol, table },
    }
}

struct InterfaceArguments {
    name: LitStr,
    spec: LitStr,
}

impl Parse for InterfaceArguments {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let name = input.parse()?;
        let needed = || input.error("expected `, spec = \"path/to/spec\"`");
        input.parse::<Option<Token![,]>>()?.ok_or_else(needed)?;
        let key = input.parse::<Option<syn::Ident>>()?.filter(|key| key == "spec").ok_or_else(needed)?;
        input.parse::<Token![=]>().map_err(|error| syn::Error::new(key.span(), error))?;
        let spec = input.parse()?;
        input.parse::<Option<Token![,]>>()?;
        Ok(InterfaceArguments { name, spec })
    }
}

fn expand_arguments(
    arguments: &InterfaceArguments,
    expand: fn(&Spec, &Interface) -> TokenStream2,
) -> syn::Result<TokenStream2> {
    let (loaded, tracked) = load_spec(&arguments.spec)?;
    let interface = find(&loaded, &arguments.name)?;
    let module = expand(&loaded.spec, interface);
    Ok(quote! {
        #(const _: &str = include_str!(#tracked);)*
        #module
    })
}

/// Returns the interface of a name.
fn find<'a>(loaded: &'a CheckedSpec, name: &LitStr) -> syn::Result<&'a Interface> {
    loaded.spec.interface(&name.value()).ok_or_else(|| {
        let known = loaded.spec.interfaces.iter().map(|interface| format!("`{}`", interface.name.value));
        let known = known.collect::<Vec<_>>().join(", ");
        let message = format!("the spec has no interface `{}`; it has {known}", name.value());
        syn::Error::new(name.span(), message)
    })
}

/// Returns the spec, and the files of which the compiler has to know that they were read.
fn load_spec(path: &LitStr) -> syn::Result<(CheckedSpec, Vec<String>)> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let manifest = std::path::Path::new(&manifest);
    let loaded = load(&Folder::new(manifest.join(path.value())).shown_as(path.value()))
        .map_err(|mistakes| syn::Error::new(path.span(), format!("\n{}", mistakes.render(false))))?;
    let tracked = loaded
        .sources
        .files()
        .map(|(_, file)| manifest.join(&file.path).to_string_lossy().into_owned())
        .collect();
    Ok((loaded, tracked))
}

fn finish(expansion: syn::Result<TokenStream2>) -> TokenStream {
    expansion.unwrap_or_else(|error| error.into_compile_error()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the message of a macro call with wrong arguments.
    fn message(arguments: TokenStream2) -> String {
        let arguments = syn::parse2(arguments).expect("the arguments have the right form");
        expand_arguments(&arguments, expand_interface).expect_err("the arguments are wrong").to_string()
    }

    #[test]
    fn a_missing_spec_is_named_with_its_file() {
        let message = message(quote!("bus", spec = "no/such/folder"));
        assert!(message.contains("error[E002]: cannot read `spec.yaml`"), "{message}");
        assert!(message.contains("no/such/folder/spec.yaml"), "{message}");
    }

    #[test]
    fn an_unknown_interface_is_answered_with_the_known_ones() {
        let message = message(quote!("devices", spec = "../../spec"));
        assert!(message.starts_with("the spec has no interface `devices`; it has `device`, "), "{message}");
    }
}
