//! Functions.

use super::{Lowerer, Namespace, Scope, flag, name, parts, prose, text};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{ArgsStruct, Function, GroupId, Need, Param, ParamId, Places, ResultKind, StatusValue};
use crate::source::At;
use crate::yaml::{Content, Node};

impl Lowerer<'_> {
    pub(super) fn function(&mut self, scope: Scope, group: GroupId, node: &Node) -> Function {
        let name = name(node);
        let kind = scope.trees.interface.text_of("kind");
        let receiver = self.receiver(scope, group, node);
        let is_of_object = receiver.is_some();
        let params = self.params(scope, receiver, scope.trees.params(group, node));
        let result = match node.get("result") {
            Some(result) if !result.entries().is_empty() => {
                ResultKind::Value(Box::new(self.result(scope, result)))
            }
            Some(result) if result.text() == Some("none") => ResultKind::None,
            _ => ResultKind::Status,
        };
        let question = node.get("status_as_bool").and_then(|node| {
            let yes = node.get("yes").and_then(|node| self.status(scope, node));
            let no = node.get("no").and_then(|node| self.status(scope, node));
            yes.zip(no)
        });
        Function {
            c_name: text(node, "c").unwrap_or_else(|| format!("{}{}", scope.prefix, name.value)),
            summary: prose(node, "summary"),
            doc: parts(node.get("doc"), true),
            stream_ordered: node.get("stream_ordered").and_then(|node| self.param_id(&params, node)),
            no_fallback: prose(node, "no_fallback"),
            fallback: node
                .get("fallback")
                .filter(|node| matches!(node.content, Content::Map(_)))
                .map(|node| self.fallback(scope, node, &params, &result)),
            method: text(node, "method"),
            python: node.get("python").and_then(|node| self.python_function(scope, node, &params)),
            params,
            forms: Vec::new(),
            compute: Vec::new(),
            args: node.get("args").and_then(|node| self.args_struct(scope, node)),
            result,
            need: match node.text_of("required") {
                Some("load") => Need::Load,
                Some("use") => Need::Use,
                _ => Need::Optional,
            },
            when_null: match node.text_of("required") {
                Some("load") if kind == Some("table") => "The host refuses the plugin.".to_owned(),
                Some("load") if kind == Some("objects") => "The host refuses the object.".to_owned(),
                _ => prose(node, "when_null"),
            },
            fill_always: node.get("fill").is_some(),
            availability: self.availability(scope, node),
            is_of_object,
            receives_object: flag(node, "receives_object"),
            slot: self.number(node, "slot").map(u64::from),
            releases: None,
            variadic: flag(node, "variadic"),
            blocking: flag(node, "blocking"),
            question,
            returns: node
                .entries_of("returns")
                .iter()
                .filter_map(|(key, node)| {
                    let status = self.status_named(scope, key)?;
                    Some((status, parts(Some(node), false)))
                })
                .collect(),
            analogue: node
                .entries_of("analogue")
                .iter()
                .filter_map(|(key, node)| Some((key.value.clone(), node.text()?.to_owned())))
                .collect(),
            see: node.items_of("see").iter().filter_map(|node| self.function_id(scope, node)).collect(),
            group,
            places: Places::of(name.span, node),
            name,
        }
    }

    /// Reads a number that is not negative.
    pub(super) fn number(&mut self, node: &Node, key: &str) -> Option<u32> {
        let node = node.get(key)?;
        let number = node.integer().and_then(|number| u32::try_from(number).ok());
        if number.is_none() {
            let message = format!("`{key}` is a number from 0 to {}", u32::MAX);
            self.report(Diagnostic::new(Code::WrongValue, node.span, message).label("out of range"));
        }
        number
    }

    fn args_struct(&mut self, scope: Scope, node: &Node) -> Option<ArgsStruct> {
        let Some((size_field, extension)) = scope.args else {
            let message = "it is not stated what structs of arguments begin with";
            Diagnostic::new(Code::ArgsStruct, node.span, message)
                .label("`args` is missing in `interface.yaml`")
                .add_to(self.diagnostics);
            return None;
        };
        let c_name = node.text()?.to_owned();
        Some(ArgsStruct { c_name, size_field: size_field.clone(), extension: extension.clone() })
    }

    /// Resolves the name of a parameter of a function.
    pub(super) fn param_id(&mut self, params: &[Param], node: &Node) -> Option<ParamId> {
        self.param_named(params, &node.at()?)
    }

    pub(super) fn param_named(&mut self, params: &[Param], name: &At<String>) -> Option<ParamId> {
        let found = params.iter().position(|param| param.name.value == name.value);
        if found.is_none() {
            let message = format!("there is no parameter `{}`", name.value);
            Diagnostic::new(Code::UnknownParameter, name.span, message)
                .label("not a parameter of this function")
                .nearest(&name.value, params.iter().map(|param| param.name.value.as_str()))
                .add_to(self.diagnostics);
        }
        found.map(ParamId)
    }

    /// Resolves the name of a value of the interface's status.
    pub(super) fn status(&mut self, scope: Scope, node: &Node) -> Option<StatusValue> {
        self.status_named(scope, &node.at()?)
    }

    fn status_named(&mut self, scope: Scope, name: &At<String>) -> Option<StatusValue> {
        let found = scope.statuses.iter().position(|known| *known == name.value);
        let space = scope.status.map(Namespace::Statuses);
        match (found, space) {
            (Some(_), Some(space)) => self.references.found(space, &name.value),
            (None, Some(space)) if !scope.statuses.is_empty() => {
                let message = format!("there is no status `{}`", name.value);
                let diagnostic = Diagnostic::new(Code::BadStatus, name.span, message)
                    .label("not a value of the status type")
                    .nearest(&name.value, scope.statuses.iter().map(String::as_str));
                self.references.missed(name.clone(), vec![space], diagnostic);
            }
            _ => self.diagnostics.distrust(name.span),
        }
        found.map(StatusValue)
    }
}
