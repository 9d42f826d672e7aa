//! Reads the files of a spec as trees that match the grammar.

use super::names;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
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
    /// True if a group could not be read, so that names in it may be missing.
    pub(super) partial: bool,
}

/// The files of the operators of a spec.
pub(super) struct OperatorTrees {
    pub(super) name: At<String>,
    pub(super) list: Node,
    pub(super) groups: Vec<Node>,
}

impl InterfaceTrees {
    pub(super) fn entries<'a>(&'a self, key: &'a str) -> impl Iterator<Item = (GroupId, &'a Node)> {
        self.groups.iter().enumerate().flat_map(move |(index, (_, group))| {
            group.items_of(key).iter().map(move |node| (GroupId(index), node))
        })
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
        // Without the list, or where a group does not name its entries, nothing is known to be missing.
        let partial = interface.get("groups").is_none()
            || groups.iter().any(|(_, group)| group.as_ref().is_none_or(lacks_names));
        let groups = groups.into_iter().filter_map(|(name, group)| Some((name, group?))).collect();
        let kernels = kernels.into_iter().filter_map(|(_, group)| group).collect();
        Some(InterfaceTrees { name: name.clone(), partial, interface, groups, kernels })
    }

    fn operators(&mut self, name: &At<String>) -> Option<OperatorTrees> {
        let file = self.add(&format!("{}/operators.yaml", name.value), name)?;
        let list = self.parse(file, &grammar::OPERATORS)?;
        let groups = self.groups(&name.value, Some("operators"), &list, "groups", &grammar::OPERATOR_GROUP);
        let groups = groups.into_iter().filter_map(|(_, group)| group).collect();
        Some(OperatorTrees { name: name.clone(), list, groups })
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
        for name in self.distinct(list, key) {
            let file = self.add(&format!("{folder}/{}.yaml", name.value), &name);
            let group = file.and_then(|file| self.parse(file, shape));
            groups.push((name, group));
        }
        self.report_strays(folder, stem, list, key);
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
                Diagnostic::new(Code::MissingFile, name.span, format!("cannot read `{path}`: {error}"))
                    .label("named here")
                    .add_to(self.diagnostics);
                None
            }
        }
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

    /// Reports files that the list at `key` does not name.
    fn report_strays(&mut self, folder: &str, stem_of_list: Option<&str>, list: &Node, key: &str) {
        let Some(groups) = list.get(key) else { return };
        for file in self.files.list(folder) {
            let place = groups.items().last().map_or(groups.span, |last| last.span);
            if let Some(stem) = file.strip_suffix(".yml") {
                let message = format!("`{folder}/{file}` is ignored, because it does not end in `.yaml`");
                Diagnostic::new(Code::StrayFile, place, message)
                    .label("groups are files that end in `.yaml`")
                    .help(format!("rename it to `{stem}.yaml`, or remove the file"))
                    .add_to(self.diagnostics);
                continue;
            }
            let stem = file.trim_end_matches(".yaml");
            if Some(stem) != stem_of_list && !groups.items().iter().any(|group| group.text() == Some(stem)) {
                let message = format!("`{folder}/{file}` is not listed as a group");
                Diagnostic::new(Code::StrayFile, place, message)
                    .label("not in this list")
                    .help(format!("add `{stem}` to the groups, or remove the file"))
                    .add_to(self.diagnostics);
            }
        }
    }
}

/// Returns true if entries of a group are missing, or have no name, because of errors that are already reported.
fn lacks_names(group: &Node) -> bool {
    let is_known = |key: &str| grammar::GROUP.keys.iter().any(|known| known.name == key);
    let lacks = |node: &Node| match &node.content {
        Content::List(entries) => entries.iter().any(|entry| entry.text_of("name").is_none()),
        _ => true,
    };
    group.entries().iter().any(|(key, _)| !is_known(&key.value))
        || ["types", "functions"].into_iter().filter_map(|key| group.get(key)).any(lacks)
}
