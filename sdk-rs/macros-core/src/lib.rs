//! The attributes `plugin` and `device` on an `impl` of a generated trait.
//!
//! They fill the slots of exactly the functions that the `impl` has, and report missing ones in the terms of
//! the spec. The description of a trait is data: `tenon-macros` has a generated table of Tenon's traits, and
//! `tenon-spec-macros` does the same for any other spec.

mod arguments;
mod entry;
mod manifest;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::{Ident, ImplItem, ItemImpl, LitStr, parse_quote};

pub use arguments::{Attribute, Specs};

/// A trait that devices implement.
#[derive(Clone, Copy, Debug)]
pub struct Trait<'a> {
    /// Its name.
    pub name: &'a str,
    /// The module of its interface.
    pub module: &'a str,
    /// The means by which a host gets the table.
    pub entry: Option<Entry<'a>>,
    /// The second table that a plugin exports.
    pub extension: Option<Extension<'a>>,
    /// The releases of the host, oldest first.
    pub releases: &'a [&'a str],
    /// Its methods, in the order of the spec.
    pub functions: &'a [Function<'a>],
    /// The names of those that a crate named by the argument `collectives` has.
    pub collectives: &'a [&'a str],
}

impl Trait<'_> {
    /// Returns the position of a release among those of the host.
    fn position(self, release: &str) -> Option<usize> {
        self.releases.iter().position(|known| *known == release)
    }
}

/// A table for the functions that the host's table has no slot for.
#[derive(Clone, Copy, Debug)]
pub struct Extension<'a> {
    /// The symbol that returns it.
    pub symbol: &'a str,
    /// Its struct in C.
    pub table: &'a str,
}

/// A method of a trait.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its variant in the enum of the interface's functions.
    pub variant: &'a str,
    /// The reason for which the `impl` of a trait must have it, for a message; `None`: it is optional.
    pub missing: Option<&'a str>,
    /// The first release that has it; `None`: all releases have it.
    pub since: Option<&'a str>,
    /// True if its slot is in the extension.
    pub is_in_extension: bool,
    /// The plugins whose slot the spec's fallback fills.
    pub filled: Filled,
}

/// The plugins without a function whose slot the spec's fallback fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// None: there is no fallback, or it only returns an error.
    Never,
    /// Those that ask for fallbacks.
    OnRequest,
    /// All, because null is unsound in a host.
    Always,
}

/// The symbol of a plugin that a host calls.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// It takes the host's params, and the table in them.
    TakesParams(&'a str),
    /// It returns the table, which the plugin owns.
    ReturnsTable {
        /// The symbol.
        symbol: &'a str,
        /// The struct of the table in C.
        table: &'a str,
    },
}

/// The use of the attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A library that a host loads: it exports the entry point.
    Plugin,
    /// A device that other code hands over.
    Device,
}

