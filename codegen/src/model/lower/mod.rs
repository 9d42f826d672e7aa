//! From YAML trees to the model: resolves names, fills in defaults, and reports what does not resolve.

mod fallback;
mod function;
mod interface;
mod param;
mod table;
mod types;

use std::collections::BTreeMap;

use super::*;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::grammar;
use crate::source::{FileId, Files, Node, Sources, parse, shape};

/// A spec as far as it could be understood, and the texts that it came from.
#[derive(Debug)]
pub struct Lowered {
    /// The files, for diagnostics.
    pub sources: Sources,
    /// The model; `None` when `spec.yaml` could not be read at all.
    pub spec: Option<Spec>,
    /// What was wrong so far.
    pub diagnostics: Diagnostics,
}

/// Reads a spec and resolves it. The rules of [`crate::check`] have not been applied yet.
pub fn lower(files: &dyn Files) -> Lowered {
    let mut sources = Sources::default();
    let mut diagnostics = Diagnostics::default();
    let spec = Trees::read(files, &mut sources, &mut diagnostics)
        .map(|trees| Lowerer { diagnostics: &mut diagnostics, names: Names::of(&trees) }.spec(&trees));
    Lowered { sources, spec, diagnostics }
}

/// Every file of a spec as a tree.
struct Trees {
    spec: Node,
    interfaces: Vec<InterfaceTrees>,
}

struct InterfaceTrees {
    name: At<String>,
    interface: Node,
    groups: Vec<(At<String>, Node)>,
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
        let spec = match files.read("spec.yaml") {
            Ok(text) => reader.parse("spec.yaml", text, &grammar::SPEC)?,
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
        let interfaces = names(&spec, "interfaces")
            .filter_map(|name| {
                let path = format!("{}/interface.yaml", name.value);
                let interface = reader.named(&path, &name, &grammar::INTERFACE)?;
                let groups: Vec<(At<String>, Node)> = names(&interface, "groups")
                    .filter_map(|group| {
                        let path = format!("{}/{}.yaml", name.value, group.value);
                        let node = reader.named(&path, &group, &grammar::GROUP)?;
                        Some((group, node))
                    })
                    .collect();
                reader.report_strays(&name.value, &interface);
                Some(InterfaceTrees { name, interface, groups })
            })
            .collect();
        Some(Trees { spec, interfaces })
    }
}

struct Reader<'a> {
    files: &'a dyn Files,
    sources: &'a mut Sources,
    diagnostics: &'a mut Diagnostics,
}

impl Reader<'_> {
    fn named(&mut self, path: &str, name: &At<String>, shape: &'static shape::Shape) -> Option<Node> {
        match self.files.read(path) {
            Ok(text) => self.parse(path, text, shape),
            Err(error) => {
                self.diagnostics.push(
                    Diagnostic::new(Code::MissingFile, name.span, format!("cannot read `{path}`: {error}"))
                        .label("named here"),
                );
                None
            }
        }
    }

    fn parse(&mut self, path: &str, text: String, shape: &'static shape::Shape) -> Option<Node> {
        let file: FileId = self.sources.add(self.files.display(path), text);
        match parse(file, &self.sources.file(file).text) {
            Ok(node) => {
                shape::check(&node, &shape::Value::Shape(shape), self.diagnostics);
                Some(node)
            }
            Err(diagnostic) => {
                self.diagnostics.push(*diagnostic);
                None
            }
        }
    }

    fn report_strays(&mut self, folder: &str, interface: &Node) {
        let Some(groups) = interface.get("groups") else { return };
        for file in self.files.list(folder) {
            let stem = file.trim_end_matches(".yaml");
            if stem != "interface" && !groups.items().iter().any(|group| group.text() == Some(stem)) {
                self.diagnostics.push(
                    Diagnostic::new(
                        Code::StrayFile,
                        groups.items().last().map_or(groups.span, |last| last.span),
                        format!("`{folder}/{file}` is not one of the groups"),
                    )
                    .help(format!("add `{stem}` to the groups, or remove the file")),
                );
            }
        }
    }
}

fn names<'a>(node: &'a Node, key: &str) -> impl Iterator<Item = At<String>> + 'a {
    node.get(key).into_iter().flat_map(Node::items).filter_map(Node::at)
}

/// What can be referred to before it has been lowered.
struct Names {
    interfaces: Vec<String>,
    types: Vec<BTreeMap<String, usize>>,
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
            types: table("types"),
            functions: table("functions"),
        }
    }
}

struct Lowerer<'a> {
    diagnostics: &'a mut Diagnostics,
    names: Names,
}

impl Lowerer<'_> {
    fn spec(&mut self, trees: &Trees) -> Spec {
        let outputs = trees.spec.get("outputs");
        let output = |key| outputs.and_then(|node| text(node, key));
        let mut spec = Spec {
            project: text(&trees.spec, "project").unwrap_or_default(),
            summary: text(&trees.spec, "summary").unwrap_or_default(),
            outputs: Outputs {
                header: output("header"),
                reference: output("reference"),
                schema: output("schema"),
                rust: output("rust"),
            },
            interfaces: Vec::new(),
        };
        for (index, interface) in trees.interfaces.iter().enumerate() {
            let interface = self.interface(InterfaceId(index), interface, &spec);
            spec.interfaces.push(interface);
        }
        spec
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}

/// What is in reach while an interface is lowered.
#[derive(Clone, Copy)]
struct Scope<'a> {
    id: InterfaceId,
    uses: &'a [InterfaceId],
    releases: &'a [Release],
    /// The values of the status enum, by name.
    statuses: &'a [String],
}

fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key)?.text().map(|text| text.trim().to_owned())
}

fn prose(node: &Node, key: &str) -> String {
    text(node, key).unwrap_or_default()
}

fn flag(node: &Node, key: &str) -> bool {
    node.get(key).and_then(Node::bool).unwrap_or_default()
}

/// A name with its place; the place of the whole node where the name is missing and has been reported.
fn name(node: &Node) -> At<String> {
    node.get("name").and_then(Node::at).unwrap_or(At { value: String::new(), span: node.span })
}
