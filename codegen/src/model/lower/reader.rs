//! Reads the files of a spec as trees that match the grammar.

use std::collections::BTreeSet;
use std::io;

use heck::ToSnakeCase;

use super::names;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, nearest};
use crate::grammar;
use crate::model::GroupId;
use crate::source::{At, FileId, Files, Sources, Span};
use crate::yaml::shape::{self, Shape};
use crate::yaml::text::decode;
use crate::yaml::{Content, Node, parse};

/// All files of a spec, as trees.
pub(super) struct Trees {
    pub(super) spec: Node,
    pub(super) interfaces: Vec<InterfaceTrees>,
    pub(super) operators: Option<OperatorTrees>,
    /// Interfaces that are listed but could not be read.
    pub(super) unread: Vec<String>,
}

/// The files of an interface.
pub(super) struct InterfaceTrees {
    pub(super) name: At<String>,
    pub(super) interface: Node,
    pub(super) groups: Vec<(At<String>, Node)>,
    pub(super) kernels: Vec<Node>,
    pub(super) nodes: Vec<Node>,
    /// True if a group could not be read, so that names in it may be missing.
    pub(super) partial: bool,
}

/// The files of the operators of a spec.
pub(super) struct OperatorTrees {
    pub(super) name: At<String>,
    pub(super) list: Node,
    pub(super) groups: Vec<Node>,
    /// True if a group could not be read, so that names in it may be missing.
    pub(super) is_partial: bool,
}

impl InterfaceTrees {
    pub(super) fn entries<'a>(&'a self, key: &'a str) -> impl Iterator<Item = (GroupId, &'a Node)> {
        self.groups.iter().enumerate().flat_map(move |(index, (_, group))| {
            group.items_of(key).iter().map(move |node| (GroupId(index), node))
        })
    }

    /// Returns the object whose functions a group describes: the index of its type, and its entry.
    pub(super) fn object(&self, group: GroupId) -> Option<(usize, &Node)> {
        if self.interface.text_of("kind") != Some("objects") {
            return None;
        }
        let mut types = self.entries("types").enumerate();
        types.find_map(|(index, (of, node))| {
            (of == group && node.text_of("kind") == Some("object")).then_some((index, node))
        })
    }

    /// Returns the name of the parameter that each function of a group has for its object.
    pub(super) fn receiver(&self, group: GroupId) -> Option<String> {
        Some(self.object(group)?.1.text_of("name")?.to_snake_case())
    }

    /// Returns the parameters of a function: those of its group, then its own.
    pub(super) fn params<'a>(
        &'a self,
        group: GroupId,
        function: &'a Node,
    ) -> impl Iterator<Item = &'a (At<String>, Node)> + Clone {
        let of_group = self.groups.get(group.0).map_or(&[][..], |(_, group)| group.entries_of("params"));
        of_group.iter().chain(function.entries_of("params"))
    }
}

impl Trees {
    pub(super) fn read(
        files: &dyn Files,
        sources: &mut Sources,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
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
        let operators = spec.name_of("operators").and_then(|name| reader.operators(&name));
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
        let groups = self.groups(&name.value, Some("interface"), &interface, "groups", &grammar::GROUP);
        let folder = format!("{}/kernels", name.value);
        let kernels = self.groups(&folder, None, &interface, "kernels", &grammar::KERNEL_GROUP);
        let folder = format!("{}/nodes", name.value);
        let nodes = self.groups(&folder, None, &interface, "nodes", &grammar::NODE_GROUP);
        // Without the list, or where a group does not name its entries, nothing is known to be missing.
        let partial = interface.get("groups").is_none()
            || groups.iter().any(|(_, group)| group.as_ref().is_none_or(lacks_names));
        let groups = groups.into_iter().filter_map(|(name, group)| Some((name, group?))).collect();
        let kernels = kernels.into_iter().filter_map(|(_, group)| group).collect();
        let nodes = nodes.into_iter().filter_map(|(_, group)| group).collect();
        Some(InterfaceTrees { name: name.clone(), partial, interface, groups, kernels, nodes })
    }

    fn operators(&mut self, name: &At<String>) -> Option<OperatorTrees> {
        let file = self.add(&format!("{}/operators.yaml", name.value), name)?;
        let list = self.parse(file, &grammar::OPERATORS)?;
        let groups = self.groups(&name.value, Some("operators"), &list, "groups", &grammar::OPERATOR_GROUP);
        let lacks = |group: &Option<Node>| group.as_ref().is_none_or(lacks_operators);
        let is_partial = list.get("groups").is_none() || groups.iter().any(|(_, group)| lacks(group));
        let groups = groups.into_iter().filter_map(|(_, group)| group).collect();
        Some(OperatorTrees { name: name.clone(), list, groups, is_partial })
    }

    /// Reads the files of a folder that are listed at `key`. A file without a tree is already reported. `stem` is the
    /// stem of the file with the list, if it is in the same folder.
    fn groups(
        &mut self,
        folder: &str,
        stem: Option<&str>,
        list: &Node,
        key: &str,
        shape: &'static Shape,
    ) -> Vec<(At<String>, Option<Node>)> {
        let mut groups = Vec::new();
        let mut strays = self.strays(folder, stem, list, key);
        for name in self.distinct(list, key) {
            let path = format!("{folder}/{}.yaml", name.value);
            let group = match self.read(&path) {
                Ok(file) => self.parse(file, shape),
                Err(error) => {
                    self.report_unread(&path, &name, &error, &mut strays);
                    None
                }
            };
            groups.push((name, group));
        }
        self.report_strays(folder, list, key, &strays);
        groups
    }