/// Expands the attribute on an `impl` of one of the traits.
///
/// # Errors
/// Everything that does not fit the spec, each at its place.
pub fn expand(
    traits: &[Trait],
    purpose: Purpose,
    attribute: &Attribute,
    item: &ItemImpl,
) -> syn::Result<TokenStream> {
    let implemented = find_trait(traits, item)?;
    let entry_of = entry::Context { implemented, purpose, attribute };
    entry_of.check()?;
    let oldest = attribute.since.as_ref().map(|since| release(implemented, since)).transpose()?;
    let mut provided = check(implemented, oldest, attribute, item)?;
    let extension = entry_of.extension(&provided);
    let module = match &attribute.module {
        Some(module) => quote!(#module),
        None => {
            let name = ident(implemented.module);
            quote!(::tenon::#name)
        }
    };
    let target = &item.self_ty;
    let fallbacks = attribute.fallbacks;
    let new = match &attribute.new {
        Some(new) => quote!(#new),
        None => quote!(<#target as ::core::default::Default>::default()),
    };
    let variants: Vec<Ident> = provided.iter().map(|function| ident(function.variant)).collect();
    // The type whose functions the host gets: the device, or what wraps it.
    let plugin: syn::Type = match &attribute.collectives {
        Some(_) => parse_quote!(WithCollectives),
        None => parse_quote!(#target),
    };
    let extension = extension.map(|extension| entry::export_extension(extension, &plugin, &module));
    let entry = entry_of.expand(target, &plugin, &module)?;
    let mut entry = quote!(#entry #extension);
    if let Some(collectives) = &attribute.collectives {
        let added = |function: &&Function| implemented.collectives.contains(&function.name);
        provided.extend(implemented.functions.iter().filter(added));
        entry = quote! {
            const _: () = {
                #collectives::plugin_with_collectives!(#plugin, #target);
                #entry
            };
        };
    }
    let members = manifest::members(implemented, attribute, oldest, &provided);
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
            const FALLBACKS: bool = #fallbacks;

            fn instance() -> &'static Self {
                static INSTANCE: ::std::sync::OnceLock<#target> = ::std::sync::OnceLock::new();
                INSTANCE.get_or_init(|| #new)
            }
        }

        impl ::tenon::support::Described for #target {
            const MEMBERS: &'static str = #members;
        }

        #entry
    })
}

/// Parses an identifier that the generator has written, which may be a raw one.
fn ident(text: &str) -> Ident {
    syn::parse_str(text).unwrap_or_else(|_| Ident::new("_", Span::call_site()))
}

fn find_trait<'a>(traits: &'a [Trait<'a>], item: &ItemImpl) -> syn::Result<Trait<'a>> {
    let known = || traits.iter().map(|known| format!("`{}`", known.name)).collect::<Vec<_>>().join(", ");
    let Some((path, _)) = &item.trait_ else {
        let message = format!("this attribute is for the `impl` of a trait of the spec: {}", known());
        return Err(syn::Error::new(item.impl_token.span(), message));
    };
    let name = path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
    traits.iter().find(|known| known.name == name).copied().ok_or_else(|| {
        syn::Error::new(path.span(), format!("the spec has no trait `{name}`; it has {}", known()))
    })
}

/// Returns the position of the release that the attribute names.
fn release(implemented: Trait, name: &LitStr) -> syn::Result<usize> {
    let text = name.value();
    implemented.position(&text).ok_or_else(|| {
        let message = match implemented.releases {
            [] => format!("`{}` has no releases: leave `since` out", implemented.name),
            known => format!("there is no release `{text}`; the spec has {}", known.join(", ")),
        };
        syn::Error::new(name.span(), message)
    })
}

/// Returns the functions that an `impl` has; an error for each method that the spec does not have, that is missing, that
/// came after the oldest release, or that a crate has for the device.
fn check<'a>(
    implemented: Trait<'a>,
    oldest: Option<usize>,
    attribute: &Attribute,
    item: &ItemImpl,
) -> syn::Result<Vec<&'a Function<'a>>> {
    // The release with which a function came, and the oldest one, if the function came later.
    let came_later = |function: &Function<'a>| -> Option<(&str, &str)> {
        let (since, oldest) = (function.since?, oldest?);
        (implemented.position(since)? > oldest).then(|| (since, implemented.releases[oldest]))
    };
    let mut errors: Option<syn::Error> = None;
    let mut report = |error: syn::Error| match &mut errors {
        Some(errors) => errors.combine(error),
        None => errors = Some(error),
    };
    let mut provided: Vec<&Function> = Vec::new();
    for item in &item.items {
        let ImplItem::Fn(method) = item else { continue };
        let name = method.sig.ident.to_string();
        let name = name.strip_prefix("r#").unwrap_or(&name);
        match implemented.functions.iter().find(|function| function.name == name) {
            Some(function) => {
                if let Some((since, oldest)) = came_later(function) {
                    let message = format!(
                        "`{name}` came with release {since}, and this device is made for {oldest} and later\n  \
                         help: leave the function out, or write `since = \"{since}\"`"
                    );
                    report(syn::Error::new(method.sig.ident.span(), message));
                }
                if attribute.collectives.is_some() && implemented.collectives.contains(&function.name) {
                    let message = format!(
                        "`{name}` is one of the collectives that are added to this device\n  \
                         help: leave the function or the argument `collectives` out"
                    );
                    report(syn::Error::new(method.sig.ident.span(), message));
                }
                provided.push(function);
            }
            None => {
                let hint = nearest(name, implemented.functions.iter().map(|function| function.name));
                let hint = hint.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let message = format!("the spec has no function `{name}` in `{}`{hint}", implemented.name);
                report(syn::Error::new(method.sig.ident.span(), message));
            }
        }
    }
    let place = item.trait_.as_ref().map_or_else(Span::call_site, |(path, _)| path.span());
    for function in implemented.functions {
        if let Some(missing) = function.missing
            && !provided.iter().any(|known| known.name == function.name)
        {
            report(syn::Error::new(place, missing));
        }
    }
    errors.map_or(Ok(provided), Err)
}

/// Returns the most similar known name, for messages about an unknown name.
fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.len() / 3).max(1);
    let distances =
        candidates.into_iter().map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate));
    let near = distances.filter(|(distance, _)| *distance <= allowed);
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}
