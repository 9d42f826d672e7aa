//! The attribute on an `impl`: which slots it fills, and what is missing, in the words of the spec.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{ImplItem, ItemImpl, LitBool, LitStr, Token};

use super::names;
use super::traits::signature_text;
use crate::diagnostic::nearest;
use crate::model::{Function, Interface, InterfaceKind, Need, OwnedTable, Spec, Table};

/// What the attribute says.
#[derive(Default)]
pub struct Attribute {
    /// The name under which the device is known to the host; given, the library exports the entry point.
    pub device_type: Option<LitStr>,
    /// Whether absent optional functions are filled with the spec's fallbacks.
    pub fallbacks: bool,
    /// A spec that is not Tenon's: its folder, relative to the manifest.
    pub spec: Option<LitStr>,
    /// The module that the interface was expanded in, where it is not Tenon's.
    pub module: Option<syn::Path>,
    /// An expression that makes the instance; `Default::default()` if left out.
    pub new: Option<syn::Expr>,
    /// A function that completes a table of the plugin's own, such as its data members.
    pub complete: Option<syn::Path>,
    /// Whether the library exports the entry point.
    pub exports: bool,
}

impl Parse for Attribute {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut attribute = Attribute::default();
        while !input.is_empty() {
            let name: syn::Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            match name.to_string().as_str() {
                "device_type" => attribute.device_type = Some(input.parse()?),
                "fallbacks" => attribute.fallbacks = input.parse::<LitBool>()?.value,
                "spec" => attribute.spec = Some(input.parse()?),
                "module" => attribute.module = Some(input.parse()?),
                "new" => attribute.new = Some(input.parse()?),
                "complete" => attribute.complete = Some(input.parse()?),
                other => {
                    let message = format!(
                        "there is no argument `{other}`; expected `device_type`, `fallbacks`, `new`, `complete`, `spec` or `module`"
                    );
                    return Err(syn::Error::new(name.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(attribute)
    }
}

/// Expands the attribute on an `impl` of the trait of one of the spec's interfaces.
///
/// # Errors
/// Everything that does not fit the spec, each at its place.
pub fn expand_impl(spec: &Spec, attribute: &Attribute, item: &ItemImpl) -> syn::Result<TokenStream> {
    let interface = find_interface(spec, item)?;
    let provided = check(spec, interface, item)?;
    let module = match &attribute.module {
        Some(module) => quote!(#module),
        None => {
            let name = names::snake(&interface.name.value);
            quote!(::tenon::#name)
        }
    };
    let target = &item.self_ty;
    let variants = provided.iter().map(|function| names::pascal(&function.name.value));
    let fallbacks = matches!(interface.kind, InterfaceKind::Table(_)).then(|| {
        let fallbacks = attribute.fallbacks;
        quote! { const FALLBACKS: bool = #fallbacks; }
    });
    let new = match &attribute.new {
        Some(new) => quote!(#new),
        None => quote!(<#target as ::core::default::Default>::default()),
    };
    let entry = entry(interface, attribute, target, &module)?;
    Ok(quote! {
        #item

        impl #module::Partial for #target {
            fn provides(&self, function: #module::Function) -> bool {
                <Self as #module::Plugin>::PROVIDED.has(function)
            }
        }

        impl #module::Plugin for #target {
            type Instance = Self;
            const PROVIDED: #module::Provided =
                #module::Provided::of(&[#(#module::Function::#variants),*]);
            #fallbacks

            fn instance() -> &'static Self {
                static INSTANCE: ::std::sync::OnceLock<#target> = ::std::sync::OnceLock::new();
                INSTANCE.get_or_init(|| #new)
            }
        }

        #entry
    })
}

fn find_interface<'a>(spec: &'a Spec, item: &ItemImpl) -> syn::Result<&'a Interface> {
    let traits: Vec<&Interface> = spec
        .interfaces
        .iter()
        .filter(|interface| !matches!(interface.kind, InterfaceKind::Import { .. }))
        .collect();
    let known = || {
        traits.iter().map(|interface| format!("`{}`", interface.trait_name)).collect::<Vec<_>>().join(", ")
    };
    let Some((path, _)) = &item.trait_ else {
        let message = format!("this goes on the `impl` of a trait of the spec: {}", known());
        return Err(syn::Error::new(item.impl_token.span(), message));
    };
    let name = path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
    traits.iter().find(|interface| interface.trait_name == name).copied().ok_or_else(|| {
        syn::Error::new(path.span(), format!("the spec has no trait `{name}`; it has {}", known()))
    })
}

/// The functions that an `impl` has; an error for each one that the spec does not know or that is missing.
fn check<'a>(spec: &Spec, interface: &'a Interface, item: &ItemImpl) -> syn::Result<Vec<&'a Function>> {
    let mut errors: Option<syn::Error> = None;
    let mut report = |error: syn::Error| match &mut errors {
        Some(errors) => errors.combine(error),
        None => errors = Some(error),
    };
    let mut provided = Vec::new();
    for item in &item.items {
        let ImplItem::Fn(method) = item else { continue };
        let name = method.sig.ident.to_string();
        let name = name.strip_prefix("r#").unwrap_or(&name);
        match interface.methods().find(|function| function.name.value == name) {
            Some(function) => provided.push(function),
            None => {
                let known = interface.methods().map(|function| function.name.value.as_str());
                let hint =
                    nearest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let message =
                    format!("the spec has no function `{name}` in `{}`{hint}", interface.trait_name);
                report(syn::Error::new(method.sig.ident.span(), message));
            }
        }
    }
    let place = item.trait_.as_ref().map_or_else(Span::call_site, |(path, _)| path.span());
    for function in interface.methods() {
        if !function.is_optional() && !provided.iter().any(|known| std::ptr::eq(*known, function)) {
            report(syn::Error::new(place, missing(spec, interface, function)));
        }
    }
    errors.map_or(Ok(provided), Err)
}

/// What the spec says of a function that is not there.
fn missing(spec: &Spec, interface: &Interface, function: &Function) -> String {
    let because = match function.need {
        Need::Load => "a host refuses a plugin without it",
        _ => "a host loads a plugin without it, and then misbehaves",
    };
    let consequence = match function.when_null.is_empty() {
        true => String::new(),
        false => format!("\n  without it: {}", function.when_null.replace('\n', " ").trim()),
    };
    format!(
        "`{}` is missing: {because}\n  {}{consequence}\n  help: {}",
        function.name.value,
        function.summary,
        signature_text(spec, interface, function).split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

/// A plugin that is handed a table names its device.
pub const NO_NAME: &str = "a plugin needs a name: `#[tenon::plugin(device_type = \"…\")]`; without an entry point it is `#[tenon::device]`";

/// The entry point of a plugin that owns its table.
fn own_entry(
    table: &Table,
    owned: &OwnedTable,
    attribute: &Attribute,
    target: &syn::Type,
    module: &TokenStream,
) -> syn::Result<TokenStream> {
    if let Some(device_type) = &attribute.device_type {
        let message = "the plugin owns its table, and no device is named: leave `device_type` out";
        return Err(syn::Error::new(device_type.span(), message));
    }
    if !attribute.exports {
        return Ok(TokenStream::new());
    }
    let (symbol, name) = (names::symbol(&owned.entry), names::symbol(&table.c_name));
    let complete = attribute.complete.as_ref().map(|complete| quote! { #complete(&mut table); });
    Ok(quote! {
        /// Returns the table of this plugin; null if it could not be made.
        #[unsafe(no_mangle)]
        pub extern "C" fn #symbol() -> *const #module::ffi::#name {
            static TABLE: ::std::sync::OnceLock<usize> = ::std::sync::OnceLock::new();
            ::tenon::support::own(&TABLE, || {
                #[allow(unused_mut, reason = "a table may be complete as it is")]
                let mut table = #module::own_table::<#target>();
                #complete
                table
            })
        }
    })
}

fn entry(
    interface: &Interface,
    attribute: &Attribute,
    target: &syn::Type,
    module: &TokenStream,
) -> syn::Result<TokenStream> {
    if let Some((table, owned)) = interface.table().and_then(|table| Some((table, table.owned()?))) {
        return own_entry(table, owned, attribute, target, module);
    }
    let Some(device_type) = &attribute.device_type else {
        return match attribute.exports {
            true => Err(syn::Error::new(Span::call_site(), NO_NAME)),
            false => Ok(TokenStream::new()),
        };
    };
    let Some(plugin) = interface.table().and_then(|table| table.plugin()) else {
        let message =
            format!("`{}` is no interface of plugins: leave `device_type` out", interface.trait_name);
        return Err(syn::Error::new(device_type.span(), message));
    };
    let symbol = names::symbol(&plugin.entry);
    let text = std::ffi::CString::new(device_type.value())
        .map_err(|_| syn::Error::new(device_type.span(), "the name of a device has no zero byte"))?;
    if text.is_empty() {
        return Err(syn::Error::new(device_type.span(), "a device needs a name"));
    }
    Ok(quote! {
        /// Tells a loader that the entry point compares both sizes and writes nothing unless both are a release's.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals, reason = "a symbol of C")]
        pub static tenon_checks_both_sizes: u8 = 1;

        /// Names the functions whose slots hold the spec's fallbacks, separated by spaces.
        #[unsafe(no_mangle)]
        pub extern "C" fn tenon_fallbacks() -> *const ::core::ffi::c_char {
            static NAMES: ::std::sync::OnceLock<::std::ffi::CString> = ::std::sync::OnceLock::new();
            NAMES.get_or_init(#module::filled_by_fallbacks::<#target>).as_ptr()
        }

        /// Why the last call failed on the calling thread; null if none has.
        ///
        /// The text stays as it is until another call fails on the thread.
        #[unsafe(no_mangle)]
        pub extern "C" fn tenon_last_error() -> *const ::core::ffi::c_char {
            ::tenon::last_error(|message| message.map_or(::core::ptr::null(), ::core::ffi::CStr::as_ptr))
        }

        /// Called by the host once it has loaded this library.
        ///
        /// # Safety
        /// `params` is what the host hands over.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn #symbol(params: *mut ::core::ffi::c_void) {
            // SAFETY: the host's promise is handed on.
            if let ::core::result::Result::Err(error) = unsafe { #module::hand_over::<#target>(params, #text) } {
                ::tenon::support::write_line(::core::format_args!("{}: {error}", #device_type));
            }
        }
    })
}
