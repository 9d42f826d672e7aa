//! Fallbacks: checks that each has exactly one form, and resolves the arguments of its calls.

use super::param::constant;
use super::{Lowerer, Scope, prose};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Argument, Buffer, Call, Fallback, FallbackKind, Param, ParamId, ResultKind, Rule};
use crate::source::At;
use crate::text::quoted;
use crate::yaml::{Content, Node};

const FORMS: [&str; 6] = ["constant", "call", "sequence", "strategy", "refuse", "nothing"];

/// The buffers of a fallback.
#[derive(Default)]
struct Locals {
    buffers: Vec<Buffer>,
    /// Names of buffers that were not parsed, because of errors that are already reported.
    misread: Vec<String>,
}

impl Lowerer<'_> {
    /// Reads the fallback of a function, of which the parameters and the result are known.
    pub(super) fn fallback(
        &mut self,
        scope: Scope,
        node: &Node,
        params: &[Param],
        result: &ResultKind,
    ) -> Fallback {
        let given: Vec<&(At<String>, Node)> =
            node.entries().iter().filter(|(key, _)| FORMS.contains(&key.value.as_str())).collect();
        if given.len() != 1 {
            let error = |span, message| Diagnostic::new(Code::FallbackIncomplete, span, message);
            let diagnostic = match given[..] {
                [(first, _), (second, _), ..] => error(second.span, "a fallback can have only one form")
                    .label("the second form")
                    .related(first.span, "the first form"),
                _ => error(node.span, "a fallback needs a form").label("no form here"),
            };
            self.report(diagnostic.help(format!("one of {}", quoted(FORMS).join(", "))));
        }
        let kind = match given.first() {
            Some((key, form)) if key.value == "constant" => self.constants(form, params, result),
            Some((key, form)) => self.form(scope, &key.value, form, node, params),
            None => FallbackKind::Nothing,
        };
        Fallback {
            kind,
            rule: match node.text_of("rule") {
                Some("host") => Rule::Host,
                _ => Rule::Ours,
            },
            why: prose(node, "why"),
            costs: prose(node, "costs"),
            span: given.first().map_or(node.span, |(key, _)| key.span),
        }
    }

    fn form(
        &mut self,
        scope: Scope,
        form: &str,
        node: &Node,
        whole: &Node,
        params: &[Param],
    ) -> FallbackKind {
        match form {
            "call" => match self.calls(scope, node, params, &Locals::default()).into_iter().next() {
                Some(call) => FallbackKind::Call(call),
                None => {
                    self.diagnostics.distrust(node.span);
                    FallbackKind::Nothing
                }
            },
            "sequence" => {
                let locals = self.locals(whole, params);
                let calls =
                    node.items().iter().flat_map(|node| self.calls(scope, node, params, &locals)).collect();
                let answer = whole.get("then").and_then(Node::bool);
                FallbackKind::Sequence { buffers: locals.buffers, calls, answer }
            }
            "strategy" => FallbackKind::Strategy {
                name: node.at().unwrap_or(At { value: String::new(), span: node.span }),
                needs: whole
                    .items_of("needs")
                    .iter()
                    .filter_map(|node| self.function_at(scope, node))
                    .collect(),
            },
            "refuse" => match self.status(scope, node) {
                Some(status) => FallbackKind::Refuse { status, message: prose(whole, "message") },
                None => FallbackKind::Nothing,
            },
            _ if node.bool() == Some(false) => {
                Diagnostic::new(Code::WrongValue, node.span, "`nothing` is always `true`")
                    .label("write `true`, or use another form")
                    .add_to(self.diagnostics);
                FallbackKind::Nothing
            }
            _ => FallbackKind::Nothing,
        }
    }

    /// Reads a constant for all results, or one for each by name. That of the returned value is `result`, unless a
    /// parameter has this name.
    fn constants(&mut self, node: &Node, params: &[Param], result: &ResultKind) -> FallbackKind {
        let returns = result.value().is_some();
        if let Some(constant) = constant(node) {
            let outputs = params.iter().enumerate().filter(|(_, param)| param.is_output());
            return FallbackKind::Constant {
                outputs: outputs.map(|(index, _)| (ParamId(index), constant)).collect(),
                returned: returns.then_some(constant),
            };
        }
        let (mut outputs, mut returned) = (Vec::new(), None);
        for (key, node) in node.entries() {
            let is_result =
                returns && key.value == "result" && params.iter().all(|it| it.name.value != key.value);
            if is_result {
                returned = constant(node);
            } else if let Some(param) = self.param_named(params, key) {
                outputs.extend(constant(node).map(|constant| (param, constant)));
            }
        }
        FallbackKind::Constant { outputs, returned }
    }

    fn locals(&mut self, node: &Node, params: &[Param]) -> Locals {
        let mut locals = Locals::default();
        for (name, node) in node.entries_of("let") {
            match node.get("bytes").and_then(|node| self.param_id(params, node)) {
                Some(bytes) => locals.buffers.push(Buffer {
                    name: name.clone(),
                    bytes,
                    fill: node.get("fill").and_then(|node| self.param_id(params, node)),
                }),
                None => locals.misread.push(name.value.clone()),
            }
        }
        locals
    }

    /// Parses `{ function: { parameter: argument } }`. Reads the parameters of the called function from its own
    /// description.
    fn calls(&mut self, scope: Scope, node: &Node, params: &[Param], locals: &Locals) -> Vec<Call> {
        if matches!(&node.content, Content::Map(entries) if entries.is_empty()) {
            Diagnostic::new(Code::FallbackIncomplete, node.span, "this calls no function")
                .label("`{ function: { parameter: argument } }`")
                .add_to(self.diagnostics);
        }
        if node.entries().len() > 1 {
            let message = "a step can call only one function";
            Diagnostic::new(Code::FallbackIncomplete, node.entries()[1].0.span, message)
                .label("make it a separate step")
                .related(node.entries()[0].0.span, "the function of this step")
                .add_to(self.diagnostics);
        }
        node.entries()
            .iter()
            .filter_map(|(name, arguments)| {
                let function = self.function_named(scope, name)?;
                let (group, called) = scope.trees.entries("functions").nth(function.0)?;
                let receiver = scope.trees.receiver(group);
                let names = scope.trees.params(group, called).map(|(name, _)| name.value.as_str());
                let called: Vec<&str> = receiver.as_deref().into_iter().chain(names).collect();
                let mut resolved: Vec<(ParamId, At<Argument>)> = arguments
                    .entries()
                    .iter()
                    .filter_map(|(parameter, argument)| {
                        let index = called.iter().position(|known| *known == parameter.value);
                        let Some(index) = index else {
                            let message = format!("`{}` has no parameter `{}`", name.value, parameter.value);
                            Diagnostic::new(Code::UnknownParameter, parameter.span, message)
                                .nearest(&parameter.value, called.iter().copied())
                                .add_to(self.diagnostics);
                            return None;
                        };
                        Some((ParamId(index), self.argument(parameter, argument, params, locals)?))
                    })
                    .collect();
                resolved.sort_by_key(|(parameter, _)| *parameter);
                Some(Call { function: At { value: function, span: name.span }, arguments: resolved })
            })
            .collect()
    }

    fn argument(
        &mut self,
        parameter: &At<String>,
        node: &Node,
        params: &[Param],
        locals: &Locals,
    ) -> Option<At<Argument>> {
        // `{ device }` is an abbreviation of `{ device: device }`.
        let name = match (&node.content, node.at()) {
            (Content::Null, _) => parameter.clone(),
            (_, Some(name)) => name,
            _ => {
                let value = Argument::Constant(constant(node)?);
                return Some(At { value, span: node.span });
            }
        };
        if let Some(index) = locals.buffers.iter().position(|buffer| buffer.name.value == name.value) {
            return Some(At { value: Argument::Buffer(index), span: name.span });
        }
        if locals.misread.contains(&name.value) {
            self.diagnostics.distrust(name.span);
            return None;
        }
        let param = self.param_named(params, &name)?;
        Some(At { value: Argument::Param(param), span: name.span })
    }
}
