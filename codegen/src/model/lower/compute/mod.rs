//! Computations and sequences: resolves the names in their steps, and checks what the operators get.

mod sequence;
mod syntax;

use std::collections::HashMap;

use super::unresolved::{Namespace, References};
use super::{Lowerer, Trees, within};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::model::{
    Arity, Callee, ComputeKind, ComputeValue, InterfaceKind, Method, OperatorCall, OperatorId, Operators,
    Param, ParamId, Spec, Step, Target, TensorName, Unsound, Work,
};
use crate::source::{At, Sources, Span};
use crate::yaml::Node;
pub(super) use sequence::sequences;
use syntax::{Word, Written, WrittenCall, WrittenTarget, WrittenValue};

/// The methods of all operators, by name.
struct Methods<'a> {
    known: HashMap<String, (OperatorId, Method<'a>)>,
    /// The operators with mistakes.
    unsound: Unsound,
}

impl<'a> Methods<'a> {
    /// Returns those of the operators of a spec. `is_missing`: they could not be read at all.
    fn of(operators: Option<&'a Operators>, is_missing: bool) -> Self {
        let unsound = match operators {
            Some(operators) => operators.unsound.clone(),
            None => Unsound::new(is_missing),
        };
        let methods = operators.into_iter().flat_map(|operators| {
            operators
                .ids()
                .flat_map(|id| operators.operator(id).methods().into_iter().map(move |method| (id, method)))
        });
        Self { known: methods.map(|(id, method)| (method.name.clone(), (id, method))).collect(), unsound }
    }
}

impl Lowerer<'_> {
    /// Resolves the computations of all functions. Types of all interfaces are known by now.
    pub(super) fn computations(&mut self, spec: &mut Spec, trees: &Trees) {
        let methods = Methods::of(spec.operators.as_ref(), self.operators_missing);
        let mut computations = Vec::new();
        for (interface, trees) in spec.interfaces.iter().zip(&trees.interfaces) {
            for (function, (_, node)) in interface.functions.iter().zip(trees.entries("functions")) {
                let Some(compute) = node.get("compute") else {
                    computations.push(Vec::new());
                    continue;
                };
                if !matches!(interface.kind, InterfaceKind::Export) {
                    let message = "only functions of an `export` are computed";
                    self.report(Diagnostic::new(Code::ComputeForm, compute.span, message));
                }
                let params = function.params.iter().map(|param| ResolvedParam::of(spec, param)).collect();
                let mut resolver = Resolver {
                    params,
                    methods: &methods,
                    sources: self.sources,
                    references: &mut self.references,
                    diagnostics: self.diagnostics,
                    node: compute,
                    text: String::new(),
                    locals: Vec::new(),
                };
                computations.push(resolver.steps(compute));
            }
        }
        let functions = spec.interfaces.iter_mut().flat_map(|interface| &mut interface.functions);
        functions.zip(computations).for_each(|(function, steps)| function.compute = steps);
    }
}

/// A parameter of a function or of an operator.
struct ResolvedParam<'a> {
    name: &'a str,
    /// True if it is a tensor, or several, that the steps may write.
    is_written: bool,
    /// The reason why they must write it; `None` if they need not.
    required: Option<&'static str>,
    /// True if it is a tensor that operators take.
    is_tensor: bool,
    place: Span,
}

impl<'a> ResolvedParam<'a> {
    fn of(spec: &Spec, param: &'a Param) -> Self {
        let is_tensor = spec.compute_kind(param.ty) == Some(ComputeKind::Tensor);
        let is_written = is_tensor && param.constness != Some(true);
        let required = is_written.then_some("a tensor that is not `const`");
        Self { name: &param.name.value, is_written, required, is_tensor, place: param.places.key }
    }
}

/// Resolves the steps of one function or operator.
struct Resolver<'a> {
    params: Vec<ResolvedParam<'a>>,
    methods: &'a Methods<'a>,
    sources: &'a Sources,
    references: &'a mut References,
    diagnostics: &'a mut Diagnostics,
    /// The step, and its text.
    node: &'a Node,
    text: String,
    /// The tensors of the steps so far.
    locals: Vec<String>,
}

impl<'a> Resolver<'a> {
    fn steps(&mut self, compute: &'a Node) -> Vec<Step> {
        let nodes = match compute.text() {
            Some(_) => std::slice::from_ref(compute),
            None => compute.items(),
        };
        let mut steps = Vec::new();
        for node in nodes {
            let Some(text) = node.text() else { continue };
            (self.node, self.text) = (node, text.to_owned());
            match syntax::parse(text) {
                Ok(written) => {
                    let step = self.step(&written);
                    if step.is_none() {
                        // Later steps that use its results are not wrong because of it.
                        self.locals.extend(written.targets.iter().map(|target| target.name.text.clone()));
                    }
                    steps.extend(step);
                }
                Err(mistake) => {
                    self.report(Code::ComputeSyntax, &mistake.range, mistake.message);
                }
            }
        }
        if steps.len() == nodes.len() {
            self.check_written(&steps);
            // A step that should write an output has no target that is used, either.
            if self.diagnostics.trusts(compute.extent()) {
                self.check_used(&steps, nodes);
            }
        }
        steps
    }

