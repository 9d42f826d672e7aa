//! The releases of a table, and the layout of each.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::model::abi::{self, MemberKind};
use crate::model::{ReleaseId, Table, TypeKind};

/// A layout of the table: that of a release, or the only one.
pub struct Layout {
    pub release: Option<ReleaseId>,
    /// `v3_1`, or nothing.
    pub suffix: String,
    pub variant: Ident,
    pub name: String,
}

/// Returns the layouts of a table, oldest first.
pub fn layouts(context: Context) -> Vec<Layout> {
    if context.interface.releases.is_empty() {
        let variant = names::symbol("Only");
        return vec![Layout { release: None, suffix: String::new(), variant, name: String::new() }];
    }
    context
        .interface
        .release_ids()
        .map(|(id, release)| Layout {
            release: Some(id),
            suffix: format!("_{}", names::release_module(&release.name.value)),
            variant: names::release_variant(&release.name.value),
            name: release.name.value.clone(),
        })
        .collect()
}

impl Layout {
    fn docs(&self) -> String {
        match self.release {
            Some(_) => format!(" Release {}.", self.name),
            None => " The only layout: the spec has no releases.".to_owned(),
        }
    }

    /// Returns the path of the raw types of this layout.
    pub fn module(&self) -> TokenStream {
        match self.release {
            Some(_) => {
                let module = names::release_module(&self.name);
                quote!(ffi::#module)
            }
            None => quote!(ffi),
        }
    }
}

/// Emits the enum of releases, with the sizes and offsets of each.
pub fn release_enum(context: Context, table: &Table, layouts: &[Layout]) -> TokenStream {
    let variants = layouts.iter().map(|layout| {
        let (variant, docs) = (&layout.variant, layout.docs());
        quote! { #[doc = #docs] #variant, }
    });
    let all = layouts.iter().map(|layout| {
        let variant = &layout.variant;
        quote!(Self::#variant)
    });
    let count = names::number(layouts.len() as u64);
    let newest = layouts.last().map(|layout| &layout.variant);
    let arm = |value: &dyn Fn(&Layout) -> TokenStream| -> Vec<TokenStream> {
        layouts
            .iter()
            .map(|layout| {
                let (variant, value) = (&layout.variant, value(layout));
                quote! { Self::#variant => #value, }
            })
            .collect()
    };
    let names_ = arm(&|layout| {
        let name = &layout.name;
        quote!(#name)
    });
    let sizes = arm(&|layout| {
        let size = names::number(abi::table_layout(context.interface, table, layout.release).size);
        quote!(#size)
    });
    let params = table.plugin().and_then(|plugin| match &context.spec.ty(plugin.params).kind {
        TypeKind::Struct { fields, .. } => Some(fields),
        _ => None,
    });
    let params_size = params.map(|fields| {
        let sizes = arm(&|layout| {
            let size = names::number(abi::struct_layout(context.spec, fields, layout.release).size);
            quote!(#size)
        });
        quote! {
            /// Returns the size in bytes of the params that are passed with the table.
            pub const fn params_size(self) -> usize {
                match self { #(#sizes)* }
            }
        }
    });
    let offsets = layouts.iter().map(|layout| {
        let variant = &layout.variant;
        let layout = abi::table_layout(context.interface, table, layout.release);
        let entries = layout.members.iter().filter_map(|member| match member.kind {
            MemberKind::Function(id) => {
                let function = context.interface.function(id).variant();
                let offset = names::number(member.offset);
                Some(quote! { Function::#function => #offset, })
            }
            _ => None,
        });
        let partial = layout.functions().count() < context.interface.functions.len();
        let rest = partial.then(|| quote! { _ => return ::core::option::Option::None, });
        quote! { Self::#variant => match function { #(#entries)* #rest }, }
    });
    quote! {
        /// A release of the host, identified by the layout of its table.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Release {
            #(#variants)*
        }

        impl Release {
            /// Every release, oldest first.
            pub const ALL: [Self; #count] = [#(#all),*];

            /// The newest release.
            pub const NEWEST: Self = Self::#newest;

            /// Returns its name in the spec.
            pub const fn name(self) -> &'static str {
                match self { #(#names_)* }
            }

            #params_size

            /// Returns the size of its table in bytes.
            pub const fn table_size(self) -> usize {
                match self { #(#sizes)* }
            }

            /// Returns the release with a table of this size, if it is known.
            pub fn of_table_size(bytes: usize) -> ::core::option::Option<Self> {
                Self::ALL.into_iter().find(|release| release.table_size() == bytes)
            }

            /// Bytes from the start of the table to a function's pointer, if the release has it.
            pub const fn offset_of(self, function: Function) -> ::core::option::Option<usize> {
                ::core::option::Option::Some(match self {
                    #(#offsets)*
                })
            }
        }
    }
}
