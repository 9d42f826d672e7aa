//! From YAML trees to the model: resolves names, fills in defaults, and reports what does not resolve.

mod c_words;
mod fallback;
mod function;
mod interface;
mod kernels;
mod operators;
mod outputs;
mod param;
mod python;
mod table;
mod types;
mod unresolved;

use std::collections::BTreeMap;

use super::*;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::grammar;
use crate::source::{Content, FileId, Files, Node, Sources, parse, shape, text::decode};
use operators::OperatorTrees;
use unresolved::{Namespace, References};

/// A spec as far as it could be understood, and the texts that it came from.
#[derive(Debug)]
pub struct Lowered {
    /// The files, for diagnostics.
    pub sources: Sources,
    /// The model; `None` when `spec.yaml` could not be read at all.
    pub spec: Option<Spec>,
    /// The errors so far.
    pub diagnostics: Diagnostics,
}

/// Reads a spec and resolves it. The rules of [`crate::check`] have not been applied yet.
pub fn lower(files: &dyn Files) -> Lowered {
    let mut sources = Sources::default();
    let mut diagnostics = Diagnostics::default();
    let spec = Trees::read(files, &mut sources, &mut diagnostics).map(|trees| {
        let operators = trees.operators.as_ref();
        let operators = operators.map(|trees| operators::lower(trees, &sources, &mut diagnostics));
        let mut lowerer = Lowerer {
            diagnostics: &mut diagnostics,
            names: Names::of(&trees),
            types_missing: trees.interfaces.iter().map(|interface| interface.partial).collect(),
            functions_missing: trees.interfaces.iter().map(|interface| interface.partial).collect(),
            misread_releases: Vec::new(),
            references: References::default(),
        };
        let spec = lowerer.spec(&trees, operators);
        lowerer.references.report(&trees, lowerer.diagnostics);
        spec
    });
    Lowered { sources, spec, diagnostics }
}

/// Every file of a spec as a tree.
struct Trees {
    spec: Node,
    interfaces: Vec<InterfaceTrees>,
    operators: Option<OperatorTrees>,
    /// Interfaces that are named but could not be read.
    unread: Vec<String>,
}

struct InterfaceTrees {
    name: At<String>,
    interface: Node,
    groups: Vec<(At<String>, Node)>,
    kernels: Vec<Node>,
    /// True if a group could not be read, so that names may be missing for that reason alone.
    partial: bool,
}

impl InterfaceTrees {
    fn entries<'a>(&'a self, key: &'a str) -> impl Iterator<Item = (GroupId, &'a Node)> {
        self.groups.iter().enumerate().flat_map(move |(index, (_, group))| {
            group.get(key).into_iter().flat_map(Node::items).map(move |node| (GroupId(index), node))
        })
    }
}

impl Trees {
    fn read(files: &dyn Files, sources: &mut Sources, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut reader = Reader { files, sources, diagnostics };
        let spec = match reader.read("spec.yaml") {
            Ok(file) => reader.parse(file, &grammar::SPEC)?,
            Err(error) => {
                let file = reader.sources.add(files.display("spec.yaml"), "");
                reader.diagnostics.push(Diagnostic::new(
                    Code::MissingFile,
                    Span { file, start: 0, end: 0 },
                    format!("cannot read `spec.yaml`: {error}"),
                ));
                return None;
            }
        };
        let operators = spec.get("operators").and_then(Node::at).and_then(|name| reader.operators(&name));
        let mut trees = Trees { interfaces: Vec::new(), operators, unread: Vec::new(), spec };
        for name in reader.distinct(&trees.spec, "interfaces") {
            match reader.interface(&name) {
                Some(interface) => trees.interfaces.push(interface),
                None => trees.unread.push(name.value),
            }
        }
        Some(trees)
    }
}

struct Reader<'a> {
    files: &'a dyn Files,
    sources: &'a mut Sources,
    diagnostics: &'a mut Diagnostics,
}