    fn report(&mut self, code: Code, range: &std::ops::Range<usize>, message: impl Into<String>) {
        let span = within(self.sources, self.node, &self.text, range);
        Diagnostic::new(code, span, message).add_to(self.diagnostics);
    }

    fn step(&mut self, written: &Written) -> Option<Step> {
        let call = self.call(&written.call, written.targets.len())?;
        let targets: Vec<Target> =
            written.targets.iter().map(|target| self.target(target)).collect::<Option<_>>()?;
        if let Callee::Method { name, .. } = &call.callee {
            let (_, method) = &self.methods.known[name];
            let decides_shape = method.formula().is_some() && !matches!(method.work, Work::Gradient(..));
            let unknown = targets
                .iter()
                .zip(&written.targets)
                .find(|(target, _)| matches!(target, Target::Local { like: None, .. }) && !decides_shape);
            if let Some((_, target)) = unknown {
                let message =
                    format!("the shape of `{0}` is not known: write `{0} like …`", target.name.text);
                self.report(Code::ComputeForm, &target.name.range, message);
                return None;
            }
        }
        for target in &targets {
            if let Target::Local { name, .. } = target {
                self.locals.push(name.clone());
            }
        }
        Some(Step { text: self.text.clone(), targets, call, span: self.node.span })
    }

    fn target(&mut self, written: &WrittenTarget) -> Option<Target> {
        let name = &written.name;
        let Some(id) = self.param(&name.text) else {
            let like = match &written.like {
                Some(like) => Some(self.name(like)?),
                None => None,
            };
            return Some(Target::Local { name: name.text.clone(), like });
        };
        if !self.params[id.0].is_written {
            let message = format!("a step cannot write `{}`", name.text);
            self.report(Code::ComputeForm, &name.range, message);
            return None;
        }
        Some(Target::Param(id))
    }

    fn param(&self, name: &str) -> Option<ParamId> {
        self.params.iter().position(|param| param.name == name).map(ParamId)
    }

    /// Resolves the name of a parameter or of a tensor of an earlier step.
    fn name(&mut self, name: &Word) -> Option<TensorName> {
        if let Some(id) = self.param(&name.text) {
            return Some(TensorName::Param(id));
        }
        if self.locals.contains(&name.text) {
            return Some(TensorName::Local(name.text.clone()));
        }
        let span = within(self.sources, self.node, &self.text, &name.range);
        let params = self.params.iter().map(|param| param.name);
        Diagnostic::new(Code::ComputeName, span, format!("there is no `{}`", name.text))
            .label("neither a parameter nor a result of an earlier step")
            .nearest(&name.text, params.chain(self.locals.iter().map(String::as_str)))
            .add_to(self.diagnostics);
        None
    }

    fn call(&mut self, written: &WrittenCall, targets: usize) -> Option<OperatorCall> {
        let callee = self.callee(&written.callee)?;
        let arguments = written.arguments.iter().map(|value| self.value(value)).collect::<Option<_>>()?;
        let mut attributes = Vec::new();
        for (name, value) in &written.attributes {
            attributes.push((name.text.clone(), self.value(value)?));
        }
        let call = OperatorCall { callee, arguments, attributes };
        if let Callee::Method { name, .. } = &call.callee {
            let methods = self.methods;
            let (_, method) = &methods.known[name];
            self.check_call(method, written, targets);
        }
        Some(call)
    }

    fn callee(&mut self, name: &Word) -> Option<Callee> {
        if name.text.contains("::") {
            return Some(Callee::Rule(name.text.clone()));
        }
        let found = self.methods.known.get(&name.text);
        let is_unsound = self.methods.unsound.contains(&name.text, found.is_some());
        if let Some((operator, method)) = found.filter(|_| !is_unsound) {
            self.references.found(Namespace::Operators, &method.operator.name.value);
            return Some(Callee::Method { operator: *operator, name: method.name.clone() });
        }
        let span = within(self.sources, self.node, &self.text, &name.range);
        self.diagnostics.distrust(span);
        if is_unsound {
            return None;
        }
        let diagnostic =
            Diagnostic::new(Code::ComputeName, span, format!("there is no operator `{}`", name.text))
                .nearest(&name.text, self.methods.known.keys().map(String::as_str));
        let name = At { value: name.text.clone(), span };
        self.references.missed_operator(&name, |name| self.methods.known.contains_key(name), diagnostic);
        None
    }

