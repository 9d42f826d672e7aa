//! Kernels: maps kernels of a host to operators.

use std::collections::BTreeMap;

use super::unresolved::Namespace;
use super::{Lowerer, Scope, operators, prose};
use crate::diagnostic::{Code, Diagnostic};
use crate::formula::Variable;
use crate::model::{
    Arity, AttributeValue, IgnoredTensor, Kernel, KernelAttribute, KernelGroup, KernelInput, KernelOutput,
    KernelRole, KernelShape, KernelType, Operator, Operators, ReleaseId, ShapeArgument, gradient_name,
};
use crate::source::At;
use crate::yaml::Node;

/// Returns the forms of each kernel, in the order of the spec.
fn forms_by_name(groups: &[KernelGroup]) -> BTreeMap<&str, Vec<&Kernel>> {
    let mut by_name: BTreeMap<&str, Vec<&Kernel>> = BTreeMap::new();
    for kernel in groups.iter().flat_map(|group| &group.kernels) {
        by_name.entry(&kernel.name.value).or_default().push(kernel);
    }
    by_name
}

impl Lowerer<'_> {
    pub(super) fn kernel_groups(
        &mut self,
        scope: Scope,
        trees: &[Node],
        operators: Option<&Operators>,
    ) -> Vec<KernelGroup> {
        let group = |node: &Node| KernelGroup {
            name: prose(node, "group"),
            title: prose(node, "title"),
            summary: prose(node, "summary"),
            doc: prose(node, "doc"),
            kernels: node
                .items_of("kernels")
                .iter()
                .filter_map(|node| self.kernel(scope, node, operators))
                .collect(),
        };
        let groups: Vec<KernelGroup> = trees.iter().map(group).collect();
        if let Some(operators) = operators {
            self.check_forms_are_distinct(&groups, operators);
        }
        self.check_forms_follow(scope, &groups);
        groups
    }

    /// Reports a kernel that another entry describes for a common release and a common element type.
    fn check_forms_are_distinct(&mut self, groups: &[KernelGroup], operators: &Operators) {
        for forms in forms_by_name(groups).into_values() {
            for (index, kernel) in forms.iter().enumerate() {
                let types = kernel.element_types(operators);
                let shares =
                    |other: &Kernel| types.iter().any(|ty| other.element_types(operators).contains(ty));
                let mut before = forms[..index].iter();
                let before = before.find(|other| other.available.overlaps(kernel.available) && shares(other));
                if let Some(before) = before {
                    let message = format!("the kernel `{}` has two forms in one release", kernel.name.value);
                    Diagnostic::new(Code::KernelTwice, kernel.name.span, message)
                        .label("the host would use only one of them")
                        .related(before.name.span, "the other form")
                        .add_to(self.diagnostics);
                }
            }
        }
    }

    /// Reports a kernel whose forms leave out releases between them.
    fn check_forms_follow(&mut self, scope: Scope, groups: &[KernelGroup]) {
        for forms in forms_by_name(groups).into_values() {
            let has = |index: usize| forms.iter().any(|form| form.available.contains(ReleaseId(index)));
            let all: Vec<usize> = (0..scope.releases.len()).filter(|index| has(*index)).collect();
            let gap = all.windows(2).find(|pair| pair[1] > pair[0] + 1);
            let Some([before, after]) = gap else { continue };
            let next = ReleaseId(*after);
            let Some(later) = forms.iter().find(|form| form.available.since == Some(next)) else { continue };
            let missing = &scope.releases[before + 1].name.value;
            let message = format!("the kernel `{}` has no form for {missing}", later.name.value);
            let earlier = forms.iter().find(|form| form.available.until == Some(ReleaseId(*before)));
            let diagnostic = Diagnostic::new(Code::KernelTwice, later.name.span, message);
            let earlier = earlier.map(|form| form.name.span);
            self.report(
                diagnostic.label("this form begins later").related_if(earlier, "this one ends before"),
            );
        }
    }

    fn kernel(&mut self, scope: Scope, node: &Node, operators: Option<&Operators>) -> Option<Kernel> {
        let name = node.name_of("kernel")?;
        let wanted = node.name_of("op").unwrap_or_else(|| name.clone());
        let found = operators.and_then(|all| all.find(&wanted.value));
        let is_unsound = |all: &Operators| all.unsound.contains(&wanted.value, found.is_some());
        if operators.map_or(self.operators_missing, is_unsound) {
            self.diagnostics.distrust(name.span);
            return None;
        }
        let Some((operators, id)) = operators.zip(found) else {
            let message = format!("there is no operator `{}`", wanted.value);
            let diagnostic = Diagnostic::new(Code::UnknownOperator, wanted.span, message);
            let groups = operators.into_iter().flat_map(|operators| &operators.groups);
            let known =
                groups.flat_map(|group| &group.operators).map(|operator| operator.name.value.as_str());
            let diagnostic = diagnostic.nearest(&wanted.value, known);
            self.references.missed(wanted, vec![Namespace::Operators], diagnostic);
            return None;
        };
        self.references.found(Namespace::Operators, &wanted.value);
        let operator = operators.operator(id);
        let inputs = self.kernel_inputs(node, operator);
        let attributes = self.kernel_attributes(node, operator);
        let kernel = Kernel {
            name,
            operator: id,
            plain: self.plain_inputs(node, operator),
            outputs: self.kernel_outputs(node, operator),
            shape: self.kernel_shape(node, operator, &inputs, &attributes),
            inputs,
            attributes,
            constants: self.kernel_constants(node, operator),
            types: node.get("types").map(|_| operators::types(node)),
            available: self.availability(scope, node),
        };
        self.check_kernel(&kernel, operator);
        Some(kernel)
    }

    fn kernel_inputs(&mut self, node: &Node, operator: &Operator) -> Vec<KernelInput> {
        let all = || (0..operator.inputs.len()).map(Variable::Input);
        let Some(list) = node.get("inputs") else { return all().map(KernelInput::Variable).collect() };
        let of_formulas = operator.elementwise().map(|_| [Variable::Output, Variable::OutputGradient]);
        let known: Vec<Variable> = all().chain(of_formulas.into_iter().flatten()).collect();
        let names = || known.iter().map(|known| operator.variable_name(*known));
        self.kernel_tensors(list, operator, &names().collect::<Vec<_>>())
            .into_iter()
            .map(|tensor| match tensor {
                Ok(index) => KernelInput::Variable(known[index]),
                Err(ignored) => KernelInput::Ignored(ignored),
            })
            .collect()
    }

    fn plain_inputs(&mut self, node: &Node, operator: &Operator) -> Vec<String> {
        let optional = operator.inputs.iter().filter(|input| input.arity == Arity::Optional);
        let known: Vec<String> = optional.map(|input| input.name.clone()).collect();
        let names: Vec<At<String>> = node.items_of("plain").iter().filter_map(Node::at).collect();
        for name in names.iter().filter(|name| !known.contains(&name.value)) {
            self.report_unknown(name, operator, &known);
        }
        names.into_iter().map(|name| name.value).collect()
    }

    /// Resolves the tensors of a list: each is ignored, or is an index of a known name.
    fn kernel_tensors(
        &mut self,
        list: &Node,
        operator: &Operator,
        known: &[String],
    ) -> Vec<Result<usize, IgnoredTensor>> {
        let mut tensors = Vec::new();
        for item in list.items() {
            if let Some(name) = item.text_of("name") {
                tensors.push(Err(IgnoredTensor { name: name.to_owned(), arity: operators::arity(item) }));
            }
            let Some(name) = item.at() else { continue };
            match known.iter().position(|known| *known == name.value) {
                Some(index) => tensors.push(Ok(index)),
                None => self.report_unknown(&name, operator, known),
            }
        }
        tensors
    }

    fn kernel_attributes(&mut self, node: &Node, operator: &Operator) -> Vec<KernelAttribute> {
        let mut attributes = Vec::new();
        for (name, node) in node.entries_of("attributes") {
            let ty = node.text().or_else(|| node.text_of("type"));
            let Some(ty) = ty.and_then(KernelType::of) else { continue };
            let found = operator.attributes.iter().position(|attribute| attribute.name == name.value);
            let role = match found {
                _ if node.get("ignored").is_some() => KernelRole::Ignored,
                Some(index) => KernelRole::Attribute(index),
                None if name.value == "axis" && operator.elementwise().is_some() => KernelRole::Axis,
                None if name.value == "seed" && operator.random => KernelRole::Seed,
                None => {
                    self.report_unknown_attribute(name, operator);
                    continue;
                }
            };
            let fits = match role {
                KernelRole::Attribute(index) => ty.gives(operator.attributes[index].ty),
                KernelRole::Axis | KernelRole::Seed => ty == KernelType::I32,
                KernelRole::Ignored => true,
            };
            if !fits {
                let message = format!("`{}` cannot be converted from this type", name.value);
                self.report(Diagnostic::new(Code::KernelForm, node.span, message));
            }
            attributes.push(KernelAttribute { name: name.value.clone(), ty, role });
        }
        attributes
    }

    fn kernel_outputs(&mut self, node: &Node, operator: &Operator) -> Vec<KernelOutput> {
        let all = || (0..operator.outputs.len()).map(KernelOutput::Output);
        let Some(list) = node.get("outputs") else { return all().collect() };
        let gradients = operator.elementwise().map_or(&[][..], |formulas| &formulas.gradients);
        let mut names: Vec<String> = operator.outputs.iter().map(|output| output.name.clone()).collect();
        names.extend(gradients.iter().map(|gradient| gradient_name(&operator.inputs[gradient.input].name)));
        self.kernel_tensors(list, operator, &names)
            .into_iter()
            .map(|tensor| match tensor {
                Ok(index) => match index.checked_sub(operator.outputs.len()) {
                    None => KernelOutput::Output(index),
                    Some(gradient) => KernelOutput::Gradient(gradient),
                },
                Err(ignored) => KernelOutput::Ignored(ignored),
            })
            .collect()
    }

    fn kernel_shape(
        &mut self,
        node: &Node,
        operator: &Operator,
        inputs: &[KernelInput],
        attributes: &[KernelAttribute],
    ) -> Option<KernelShape> {
        let node = node.get("shape")?;
        let mut takes = Vec::new();
        for name in node.items_of("takes").iter().filter_map(Node::at) {
            let is_ignored =
                |input: &KernelInput| matches!(input, KernelInput::Ignored(it) if it.name == name.value);
            let input = operator.inputs.iter().position(|input| input.name == name.value);
            let ignored = || inputs.iter().position(is_ignored).map(ShapeArgument::Ignored);
            let attribute = || attributes.iter().position(|attribute| attribute.name == name.value);
            let found = input.map(ShapeArgument::Input).or_else(ignored);
            match found.or_else(|| attribute().map(ShapeArgument::Attribute)) {
                Some(argument) => takes.push(argument),
                None => {
                    let inputs = operator.inputs.iter().map(|input| &input.name);
                    let known = inputs.chain(attributes.iter().map(|attribute| &attribute.name)).cloned();
                    self.report_unknown(&name, operator, &known.collect::<Vec<_>>());
                }
            }
        }
        Some(KernelShape { rule: node.text_of("rule")?.to_owned(), takes })
    }

    fn kernel_constants(&mut self, node: &Node, operator: &Operator) -> Vec<(usize, AttributeValue)> {
        let mut constants = Vec::new();
        for (name, node) in node.entries_of("constants") {
            let found = operator.attributes.iter().position(|attribute| attribute.name == name.value);
            let Some(index) = found else {
                self.report_unknown_attribute(name, operator);
                continue;
            };
            let value = operators::value(node, operator.attributes[index].ty, self.diagnostics);
            constants.extend(value.map(|value| (index, value)));
        }
        constants
    }

    pub(super) fn report_unknown_attribute(&mut self, name: &At<String>, operator: &Operator) {
        let known: Vec<String> = operator.attributes.iter().map(|attribute| attribute.name.clone()).collect();
        self.report_unknown(name, operator, &known);
    }

    fn report_unknown(&mut self, name: &At<String>, operator: &Operator, known: &[String]) {
        let message = format!("the operator `{}` has no `{}` for this", operator.name.value, name.value);
        let diagnostic = Diagnostic::new(Code::KernelForm, name.span, message);
        self.report(diagnostic.nearest(&name.value, known.iter().map(String::as_str)));
    }

    /// Reports values that the operator needs and the kernel does not receive.
    fn check_kernel(&mut self, kernel: &Kernel, operator: &Operator) {
        let mut missing = |needed: &str, by: &str| {
            let message = format!("{by} needs `{needed}`, which the kernel does not receive");
            Diagnostic::new(Code::KernelForm, kernel.name.span, message)
                .label(format!("it computes the operator `{}`", operator.name.value))
                .add_to(self.diagnostics);
        };
        let Some(formulas) = operator.elementwise() else {
            let by = format!("the operator `{}`", operator.name.value);
            for (index, input) in operator.inputs.iter().enumerate() {
                if input.arity == Arity::One && !kernel.takes(Variable::Input(index)) {
                    missing(&input.name, &by);
                }
            }
            for (index, attribute) in operator.attributes.iter().enumerate() {
                if !kernel.knows(operator, index) {
                    missing(&attribute.name, &by);
                }
            }
            for (index, output) in operator.outputs.iter().enumerate() {
                if output.arity == Arity::One && !kernel.gives(index) {
                    missing(&output.name, &by);
                }
            }
            return;
        };
        for output in &kernel.outputs {
            let Some(formula) = formulas.formula_of(output) else { continue };
            for variable in formulas.uses(formula) {
                let is_there = match variable {
                    Variable::Part(_) => true,
                    Variable::Attribute(index) => kernel.knows(operator, index),
                    tensor => kernel.takes(tensor),
                };
                if !is_there {
                    missing(&operator.variable_name(variable), &format!("`{}`", formula.text));
                }
            }
        }
    }
}
