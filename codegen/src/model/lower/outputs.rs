//! Places of outputs, in their shortest form.

use super::*;
use crate::out::path::{self, PathError};

/// A path in its shortest form.
type Shorten = fn(&str) -> Result<String, PathError>;

impl Lowerer<'_> {
    pub(super) fn outputs(&mut self, node: &Node) -> Outputs {
        let mut folder = |key| node.get(key).and_then(|node| self.place(node, path::folder));
        Outputs {
            header: folder("header"),
            reference: folder("reference"),
            schema: folder("schema"),
            rust: folder("rust"),
            python: folder("python"),
            rust_files: self.files_of_interfaces(node, "rust"),
            rust_exports: self.files_of_interfaces(node, "rust_exports"),
            rust_traits: node.get("rust_traits").and_then(|node| self.place(node, path::file)),
            summary: node.get("summary").and_then(|node| {
                let to = node.get("to").and_then(|node| self.place(node, path::file))?;
                Some(SummaryFile { template: text(node, "template")?, to })
            }),
            exports: node.get("exports").and_then(|node| {
                let to = node.get("to").and_then(|node| self.place(node, path::file))?;
                Some(ExportsFile { from: text(node, "from")?, config: text(node, "config")?, to })
            }),
            uncommitted: node
                .get("uncommitted")
                .map_or(&[][..], Node::items)
                .iter()
                .filter_map(|key| Some(key.text()?.to_owned()))
                .collect(),
        }
    }

    /// A file for each interface that a mapping names.
    fn files_of_interfaces(&mut self, node: &Node, key: &str) -> Vec<InterfaceFile> {
        let entries = node.get(key).into_iter().flat_map(Node::entries);
        let files = entries.filter_map(|(name, file)| {
            let known = self.names.interfaces.iter().position(|known| *known == name.value);
            if known.is_none() && !self.names.unread.contains(&name.value) {
                let message = format!("there is no interface `{}`", name.value);
                let diagnostic = Diagnostic::new(Code::UnknownInterface, name.span, message);
                let known: Vec<&str> = self.names.interfaces.iter().map(String::as_str).collect();
                self.diagnostics.push(diagnostic.nearest(&name.value, known));
            }
            let to = self.place(file, path::file)?;
            Some(InterfaceFile { interface: At { value: InterfaceId(known?), span: name.span }, to })
        });
        files.collect()
    }

    fn place(&mut self, node: &Node, shorten: Shorten) -> Option<At<String>> {
        self.shortened(node, shorten, "the output root", "paths of outputs are relative to `--out`")
    }

    /// The name of a C header, which may have folders in it.
    pub(super) fn header(&mut self, node: &Node) -> Option<At<String>> {
        self.shortened(node, path::file, "the folder of headers", "names of headers are relative to it")
    }

    fn shortened(&mut self, node: &Node, shorten: Shorten, root: &str, help: &str) -> Option<At<String>> {
        let written = node.at()?;
        match shorten(written.value.trim()) {
            Ok(value) => Some(At { value, ..written }),
            Err(error) => {
                let message = format!("`{}` names no place in {root}", written.value.trim());
                self.report(
                    Diagnostic::new(Code::OutputPlace, written.span, message)
                        .label(error.to_string())
                        .help(format!("{help}, with `/` between the parts")),
                );
                None
            }
        }
    }
}
