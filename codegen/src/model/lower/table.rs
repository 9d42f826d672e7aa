//! The table of slots, and how it is handed over between host and plugin.

use super::interface::version;
use super::{Lowerer, Scope, prose, text};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{
    Block, Extension, ExtensionRelease, HandOver, OwnedTable, Plugin, Reserved, Slot, Table, TableField,
};
use crate::yaml::{Content, Node};

impl Lowerer<'_> {
    pub(super) fn table(&mut self, scope: Scope, node: &Node, plugin: Option<&Node>) -> Table {
        node.items_of("blocks").iter().for_each(|block| self.check_block(block));
        Table {
            c_name: prose(node, "struct"),
            size_field: prose(node, "size_field"),
            blocks: node
                .items_of("blocks")
                .iter()
                .map(|node| Block {
                    name: prose(node, "block"),
                    fields: self
                        .params(scope, None, node.entries_of("fields").iter())
                        .into_iter()
                        .map(|param| TableField { param, size: 0, align: 1 })
                        .collect(),
                    slots: node.items_of("slots").iter().filter_map(|node| self.slot(scope, node)).collect(),
                    reserved: node.get("reserved").map(|node| self.reserved(node)),
                    span: node.get("block").unwrap_or(node).span,
                })
                .collect(),
            hand_over: match plugin {
                Some(node) if node.get("owns").is_some() => self.owned(node),
                Some(node) => self.plugin(scope, node).map_or(HandOver::Unknown, HandOver::Params),
                None => HandOver::Unknown,
            },
            extension: None,
            span: node.span,
        }
    }

    /// Lowers the extension: a table for functions that have no slot in the host's table.
    pub(super) fn extension(&mut self, scope: Scope, node: &Node) -> Extension {
        let releases = node.items_of("releases").iter();
        Extension {
            c_name: prose(node, "struct"),
            entry: prose(node, "entry"),
            releases: releases.filter_map(|node| self.extension_release(scope, node)).collect(),
            doc: prose(node, "doc"),
        }
    }

    fn extension_release(&mut self, scope: Scope, node: &Node) -> Option<ExtensionRelease> {
        let name = node.get("release")?;
        let version = version(name.text()?).and_then(|numbers| numbers.try_into().ok());
        if version.is_none() {
            let message = "a release of an extension needs a major and a minor number";
            self.report(Diagnostic::new(Code::WrongValue, name.span, message).label("such as \"1.0\""));
        }
        let slots = node.items_of("slots").iter();
        let functions = slots.filter_map(|slot| self.function_at(scope, slot)).collect();
        Some(ExtensionRelease { name: name.at()?, version: version.unwrap_or_default(), functions })
    }

    /// Checks that a block has slots or data members.
    fn check_block(&mut self, node: &Node) {
        if node.get("slots").is_none() && node.get("fields").is_none() {
            let span = node.entries().first().map_or(node.span, |(name, _)| name.span);
            Diagnostic::new(Code::MissingKey, span, "a block of slots needs the key `slots`")
                .label("it has neither `slots` nor `fields`")
                .add_to(self.diagnostics);
        }
    }

    fn reserved(&mut self, node: &Node) -> Reserved {
        let count = node.get("count");
        let number = count.and_then(Node::integer).map(u64::try_from);
        if let (Some(count), Some(Err(_))) = (count, number) {
            Diagnostic::new(Code::WrongValue, count.span, "a reserve needs a number of slots")
                .label("must be 0 or more")
                .add_to(self.diagnostics);
        }
        Reserved {
            name: prose(node, "name"),
            count: number.and_then(Result::ok).unwrap_or_default(),
            span: node.get("name").unwrap_or(node).span,
        }
    }

    fn slot(&mut self, scope: Scope, node: &Node) -> Option<Slot> {
        self.check_slot(node);
        let mut owner = |node| self.function_at(scope, node);
        if let Some(functions) = node.get("one_of") {
            let functions = functions.items().iter().filter_map(owner).collect();
            return Some(Slot { functions, from_reserve: false });
        }
        let reserved = node.get("reserved");
        let function = owner(reserved.unwrap_or(node))?;
        Some(Slot { functions: vec![function], from_reserve: reserved.is_some() })
    }

    /// Checks that a slot has exactly one form.
    fn check_slot(&mut self, node: &Node) {
        let Content::Map(entries) = &node.content else { return };
        let (span, message, first) = match &entries[..] {
            [(key, owners)] if key.value == "one_of" && owners.items().is_empty() => {
                (key.span, "this slot has no owner", None)
            }
            [_] => return,
            [] => (node.span, "this slot has no owner", None),
            [(first, _), (key, _), ..] => (key.span, "a slot can name its owner only once", Some(first.span)),
        };
        Diagnostic::new(Code::WrongValue, span, message)
            .related_if(first, "first named here")
            .help("write the name of a function, `one_of` with several, or `reserved` with one")
            .add_to(self.diagnostics);
    }

    /// Lowers the hand-over of a table that the plugin owns. It has no keys for fields that the host sets.
    fn owned(&mut self, node: &Node) -> HandOver {
        for (key, _) in node.entries() {
            if !["entry", "owns", "version", "doc"].contains(&key.value.as_str()) {
                let message = format!("`{}` is not allowed if the plugin owns the table", key.value);
                Diagnostic::new(Code::OwnedTable, key.span, message)
                    .label("only allowed if the host owns the table")
                    .add_to(self.diagnostics);
            }
        }
        let version = node.get("version").and_then(|stated| {
            let numbers = self.version_numbers(stated, &[2, 3])?;
            Some((text(stated, "field")?, numbers))
        });
        HandOver::Owned(OwnedTable { entry: prose(node, "entry"), version, doc: prose(node, "doc") })
    }

    /// Parses a version. Reports an error unless it has as many numbers as one of `counts`.
    fn version_numbers(&mut self, stated: &Node, counts: &[usize]) -> Option<Vec<u64>> {
        let value = stated.get("value")?;
        let numbers = value.text().and_then(version).filter(|numbers| counts.contains(&numbers.len()));
        if numbers.is_none() {
            let counts = counts.iter().map(|count| ["", "", "two", "three"][*count]).collect::<Vec<_>>();
            let message = format!("this is not a version of {} numbers", counts.join(" or "));
            self.report(Diagnostic::new(Code::WrongValue, value.span, message).label("such as \"0.1.1\""));
        }
        numbers
    }

    fn plugin(&mut self, scope: Scope, node: &Node) -> Option<Plugin> {
        let missing = crate::grammar::HAND_OVER_PARAMS.into_iter().filter(|key| node.get(key).is_none());
        for missing in missing {
            let span = node.entries().first().map_or(node.span, |(name, _)| name.span);
            Diagnostic::new(Code::MissingKey, span, format!("a hand-over needs the key `{missing}`"))
                .label("the host owns the table")
                .help("write `owns: table` if the plugin owns it")
                .add_to(self.diagnostics);
        }
        let stated = node.get("version")?;
        let numbers = self.version_numbers(stated, &[3]).and_then(|numbers| numbers.try_into().ok());
        Some(Plugin {
            entry: text(node, "entry")?,
            params: self.type_id(scope, node.get("params")?)?,
            table: text(node, "table")?,
            size: text(node, "size")?,
            version_field: text(stated, "field")?,
            version: numbers.unwrap_or_default(),
            version_macro: text(stated, "macro"),
            device_type: text(node, "device_type")?,
            sub_device_type: text(node, "sub_device_type"),
            doc: prose(node, "doc"),
        })
    }
}
