//! The entry point of a plugin, and the symbols beside it.

use proc_macro2::{Span, TokenStream};
use quote::quote;

use crate::{Attribute, Entry, Extension, Function, Purpose, Trait, ident};

/// The facts that determine the entry point.
pub(crate) struct Context<'a> {
    pub(crate) implemented: Trait<'a>,
    pub(crate) purpose: Purpose,
    pub(crate) attribute: &'a Attribute,
}

impl Context<'_> {
    /// Checks that a device has a name only if the entry point passes one to the host.
    pub(crate) fn check(&self) -> syn::Result<()> {
        if let (Purpose::Device, Some(operators)) = (self.purpose, &self.attribute.operators) {
            return Err(syn::Error::new_spanned(operators, "operators are registered by `#[tenon::plugin]`"));
        }
        if let (Purpose::Device, Some(collectives)) = (self.purpose, &self.attribute.collectives) {
            return Err(syn::Error::new_spanned(collectives, "collectives are added by `#[tenon::plugin]`"));
        }
        let Some(device_type) = &self.attribute.device_type else {
            let is_named = !matches!(self.implemented.entry, Some(Entry::ReturnsTable { .. }));
            if is_named && self.purpose == Purpose::Plugin {
                let message = "a plugin needs a name: `#[tenon::plugin(device_type = \"…\")]`; \
                               without an entry point it is `#[tenon::device]`";
                return Err(syn::Error::new(Span::call_site(), message));
            }
            return Ok(());
        };
        let refuse = |message: &str| Err(syn::Error::new(device_type.span(), message));
        match (self.purpose, self.implemented.entry) {
            (Purpose::Device, _) => refuse("an entry point is for `#[tenon::plugin]`"),
            (Purpose::Plugin, None) => refuse(&format!(
                "`{}` is not an interface of plugins: leave `device_type` out",
                self.implemented.name
            )),
            (Purpose::Plugin, Some(Entry::ReturnsTable { .. })) => {
                refuse("the plugin owns its table, and no device is named: leave `device_type` out")
            }
            (Purpose::Plugin, Some(Entry::TakesParams(_))) if device_type.value().is_empty() => {
                refuse("a device needs a name")
            }
            (Purpose::Plugin, Some(Entry::TakesParams(_))) => Ok(()),
        }
    }

    /// Returns the symbols that the library exports.
    pub(crate) fn expand(
        &self,
        target: &syn::Type,
        plugin: &syn::Type,
        module: &TokenStream,
    ) -> syn::Result<TokenStream> {
        match (self.purpose, self.implemented.entry) {
            (Purpose::Device, _) | (_, None) => Ok(TokenStream::new()),
            (_, Some(Entry::ReturnsTable { symbol, table })) => {
                Ok(self.returns_table(symbol, table, target, module))
            }
            (_, Some(Entry::TakesParams(symbol))) => self.takes_params(symbol, target, plugin, module),
        }
    }

    /// Returns the extension, if the library is a plugin with a function of it.
    pub(crate) fn extension(&self, provided: &[&Function]) -> Option<Extension<'_>> {
        let extension = self.implemented.extension?;
        let has_functions =
            self.attribute.fallbacks || provided.iter().any(|function| function.is_in_extension);
        (self.purpose == Purpose::Plugin && has_functions).then_some(extension)
    }

    fn returns_table(
        &self,
        symbol: &str,
        table: &str,
        target: &syn::Type,
        module: &TokenStream,
    ) -> TokenStream {
        let (symbol, name) = (ident(symbol), ident(table));
        let complete = self.attribute.complete.as_ref().map(|complete| quote! { #complete(&mut table); });
        quote! {
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
        }
    }

    fn takes_params(
        &self,
        symbol: &str,
        target: &syn::Type,
        plugin: &syn::Type,
        module: &TokenStream,
    ) -> syn::Result<TokenStream> {
        let Some(device_type) = &self.attribute.device_type else { return Ok(TokenStream::new()) };
        let symbol = ident(symbol);
        let text = std::ffi::CString::new(device_type.value())
            .map_err(|_| syn::Error::new(device_type.span(), "the name of a device has no zero byte"))?;
        let register = self.attribute.operators.as_ref().map(|operators| {
            quote! {
                if let ::core::result::Result::Ok(release) = outcome {
                    if let ::core::result::Result::Err(error) = #operators::register::<#target>(release, #text) {
                        ::tenon::support::refuse(::core::format_args!("{}: {error}", #device_type));
                    }
                }
            }
        });
        let in_manifest = crate::manifest::escaped(&device_type.value());
        Ok(quote! {
            ::tenon::__manifest!(#in_manifest, #target);

            /// Reports to a loader that the entry point compares both sizes and writes only if both belong to a release.
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals, reason = "a symbol of C")]
            pub static tenon_checks_both_sizes: u8 = 1;

            /// Names the functions whose slots hold the spec's fallbacks, separated by spaces.
            #[unsafe(no_mangle)]
            pub extern "C" fn tenon_fallbacks() -> *const ::core::ffi::c_char {
                static NAMES: ::std::sync::OnceLock<::std::ffi::CString> = ::std::sync::OnceLock::new();
                NAMES.get_or_init(#module::filled_by_fallbacks::<#plugin>).as_ptr()
            }

            /// Returns the message of the last call that failed on the calling thread; null if none has.
            ///
            /// The text stays as it is until another call fails on the thread.
            #[unsafe(no_mangle)]
            pub extern "C" fn tenon_last_error() -> *const ::core::ffi::c_char {
                ::tenon::last_error(|message| message.map_or(::core::ptr::null(), ::core::ffi::CStr::as_ptr))
            }

            /// Called by the host once it has loaded this library.
            ///
            /// # Safety
            /// `params` is the struct that the host passes.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn #symbol(params: *mut ::core::ffi::c_void) {
                // SAFETY: the host's promise is handed on.
                let outcome = unsafe { #module::hand_over::<#plugin>(params, #text) };
                #register
                if let ::core::result::Result::Err(error) = outcome {
                    ::tenon::support::refuse(::core::format_args!("{}: {error}", #device_type));
                }
            }
        })
    }
}

/// Returns the function that returns the extension of a plugin.
pub(crate) fn export_extension(
    extension: Extension,
    plugin: &syn::Type,
    module: &TokenStream,
) -> TokenStream {
    let (symbol, table) = (ident(extension.symbol), ident(extension.table));
    quote! {
        /// Returns the functions of this plugin that the host's table has no slot for; null if the table could not
        /// be made.
        #[unsafe(no_mangle)]
        pub extern "C" fn #symbol() -> *const #module::ffi::#table {
            static TABLE: ::std::sync::OnceLock<usize> = ::std::sync::OnceLock::new();
            ::tenon::support::own(&TABLE, #module::extension::<#plugin>)
        }
    }
}
