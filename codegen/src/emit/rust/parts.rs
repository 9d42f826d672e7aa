//! The parts of a module, written to one file or to one file each.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::library::{export, forwarder, import, refusal};
use crate::emit::rust::method::{fallback, thunk, traits};
use crate::emit::rust::names;
use crate::emit::rust::objects;
use crate::emit::rust::table::{
    c_functions, calls, functions, loaded, plugin, raw_call, reflection, signature,
};
use crate::emit::rust::text::file;
use crate::emit::rust::text::imports::{Used, defined};
use crate::emit::rust::types::{declarations, ffi};
use crate::model::{Group, GroupId, Interface, InterfaceKind};

/// The division of a module into files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileForm {
    /// One file.
    One,
    /// A folder with a file for each part.
    Folder,
}

/// A generated file.
#[derive(Debug)]
pub struct RustFile {
    /// Its path in the folder; empty for the only file.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// A module: the content of its root, and its parts.
#[derive(Default)]
pub(super) struct Module {
    /// Lines that are only needed if the module is a file.
    of_file: TokenStream,
    /// Lines that are only needed if the parts have no files.
    of_one: TokenStream,
    root: TokenStream,
    parts: Vec<Part>,
    /// The names of the module `api` that the parts may use.
    of_api: BTreeSet<String>,
}

/// A part of a module, which may have its own file.
struct Part {
    name: Ident,
    /// The attributes and the visibility of the part; `None` if it is a module only when it has its own file.
    module: Option<TokenStream>,
    /// True if it uses no names of the root.
    is_alone: bool,
    content: TokenStream,
}

impl Part {
    /// Returns the content with its imports.
    fn with(&self, imports: impl FnOnce() -> TokenStream) -> TokenStream {
        let imports = (!self.is_alone).then(imports);
        let content = &self.content;
        quote! { #imports #content }
    }
}

impl Module {
    /// Makes a module without parts.
    pub(super) fn of(root: TokenStream) -> Self {
        Module { root, ..Module::default() }
    }

    /// Adds a part whose content belongs to the module itself.
    fn push(&mut self, name: &str, content: TokenStream) {
        if !content.is_empty() {
            self.parts.push(Part { name: names::snake(name), module: None, is_alone: false, content });
        }
    }

    /// Adds a part that is always a module, and uses the names of the root.
    fn push_module(&mut self, name: &str, (module, content): (TokenStream, TokenStream)) {
        let module = Some(module);
        self.parts.push(Part { name: names::snake(name), module, is_alone: false, content });
    }

    /// Adds a part that is always a module: the tokens before `mod`, and its content.
    fn push_alone(&mut self, name: &str, (module, content): (TokenStream, TokenStream)) {
        self.parts.push(Part { name: names::snake(name), module: Some(module), is_alone: true, content });
    }

