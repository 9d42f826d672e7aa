//! Loaded plugins: an implementation of the trait that calls the table of another library.

use crate::emit::rust::types::api_type::status_type;
use proc_macro2::TokenStream;
use quote::quote;

use super::loaded_method::method;
use crate::emit::rust::context::Context;
use crate::emit::rust::method::error_object;
use crate::emit::rust::names;
use crate::model::Extension;
use crate::model::abi;

pub fn emit(context: Context) -> TokenStream {
    let name = names::trait_of(context.interface);
    let count = names::number(context.interface.functions.len() as u64);
    let status = status_type(context);
    let methods = context.interface.methods().map(|function| method(context, function));
    let failure = match context.interface.error {
        Some(error) => error_object::reader(context, error),
        None => quote! {
            #[allow(dead_code, reason = "an interface may have no function that fails")]
            fn check(&self, function: &'static str, status: #status) -> Result<()> {
                match ::tenon::StatusCode::code(status) {
                    0 => ::core::result::Result::Ok(()),
                    _ => ::core::result::Result::Err(self.failure(function, status)),
                }
            }

            #[cold]
            #[allow(dead_code, reason = "an interface may have no function that fails")]
            fn failure(&self, function: &'static str, status: #status) -> Error {
                let message = self.last_error.map(|last_error| {
                    __comment!("SAFETY: the creator of this object promised that the function may be called.");
                    let __call = || unsafe { last_error() };
                    ::tenon::support::guard(self.name.as_deref(), "tenon_last_error", __call)
                });
                __comment!("SAFETY: the function returns null or a string that lives until the thread's next failure.");
                unsafe { ::tenon::support::answered(function, status, message) }
            }
        },
    };
    let from_own_table = context.interface.table().filter(|table| table.owned().is_some()).map(|_| {
        quote! {
            /// Reads the pointers of a plugin's own table that this code knows.
            ///
            /// Returns `None` if the table is null, misaligned, or shorter than that of the oldest release.
            ///
            /// # Safety
            /// `table` is null, or points to a table that begins with its size. Its functions live as long as this
            /// object and its clones, and behave as the spec says.
            pub unsafe fn from_own_table(table: *const ::core::ffi::c_void) -> ::core::option::Option<Self> {
                if table.is_null() || !table.cast::<usize>().is_aligned() {
                    return ::core::option::Option::None;
                }
                __comment!("SAFETY: not null and aligned; the caller promises the size.");
                let release = Release::in_table(unsafe { table.cast::<usize>().read() })?;
                __comment!("SAFETY: a table that is as long as that of a release begins with the same layout.");
                ::core::option::Option::Some(unsafe { Self::from_table(release, table, ::core::option::Option::None) })
            }
        }
    });
    let extension = context.interface.table().and_then(|table| table.extension.as_ref());
    let with_extension = extension.map(with_extension);
    quote! {
        /// Returns the message of the last failed call on the calling thread; null if there is none.
        pub type LastError = unsafe extern "C-unwind" fn() -> *const ::core::ffi::c_char;

        /// A plugin in another library, with the table that it filled.
        ///
        /// Adapts signatures that differ in its release. A function without a pointer behaves like one that is not
        /// implemented.
        #[derive(Clone, Debug)]
        pub struct Loaded {
            release: Release,
            slots: [*const ::core::ffi::c_void; #count],
            name: ::core::option::Option<::std::sync::Arc<str>>,
            last_error: ::core::option::Option<LastError>,
            #[allow(dead_code, reason = "it is dropped with this, and never read")]
            kept: ::core::option::Option<::std::sync::Arc<dyn ::core::any::Any + ::core::marker::Send + ::core::marker::Sync>>,
        }

        __comment!("SAFETY: the pointers are functions that any thread may call by the interface's contract, and the kept value is `Send + Sync`.");
        unsafe impl ::core::marker::Send for Loaded {}
        __comment!("SAFETY: as above.");
        unsafe impl ::core::marker::Sync for Loaded {}

        impl Loaded {
            #from_own_table

            /// Reads the pointers of a filled table.
            ///
            /// # Safety
            /// `table` is aligned, and has the layout of `release`. Its functions, and `last_error`, live as long as
            /// this object and its clones, and behave as the spec says.
            pub unsafe fn from_table(
                release: Release,
                table: *const ::core::ffi::c_void,
                last_error: ::core::option::Option<LastError>,
            ) -> Self {
                let slot = |function| match release.offset_of(function) {
                    ::core::option::Option::Some(offset) => {
                        __comment!("SAFETY: the caller promises a table of that layout.");
                        unsafe { table.byte_add(offset).cast::<*const ::core::ffi::c_void>().read() }
                    }
                    ::core::option::Option::None => ::core::ptr::null(),
                };
                Self { release, slots: Function::ALL.map(slot), name: ::core::option::Option::None, last_error, kept: ::core::option::Option::None }
            }

            #with_extension

            /// Keeps a value alive as long as this object and its clones, such as the library with the functions.
            pub fn keeping(self, kept: ::std::sync::Arc<dyn ::core::any::Any + ::core::marker::Send + ::core::marker::Sync>) -> Self {
                Self { kept: ::core::option::Option::Some(kept), ..self }
            }

            /// Sets the name of the plugin, for the message about an exception that leaves one of its functions.
            pub fn named(self, name: &str) -> Self {
                Self { name: ::core::option::Option::Some(name.into()), ..self }
            }

            /// Returns the release whose table layout the plugin filled.
            pub fn release(&self) -> Release {
                self.release
            }

            /// Returns true if the plugin has a function.
            pub fn has(&self, function: Function) -> bool {
                !self.slots[function as usize].is_null()
            }

            /// Returns the pointer in the slot of a function, as the plugin wrote it; null if the plugin lacks the
            /// function.
            pub fn slot(&self, function: Function) -> *const ::core::ffi::c_void {
                self.slots[function as usize]
            }

            /// Returns the function in a slot.
            ///
            /// # Safety
            /// `T` is the signature of the function in the plugin's release.
            unsafe fn callable<T>(&self, function: Function) -> Result<T> {
                let slot = self.slots[function as usize];
                if slot.is_null() {
                    return ::core::result::Result::Err(Error::unsupported(function.name()));
                }
                __comment!("SAFETY: not null, and the caller's promise.");
                ::core::result::Result::Ok(unsafe { ::tenon::support::function(slot) })
            }

            #failure
        }

        impl Partial for Loaded {
            fn provides(&self, function: Function) -> bool {
                self.has(function)
            }
        }

        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        impl #name for Loaded {
            #(#methods)*
        }
    }
}

