//! The table of slots, and the hand-over between host and plugin.

use super::interface::version;
use super::*;

impl Lowerer<'_> {
    pub(super) fn table(&mut self, scope: Scope, node: &Node, plugin: Option<&Node>) -> Table {
        Table {
            c_name: text(node, "struct").unwrap_or_default(),
            size_field: text(node, "size_field").unwrap_or_default(),
            blocks: node
                .get("blocks")
                .into_iter()
                .flat_map(Node::items)
                .map(|node| Block {
                    name: prose(node, "block"),
                    slots: node
                        .get("slots")
                        .into_iter()
                        .flat_map(Node::items)
                        .filter_map(|node| self.slot(scope, node))
                        .collect(),
                    reserved: node.get("reserved").map(|node| self.reserved(node)),
                    span: node.get("block").unwrap_or(node).span,
                })
                .collect(),
            plugin: plugin.and_then(|node| self.plugin(scope, node)),
            span: node.span,
        }
    }

    fn reserved(&mut self, node: &Node) -> Reserved {
        let count = node.get("count");
        let number = count.and_then(Node::integer).map(u64::try_from);
        if let (Some(count), Some(Err(_))) = (count, number) {
            self.report(
                Diagnostic::new(Code::WrongValue, count.span, "a reserve has a number of slots")
                    .label("0 or more"),
            );
        }
        Reserved {
            name: prose(node, "name"),
            count: number.and_then(Result::ok).unwrap_or_default(),
            span: node.get("name").unwrap_or(node).span,
        }
    }

    fn slot(&mut self, scope: Scope, node: &Node) -> Option<Slot> {
        self.check_slot(node);
        let mut owner = |node: &Node| Some(At { value: self.function_id(scope.id, node)?, span: node.span });
        if let Some(functions) = node.get("one_of") {
            let functions = functions.items().iter().filter_map(owner).collect();
            return Some(Slot { functions, from_reserve: false });
        }
        let reserved = node.get("reserved");
        let function = owner(reserved.unwrap_or(node))?;
        Some(Slot { functions: vec![function], from_reserve: reserved.is_some() })
    }

    /// A slot says in one way who has it.
    fn check_slot(&mut self, node: &Node) {
        let Content::Map(entries) = &node.content else { return };
        let (span, message, first) = match &entries[..] {
            [(key, owners)] if key.value == "one_of" && owners.items().is_empty() => {
                (key.span, "this slot has no owner", None)
            }
            [_] => return,
            [] => (node.span, "this slot has no owner", None),
            [(first, _), (key, _), ..] => (key.span, "a slot says in one way who has it", Some(first.span)),
        };
        self.report(
            Diagnostic::new(Code::WrongValue, span, message)
                .related_if(first, "the first way")
                .help("the name of a function, `one_of` with several, or `reserved` with one"),
        );
    }

    fn plugin(&mut self, scope: Scope, node: &Node) -> Option<Plugin> {
        let stated = node.get("version");
        let value = stated.and_then(|node| node.get("value"));
        let numbers =
            value.and_then(Node::text).and_then(version).and_then(|numbers| numbers.try_into().ok());
        if let (Some(value), None) = (value, numbers) {
            self.report(
                Diagnostic::new(Code::WrongValue, value.span, "this is no version of three numbers")
                    .label("such as \"0.1.1\""),
            );
        }
        Some(Plugin {
            entry: text(node, "entry")?,
            params: self.type_id(scope.id, scope.uses, node.get("params")?)?,
            table: text(node, "table")?,
            size: text(node, "size")?,
            version_field: stated.and_then(|node| text(node, "field"))?,
            version: numbers.unwrap_or_default(),
            version_macro: stated.and_then(|node| text(node, "macro")),
            device_type: text(node, "device_type")?,
            sub_device_type: text(node, "sub_device_type"),
            doc: prose(node, "doc"),
        })
    }
}
