//! The data about each trait that the attribute macros need, also as the source of a table.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::rust::method::traits::signature_text;
use crate::emit::rust::{names, operators};
use crate::model::{Extension, Fallback, FallbackKind, Function, HandOver, Interface, Need, Spec, Table};

/// The name of the group that an attribute's argument `collectives` is about.
const COLLECTIVES: &str = "collective";

/// A trait that devices implement.
#[derive(Debug)]
pub struct TraitTable {
    /// Its name.
    pub name: String,
    /// The module of its interface.
    pub module: String,
    /// The symbol through which a host receives the table.
    pub entry: Option<TraitEntry>,
    /// The second table that a plugin exports.
    pub extension: Option<TraitExtension>,
    /// The releases of the host, oldest first.
    pub releases: Vec<String>,
    /// Its methods, in the order of the spec.
    pub functions: Vec<TraitFunction>,
    /// The names of those that a crate named by the argument `collectives` has: the group of this name.
    pub collectives: Vec<String>,
}

/// A table for functions that have no slot in the host's table.
#[derive(Debug)]
pub struct TraitExtension {
    /// The symbol that returns it.
    pub symbol: String,
    /// Its struct.
    pub table: String,
}

/// A method of a trait.
#[derive(Debug)]
pub struct TraitFunction {
    /// Its name in the spec.
    pub name: String,
    /// Its variant of `Function`.
    pub variant: String,
    /// The reason for which it is required; `None`: it is optional.
    pub missing: Option<String>,
    /// The first release that has it; `None`: all releases have it.
    pub since: Option<String>,
    /// True if its slot is in the extension.
    pub is_in_extension: bool,
    /// The plugins whose slot the fallback fills.
    pub filled: SlotFilled,
}

/// The plugins without a function whose slot the spec's fallback fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotFilled {
    /// None: there is no fallback, or it only returns an error.
    Never,
    /// Those that ask for fallbacks.
    OnRequest,
    /// All, because null is unsound in a host.
    Always,
}

impl SlotFilled {
    /// Returns the plugins for which a function's slot is filled.
    pub(super) fn of(function: &Function) -> Self {
        // If the fallback only returns an error, a null slot has the same effect and is clearer.
        let helps = |fallback: &Fallback| !matches!(fallback.kind, FallbackKind::Refuse { .. });
        match (function.fill_always, &function.fallback) {
            (true, _) => Self::Always,
            (false, Some(fallback)) if helps(fallback) => Self::OnRequest,
            (false, _) => Self::Never,
        }
    }
}

/// The symbol of a plugin that a host calls.
#[derive(Debug)]
pub enum TraitEntry {
    /// The function takes the host's params.
    TakesParams(String),
    /// The function returns the table.
    ReturnsTable {
        /// The symbol.
        symbol: String,
        /// The struct of the table.
        table: String,
    },
}

/// Returns the traits of a spec whose implementations fill a table.
pub fn traits(spec: &Spec) -> Vec<TraitTable> {
    let interfaces = spec.interfaces.iter();
    interfaces.filter_map(|interface| Some(of_table(spec, interface, interface.table()?))).collect()
}

fn of_table(spec: &Spec, interface: &Interface, table: &Table) -> TraitTable {
    let entry = match &table.hand_over {
        HandOver::Unknown => None,
        HandOver::Params(plugin) => Some(TraitEntry::TakesParams(names::symbol(&plugin.entry).to_string())),
        HandOver::Owned(owned) => Some(TraitEntry::ReturnsTable {
            symbol: names::symbol(&owned.entry).to_string(),
            table: names::symbol(&table.c_name).to_string(),
        }),
    };
    let in_extension = |function: &Function| {
        let mut slots = table.extension.iter().flat_map(Extension::functions);
        slots.any(|slot| std::ptr::eq(interface.function(slot.value), function))
    };
    let functions = interface.methods().map(|function| TraitFunction {
        name: function.name.value.clone(),
        variant: function.variant().to_string(),
        missing: (!function.is_optional()).then(|| missing(spec, interface, function)),
        since: function.availability.since.map(|id| interface.releases[id.0].name.value.clone()),
        is_in_extension: in_extension(function),
        filled: SlotFilled::of(function),
    });
    let collectives =
        interface.methods().filter(|function| interface.groups[function.group.0].name == COLLECTIVES);
    TraitTable {
        name: interface.trait_name.clone(),
        module: interface.ident().to_string(),
        entry,
        extension: table.extension.as_ref().map(|extension| TraitExtension {
            symbol: names::symbol(&extension.entry).to_string(),
            table: names::symbol(&extension.c_name).to_string(),
        }),
        releases: interface.releases.iter().map(|release| release.name.value.clone()).collect(),
        functions: functions.collect(),
        collectives: collectives.map(|function| function.name.value.clone()).collect(),
    }
}

