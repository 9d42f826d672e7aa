//! The proc-macros of Tenon: a thin door to [`codegen::emit::rust`].

use codegen::emit::rust::{Attribute, NO_NAME, expand_c_api, expand_impl, expand_interface};
use codegen::model::Interface;
use codegen::source::{Embedded, Folder};
use codegen::{Loaded, load};
use proc_macro::TokenStream;
use proc_macro2::Span;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{ItemImpl, LitStr, Token};

/// Tenon's own spec.
const SPEC: Embedded = Embedded { name: "spec", files: include!(concat!(env!("OUT_DIR"), "/spec.rs")) };

/// Expands an interface of the spec in the module where it stands.
///
/// ```text
/// tenon::interface!("device");                     // of Tenon's own spec
/// tenon::interface!("bus", spec = "path/to/spec"); // of another one, relative to the crate's manifest
/// ```
#[proc_macro]
pub fn interface(input: TokenStream) -> TokenStream {
    let arguments = syn::parse_macro_input!(input as InterfaceArguments);
    finish(expand_interface_arguments(&arguments))
}

/// Exports the functions that the SDK offers for an interface of Tenon's own spec, in the module where it stands.
///
/// ```text
/// tenon::c_api!("device");
/// ```
///
/// The crate around it has the types `DeviceHandle` and `PluginHandle`, which C sees as pointers, and a module `call`
/// with `on_device`, `on_plugin`, `same_plugin`, `device_of_same` and `Failure`.
#[proc_macro]
pub fn c_api(input: TokenStream) -> TokenStream {
    let name = syn::parse_macro_input!(input as LitStr);
    finish(load_spec(None).and_then(|(loaded, _)| {
        let interface = find(&loaded, &name)?;
        expand_c_api(&loaded.spec, interface).map_err(|message| syn::Error::new(name.span(), message))
    }))
}

/// Makes an `impl` of a device trait fill the slots of exactly the functions that it has, and a library a plugin.
///
/// ```text
/// #[tenon::plugin(device_type = "my_npu")]
/// impl Device for MyNpu { … }
/// ```
///
/// Arguments: `device_type` names the device and exports the entry point; `fallbacks = true` fills absent optional
/// functions with the spec's fallbacks; `new = …` makes the instance, `Default::default()` if left out; `spec` and
/// `module` are for interfaces of another spec. A plugin that owns its table has no `device_type`; `complete = …` names a
/// function that takes the table by reference and sets what the spec leaves open.
#[proc_macro_attribute]
pub fn plugin(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut attribute = syn::parse_macro_input!(arguments as Attribute);
    // In another spec the plugin may own its table, and needs no name.
    if attribute.device_type.is_none() && attribute.spec.is_none() {
        return syn::Error::new(Span::call_site(), NO_NAME).into_compile_error().into();
    }
    attribute.exports = true;
    expand_attribute(&attribute, item)
}

/// As [`macro@plugin`], without an entry point: for a device that another library hands over.
#[proc_macro_attribute]
pub fn device(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let attribute = syn::parse_macro_input!(arguments as Attribute);
    if let Some(device_type) = &attribute.device_type {
        let message = "an entry point is for `#[tenon::plugin]`";
        return syn::Error::new(device_type.span(), message).into_compile_error().into();
    }
    expand_attribute(&attribute, item)
}

fn expand_attribute(attribute: &Attribute, item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as ItemImpl);
    finish(
        load_spec(attribute.spec.as_ref())
            .and_then(|(loaded, _)| expand_impl(&loaded.spec, attribute, &item)),
    )
}

struct InterfaceArguments {
    name: LitStr,
    spec: Option<LitStr>,
}

impl Parse for InterfaceArguments {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let name = input.parse()?;
        let mut spec = None;
        if input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            let key: syn::Ident = input.parse()?;
            if key != "spec" {
                return Err(syn::Error::new(key.span(), "expected `spec = \"path\"`"));
            }
            input.parse::<Token![=]>()?;
            spec = Some(input.parse()?);
        }
        Ok(InterfaceArguments { name, spec })
    }
}

fn expand_interface_arguments(arguments: &InterfaceArguments) -> syn::Result<proc_macro2::TokenStream> {
    let (loaded, tracked) = load_spec(arguments.spec.as_ref())?;
    let interface = find(&loaded, &arguments.name)?;
    let module = expand_interface(&loaded.spec, interface);
    Ok(quote! {
        #(const _: &str = include_str!(#tracked);)*
        #module
    })
}

/// The interface of a name.
fn find<'a>(loaded: &'a Loaded, name: &LitStr) -> syn::Result<&'a Interface> {
    loaded.spec.interface(&name.value()).ok_or_else(|| {
        let known = loaded.spec.interfaces.iter().map(|interface| format!("`{}`", interface.name.value));
        let known = known.collect::<Vec<_>>().join(", ");
        let message = format!("the spec has no interface `{}`; it has {known}", name.value());
        syn::Error::new(name.span(), message)
    })
}

/// The spec, and the files of which the compiler has to know that they were read.
fn load_spec(path: Option<&LitStr>) -> syn::Result<(Loaded, Vec<String>)> {
    let Some(path) = path else {
        return load(&SPEC)
            .map(|loaded| (loaded, Vec::new()))
            .map_err(|mistakes| syn::Error::new(Span::call_site(), mistakes.render(false)));
    };
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

fn finish(expansion: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expansion.unwrap_or_else(|error| error.into_compile_error()).into()
}
