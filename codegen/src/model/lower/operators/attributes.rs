//! Attributes of operators: their own, or those of another operator of the group.

use super::{OperatorLowerer, Table};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::formula::Variable;
use crate::model::lower::prose;
use crate::model::{Attribute, AttributeType, AttributeValue};
use crate::source::{At, Span};
use crate::yaml::{Content, Node};

/// The attributes of an operator.
pub(super) struct Stated {
    operator: String,
    /// The operator whose entry states them.
    by: String,
    attributes: Vec<Attribute>,
}

impl OperatorLowerer<'_> {
    /// Returns the attributes, and the operator whose entry states them.
    pub(super) fn attributes(
        &mut self,
        operator: &At<String>,
        node: &Node,
        table: &mut Table,
    ) -> (String, Vec<Attribute>) {
        let (by, attributes) = match node.get("attributes") {
            Some(Node { content: Content::Text(_), .. }) => self.attributes_of_another(node),
            _ => (operator.value.clone(), self.stated_attributes(node)),
        };
        let places: Vec<Span> = match node.entries_of("attributes") {
            [] => vec![node.get("attributes").map_or(node.span, |node| node.span); attributes.len()],
            entries => entries.iter().map(|(name, _)| name.span).collect(),
        };
        for ((index, attribute), place) in attributes.iter().enumerate().zip(places) {
            if let Some(ty) = attribute.ty.in_formulas() {
                self.declare(table, &attribute.name, place, Variable::Attribute(index), ty);
            }
        }
        let operator = operator.value.clone();
        self.stated.push(Stated { operator, by: by.clone(), attributes: attributes.clone() });
        (by, attributes)
    }

    fn stated_attributes(&mut self, node: &Node) -> Vec<Attribute> {
        let attribute = |(name, node): &(At<String>, Node)| {
            if let Content::Text(_) = node.content {
                return self.attribute_of_another(name, node);
            }
            let ty = node.text_of("type").and_then(AttributeType::of)?;
            Some(Attribute {
                name: name.value.clone(),
                ty,
                default: node.get("default").and_then(|node| value(node, ty, self.diagnostics)),
                doc: prose(node, "doc"),
            })
        };
        node.entries_of("attributes").iter().filter_map(attribute).collect()
    }

    /// Finds the attribute of the same name that another operator has.
    fn attribute_of_another(&mut self, name: &At<String>, node: &Node) -> Option<Attribute> {
        let other = node.at()?;
        let is_unsound = self.unsound.contains(&other.value, true);
        let Stated { operator, attributes, .. } = self.stated_by(&other)?;
        if let Some(found) = attributes.iter().find(|attribute| attribute.name == name.value) {
            return Some(found.clone());
        }
        if is_unsound {
            self.diagnostics.distrust(name.span);
            return None;
        }
        let message = format!("`{operator}` has no attribute `{}`", name.value);
        Diagnostic::new(Code::OperatorForm, name.span, message)
            .nearest(&name.value, attributes.iter().map(|attribute| attribute.name.as_str()))
            .help("an attribute with the name of an operator is that operator's attribute of the same name")
            .add_to(self.diagnostics);
        None
    }

    /// Finds the attributes of the operator that an entry names instead of its own.
    fn attributes_of_another(&mut self, node: &Node) -> (String, Vec<Attribute>) {
        let stated = node.name_of("attributes").and_then(|name| self.stated_by(&name));
        stated.map(|stated| (stated.by.clone(), stated.attributes.clone())).unwrap_or_default()
    }

    /// Finds the operator before this one, in its group, that an entry names.
    fn stated_by(&mut self, name: &At<String>) -> Option<&Stated> {
        let found = self.stated.iter().position(|stated| stated.operator == name.value);
        if found.is_none() && self.unsound.contains(&name.value, false) {
            self.diagnostics.distrust(name.span);
        } else if found.is_none() {
            let message = format!("the group has no operator `{}` before this one", name.value);
            Diagnostic::new(Code::OperatorForm, name.span, message)
                .nearest(&name.value, self.stated.iter().map(|stated| stated.operator.as_str()))
                .help("`attributes` names the operator whose attributes this one has too, or states its own")
                .add_to(self.diagnostics);
        }
        found.map(|index| &self.stated[index])
    }
}

/// Reads the value of an attribute.
pub(in crate::model::lower) fn value(
    node: &Node,
    ty: AttributeType,
    diagnostics: &mut Diagnostics,
) -> Option<AttributeValue> {
    let value = match ty {
        AttributeType::Bool => node.bool().map(AttributeValue::Truth),
        AttributeType::F64 => node.number().map(AttributeValue::Number),
        AttributeType::I64 => node.integer().map(AttributeValue::Integer),
        AttributeType::Text => node.text().map(|text| AttributeValue::Text(text.to_owned())),
        AttributeType::Texts => list(node, |node| node.text().map(str::to_owned)).map(AttributeValue::Texts),
        AttributeType::Integers => list(node, Node::integer).map(AttributeValue::Integers),
        AttributeType::Numbers => list(node, Node::number).map(AttributeValue::Numbers),
    };
    if value.is_none() {
        let message = format!("the attribute is {}, but this is {}", ty.shown(), node.kind());
        diagnostics.push(Diagnostic::new(Code::WrongValue, node.span, message));
    }
    value
}

fn list<T>(node: &Node, item: impl Fn(&Node) -> Option<T>) -> Option<Vec<T>> {
    matches!(node.content, Content::List(_)).then(|| node.items().iter().map(item).collect())?
}
