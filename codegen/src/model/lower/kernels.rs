//! Kernels: which kernel of a host is which operator.

use super::*;
use crate::formula::{Ty, Variable};

impl Reader<'_> {
    /// The files in the folder `kernels` of an interface.
    pub(super) fn kernels(&mut self, interface: &At<String>, node: &Node) -> Vec<Node> {
        let groups = self.distinct(node, "kernels").into_iter().filter_map(|group| {
            let file = self.add(&format!("{}/kernels/{}.yaml", interface.value, group.value), &group)?;
            self.parse(file, &grammar::KERNEL_GROUP)
        });
        let groups = groups.collect();
        self.report_strays(&format!("{}/kernels", interface.value), "", node, "kernels");
        groups
    }
}

impl Lowerer<'_> {
    pub(super) fn kernel_groups(
        &mut self,
        scope: Scope,
        trees: &[Node],
        operators: Option<&Operators>,
    ) -> Vec<KernelGroup> {
        let group = |node: &Node| KernelGroup {
            name: text(node, "group").unwrap_or_default(),
            title: text(node, "title").unwrap_or_default(),
            summary: text(node, "summary").unwrap_or_default(),
            doc: prose(node, "doc"),
            kernels: node
                .get("kernels")
                .map_or(&[][..], Node::items)
                .iter()
                .filter_map(|node| self.kernel(scope, node, operators))
                .collect(),
        };
        trees.iter().map(group).collect()
    }

    fn kernel(&mut self, scope: Scope, node: &Node, operators: Option<&Operators>) -> Option<Kernel> {
        let name = node.get("kernel").and_then(Node::at)?;
        let wanted = node.get("op").and_then(Node::at).unwrap_or_else(|| name.clone());
        let Some((operators, id)) = operators.and_then(|all| Some((all, all.find(&wanted.value)?))) else {
            let message = format!("there is no operator `{}`", wanted.value);
            let diagnostic = Diagnostic::new(Code::UnknownOperator, wanted.span, message);
            let groups = operators.into_iter().flat_map(|operators| &operators.groups);
            let known =
                groups.flat_map(|group| &group.operators).map(|operator| operator.name.value.as_str());
            self.report(diagnostic.nearest(&wanted.value, known));
            return None;
        };
        let operator = operators.operator(id);
        let inputs = self.kernel_inputs(node, operator);
        let attributes = self.kernel_attributes(node, operator);
        let outputs = self.kernel_outputs(node, operator);
        let kernel = Kernel {
            name,
            operator: id,
            inputs,
            attributes,
            outputs,
            available: self.availability(scope, node),
        };
        self.check_kernel(&kernel, operator);
        Some(kernel)
    }

    fn kernel_inputs(&mut self, node: &Node, operator: &Operator) -> Vec<Variable> {
        let all = || (0..operator.inputs.len()).map(Variable::Input);
        let Some(list) = node.get("inputs") else { return all().collect() };
        let known: Vec<Variable> = all().chain([Variable::Output, Variable::OutputGradient]).collect();
        let mut inputs = Vec::new();
        for name in list.items().iter().filter_map(Node::at) {
            let found = known.iter().find(|variable| operator.variable_name(**variable) == name.value);
            match found {
                Some(variable) => inputs.push(*variable),
                None => {
                    let known: Vec<String> =
                        known.iter().map(|known| operator.variable_name(*known)).collect();
                    self.report_unknown(&name, operator, &known);
                }
            }
        }
        inputs
    }

    fn kernel_attributes(&mut self, node: &Node, operator: &Operator) -> Vec<KernelAttribute> {
        let mut attributes = Vec::new();
        for (name, node) in node.get("attributes").map_or(&[][..], Node::entries) {
            let ty = node.text().or_else(|| node.get("type").and_then(Node::text));
            let Some(ty) = ty.and_then(KernelType::of) else { continue };
            let found = operator.attributes.iter().position(|attribute| attribute.name == name.value);
            let role = match found {
                _ if node.get("ignored").is_some() => KernelRole::Ignored,
                Some(index) => KernelRole::Attribute(index),
                None if name.value == "axis" => KernelRole::Axis,
                None => {
                    let known: Vec<String> =
                        operator.attributes.iter().map(|attribute| attribute.name.clone()).collect();
                    self.report_unknown(name, operator, &known);
                    continue;
                }
            };
            let fits = match role {
                KernelRole::Attribute(index) => {
                    (operator.attributes[index].ty == Ty::Truth) == (ty == KernelType::Bool)
                        && !matches!(ty, KernelType::String | KernelType::DataType)
                }
                KernelRole::Axis => ty == KernelType::I32,
                KernelRole::Ignored => true,
            };
            if !fits {
                let message = format!("`{}` cannot come from this type", name.value);
                self.report(Diagnostic::new(Code::KernelForm, node.span, message));
            }
            attributes.push(KernelAttribute { name: name.value.clone(), ty, role });
        }
        attributes
    }

    fn kernel_outputs(&mut self, node: &Node, operator: &Operator) -> Vec<KernelOutput> {
        let Some(list) = node.get("outputs") else { return vec![KernelOutput::Result] };
        let gradients = operator.gradients.iter().map(|gradient| {
            let index = operator.gradients.iter().position(|other| other.input == gradient.input);
            (
                gradient_name(&operator.inputs[gradient.input].name),
                KernelOutput::Gradient(index.unwrap_or_default()),
            )
        });
        let known: Vec<(String, KernelOutput)> =
            std::iter::once((operator.output.name.clone(), KernelOutput::Result)).chain(gradients).collect();
        let mut outputs = Vec::new();
        for name in list.items().iter().filter_map(Node::at) {
            match known.iter().find(|(known, _)| *known == name.value) {
                Some((_, output)) => outputs.push(*output),
                None => {
                    let known: Vec<String> = known.iter().map(|(name, _)| name.clone()).collect();
                    self.report_unknown(&name, operator, &known);
                }
            }
        }
        outputs
    }

    fn report_unknown(&mut self, name: &At<String>, operator: &Operator, known: &[String]) {
        let message = format!("the operator `{}` has no `{}` for this", operator.name.value, name.value);
        let diagnostic = Diagnostic::new(Code::KernelForm, name.span, message);
        self.report(diagnostic.nearest(&name.value, known.iter().map(String::as_str)));
    }

    /// Reports values that a formula needs and the kernel does not get.
    fn check_kernel(&mut self, kernel: &Kernel, operator: &Operator) {
        for output in &kernel.outputs {
            let formula = match output {
                KernelOutput::Result => &operator.formula,
                KernelOutput::Gradient(index) => &operator.gradients[*index].formula,
            };
            for variable in operator.uses(formula) {
                let is_there = match variable {
                    Variable::Part(_) => true,
                    Variable::Attribute(index) => {
                        let given =
                            |attribute: &KernelAttribute| attribute.role == KernelRole::Attribute(index);
                        kernel.attributes.iter().any(given) || operator.attributes[index].default.is_some()
                    }
                    tensor => kernel.inputs.contains(&tensor),
                };
                if !is_there {
                    let needed = operator.variable_name(variable);
                    let message =
                        format!("`{}` needs `{needed}`, which the kernel does not get", formula.text);
                    Diagnostic::new(Code::KernelForm, kernel.name.span, message)
                        .label(format!("the formula is one of the operator `{}`", operator.name.value))
                        .add_to(self.diagnostics);
                }
            }
        }
    }
}