impl Reader<'_> {
    fn interface(&mut self, name: &At<String>) -> Option<InterfaceTrees> {
        let path = format!("{}/interface.yaml", name.value);
        let file = self.add(&path, name)?;
        let interface = self.parse(file, &grammar::INTERFACE)?;
        let named = self.distinct(&interface, "groups");
        let wanted = named.len();
        let found: Vec<(At<String>, FileId)> = named
            .into_iter()
            .filter_map(|group| {
                let file = self.add(&format!("{}/{}.yaml", name.value, group.value), &group)?;
                Some((group, file))
            })
            .collect();
        let groups: Vec<(At<String>, Node)> = found
            .into_iter()
            .filter_map(|(group, file)| Some((group, self.parse(file, &grammar::GROUP)?)))
            .collect();
        self.report_strays(&name.value, "interface", &interface, "groups");
        let kernels = self.kernels(name, &interface);
        // Without the list, or where a group does not name its entries, nothing is known to be missing.
        let partial = groups.len() < wanted
            || interface.get("groups").is_none()
            || groups.iter().any(|(_, group)| lacks_names(group));
        Some(InterfaceTrees { name: name.clone(), partial, interface, groups, kernels })
    }

    /// The names in a list; what is named twice is read once.
    fn distinct(&mut self, node: &Node, key: &str) -> Vec<At<String>> {
        let mut distinct: Vec<At<String>> = Vec::new();
        for name in names(node, key) {
            match distinct.iter().find(|known| known.value == name.value) {
                None => distinct.push(name),
                Some(first) => Diagnostic::new(
                    Code::DuplicateName,
                    name.span,
                    format!("`{}` is named twice", name.value),
                )
                .label("the second time")
                .related(first.span, "the first time")
                .add_to(self.diagnostics),
            }
        }
        distinct
    }

    /// Adds a file to the sources, in whichever encoding it is.
    fn read(&mut self, path: &str) -> std::io::Result<FileId> {
        let decoded = decode(self.files.read(path))?;
        let file = FileId(self.sources.files().count());
        if let Some(diagnostic) = decoded.diagnostic(file) {
            self.diagnostics.push(diagnostic);
        }
        Ok(self.sources.add(self.files.display(path), decoded.text))
    }

    /// Reads a file that some name stands for.
    fn add(&mut self, path: &str, name: &At<String>) -> Option<FileId> {
        match self.read(path) {
            Ok(file) => Some(file),
            Err(error) => {
                Diagnostic::new(Code::MissingFile, name.span, format!("cannot read `{path}`: {error}"))
                    .label("named here")
                    .add_to(self.diagnostics);
                None
            }
        }
    }

    fn parse(&mut self, file: FileId, shape: &'static shape::Shape) -> Option<Node> {
        let node = parse(file, &self.sources.file(file).text, self.diagnostics)?;
        self.check(node, shape)
    }

    /// A file without a mapping is as good as unread: it is reported once, and not for each name that it
    /// lacks.
    fn check(&mut self, node: Node, shape: &'static shape::Shape) -> Option<Node> {
        let is_map = matches!(node.content, Content::Map(_));
        if node.is_null() {
            let needed = shape.keys.iter().filter(|key| key.needed).map(|key| format!("`{}`", key.name));
            let message = format!("this file is empty, and {} is expected", shape.name);
            let start = Span { start: 0, end: 0, ..node.span };
            let diagnostic = Diagnostic::new(Code::WrongValue, start, message);
            let needed = needed.collect::<Vec<_>>().join(", ");
            self.diagnostics.push(diagnostic.help(format!("it begins with the keys {needed}")));
        } else {
            shape::check(&node, &shape::Value::Shape(shape), self.diagnostics);
        }
        is_map.then_some(node)
    }

    /// Reports files that the list at `key` does not name; `list` is the stem of the file that holds it.
    fn report_strays(&mut self, folder: &str, list: &str, node: &Node, key: &str) {
        let Some(groups) = node.get(key) else { return };
        for file in self.files.list(folder) {
            let place = groups.items().last().map_or(groups.span, |last| last.span);
            if let Some(stem) = file.strip_suffix(".yml") {
                let message = format!("`{folder}/{file}` is not read: it does not end in `.yaml`");
                Diagnostic::new(Code::StrayFile, place, message)
                    .label("groups are read from files that end in `.yaml`")
                    .help(format!("rename it to `{stem}.yaml`, or remove the file"))
                    .add_to(self.diagnostics);
                continue;
            }
            let stem = file.trim_end_matches(".yaml");
            if stem != list && !groups.items().iter().any(|group| group.text() == Some(stem)) {
                Diagnostic::new(
                    Code::StrayFile,
                    place,
                    format!("`{folder}/{file}` is not one of the groups"),
                )
                .label("not in this list")
                .help(format!("add `{stem}` to the groups, or remove the file"))
                .add_to(self.diagnostics);
            }
        }
    }
}

