//! The code that detects the host's release and fills its table.

use crate::emit::rust::types::ffi;
use crate::emit::rust::types::raw_types;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::releases::{Layout, layouts, release_enum};
use super::signature::{self, for_each_signature};
use crate::emit::rust::context::Context;
use crate::emit::rust::method::thunk::thunk_name;
use crate::emit::rust::names;
use crate::model::abi;
use crate::model::{Extension, Holds, OwnedTable, Plugin, Table, TypeKind};

pub fn emit(context: Context, table: &Table) -> TokenStream {
    let trait_name = names::symbol(&context.interface.trait_name);
    let layouts = layouts(context);
    let fills = layouts.iter().map(|layout| fill(table, layout));
    let slots = slots(context);
    let release = release_enum(context, table, &layouts);
    // A table without releases has only one layout, and its function is already called `fill`.
    let newest = layouts.last().filter(|layout| layout.release.is_some()).map(|layout| {
        let name = format_ident!("fill{}", layout.suffix);
        quote! {
            #[doc(inline)]
            pub use self::#name as fill;
        }
    });
    let entry = table.plugin().map(|plugin| entry(context, table, plugin, &layouts));
    let owned = table.owned().map(|owned| own_table(context, table, owned, &layouts));
    let extension = table.extension.as_ref().map(|extension| extension_table(context, extension));
    quote! {
        /// An implementation that a host can call: its instance, and the slots that it fills.
        pub trait Plugin: 'static {
            /// The type whose functions the table calls, usually the implementation itself.
            type Instance: Partial + ?::core::marker::Sized;
            /// The functions that the implementation has.
            const PROVIDED: Provided;
            /// True if missing optional functions are filled with the spec's fallbacks.
            const FALLBACKS: bool;

            /// Returns the instance whose functions the table calls. The first call creates it.
            fn instance() -> &'static Self::Instance;

            /// Returns the instance with the spec's fallbacks.
            fn whole() -> WithFallbacks<&'static Self::Instance> {
                WithFallbacks(Self::instance())
            }

            /// Returns true if the slot of a function is filled.
            fn fills(function: Function) -> bool {
                Self::PROVIDED.has(function)
                    || function.is_always_filled()
                    || (Self::FALLBACKS && function.has_fallback())
            }
        }

        /// Returns the functions whose slots an implementation fills with the spec's fallbacks: their names,
        /// separated by spaces.
        pub fn filled_by_fallbacks<D: Plugin>() -> ::std::ffi::CString {
            let names: ::std::vec::Vec<&str> = Function::ALL
                .into_iter()
                .filter(|function| D::fills(*function) && !D::PROVIDED.has(*function))
                .map(Function::name)
                .collect();
            __comment!("Names of functions contain no NUL.");
            ::std::ffi::CString::new(names.join(" ")).unwrap_or_default()
        }

        const _: () = {
            const fn assert_object_safe(_: ::core::option::Option<&dyn #trait_name>) {}
            assert_object_safe(::core::option::Option::None);
        };

        #release
        #slots
        #(#fills)*
        #newest
        #entry
        #owned
        #extension
    }
}

/// Emits the second table, for functions that the host's table has no slot for.
fn extension_table(context: Context, extension: &Extension) -> TokenStream {
    let name = names::symbol(&extension.c_name);
    let [major, minor] = extension.version().map(names::number);
    let (slots, _) = abi::extension_layout(extension);
    let offsets = slots.iter().map(|(id, offset)| {
        let variant = context.interface.function(*id).variant();
        let offset = names::number(*offset);
        quote! { Self::#variant => ::core::option::Option::Some(#offset), }
    });
    quote! {
        impl Function {
            /// Bytes from the start of the extension to the function's pointer, if the function is in the extension.
            pub const fn offset_in_extension(self) -> ::core::option::Option<usize> {
                match self {
                    #(#offsets)*
                    _ => ::core::option::Option::None,
                }
            }
        }

        /// Returns the extension of a plugin: its size, its version, and the functions that the implementation has.
        pub fn extension<D: Plugin>() -> ffi::#name {
            __comment!("SAFETY: zero is a valid value of every member: a number, or a null function.");
            let mut table: ffi::#name = unsafe { ::core::mem::zeroed() };
            table.size = ::core::mem::size_of::<ffi::#name>();
            table.major = #major;
            table.minor = #minor;
            let start = ::core::ptr::from_mut(&mut table).cast::<::core::ffi::c_void>();
            for function in Function::ALL {
                if let ::core::option::Option::Some(offset) = function.offset_in_extension()
                    && D::fills(function)
                {
                    __comment!("SAFETY: the slot of the function is at this offset of the table.");
                    unsafe {
                        start
                            .byte_add(offset)
                            .cast::<*const ::core::ffi::c_void>()
                            .write(slot::<D>(function, Release::NEWEST));
                    }
                }
            }
            table
        }
    }
}

