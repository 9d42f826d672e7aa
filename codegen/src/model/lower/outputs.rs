//! Places of outputs, with normalised paths.

use super::{Lowerer, names, text};
use crate::diagnostic::{Code, Diagnostic};
use crate::grammar::outputs::{KINDS, OutputKind, Takes};
use crate::model::{InterfaceId, OutputPlace, Outputs, PlaceKind};
use crate::output_path::{self, PathError};
use crate::source::At;
use crate::yaml::{Content, Node};

/// Normalises a path.
type Shorten = fn(&str) -> Result<String, PathError>;

impl Lowerer<'_> {
    pub(super) fn outputs(&mut self, node: &Node) -> Outputs {
        let places = KINDS.iter().flat_map(|kind| {
            let value = node.get(kind.key);
            value.map(|value| self.places(kind, value)).unwrap_or_default()
        });
        Outputs {
            places: places.collect(),
            uncommitted: names(node, "uncommitted").map(|key| key.value).collect(),
        }
    }

    /// Resolves the places that a key names.
    fn places(&mut self, output: &OutputKind, node: &Node) -> Vec<OutputPlace> {
        let one =
            |path, kind| OutputPlace { key: output.key, path, kind, interface: None, reads: Vec::new() };
        let kind = match output.takes {
            Takes::OwnFolder | Takes::OwnFolderOrFiles => PlaceKind::OwnFolder,
            Takes::Folder => PlaceKind::Folder,
            Takes::File | Takes::FilePerInterface | Takes::FileFrom(_) => PlaceKind::File,
        };
        match (&output.takes, &node.content) {
            (Takes::FileFrom(shape), _) => {
                let path = node.get("to").and_then(|node| self.place(node, output_path::file));
                let read = shape.keys.iter().filter(|key| key.name != "to");
                let reads = read.filter_map(|key| Some((key.name, text(node, key.name)?))).collect();
                path.map(|path| OutputPlace { reads, ..one(path, kind) }).into_iter().collect()
            }
            (_, Content::Map(_)) => {
                let files = node.entries().iter().filter_map(|(name, file)| {
                    let interface = self.interface_named(name);
                    let path = self.place(file, output_path::file)?;
                    Some(OutputPlace { interface: Some(interface?), ..one(path, PlaceKind::File) })
                });
                files.collect()
            }
            _ => {
                let shorten = if kind == PlaceKind::File { output_path::file } else { output_path::folder };
                self.place(node, shorten).map(|path| one(path, kind)).into_iter().collect()
            }
        }
    }

    fn interface_named(&mut self, name: &At<String>) -> Option<At<InterfaceId>> {
        let known = self.names.interfaces.iter().position(|known| *known == name.value);
        if known.is_none() && !self.names.unread.contains(&name.value) {
            let message = format!("there is no interface `{}`", name.value);
            let diagnostic = Diagnostic::new(Code::UnknownInterface, name.span, message);
            let known: Vec<&str> = self.names.interfaces.iter().map(String::as_str).collect();
            self.diagnostics.push(diagnostic.nearest(&name.value, known));
        }
        Some(At { value: InterfaceId(known?), span: name.span })
    }

    fn place(&mut self, node: &Node, shorten: Shorten) -> Option<At<String>> {
        self.shortened(node, shorten, "the output root", "paths of outputs are relative to `--out`")
    }

    /// Resolves the name of a C header, which may be in folders.
    pub(super) fn header(&mut self, node: &Node) -> Option<At<String>> {
        self.shortened(
            node,
            output_path::file,
            "the folder of headers",
            "names of headers are relative to it",
        )
    }

    fn shortened(&mut self, node: &Node, shorten: Shorten, root: &str, help: &str) -> Option<At<String>> {
        let written = node.at()?;
        match shorten(written.value.trim()) {
            Ok(value) => Some(At { value, ..written }),
            Err(error) => {
                let message = format!("`{}` is not a path inside {root}", written.value.trim());
                Diagnostic::new(Code::OutputPlace, written.span, message)
                    .label(error.to_string())
                    .help(format!("{help}; separate the parts with `/`"))
                    .add_to(self.diagnostics);
                None
            }
        }
    }
}
