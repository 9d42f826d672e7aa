//! Parameters of functions and callbacks, and fields of structs. They have the same syntax.

use super::{Lowerer, Namespace, Scope, flag, parts, text};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{
    Absent, Availability, Constant, Direction, Extent, FunctionId, GroupId, Holds, Length, Param, ParamId,
    Part, Places, Prose, Role, Space, Ty, TypeId,
};
use crate::source::At;
use crate::yaml::Node;

impl Lowerer<'_> {
    pub(super) fn params<'a>(
        &mut self,
        scope: Scope,
        receiver: Option<Param>,
        entries: impl Iterator<Item = &'a (At<String>, Node)> + Clone,
    ) -> Vec<Param> {
        let first = receiver.as_ref().map(|receiver| receiver.name.value.clone());
        let names = entries.clone().map(|(name, _)| name.value.as_str());
        let names: Vec<&str> = first.as_deref().into_iter().chain(names).collect();
        let before = usize::from(receiver.is_some());
        let entries = entries.enumerate().filter(|(index, (name, _))| {
            // Within a mapping, keys are unique.
            let first = names.iter().position(|other| *other == name.value);
            let is_first = first == Some(*index + before);
            if !is_first {
                let message = format!("the group has a parameter `{}` for each of its functions", name.value);
                Diagnostic::new(Code::DuplicateName, name.span, message)
                    .label("named again here")
                    .add_to(self.diagnostics);
            }
            is_first
        });
        let entries: Vec<_> = entries.collect();
        let params = entries.into_iter().map(|(_, (name, node))| self.param(scope, name, node, &names));
        receiver.into_iter().chain(params).collect()
    }

    /// Returns the first parameter of an object's function, which is the object itself; `None` for other functions.
    pub(super) fn receiver(&mut self, scope: Scope, group: GroupId, node: &Node) -> Option<Param> {
        let (index, _) = scope.trees.object(group)?;
        let name = scope.trees.receiver(group)?;
        let use_ = node.text_of("object");
        let place = node.get("object").unwrap_or(node);
        Some(Param {
            name: At { value: name.clone(), span: place.span },
            c_name: None,
            python_name: None,
            ty: Ty::Named(TypeId { interface: scope.id, index }),
            dir: Direction::In,
            space: None,
            length: None,
            lent: false,
            nullable: false,
            by_pointer: false,
            role: if use_ == Some("releases") { Role::Destroys } else { Role::Uses },
            of: None,
            held: None,
            context_of: None,
            is_status: false,
            failure: 0,
            constness: Some(use_ == Some("reads")),
            is_array_mutable: false,
            upstream: None,
            c_type: None,
            holds: None,
            absent: None,
            availability: Availability::default(),
            doc: Prose::new(vec![(Part::All, format!("The {}.", name.replace('_', " ")))], false),
            places: Places::of(place.span, place),
        })
    }

    /// Lowers a result, which has the syntax of an `in` parameter.
    pub(super) fn result(&mut self, scope: Scope, node: &Node) -> Param {
        let name = At { value: "result".to_owned(), span: node.span };
        self.param(scope, &name, node, &[])
    }

    fn param(&mut self, scope: Scope, name: &At<String>, node: &Node, names: &[&str]) -> Param {
        let length = match (node.get("bytes"), node.get("count")) {
            (Some(bytes), _) => self.extent(scope, bytes, names).map(Length::Bytes),
            (_, Some(count)) => self.extent(scope, count, names).map(Length::Count),
            _ => None,
        };
        if let (Some(bytes), Some(count)) = (node.get("bytes"), node.get("count")) {
            Diagnostic::new(Code::LengthMisplaced, count.span, "a parameter can have only one length")
                .label("the second length")
                .related(bytes.span, "the first length")
                .add_to(self.diagnostics);
        }
        if let Some(held) = node.get("held").filter(|held| held.bool() == Some(true)) {
            Diagnostic::new(Code::WrongValue, held.span, "`held` must name a stream, or be `false`")
                .label("no stream is named")
                .add_to(self.diagnostics);
        }
        let mut sibling = |key| node.get(key).and_then(|node| self.sibling(node, names));
        let (of, held, context_of) = (sibling("of"), sibling("held"), sibling("context_of"));
        Param {
            name: name.clone(),
            c_name: text(node, "c"),
            python_name: text(node, "python"),
            ty: node.get("type").map_or(Ty::Size, |ty| self.resolve(scope, ty)),
            dir: match node.text_of("dir") {
                Some("out") => Direction::Out,
                Some("inout") => Direction::InOut,
                _ => Direction::In,
            },
            space: match node.text_of("space") {
                Some("host") => Some(Space::Host),
                Some("device") => Some(Space::Device),
                Some("unified") => Some(Space::Unified),
                Some("any") => Some(Space::Any),
                _ => None,
            },
            length,
            lent: flag(node, "lent"),
            nullable: flag(node, "nullable"),
            by_pointer: node.get("by").is_some(),
            role: match node.text_of("role") {
                Some("creates") => Role::Creates,
                Some("destroys") => Role::Destroys,
                _ => Role::Uses,
            },
            of,
            held,
            context_of,
            is_status: flag(node, "status"),
            failure: node.get("failure").and_then(Node::integer).unwrap_or_default(),
            constness: match node.get("const") {
                Some(word) if word.text() == Some("objects") => Some(true),
                node => node.and_then(Node::bool),
            },
            is_array_mutable: node.text_of("const") == Some("objects"),
            upstream: text(node, "upstream"),
            c_type: text(node, "c_type"),
            availability: self.availability(scope, node),
            holds: node.get("holds").and_then(|node| match node.text() {
                Some("release") => Some(Holds::Release),
                Some("size") => Some(Holds::Size),
                Some("owner") => Some(Holds::Owner),
                Some("value") => Some(Holds::Value),
                _ => node.integer().map(Holds::Constant),
            }),
            absent: node.get("absent").and_then(|node| self.absent(scope, node)),
            doc: parts(node.get("doc"), false),
            places: Places::of(name.span, node),
        }
    }

    fn sibling(&mut self, node: &Node, names: &[&str]) -> Option<ParamId> {
        let name = node.text()?;
        let found = names.iter().position(|known| *known == name);
        if found.is_none() {
            Diagnostic::new(Code::UnknownParameter, node.span, format!("there is no parameter `{name}`"))
                .label("no other parameter has this name")
                .nearest(name, names.iter().copied())
                .add_to(self.diagnostics);
        }
        found.map(ParamId)
    }

    fn extent(&mut self, scope: Scope, node: &Node, names: &[&str]) -> Option<Extent> {
        if let Some(number) = node.integer() {
            return match u64::try_from(number) {
                Ok(number) if number > 0 => Some(Extent::Number(number)),
                _ => {
                    Diagnostic::new(Code::LengthType, node.span, format!("{number} is not a length"))
                        .label("must be at least 1")
                        .add_to(self.diagnostics);
                    None
                }
            };
        }
        match node.get("call") {
            Some(call) => self.function_id(scope, call).map(Extent::Call),
            None => self.sibling(node, names).map(Extent::Param),
        }
    }

    fn absent(&mut self, scope: Scope, node: &Node) -> Option<Absent> {
        match node.get("call") {
            Some(call) => self.function_id(scope, call).map(Absent::Call),
            None => constant(node).map(Absent::Constant),
        }
    }

    pub(super) fn function_id(&mut self, scope: Scope, node: &Node) -> Option<FunctionId> {
        self.function_named(scope, &node.at()?)
    }

    pub(super) fn function_at(&mut self, scope: Scope, node: &Node) -> Option<At<FunctionId>> {
        Some(At { value: self.function_id(scope, node)?, span: node.span })
    }

    pub(super) fn function_named(&mut self, scope: Scope, name: &At<String>) -> Option<FunctionId> {
        let interface = scope.id;
        let known = &self.names.functions[interface.0];
        if let Some(index) = known.get(&name.value) {
            self.references.found(Namespace::Functions(interface), &name.value);
            return Some(FunctionId(*index));
        }
        if self.functions_missing[interface.0] {
            self.diagnostics.distrust(name.span);
            return None;
        }
        let message = format!("there is no function `{}`", name.value);
        let diagnostic = Diagnostic::new(Code::UnknownFunction, name.span, message)
            .label("not described in this interface")
            .nearest(&name.value, known.keys().map(String::as_str));
        self.references.missed(name.clone(), vec![Namespace::Functions(interface)], diagnostic);
        None
    }
}

pub(super) fn constant(node: &Node) -> Option<Constant> {
    if node.is_null() {
        return Some(Constant::Null);
    }
    node.bool().map(Constant::Bool).or_else(|| node.integer().map(Constant::Integer))
}