/// Emits the code that reads the second table of a plugin.
fn with_extension(extension: &Extension) -> TokenStream {
    let [major, _] = extension.version().map(names::number);
    let head = names::number(abi::EXTENSION_HEAD);
    let major_offset = names::number(abi::POINTER);
    quote! {
        /// Reads the functions of a plugin's extension that both sides know.
        ///
        /// Ignores an extension of another major version.
        ///
        /// # Safety
        /// `extension` is null, or points to an extension, which begins with its size and its version. Its functions
        /// live as long as this object and its clones, and behave as the spec says.
        pub unsafe fn with_extension(mut self, extension: *const ::core::ffi::c_void) -> Self {
            if extension.is_null() || !extension.cast::<usize>().is_aligned() {
                return self;
            }
            __comment!("SAFETY: not null and aligned; the caller promises the size.");
            let size = unsafe { extension.cast::<usize>().read() };
            __comment!("SAFETY: the caller promises the version behind the size.");
            if size < #head || unsafe { extension.byte_add(#major_offset).cast::<u32>().read() } != #major {
                return self;
            }
            for function in Function::ALL {
                if let ::core::option::Option::Some(offset) = function.offset_in_extension()
                    && offset + ::core::mem::size_of::<*const ::core::ffi::c_void>() <= size
                {
                    __comment!("SAFETY: the extension contains this slot completely.");
                    self.slots[function as usize] =
                        unsafe { extension.byte_add(offset).cast::<*const ::core::ffi::c_void>().read() };
                }
            }
            self
        }
    }
}
