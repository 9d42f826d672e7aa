//! Lowers YAML trees to the model: resolves names, fills in defaults, and reports names that do not resolve.

mod c_words;
mod compute;
mod fallback;
mod function;
mod interface;
mod kernels;
mod nodes;
mod operators;
mod outputs;
mod param;
mod python;
mod reader;
mod reductions;
mod table;
mod types;
mod unresolved;

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{
    Function, Holds, Interface, InterfaceId, InterfaceKind, Operators, Param, ParamId, Part, Places, Prose,
    Release, Role, Spec, TableField, TypeId,
};
use crate::source::{At, Files, Sources, Span};
use crate::yaml::Node;
use reader::{InterfaceTrees, OperatorTrees, Trees};
use unresolved::{Namespace, References};

/// A spec, as far as it could be read, with its source files.
#[derive(Debug)]
pub struct Lowered {
    /// The files, for diagnostics.
    pub sources: Sources,
    /// The model; `None` if `spec.yaml` could not be read.
    pub spec: Option<Spec>,
    /// The errors so far.
    pub diagnostics: Diagnostics,
}

/// Reads and resolves a spec. Does not apply the rules of [`crate::check`].
pub fn lower(files: &dyn Files) -> Lowered {
    let mut sources = Sources::default();
    let mut diagnostics = Diagnostics::default();
    let spec = Trees::read(files, &mut sources, &mut diagnostics).map(|trees| {
        let operators = trees.operators.as_ref();
        let mut references = References::default();
        let operators =
            operators.map(|trees| operators::lower(trees, &sources, &mut references, &mut diagnostics));
        let mut lowerer = Lowerer {
            sources: &sources,
            diagnostics: &mut diagnostics,
            names: Names::of(&trees),
            types_missing: trees.interfaces.iter().map(|interface| interface.partial).collect(),
            operators_missing: trees.operators.is_none() && trees.spec.get("operators").is_some(),
            functions_missing: trees.interfaces.iter().map(|interface| interface.partial).collect(),
            misread_releases: Vec::new(),
            references,
        };
        let spec = lowerer.spec(&trees, operators);
        lowerer.references.report(&trees, lowerer.diagnostics);
        spec
    });
    Lowered { sources, spec, diagnostics }
}

fn names<'a>(node: &'a Node, key: &str) -> impl Iterator<Item = At<String>> + 'a {
    node.items_of(key).iter().filter_map(Node::at)
}

/// Names of items that can be referred to before they are lowered.
struct Names {
    interfaces: Vec<String>,
    unread: Vec<String>,
    types: Vec<BTreeMap<String, usize>>,
    /// For each interface: the names of its types, by their names in C.
    c_types: Vec<BTreeMap<String, String>>,
    functions: Vec<BTreeMap<String, usize>>,
}

impl Names {
    fn of(trees: &Trees) -> Self {
        let table = |key: &'static str| {
            trees
                .interfaces
                .iter()
                .map(|interface| {
                    let mut names = BTreeMap::new();
                    for (index, (_, node)) in interface.entries(key).enumerate() {
                        if let Some(name) = node.text_of("name") {
                            names.entry(name.to_owned()).or_insert(index);
                        }
                    }
                    names
                })
                .collect()
        };
        Names {
            interfaces: trees.interfaces.iter().map(|interface| interface.name.value.clone()).collect(),
            unread: trees.unread.clone(),
            types: table("types"),
            c_types: trees.interfaces.iter().map(c_types).collect(),
            functions: table("functions"),
        }
    }
}

fn c_types(interface: &InterfaceTrees) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for (_, node) in interface.entries("types") {
        let (Some(name), Some(c)) = (text(node, "name"), text(node, "c")) else { continue };
        if node.get("by").is_some() {
            names.insert(format!("{c}*"), name.clone());
        }
        names.insert(c, name);
    }
    names
}

struct Lowerer<'a> {
    sources: &'a Sources,
    diagnostics: &'a mut Diagnostics,
    names: Names,
    /// For each interface: true if types that it can use may be missing because of an error that is reported
    /// elsewhere.
    types_missing: Vec<bool>,
    /// True if operators are named but could not be read.
    operators_missing: bool,
    /// For each interface: the same for its functions.
    functions_missing: Vec<bool>,
    /// Unknown releases of the current interface that are already reported.
    misread_releases: Vec<String>,
    /// References to types, functions and statuses so far.
    references: References,
}

impl Lowerer<'_> {
    fn spec(&mut self, trees: &Trees, operators: Option<Operators>) -> Spec {
        let mut spec = Spec {
            project: prose(&trees.spec, "project"),
            summary: prose(&trees.spec, "summary"),
            outputs: trees.spec.get("outputs").map(|node| self.outputs(node)).unwrap_or_default(),
            command: text(&trees.spec, "command").unwrap_or_else(|| "cargo run -p codegen".to_owned()),
            interfaces: Vec::new(),
            operators,
        };
        for (index, interface) in trees.interfaces.iter().enumerate() {
            self.misread_releases.clear();
            let interface = self.interface(InterfaceId(index), interface, &spec);
            spec.interfaces.push(interface);
            place_fields(&mut spec);
            decide_forms(&mut spec);
        }
        super::refusal::mark_types(&mut spec);
        self.computations(&mut spec, trees);
        spec
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}

