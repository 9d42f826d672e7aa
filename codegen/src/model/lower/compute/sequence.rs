//! Sequences: operators as steps that call other operators.

use super::{Methods, ResolvedParam, Resolver};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::model::lower::unresolved::References;
use crate::model::lower::{OperatorTrees, text};
use crate::model::{Arity, Operator, Operators, ParamId, Parameter, ParameterKind, Step, Target, TensorName};
use crate::source::Sources;
use crate::yaml::Node;

/// Resolves the sequences of all operators.
pub(in super::super) fn sequences(
    operators: &mut Operators,
    trees: &OperatorTrees,
    sources: &Sources,
    references: &mut References,
    diagnostics: &mut Diagnostics,
) {
    let mut sequences = Vec::new();
    let methods = Methods::of(Some(operators), false);
    for node in trees.groups.iter().flat_map(|group| group.items_of("operators")) {
        let Some(sequence) = node.get("sequence") else { continue };
        let Some(id) = text(node, "op").and_then(|name| operators.find(&name)) else { continue };
        let operator = operators.operator(id);
        if operators.unsound.contains(&operator.name.value, true) {
            continue;
        }
        if operator.random || operator.inputs.iter().chain(&operator.outputs).any(|it| it.arity.is_list()) {
            let message = "an operator with random numbers or lists of tensors has no sequence";
            diagnostics.push(Diagnostic::new(Code::OperatorForm, sequence.span, message));
            continue;
        }
        let names: Vec<Parameter> = methods.known[&operator.name.value].1.parameters();
        let params = names.iter().map(|parameter| param(parameter, operator)).collect();
        let mut resolver = Resolver {
            params,
            methods: &methods,
            sources,
            references,
            diagnostics,
            node: sequence,
            text: String::new(),
            locals: Vec::new(),
        };
        let steps = resolver.steps(sequence);
        resolver.check_order(sequence, &steps);
        sequences.push((id, steps));
    }
    drop(methods);
    for (id, steps) in sequences {
        operators.groups[id.group].operators[id.index].sequence = steps;
    }
    report_circles(operators, diagnostics);
}

fn param<'a>(parameter: &'a Parameter, operator: &Operator) -> ResolvedParam<'a> {
    let is_written = matches!(parameter.kind, ParameterKind::Output(_));
    let is_required = parameter.kind == ParameterKind::Output(Arity::One);
    ResolvedParam {
        name: &parameter.name,
        is_written,
        required: is_required.then_some("an output that is not optional"),
        is_tensor: matches!(parameter.kind, ParameterKind::Output(_) | ParameterKind::Input(_)),
        place: operator.span,
    }
}

impl<'a> Resolver<'a> {
    /// Reports steps that read what an earlier step may have overwritten: hosts pass an output in the memory of an input.
    fn check_order(&mut self, sequence: &'a Node, steps: &[Step]) {
        let nodes = match sequence.text() {
            Some(_) => std::slice::from_ref(sequence),
            None => sequence.items(),
        };
        if nodes.len() != steps.len() {
            return;
        }
        let mut written: Option<String> = None;
        for (node, step) in nodes.iter().zip(steps) {
            for (index, param) in self.params.iter().enumerate() {
                let name = TensorName::Param(ParamId(index));
                let message = match &written {
                    _ if param.is_written && step.call.reads(&name) => {
                        format!("`{}` is an output, which has no elements yet", param.name)
                    }
                    Some(output) if !param.is_written && param.is_tensor && step.call.names(&name) => {
                        format!("`{}` may be the memory of `{output}`, which is written by now", param.name)
                    }
                    _ => continue,
                };
                Diagnostic::new(Code::ComputeForm, node.span, message)
                    .help("read inputs in steps that write names of their own, and write the outputs last")
                    .add_to(self.diagnostics);
            }
            for target in &step.targets {
                if let Target::Param(id) = target {
                    written = Some(self.params[id.0].name.to_owned());
                }
            }
        }
    }
}

fn report_circles(operators: &Operators, diagnostics: &mut Diagnostics) {
    for circle in operators.circles() {
        let Some(operator) = circle.iter().find_map(|name| {
            operators
                .find(name)
                .map(|id| operators.operator(id))
                .filter(|operator| !operator.sequence.is_empty())
        }) else {
            continue;
        };
        let name = &operator.name.value;
        let start = circle.iter().position(|method| method == name).unwrap_or_default();
        let way: Vec<String> = circle
            .iter()
            .cycle()
            .skip(start)
            .take(circle.len() + 1)
            .map(|name| format!("`{name}`"))
            .collect();
        let message = format!("`{name}` is composed of itself");
        Diagnostic::new(Code::SequenceCircle, operator.sequence[0].span, message)
            .label(way.join(" needs "))
            .add_to(diagnostics);
    }
}
