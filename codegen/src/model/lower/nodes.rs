//! Nodes: maps operators of a host's models to operators of the spec.

use super::unresolved::Namespace;
use super::{Lowerer, flag, operators, prose};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{
    Arity, AttributeType, ModelNode, NodeAttribute, NodeGroup, NodeWork, Operator, OperatorId, Operators,
};
use crate::source::At;
use crate::yaml::Node;

impl Lowerer<'_> {
    pub(super) fn node_groups(&mut self, trees: &[Node], operators: Option<&Operators>) -> Vec<NodeGroup> {
        let group = |node: &Node| NodeGroup {
            name: prose(node, "group"),
            title: prose(node, "title"),
            summary: prose(node, "summary"),
            doc: prose(node, "doc"),
            nodes: node
                .items_of("nodes")
                .iter()
                .filter_map(|node| self.model_node(node, operators))
                .collect(),
        };
        let groups: Vec<NodeGroup> = trees.iter().map(group).collect();
        self.check_versions_are_distinct(&groups);
        groups
    }

    /// Reports a node that another entry describes for a common version.
    fn check_versions_are_distinct(&mut self, groups: &[NodeGroup]) {
        let all: Vec<&ModelNode> = groups.iter().flat_map(|group| &group.nodes).collect();
        for (index, node) in all.iter().enumerate() {
            let last = |node: &ModelNode| node.until.unwrap_or(u32::MAX);
            let overlaps = |other: &&&ModelNode| {
                (&other.name.value, &other.domain) == (&node.name.value, &node.domain)
                    && other.since <= last(node)
                    && node.since <= last(other)
            };
            if let Some(before) = all[..index].iter().find(overlaps) {
                let message = format!("the node `{}` has two forms in one version", node.name.value);
                Diagnostic::new(Code::KernelTwice, node.name.span, message)
                    .label("the host would use only one of them")
                    .related(before.name.span, "the other form")
                    .add_to(self.diagnostics);
            }
        }
    }

    fn model_node(&mut self, node: &Node, operators: Option<&Operators>) -> Option<ModelNode> {
        let name = node.name_of("node")?;
        let number = |node: &Node| node.integer().and_then(|number| u32::try_from(number).ok());
        let types = node.entries_of("types").iter().map(|(name, sets)| {
            let sets = sets.items().iter().filter_map(|set| set.text().map(str::to_owned));
            (name.value.clone(), sets.collect())
        });
        Some(ModelNode {
            domain: prose(node, "domain"),
            since: node.get("since").and_then(number)?,
            until: node.get("until").and_then(number),
            types: types.collect(),
            work: self.node_work(&name, node, operators)?,
            host_inputs: node.items_of("host").iter().filter_map(number).collect(),
            is_host_output: flag(node, "host_output"),
            is_in_place: flag(node, "in_place"),
            name,
        })
    }

    fn node_work(
        &mut self,
        name: &At<String>,
        node: &Node,
        operators: Option<&Operators>,
    ) -> Option<NodeWork> {
        let mut uses = || {
            let names: Vec<_> = node.items_of("uses").iter().filter_map(Node::at).collect();
            let uses = names.into_iter().filter_map(|used| self.operator_of_node(name, used, operators));
            uses.map(|(_, id)| id).collect()
        };
        match (node.name_of("op"), node.text_of("rule"), node.text_of("host_kernel")) {
            (Some(wanted), None, None) => {
                let (operators, id) = self.operator_of_node(name, wanted, operators)?;
                let operator = operators.operator(id);
                if !self.is_simple(name, operator) {
                    return None;
                }
                let attributes = self.node_attributes(name, node, operator);
                Some(NodeWork::Operator { id, attributes, folds: flag(node, "folds") })
            }
            (None, Some(path), None) => Some(NodeWork::Rule { path: path.to_owned(), uses: uses() }),
            (None, None, Some(kernel)) => Some(NodeWork::Host { kernel: kernel.to_owned(), uses: uses() }),
            _ => {
                let message =
                    format!("the node `{}` needs one of `op`, `rule` and `host_kernel`", name.value);
                self.report(Diagnostic::new(Code::KernelForm, name.span, message));
                None
            }
        }
    }

    fn operator_of_node<'o>(
        &mut self,
        name: &At<String>,
        wanted: At<String>,
        operators: Option<&'o Operators>,
    ) -> Option<(&'o Operators, OperatorId)> {
        let found = operators.and_then(|all| all.find(&wanted.value));
        let is_unsound = |all: &Operators| all.unsound.contains(&wanted.value, found.is_some());
        if operators.map_or(self.operators_missing, is_unsound) {
            self.diagnostics.distrust(name.span);
            return None;
        }
        if let Some(found) = operators.zip(found) {
            self.references.found(Namespace::Operators, &wanted.value);
            return Some(found);
        }
        let message = format!("there is no operator `{}`", wanted.value);
        let diagnostic = Diagnostic::new(Code::UnknownOperator, wanted.span, message);
        let groups = operators.into_iter().flat_map(|operators| &operators.groups);
        let known = groups.flat_map(|group| &group.operators).map(|operator| operator.name.value.as_str());
        let diagnostic = diagnostic.nearest(&wanted.value, known);
        self.references.missed(wanted, vec![Namespace::Operators], diagnostic);
        None
    }

    /// Reports an operator whose inputs or attributes a node cannot give one by one.
    fn is_simple(&mut self, name: &At<String>, operator: &Operator) -> bool {
        let is_plain = operator.elementwise().is_some()
            && operator.inputs.iter().all(|input| input.arity == Arity::One)
            && operator.attributes.len() <= 2;
        if !is_plain {
            let message =
                format!("`{}` is no elementwise operator with at most two attributes", operator.name.value);
            self.report(
                Diagnostic::new(Code::KernelForm, name.span, message)
                    .help("a `rule` in Rust can compute the node"),
            );
        }
        is_plain
    }

    fn node_attributes(&mut self, name: &At<String>, node: &Node, operator: &Operator) -> Vec<NodeAttribute> {
        for key in ["attributes", "constants"] {
            for (name, _) in node.entries_of(key) {
                if !operator.attributes.iter().any(|attribute| attribute.name == name.value) {
                    self.report_unknown_attribute(name, operator);
                }
            }
        }
        let mut values = Vec::new();
        for attribute in &operator.attributes {
            let entry = |key| {
                let mut entries = node.entries_of(key).iter();
                entries.find(|(name, _)| name.value == attribute.name).map(|(_, node)| node)
            };
            let given = entry("attributes");
            let value = given.and_then(|given| given.get("default")).or_else(|| entry("constants"));
            let value = match value {
                Some(value) => operators::value(value, attribute.ty, self.diagnostics),
                None => attribute.default.clone(),
            };
            let is_number =
                matches!(attribute.ty, AttributeType::Bool | AttributeType::I64 | AttributeType::F64);
            match value.filter(|_| is_number) {
                Some(value) => values.push(NodeAttribute {
                    name: given.and_then(|given| given.text_of("name")).map(str::to_owned),
                    value,
                }),
                None => {
                    let message = format!(
                        "the operator `{}` needs `{}`, which the node does not give",
                        operator.name.value, attribute.name
                    );
                    self.report(Diagnostic::new(Code::KernelForm, name.span, message));
                }
            }
        }
        values
    }
}