/// Computes the layout of the data members in the last interface's table. All of their types are known by now.
fn place_fields(spec: &mut Spec) {
    let sizes = |spec: &Spec| -> Option<Vec<(u64, u64)>> {
        let interface = spec.interfaces.last()?;
        let fields = interface.table()?.blocks.iter().flat_map(|block| &block.fields);
        let size = |field: &TableField| {
            let layout = crate::model::abi::struct_layout(
                spec,
                std::slice::from_ref(&field.param),
                interface.newest(),
            );
            layout.fields.first().map_or((0, 1), |(_, _, size)| (*size, layout.align))
        };
        Some(fields.map(size).collect())
    };
    let sizes = sizes(spec).unwrap_or_default();
    let Some(Interface { kind: InterfaceKind::Table(table), .. }) = spec.interfaces.last_mut() else {
        return;
    };
    let fields = table.blocks.iter_mut().flat_map(|block| &mut block.fields);
    for (field, (size, align)) in fields.zip(sizes) {
        (field.size, field.align) = (size, align);
    }
}

/// Computes the forms of the parameters in the last interface.
fn decide_forms(spec: &mut Spec) {
    let Some(interface) = spec.interfaces.last() else { return };
    let releases = |function: &Function| {
        let is_made = |param: &Param| spec.object(param.ty).is_some() || param.holds == Some(Holds::Value);
        let is_released = |param: &Param| param.role == Role::Destroys && is_made(param);
        function.params.iter().position(is_released).map(ParamId)
    };
    let forms: Vec<_> = (interface.functions.iter())
        .map(|function| (super::form::forms(spec, function), releases(function)))
        .collect();
    let functions = spec.interfaces.last_mut().into_iter().flat_map(|interface| &mut interface.functions);
    for (function, (forms, releases)) in functions.zip(forms) {
        (function.forms, function.releases) = (forms, releases);
    }
}

/// The items in scope while an interface is lowered.
#[derive(Clone, Copy)]
struct Scope<'a> {
    id: InterfaceId,
    trees: &'a InterfaceTrees,
    uses: &'a [InterfaceId],
    releases: &'a [Release],
    /// The status enum.
    status: Option<TypeId>,
    /// Its values, by name.
    statuses: &'a [String],
    /// The prefix of C names.
    prefix: &'a str,
    /// The first members of structs of arguments.
    args: Option<&'a (String, Option<String>)>,
}

impl Places {
    /// Returns the places of a mapping; `name` is the place of the whole.
    fn of(name: Span, node: &Node) -> Places {
        Places {
            key: name,
            value: node.span,
            extent: node.extent(),
            below: node
                .entries()
                .iter()
                .map(|(key, node)| (key.value.clone(), Places::of(key.span, node)))
                .collect(),
        }
    }
}

/// Returns the place of a part of a text, or of the whole text if YAML folds or escapes it.
fn within(sources: &Sources, node: &Node, text: &str, range: &std::ops::Range<usize>) -> Span {
    let source = &sources.file(node.span.file).text;
    let written = source.get(node.span.start..).unwrap_or_default();
    let skipped = match () {
        () if written.starts_with(text) => 0,
        () if written.get(1..).is_some_and(|inner| inner.starts_with(text)) => 1,
        () => return node.span,
    };
    let start = node.span.start + skipped;
    // The end of a text is shown at its last character.
    let first = range.start.min(text.len().saturating_sub(1));
    Span { start: start + first, end: start + range.end.max(first + 1), ..node.span }
}

fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key)?.text().map(|text| text.trim().to_owned())
}

fn prose(node: &Node, key: &str) -> String {
    text(node, key).unwrap_or_default()
}

/// Reads a text with parts for different readers, joined with or without paragraphs.
fn parts(node: Option<&Node>, paragraphs: bool) -> Prose {
    let trimmed = |node: &Node| node.text().map(|text| text.trim().to_owned());
    let part = |(part, key)| Some((part, trimmed(node?.get(key)?)?));
    let parts = match node.and_then(trimmed) {
        Some(text) => vec![(Part::All, text)],
        None => Part::KEYS.into_iter().filter_map(part).collect(),
    };
    Prose::new(parts, paragraphs)
}

fn flag(node: &Node, key: &str) -> bool {
    node.get(key).and_then(Node::bool).unwrap_or_default()
}

/// Returns a name with its place. A missing name is already reported; the place is then that of the node.
fn name(node: &Node) -> At<String> {
    node.name_of("name").unwrap_or(At { value: String::new(), span: node.span })
}