/// Emits the table that the plugin owns, and how older and newer hosts read it.
fn own_table(context: Context, table: &Table, owned: &OwnedTable, layouts: &[Layout]) -> TokenStream {
    let Some(newest) = layouts.last() else { return TokenStream::new() };
    let (module, fill) = (newest.module(), format_ident!("fill{}", newest.suffix));
    let (name, size_field) = (names::symbol(&table.c_name), names::snake(&table.size_field));
    let version = owned.version.as_ref().and_then(|(field, numbers)| {
        let ty = table.field(field)?.ty;
        let Some(TypeKind::Struct { fields, .. }) = context.spec.kind(ty) else { return None };
        let place = names::snake(field);
        let parts = context.spec.version_fields(ty).into_iter().zip(numbers).map(|(field, number)| {
            let (field, number) = (field.ident(), names::number(*number));
            quote! { table.#place.#field = #number; }
        });
        let path = ty.id().map(|id| ffi::struct_path(context, id, &module));
        let size = fields.iter().find(|field| field.holds == Some(Holds::Size)).map(|field| {
            let field = field.ident();
            quote! { table.#place.#field = ::core::mem::size_of::<#path>(); }
        });
        Some(quote! { #size #(#parts)* })
    });
    quote! {
        /// Returns a table that the plugin owns: its size, version and functions are set, and the rest is zero.
        pub fn own_table<D: Plugin>() -> #module::#name {
            __comment!("SAFETY: zero is a valid value of every member: a null function, a null pointer, a number.");
            let mut table: #module::#name = unsafe { ::core::mem::zeroed() };
            table.#size_field = ::core::mem::size_of::<#module::#name>();
            #version
            #fill::<D>(&mut table);
            table
        }

        impl Release {
            /// Returns the newest release whose table fits into this size.
            pub fn in_table(bytes: usize) -> ::core::option::Option<Self> {
                Self::ALL.into_iter().rev().find(|release| release.table_size() <= bytes)
            }
        }
    }
}

/// Emits the values for the slots of a table.
fn slots(context: Context) -> TokenStream {
    let arms = context.interface.functions.iter().map(|function| {
        let variant = function.variant();
        let address = for_each_signature(context, function, &quote!(release), |release| {
            let thunk = thunk_name(context, function, release);
            let ty = signature::path(context, function, release);
            quote!(thunk::#thunk::<D> as #ty as *const ::core::ffi::c_void)
        });
        quote! { Function::#variant => #address, }
    });
    let of_errors = context.interface.function_ids().filter(|(id, _)| context.interface.is_of_errors(*id));
    let of_errors = of_errors.map(|(_, function)| {
        let variant = function.variant();
        quote! { || function == Function::#variant }
    });
    quote! {
        /// Returns the function for a slot in the table of a release.
        #[allow(unused_variables, reason = "all releases may have the same signatures")]
        fn slot<D: Plugin>(function: Function, release: Release) -> *const ::core::ffi::c_void {
            match function { #(#arms)* }
        }

        /// Fills a table; does not write slots whose function the implementation lacks.
        ///
        /// # Safety
        /// The table has the layout of that release.
        pub unsafe fn fill_slots<D: Plugin>(release: Release, table: *mut ::core::ffi::c_void) {
            for function in Function::ALL {
                if let ::core::option::Option::Some(offset) = release.offset_of(function)
                    && (D::fills(function) #(#of_errors)*)
                {
                    __comment!("SAFETY: a table of the release has the slot at this offset.");
                    unsafe {
                        table
                            .byte_add(offset)
                            .cast::<*const ::core::ffi::c_void>()
                            .write(slot::<D>(function, release));
                    }
                }
            }
        }
    }
}

fn fill(table: &Table, layout: &Layout) -> TokenStream {
    let name = format_ident!("fill{}", layout.suffix);
    let (module, table_name, variant) = (layout.module(), names::symbol(&table.c_name), &layout.variant);
    let of_release = match layout.name.as_str() {
        "" => String::new(),
        name => format!(" of release {name}"),
    };
    let docs =
        format!(" Fills a table{of_release}; does not write slots whose function the implementation lacks.");
    quote! {
        #[doc = #docs]
        pub fn #name<D: Plugin>(table: &mut #module::#table_name) {
            __comment!("SAFETY: the type is that of the release.");
            unsafe { fill_slots::<D>(Release::#variant, ::core::ptr::from_mut(table).cast()) }
        }
    }
}

fn entry(context: Context, table: &Table, plugin: &Plugin, layouts: &[Layout]) -> TokenStream {
    let TypeKind::Struct { fields, .. } = &context.spec.ty(plugin.params).kind else {
        return TokenStream::new();
    };
    let table_name = names::symbol(&table.c_name);
    let (size_field, params_size) = (names::snake(&table.size_field), names::snake(&plugin.size));
    let (table_field, version_field, type_field) =
        (names::snake(&plugin.table), names::snake(&plugin.version_field), names::snake(&plugin.device_type));
    let version = plugin.version.map(names::number);
    let version_type = fields.iter().find(|field| field.name.value == plugin.version_field);
    let version_value = version_type.map(|field| match context.spec.kind(field.ty) {
        Some(TypeKind::Struct { fields, .. }) => {
            let names = fields.iter().map(|field| field.ident());
            let path = field.ty.id().map(|id| raw_types::ffi_path(context, id));
            quote!(#path { #(#names: #version),* })
        }
        _ => quote!(::core::default::Default::default()),
    });
    let known: Vec<String> = layouts
        .iter()
        .map(|layout| {
            let table = abi::table_layout(context.interface, table, layout.release).size;
            let params = abi::struct_layout(context.spec, fields, layout.release).size;
            format!("{} ({table}/{params})", layout.name)
        })
        .collect();
    let unknown = format!(
        "the plugin does not know the release of this host: its table has {{table}} bytes and its params have {{params}}; \
         known are {}. Install one of these releases, or a newer plugin",
        known.join(", ")
    );
    let arms = layouts.iter().map(|layout| {
        let module = layout.module();
        let params = ffi::struct_path(context, plugin.params, &module);
        let fill = format_ident!("fill{}", layout.suffix);
        let variant = &layout.variant;
        quote! {
            Release::#variant => {
                let params = params.cast::<#params>();
                __comment!("SAFETY: by both sizes, the structs are those of this release; the host owns them during the call.");
                unsafe {
                    #fill::<D>(&mut *table.cast::<#module::#table_name>());
                    (*params).#version_field = #version_value;
                    (*params).#type_field = device_type.as_ptr().cast_mut();
                }
            }
        }
    });
    let known_sizes = layouts.iter().map(|layout| {
        let variant = &layout.variant;
        let table_size = names::number(abi::table_layout(context.interface, table, layout.release).size);
        let params_size = names::number(abi::struct_layout(context.spec, fields, layout.release).size);
        quote! { (#table_size, #params_size) => ::core::result::Result::Ok(Release::#variant), }
    });
    // The first two members of the params are the size and the table in every release.
    let first = layouts.first().map(Layout::module).unwrap_or_default();
    let first_params = ffi::struct_path(context, plugin.params, &first);
    quote! {
        /// The reason for which a plugin rejected a host. Nothing was written.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum HandOverError {
            /// The host passed a null or misaligned pointer.
            Null,
            /// No known release has these sizes.
            UnknownHost {
                /// Size of the table in bytes, as the host says.
                table: usize,
                /// Size of the params in bytes, as the host says.
                params: usize,
            },
            /// The variable `TENON_LOG` has an unknown value.
            Log(&'static ::tenon::BadLogLevel),
        }

        impl ::core::fmt::Display for HandOverError {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self {
                    Self::Null => formatter.write_str("the host passed no params, or params without a table"),
                    Self::UnknownHost { table, params } => ::core::write!(formatter, #unknown),
                    Self::Log(refusal) => ::core::fmt::Display::fmt(refusal, formatter),
                }
            }
        }

        impl ::core::error::Error for HandOverError {}

        /// Detects the release of a host by the sizes that it passes. Writes nothing.
        ///
        /// # Errors
        /// [`HandOverError`].
        ///
        /// # Safety
        /// `params` is null, or points to the host's params, whose first two members are their size and the table.
        pub unsafe fn host_release(
            params: *const ::core::ffi::c_void,
        ) -> ::core::result::Result<Release, HandOverError> {
            let head = params.cast::<#first_params>();
            if head.is_null() || !head.is_aligned() {
                return ::core::result::Result::Err(HandOverError::Null);
            }
            __comment!("SAFETY: the caller promises the two members; no other one is read before the sizes are known.");
            let (params_size, table) = unsafe {
                ((&raw const (*head).#params_size).read(), (&raw const (*head).#table_field).read().cast::<#first::#table_name>())
            };
            if table.is_null() || !table.is_aligned() {
                return ::core::result::Result::Err(HandOverError::Null);
            }
            __comment!("SAFETY: the first member of every table is its size.");
            let table_size: usize = unsafe { (&raw const (*table).#size_field).read() };
            match (table_size, params_size) {
                #(#known_sizes)*
                _ => ::core::result::Result::Err(HandOverError::UnknownHost { table: table_size, params: params_size }),
            }
        }

        /// Fills the table of a host. Detects the host's release by the sizes that it passes.
        ///
        /// # Errors
        /// [`HandOverError`]. Nothing was written then, and the host ignores the plugin.
        ///
        /// # Safety
        /// `params` is null, or points to the host's params, whose first two members are their size and the table.
        pub unsafe fn hand_over<D: Plugin>(
            params: *mut ::core::ffi::c_void,
            device_type: &'static ::core::ffi::CStr,
        ) -> ::core::result::Result<Release, HandOverError> {
            __comment!("SAFETY: the caller's promise.");
            let release = unsafe { host_release(params)? };
            ::tenon::log_level().map_err(HandOverError::Log)?;
            __comment!("SAFETY: the host's params are those of a known release, so they have a table.");
            let table = unsafe { (&raw const (*params.cast::<#first_params>()).#table_field).read() };
            match release {
                #(#arms)*
            }
            ::tenon::support::log_handed_over(device_type, release.name());
            ::core::result::Result::Ok(release)
        }
    }
}