    /// Returns the whole module as tokens, without `of_file`.
    pub(super) fn flat(&self) -> TokenStream {
        // The module may also use what its file imports, such as `core::ffi::c_void`.
        let parent = quote! {
            #[allow(unused_imports, reason = "an interface may name no type but its own")]
            use super::*;
        };
        let parts = self.parts.iter().map(|part| match &part.module {
            None => part.content.clone(),
            Some(module) => {
                let (name, content) = (&part.name, part.with(|| parent.clone()));
                quote! { #module mod #name { #content } }
            }
        });
        let (root, of_one) = (&self.root, &self.of_one);
        quote! { #of_one #root #(#parts)* }
    }

    /// Returns the whole module as tokens, for one file.
    pub(super) fn file(&self) -> TokenStream {
        let (of_file, flat) = (&self.of_file, self.flat());
        quote! { #of_file #flat }
    }

    /// Returns the files.
    pub(super) fn files(self, form: FileForm) -> Vec<RustFile> {
        if form == FileForm::One {
            return vec![RustFile { path: String::new(), text: file::text(self.file()) }];
        }
        let (of_file, root) = (&self.of_file, &self.root);
        let modules = self.parts.iter().map(|Part { name, module, .. }| match module {
            Some(module) => quote! { #module mod #name; },
            None => quote! { mod #name; },
        });
        let public = self.parts.iter().filter(|part| part.module.is_none()).map(|part| &part.name);
        let mut paths = vec!["mod.rs".to_owned()];
        let mut modules = vec![quote! { #(#modules)* #of_file #(pub use self::#public::*;)* #root }];
        let names = self.names();
        for part in &self.parts {
            let name = part.name.to_string();
            paths.push(format!("{}.rs", name.strip_prefix("r#").unwrap_or(&name)));
            modules.push(part.with(|| self.imports(part, &names)));
        }
        let texts = file::texts(modules);
        paths.into_iter().zip(texts).map(|(path, text)| RustFile { path, text }).collect()
    }

    /// Returns the names that a part which is a module can import from the root.
    fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        defined(&self.of_file, &mut names);
        defined(&self.root, &mut names);
        for part in &self.parts {
            match part.module {
                Some(_) => names.extend([part.name.to_string()]),
                None => defined(&part.content, &mut names),
            }
        }
        names
    }

    /// Returns the imports of a part.
    fn imports(&self, part: &Part, names: &BTreeSet<String>) -> TokenStream {
        let used = Used::by(&part.content);
        let mut own = BTreeSet::new();
        defined(&part.content, &mut own);
        let foreign = |names: &BTreeSet<String>| names.difference(&own).cloned().collect::<Vec<_>>();
        let (root, api) = (foreign(names), foreign(&self.of_api));
        let root = used.import_of(quote!(super), root.iter().map(String::as_str));
        let api = used.import_of(quote!(super::api), api.iter().map(String::as_str));
        quote! { #root #api }
    }
}

/// Assembles the module of an interface.
pub(super) fn interface(context: Context) -> Module {
    let interface = context.interface;
    let mut module = Module::default();
    // Types of other interfaces are named by their module, also in the modules below this one.
    let others = interface.uses.iter().map(|id| {
        let module = context.spec.interfaces[id.0].ident();
        quote! {
            #[allow(unused_imports, reason = "its names may only be used in a macro that is not expanded")]
            pub(crate) use super::#module;
        }
    });
    // Hand-written functions are in a module next to that of the interface.
    module.of_file = if interface.strategies.is_empty() {
        TokenStream::new()
    } else {
        quote! { use super::strategy; }
    };
    let errors = declarations::error_aliases(context);
    module.root = quote! { #(#others)* #errors };
    match &interface.kind {
        InterfaceKind::Export if !interface.trait_groups().is_empty() => {
            push_groups(context, &mut module);
            let (sum, failures) = (traits::sum(context), export::failures(context));
            module.root.extend(quote! { #sum #failures });
            module.push_module("ffi", ffi::emit(context));
            return module;
        }
        InterfaceKind::Objects => {
            push_groups(context, &mut module);
            module.push("release", objects::release::emit(context));
            module.push("host", objects::emit(context));
            module.push_module("thunk", objects::thunks(context));
            module.push_module("between", objects::between(context));
            module.push_module("ffi", ffi::emit(context));
            return module;
        }
        _ => module.push("types", declarations::emit(context)),
    }
    module.push_module("ffi", ffi::emit(context));
    match &interface.kind {
        // Only types, which other interfaces use.
        _ if interface.functions.is_empty() => {}
        InterfaceKind::Table(table) => {
            module.push("functions", functions::emit(context));
            // Its names are those of `tenon::reflect`.
            module.push_alone("reflection", reflection::emit(context));
            module.root.extend(reflection::of_functions());
            module.push("traits", traits::emit(context));
            module.push("fallbacks", fallback::emit(context));
            let (calls, c_functions) = (calls::emit(context), c_functions::emit(context));
            module.push("calls", quote! { #calls #c_functions });
            module.push_module("signature", signature::emit(context));
            module.push_module("thunk", thunk::emit(context));
            module.push("plugin", plugin::emit(context, table));
            // Both need a status type, which an interface may lack.
            if interface.status.is_some() {
                let (loaded, raw_call) = (loaded::emit(context), raw_call::emit(context));
                module.push("loaded", quote! { #loaded #raw_call });
            }
        }
        InterfaceKind::Export => {
            module.push("traits", traits::emit(context));
            module.root.extend(export::failures(context));
        }
        InterfaceKind::Import { libraries } => module.push("symbols", import::emit(context, libraries)),
        InterfaceKind::HostTable { .. } => {
            module.push("release", objects::release::emit(context));
            module.push("symbols", import::of_table(context));
        }
        // Returned above.
        InterfaceKind::Objects => {}
    }
    module
}

/// Adds a part for the types and the trait of each group.
fn push_groups(context: Context, module: &mut Module) {
    for (id, group) in groups(context.interface) {
        let (types, methods) = (declarations::of_group(context, id), methods(context, id));
        let content = quote! { #types #methods };
        if !content.is_empty() {
            module.push(&names::part(context, group), content);
        }
    }
}

/// Assembles the exported functions of an interface.
pub(super) fn exports(context: Context) -> Module {
    let mut root = export::head();
    if context.is_forwarded() {
        root.extend(forwarder::addresses(context));
    }
    let mut module = by_group(context, root, export::functions);
    let refused = refusal::list(context);
    if !refused.is_empty() {
        let summary = quote! { #[doc = " The functions that the library refuses, each with its reason."] };
        module.push_module(refusal::MODULE, (summary, refused));
    }
    module
}

/// Assembles the functions that forward to the exported functions of another library.
pub(super) fn forwarders(context: Context) -> Module {
    let list = forwarder::list(context);
    let imports = Used::by(&list).import(quote!(super::api), &["ffi"]);
    Module::of(quote! { #imports #list })
}

/// Assembles a module with a part for each group that has functions.
fn by_group(context: Context, root: TokenStream, functions: fn(Context, GroupId) -> TokenStream) -> Module {
    let of_one = quote! {
        #[allow(unused_imports, reason = "the spec determines which of the names are used")]
        use super::api::*;
    };
    let mut module = Module { of_one, of_api: names_of_api(context), ..Module::of(root) };
    for (id, group) in groups(context.interface) {
        if context.interface.methods_in(id).next().is_some() {
            module.push_module(&names::part(context, group), (TokenStream::new(), functions(context, id)));
        }
    }
    module
}

fn groups(interface: &Interface) -> impl Iterator<Item = (GroupId, &Group)> {
    interface.groups.iter().enumerate().map(|(index, group)| (GroupId(index), group))
}

fn methods(context: Context, id: GroupId) -> TokenStream {
    match context.interface.methods_in(id).next() {
        Some(_) => traits::of_group(context, id),
        None => TokenStream::new(),
    }
}

/// Returns the names of an interface that its exported functions may use.
fn names_of_api(context: Context) -> BTreeSet<String> {
    let interface = context.interface;
    let types = interface.implemented_types().map(|ty| names::symbol(&ty.name.value));
    let traits =
        interface.trait_groups().into_iter().map(|(id, _)| names::symbol(&interface.group_trait(id)));
    let modules = interface.uses.iter().map(|id| context.spec.interfaces[id.0].ident());
    let names = types.chain(traits).chain(modules).chain([names::trait_of(interface)]);
    let names = names.map(|name| name.to_string());
    names.chain(["Error", "Result", "ffi"].map(str::to_owned)).collect()
}