/// Returns the message about a missing function.
fn missing(spec: &Spec, interface: &Interface, function: &Function) -> String {
    let because = match function.need {
        Need::Load => "a host refuses a plugin without it",
        _ => "a host loads a plugin without it, and then misbehaves",
    };
    let consequence = if function.when_null.is_empty() {
        String::new()
    } else {
        format!("\n  without it: {}", function.when_null.replace('\n', " ").trim())
    };
    format!(
        "`{}` is missing: {because}\n  {}{consequence}\n  help: {}",
        function.name.value,
        function.summary,
        signature_text(spec, interface, function).split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

/// Returns the table as the source of a constant.
pub fn source(spec: &Spec) -> TokenStream {
    let operators = spec.operators.as_ref().map(operators::table);
    let entries = traits(spec).into_iter().map(|table| {
        let TraitTable { name, module, entry, extension, releases, functions, collectives } = table;
        let entry = match entry {
            None => quote!(None),
            Some(TraitEntry::TakesParams(symbol)) => quote!(Some(Entry::TakesParams(#symbol))),
            Some(TraitEntry::ReturnsTable { symbol, table }) => {
                quote!(Some(Entry::ReturnsTable { symbol: #symbol, table: #table }))
            }
        };
        let extension = match extension {
            None => quote!(None),
            Some(TraitExtension { symbol, table }) => {
                quote!(Some(Extension { symbol: #symbol, table: #table }))
            }
        };
        let functions = functions.into_iter().map(|function| {
            let TraitFunction { name, variant, missing, since, is_in_extension, filled } = function;
            let function = match missing {
                Some(missing) => quote!(required(#name, #variant, #missing)),
                None if is_in_extension => quote!(in_extension(#name, #variant)),
                None => quote!(optional(#name, #variant)),
            };
            let function = match filled {
                SlotFilled::Never => function,
                SlotFilled::OnRequest => quote!(emulated(#function)),
                SlotFilled::Always => quote!(always_filled(#function)),
            };
            since.map(|since| quote!(later(#since, #function))).unwrap_or(function)
        });
        quote! {
            Trait {
                name: #name,
                module: #module,
                entry: #entry,
                extension: #extension,
                releases: &[#(#releases),*],
                functions: &[#(#functions),*],
                collectives: &[#(#collectives),*],
            }
        }
    });
    quote! {
        use tenon_macros_core::{Entry, Extension, Filled, Function, Trait};

        const fn optional(name: &'static str, variant: &'static str) -> Function<'static> {
            Function { name, variant, missing: None, since: None, is_in_extension: false, filled: Filled::Never }
        }

        const fn in_extension(name: &'static str, variant: &'static str) -> Function<'static> {
            Function { name, variant, missing: None, since: None, is_in_extension: true, filled: Filled::Never }
        }

        const fn required(
            name: &'static str,
            variant: &'static str,
            missing: &'static str,
        ) -> Function<'static> {
            Function { name, variant, missing: Some(missing), since: None, is_in_extension: false, filled: Filled::Never }
        }

        const fn emulated(function: Function<'static>) -> Function<'static> {
            Function { filled: Filled::OnRequest, ..function }
        }

        const fn always_filled(function: Function<'static>) -> Function<'static> {
            Function { filled: Filled::Always, ..function }
        }

        const fn later(since: &'static str, function: Function<'static>) -> Function<'static> {
            Function { since: Some(since), ..function }
        }

        /// The traits of the spec.
        pub(crate) const TRAITS: &[Trait] = &[#(#entries),*];

        #operators
    }
}
