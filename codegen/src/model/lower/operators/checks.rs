//! Checks of operators: memory in place, and parts and gradients that nothing uses.

use super::OperatorLowerer;
use crate::diagnostic::{Code, Diagnostic};
use crate::formula::Variable;
use crate::model::{Elementwise, Formula, Operand, gradient_name};
use crate::yaml::Node;

impl OperatorLowerer<'_> {
    /// Reports outputs that cannot have the memory of an input: of another shape, or beside another one.
    pub(super) fn check_in_place(&mut self, node: &Node, inputs: &[Operand], outputs: &[Operand]) {
        let entries = node.entries_of("outputs");
        let place = |index: usize| entries[index].1.get("in_place").map_or(node.span, |node| node.span);
        for (index, output) in outputs.iter().enumerate() {
            let Some(input) = output.in_place else { continue };
            let name = &inputs[input].name;
            let first = outputs[..index].iter().position(|other| other.in_place == Some(input));
            if let Some(first) = first {
                let message = format!("two outputs cannot both be the memory of `{name}`");
                Diagnostic::new(Code::OperatorForm, place(index), message)
                    .related(place(first), "the other one")
                    .add_to(self.diagnostics);
            }
            let other_shape = output.shape_of.filter(|shape_of| *shape_of != input);
            if output.shape.is_some() || other_shape.is_some() {
                let message = format!("`{}` has another shape than `{name}`", output.name);
                Diagnostic::new(Code::OperatorForm, place(index), message)
                    .label("so it cannot be its memory")
                    .add_to(self.diagnostics);
            }
        }
    }

    /// Reports parts that neither a formula nor a later part uses.
    pub(super) fn check_parts<'a>(
        &mut self,
        node: &Node,
        parts: &'a [(String, Formula)],
        formulas: impl Iterator<Item = &'a Formula>,
    ) {
        let entries = node.entries_of("where");
        if entries.len() != parts.len() || !self.diagnostics.trusts(node.extent()) {
            return;
        }
        let formulas: Vec<&Formula> = formulas.chain(parts.iter().map(|(_, formula)| formula)).collect();
        for (index, (name, _)) in entries.iter().enumerate() {
            let uses = |formula: &&Formula| formula.expr.uses(Variable::Part(index));
            if !formulas.iter().any(uses) {
                let message = format!("no formula uses the part `{}`", name.value);
                self.diagnostics.push(Diagnostic::new(Code::Unused, name.span, message));
            }
        }
    }

    /// Reports gradients that do not depend on that of the result.
    pub(super) fn check_gradients(&mut self, node: &Node, inputs: &[Operand], elementwise: &Elementwise) {
        for gradient in &elementwise.gradients {
            let uses = elementwise.uses(&gradient.formula);
            // A number is the gradient of a constant.
            if uses.is_empty() || uses.contains(&Variable::OutputGradient) {
                continue;
            }
            let input = &inputs[gradient.input].name;
            let Some((output, _)) = node.entries_of("outputs").first() else { continue };
            let Some(node) = node.get("gradient").and_then(|node| node.get(input)) else { continue };
            if !self.diagnostics.trusts(node.span) {
                continue;
            }
            let output = gradient_name(&output.value);
            let message = format!("the gradient of `{input}` does not use `{output}`");
            Diagnostic::new(Code::Unused, node.span, message)
                .label("this is the derivative alone")
                .help(format!("multiply it by `{output}`, the gradient of the result"))
                .add_to(self.diagnostics);
        }
    }
}