    fn value(&mut self, written: &WrittenValue) -> Option<ComputeValue> {
        Some(match written {
            WrittenValue::Name(name) => match name.text.as_str() {
                "true" => ComputeValue::Truth(true),
                "false" => ComputeValue::Truth(false),
                "none" => ComputeValue::Absent,
                _ => ComputeValue::Name(self.name(name)?),
            },
            WrittenValue::Integer(value) => ComputeValue::Integer(*value),
            WrittenValue::Number(value) => ComputeValue::Number(*value),
            WrittenValue::Text(text) => ComputeValue::Text(text.clone()),
            WrittenValue::List(values) => {
                ComputeValue::List(values.iter().map(|value| self.value(value)).collect::<Option<_>>()?)
            }
            WrittenValue::Call(call) => {
                let resolved = self.call(call, 1)?;
                let knows_shape = match &resolved.callee {
                    Callee::Rule(_) => true,
                    Callee::Method { name, .. } => {
                        matches!(self.methods.known[name].1.work, Work::Formula(_))
                    }
                };
                if !knows_shape {
                    let message = format!(
                        "the shape of the result of `{}` is not known here: make it a step of its own",
                        call.callee.text
                    );
                    self.report(Code::ComputeForm, &call.callee.range, message);
                    return None;
                }
                ComputeValue::Call(Box::new(resolved))
            }
        })
    }

    /// Reports arguments that a method does not take, and those that it lacks.
    fn check_call(&mut self, method: &Method, written: &WrittenCall, targets: usize) {
        let (operator, range) = (method.operator, &written.callee.range);
        let needed = method
            .inputs
            .iter()
            .rposition(|input| matches!(operator.arity(*input), Arity::One | Arity::List));
        let (least, most) = (needed.map_or(0, |index| index + 1), method.inputs.len());
        let given = written.arguments.len();
        if !(least..=most).contains(&given) {
            let names: Vec<String> =
                method.inputs.iter().map(|input| operator.variable_name(*input)).collect();
            let message = format!("`{}` takes the tensors ({}), not {given}", method.name, names.join(", "));
            self.report(Code::ComputeForm, range, message);
        }
        let outputs = method.outputs();
        if outputs.iter().any(|(_, output)| output.is_some_and(|output| output.arity.is_list())) {
            let message = format!("`{}` writes a list of tensors, which only a rule can call", method.name);
            self.report(Code::ComputeForm, range, message);
        }
        let required = outputs.iter().rposition(|(_, output)| {
            output.is_none_or(|output| matches!(output.arity, Arity::One | Arity::List))
        });
        if !(required.map_or(0, |index| index + 1)..=outputs.len()).contains(&targets) {
            let names: Vec<&str> = outputs.iter().map(|(name, _)| name.as_str()).collect();
            let message =
                format!("`{}` writes the tensors ({}), not {targets}", method.name, names.join(", "));
            self.report(Code::ComputeForm, range, message);
        }
        let attributes = || method.attributes.iter().map(|index| &operator.attributes[*index]);
        for (name, _) in &written.attributes {
            let is_known = attributes().any(|attribute| attribute.name == name.text)
                || (operator.random && name.text == "generator");
            if !is_known {
                let span = within(self.sources, self.node, &self.text, &name.range);
                let message = format!("`{}` has no attribute `{}`", method.name, name.text);
                Diagnostic::new(Code::ComputeForm, span, message)
                    .nearest(&name.text, attributes().map(|attribute| attribute.name.as_str()))
                    .add_to(self.diagnostics);
            }
        }
        let is_given = |wanted: &str| written.attributes.iter().any(|(name, _)| name.text == wanted);
        let generator = (operator.random && !is_given("generator")).then_some("generator");
        let missing = attributes()
            .filter(|attribute| attribute.default.is_none() && !is_given(&attribute.name))
            .map(|attribute| attribute.name.as_str());
        for name in missing.chain(generator).collect::<Vec<_>>() {
            self.report(Code::ComputeForm, range, format!("`{}` needs the attribute `{name}`", method.name));
        }
    }

    /// Reports steps whose results no later step uses.
    fn check_used(&mut self, steps: &[Step], nodes: &[Node]) {
        for (index, (step, node)) in steps.iter().zip(nodes).enumerate() {
            let is_used = |target: &Target| match target {
                Target::Param(_) => true,
                Target::Local { name, .. } => {
                    let name = TensorName::Local(name.clone());
                    steps[index + 1..].iter().any(|later| later.names(&name))
                }
            };
            // A rule without targets writes its arguments.
            if !step.targets.is_empty() && !step.targets.iter().any(is_used) {
                let message = "no later step uses the result of this step";
                Diagnostic::new(Code::Unused, node.span, message).add_to(self.diagnostics);
            }
        }
    }

    /// Reports tensors that the function is to write, and no step does.
    fn check_written(&mut self, steps: &[Step]) {
        let mut missing = Vec::new();
        for (index, param) in self.params.iter().enumerate() {
            let target = Target::Param(ParamId(index));
            let is_argument = |step: &Step| {
                matches!(step.call.callee, Callee::Rule(_))
                    && step.call.names(&TensorName::Param(ParamId(index)))
            };
            let is_written = steps.iter().any(|step| step.targets.contains(&target) || is_argument(step));
            if let (Some(reason), false) = (param.required, is_written) {
                missing.push((param.name, param.place, reason));
            }
        }
        for (name, place, reason) in missing {
            Diagnostic::new(Code::ComputeForm, self.node.span, format!("no step writes `{name}`"))
                .related(place, reason)
                .add_to(self.diagnostics);
        }
    }
}