/// Returns true if entries of a group are missing, or lack their name, because of errors that were reported
/// before.
fn lacks_names(group: &Node) -> bool {
    let is_known = |key: &str| grammar::GROUP.keys.iter().any(|known| known.name == key);
    let lacks = |node: &Node| match &node.content {
        Content::List(entries) => {
            entries.iter().any(|entry| entry.get("name").and_then(Node::text).is_none())
        }
        _ => true,
    };
    group.entries().iter().any(|(key, _)| !is_known(&key.value))
        || ["types", "functions"].into_iter().filter_map(|key| group.get(key)).any(lacks)
}

fn names<'a>(node: &'a Node, key: &str) -> impl Iterator<Item = At<String>> + 'a {
    node.get(key).into_iter().flat_map(Node::items).filter_map(Node::at)
}

/// Items that can be referred to before they are lowered.
struct Names {
    interfaces: Vec<String>,
    unread: Vec<String>,
    types: Vec<BTreeMap<String, usize>>,
    /// The names of types by their names in C.
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
                        if let Some(name) = node.get("name").and_then(Node::text) {
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
    diagnostics: &'a mut Diagnostics,
    names: Names,
    /// Of each interface: whether types in reach may be missing because of a mistake that is reported
    /// elsewhere.
    types_missing: Vec<bool>,
    /// Of each interface: the same of its functions.
    functions_missing: Vec<bool>,
    /// Releases of the current interface that are none and have been reported.
    misread_releases: Vec<String>,
    /// Names of types, functions and statuses so far.
    references: References,
}

impl Lowerer<'_> {
    fn spec(&mut self, trees: &Trees, operators: Option<Operators>) -> Spec {
        let mut spec = Spec {
            project: text(&trees.spec, "project").unwrap_or_default(),
            summary: text(&trees.spec, "summary").unwrap_or_default(),
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
        spec
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}

/// Measures the data members of the table of the last interface, whose types are all known now.
fn place_fields(spec: &mut Spec) {
    let sizes = |spec: &Spec| -> Option<Vec<(u64, u64)>> {
        let interface = spec.interfaces.last()?;
        let fields = interface.table()?.blocks.iter().flat_map(|block| &block.fields);
        let size = |field: &TableField| {
            let layout =
                crate::abi::struct_layout(spec, std::slice::from_ref(&field.param), interface.newest());
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

/// Decides what the parameters of the last interface are.
fn decide_forms(spec: &mut Spec) {
    let Some(interface) = spec.interfaces.last() else { return };
    let forms: Vec<_> =
        interface.functions.iter().map(|function| super::form::forms(spec, function)).collect();
    let functions = spec.interfaces.last_mut().into_iter().flat_map(|interface| &mut interface.functions);
    functions.zip(forms).for_each(|(function, forms)| function.forms = forms);
}

/// The items in scope while an interface is lowered.
#[derive(Clone, Copy)]
struct Scope<'a> {
    id: InterfaceId,
    uses: &'a [InterfaceId],
    releases: &'a [Release],
    /// The status enum.
    status: Option<TypeId>,
    /// Its values, by name.
    statuses: &'a [String],
    /// The prefix of C names.
    prefix: &'a str,
    /// The prefix of structs of arguments.
    args: Option<&'a (String, Option<String>)>,
}

impl Places {
    /// The places of a mapping; `name` stands for the whole.
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

fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key)?.text().map(|text| text.trim().to_owned())
}

fn prose(node: &Node, key: &str) -> String {
    text(node, key).unwrap_or_default()
}

/// A text whose parts are for different readers; as paragraphs, or as one.
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

/// A name with its place; the place of the whole node where the name is missing and has been reported.
fn name(node: &Node) -> At<String> {
    node.get("name").and_then(Node::at).unwrap_or(At { value: String::new(), span: node.span })
}