    /// Returns the names in a list. A name that is listed twice is returned once.
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
                .label("named again here")
                .related(first.span, "first named here")
                .add_to(self.diagnostics),
            }
        }
        distinct
    }

    /// Adds a file to the sources, decoding it if necessary.
    fn read(&mut self, path: &str) -> std::io::Result<FileId> {
        let decoded = decode(self.files.read(path))?;
        let file = FileId(self.sources.files().count());
        if let Some(diagnostic) = decoded.diagnostic(file) {
            self.diagnostics.push(diagnostic);
        }
        Ok(self.sources.add(self.files.display(path), decoded.text))
    }

    /// Reads a file that is named in the spec.
    fn add(&mut self, path: &str, name: &At<String>) -> Option<FileId> {
        match self.read(path) {
            Ok(file) => Some(file),
            Err(error) => {
                self.report_unread(path, name, &error, &mut Vec::new());
                None
            }
        }
    }

    /// Reports a file that cannot be read. If the name of a file that is not listed is similar, the list has probably
    /// misspelled it, and it is no stray.
    fn report_unread(&mut self, path: &str, name: &At<String>, error: &io::Error, strays: &mut Vec<String>) {
        let message = format!("cannot read `{path}`: {error}");
        let stems = strays.iter().filter_map(|file| file.strip_suffix(".yaml"));
        let meant = nearest(&name.value, stems).map(str::to_owned);
        let label = match &meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "named here".to_owned(),
        };
        strays.retain(|file| file.strip_suffix(".yaml") != meant.as_deref());
        Diagnostic::new(Code::MissingFile, name.span, message).label(label).add_to(self.diagnostics);
    }

    fn parse(&mut self, file: FileId, shape: &'static Shape) -> Option<Node> {
        let node = parse(file, &self.sources.file(file).text, self.diagnostics)?;
        self.check(node, shape)
    }

    /// Checks a file against the grammar. A file without a mapping counts as unread: it is reported once, instead of
    /// each name that it lacks.
    fn check(&mut self, node: Node, shape: &'static Shape) -> Option<Node> {
        let is_map = matches!(node.content, Content::Map(_));
        if node.is_null() {
            let needed = shape.keys.iter().filter(|key| key.needed).map(|key| format!("`{}`", key.name));
            let message = format!("this file is empty, but {} is expected", shape.name);
            let start = Span { start: 0, end: 0, ..node.span };
            let diagnostic = Diagnostic::new(Code::WrongValue, start, message);
            let needed = needed.collect::<Vec<_>>().join(", ");
            self.diagnostics.push(diagnostic.help(format!("expected the keys {needed}")));
        } else {
            shape::check(&node, &shape::Value::Shape(shape), self.diagnostics);
        }
        is_map.then_some(node)
    }

    /// Returns the files of a folder that the list at `key` does not name.
    fn strays(&self, folder: &str, stem_of_list: Option<&str>, list: &Node, key: &str) -> Vec<String> {
        let Some(groups) = list.get(key) else { return Vec::new() };
        let is_listed = |stem: &str| groups.items().iter().any(|group| group.text() == Some(stem));
        let is_stray = |file: &String| match file.strip_suffix(".yaml") {
            Some(stem) => Some(stem) != stem_of_list && !is_listed(stem),
            None => true,
        };
        self.files.list(folder).into_iter().filter(is_stray).collect()
    }

    /// Reports files that the list at `key` does not name.
    fn report_strays(&mut self, folder: &str, list: &Node, key: &str, strays: &[String]) {
        let Some(groups) = list.get(key) else { return };
        let place = groups.items().last().map_or(groups.span, |last| last.span);
        for file in strays {
            let diagnostic = if let Some(stem) = file.strip_suffix(".yml") {
                let message = format!("`{folder}/{file}` is ignored, because it does not end in `.yaml`");
                Diagnostic::new(Code::StrayFile, place, message)
                    .label("groups are files that end in `.yaml`")
                    .help(format!("rename it to `{stem}.yaml`, or remove the file"))
            } else {
                let stem = file.trim_end_matches(".yaml");
                let message = format!("`{folder}/{file}` is not listed as a group");
                Diagnostic::new(Code::StrayFile, place, message)
                    .label("not in this list")
                    .help(format!("add `{stem}` to the groups, or remove the file"))
            };
            self.diagnostics.push(diagnostic);
        }
    }
}

/// Returns true if entries of a group are missing, or have no name, because of errors that are already reported.
fn lacks_names(group: &Node) -> bool {
    lacks(group, &grammar::GROUP, &["types", "functions"], "name")
}

/// Returns true if operators of a group are missing, or have no name, because of errors that are already reported.
fn lacks_operators(group: &Node) -> bool {
    lacks(group, &grammar::OPERATOR_GROUP, &["operators"], "op")
}

/// Returns true if a key of a group is not one of its shape, or if an entry of a list has no name or that of another.
fn lacks(group: &Node, shape: &Shape, lists: &[&str], name: &str) -> bool {
    let is_known = |key: &str| shape.keys.iter().any(|known| known.name == key);
    let lacks = |node: &Node| match &node.content {
        // Of two entries with one name, one probably has that of another.
        Content::List(entries) => {
            let mut names = BTreeSet::new();
            !entries.iter().all(|entry| entry.text_of(name).is_some_and(|name| names.insert(name)))
        }
        _ => true,
    };
    group.entries().iter().any(|(key, _)| !is_known(&key.value))
        || lists.iter().filter_map(|key| group.get(key)).any(lacks)
}
