//! The plans of methods that other methods of the same device compute, as data for an interpreter.

use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::emit::rust::attribute::{data_type, number};
use crate::emit::rust::names;
use crate::emit::rust::operators::expression::binary;
use crate::emit::rust::text::rustfmt::WIDTH;
use crate::formula::{Constant, Expr, ExprKind, Ty, Variable};
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{
    Arity, AttributeType, AttributeValue, Callee, Composition, ComputeValue, Method, OperatorCall, Operators,
    OutputPlace, OutputType, ParamId, Parameter, ParameterKind, Recipe, Step, Target, TensorName, Term, Work,
};
use crate::out::Output;
use crate::text::count;

/// The file with the plans.
pub struct OperatorPlans;

impl Emitter for OperatorPlans {
    const KIND: &'static OutputKind = &outputs::RUST_OPERATOR_PLANS;
    const IS_COMPACT: bool = true;

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let Some(operators) = &job.spec.operators else { return Ok(Vec::new()) };
        let compositions = operators.compositions();
        let mut text = format!("// {}\n\n{HEAD}", job.stamp.operators(operators));
        compositions.iter().for_each(|composition| text.push_str(&plan(operators, composition)));
        text.push_str("];\n");
        Ok(vec![Output::new("", text, count(compositions.len(), "plan"))])
    }
}

const HEAD: &str = "\
//! The plans of methods that other methods compute, in the order of the spec.

use super::composed::plan::*;
use Step::*;
use Target::*;
use Value::*;

/// All of them.
pub(super) static PLANS: &[Plan] = &[
";

/// Formats a plan.
fn plan(operators: &Operators, composition: &Composition) -> String {
    let method = &composition.method;
    let named = |of_truth: bool| {
        let parts = composition.parts.iter().filter(move |part| part.of_truth == of_truth);
        list(parts.map(|part| format!("{:?}", part.method)))
    };
    let mut lines = Vec::new();
    let mut refuses = Vec::new();
    match &composition.recipe {
        Recipe::Formula(parts, value) => {
            if let Some((_, formula)) = method.formula() {
                lines.push(format!("// {}", spaced(&formula.text)));
            }
            let writer = Formula { method };
            for (name, part) in parts {
                lines.push(format!("Let({:?}, {}),", names::snake(name).to_string(), writer.value(part)));
            }
            let out = names::snake(&method.outputs()[0].0).to_string();
            lines.push(format!("Write({out:?}, {}),", writer.value(value)));
        }
        Recipe::Sequence(steps) => {
            let params = method.parameters();
            refuses =
                unused(&params, steps).map(|name| format!("{:?}", names::snake(name).to_string())).collect();
            let writer = Sequence { operators, params: &params };
            lines.extend(steps.iter().filter_map(|step| writer.step(step)));
        }
    }
    let is_gradient = matches!(method.work, Work::Gradient(..));
    let name = names::snake(&method.name).to_string();
    let refuses = list(refuses.into_iter());
    let head = [
        format!("method: {name:?}, is_gradient: {is_gradient}, refuses: {refuses},"),
        format!("parts: {}, tests: {},", named(false), named(true)),
        "steps: &[".to_owned(),
    ];
    let head = head.iter().flat_map(|line| broken(line, 8));
    let steps = lines.iter().flat_map(|line| broken(line, 12));
    let body: String = head.chain(steps).map(|line| format!("{line}\n")).collect();
    format!("    Plan {{\n{body}        ],\n    }},\n")
}

/// Breaks a line behind commas if it is too long.
fn broken(line: &str, margin: usize) -> Vec<String> {
    let margin = " ".repeat(margin);
    let mut lines = Vec::new();
    let (mut rest, mut indent) = (line, String::new());
    while margin.len() + indent.len() + rest.len() > WIDTH {
        let room = WIDTH - margin.len() - indent.len();
        let Some(end) = rest.get(..room).and_then(|start| start.rfind(", ")) else { break };
        lines.push(format!("{margin}{indent}{}", &rest[..=end]));
        (rest, indent) = (&rest[end + 2..], "    ".to_owned());
        if line.starts_with("//") {
            "// ".clone_into(&mut indent);
        }
    }
    lines.push(format!("{margin}{indent}{rest}"));
    lines
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn list(values: impl Iterator<Item = String>) -> String {
    format!("&[{}]", values.collect::<Vec<_>>().join(", "))
}

fn named(name: &str) -> String {
    format!("Name({:?})", names::snake(name).to_string())
}

fn float(value: f64) -> String {
    format!("Number({})", number(value).to_string().replace("- ", "-").replace(" :: ", "::"))
}

/// Formats a call of an elementwise method: `Test` if its results are booleans.
fn call(method: &str, operands: &str, attributes: &str, result: Ty) -> String {
    let kind = if result == Ty::Truth { "Test" } else { "Call" };
    format!("{kind}({:?}, {operands}, {attributes})", names::snake(method).to_string())
}

/// Formats formulas.
struct Formula<'a> {
    method: &'a Method<'a>,
}

impl Formula<'_> {
    fn name(&self, variable: Variable) -> String {
        named(&self.method.operator.variable_name(variable))
    }

    fn value(&self, term: &Term) -> String {
        match term {
            Term::Tensor(variable) => self.name(*variable),
            Term::Part(name) => named(name),
            Term::Uniform(expr) => self.uniform(expr),
            Term::Whole(value) => float(f64::from(*value)),
            Term::Call { method, operands, result } => {
                call(method, &list(operands.iter().map(|operand| self.value(operand))), "&[]", *result)
            }
            Term::Choice(condition, then, otherwise) => {
                let (then, otherwise) = (self.value(then), self.value(otherwise));
                format!("If(&{}, &{then}, &{otherwise})", self.uniform(condition))
            }
        }
    }

    /// Formats a value that is the same for all elements.
    fn uniform(&self, expr: &Expr) -> String {
        let math = |name: &str, values: &[&Expr]| {
            format!("Math({name:?}, {})", list(values.iter().map(|value| self.uniform(value))))
        };
        match &expr.kind {
            ExprKind::Number(value) => float(*value),
            ExprKind::Constant(Constant::Pi) => "Number(std::f64::consts::PI)".to_owned(),
            ExprKind::Constant(Constant::E) => "Number(std::f64::consts::E)".to_owned(),
            ExprKind::Constant(Constant::Inf) => float(f64::INFINITY),
            ExprKind::Constant(Constant::Nan) => float(f64::NAN),
            ExprKind::Truth(value) => format!("Truth({value})"),
            ExprKind::Variable(variable) => self.name(*variable),
            ExprKind::Negate(inner) => math("negate", &[inner]),
            ExprKind::Not(inner) => math("!", &[inner]),
            ExprKind::Binary(operator, left, right) => math(&binary(*operator).0.to_string(), &[left, right]),
            ExprKind::Call(function, arguments) => math(function.name, &arguments.iter().collect::<Vec<_>>()),
            ExprKind::Choice { condition, then, otherwise } => {
                let [condition, then, otherwise] = [condition, then, otherwise].map(|it| self.uniform(it));
                format!("If(&{condition}, &{then}, &{otherwise})")
            }
        }
    }
}

/// Returns the names of the optional tensors that no step uses.
fn unused<'a>(params: &'a [Parameter], steps: &'a [Step]) -> impl Iterator<Item = &'a str> {
    let is_optional =
        |kind| matches!(kind, ParameterKind::Output(Arity::Optional) | ParameterKind::Input(Arity::Optional));
    let optional = params.iter().enumerate().filter(move |(_, parameter)| is_optional(parameter.kind));
    let unused = optional.filter(|(index, _)| !steps.iter().any(|step| step.uses(ParamId(*index))));
    unused.map(|(_, parameter)| parameter.name.as_str())
}

/// Formats the steps of a sequence.
struct Sequence<'a> {
    operators: &'a Operators,
    params: &'a [Parameter],
}

impl Sequence<'_> {
    fn step(&self, step: &Step) -> Option<String> {
        let target = step.targets.first()?;
        let Some(method) = self.operators.method(&step.call.callee) else {
            let Target::Local { name, .. } = target else { return None };
            return Some(format!("Let({:?}, {}),", names::snake(name).to_string(), self.call(&step.call)));
        };
        match (&method.work, target) {
            (Work::Formula(_), Target::Local { name, like: None }) => {
                Some(format!("Let({:?}, {}),", names::snake(name).to_string(), self.call(&step.call)))
            }
            (Work::Formula(_), Target::Param(id)) => {
                let out = names::snake(&self.params[id.0].name).to_string();
                Some(format!("Write({out:?}, {}),", self.call(&step.call)))
            }
            _ => Some(self.run(step, &method)),
        }
    }

    /// Formats a call whose targets have their shapes.
    fn run(&self, step: &Step, method: &Method) -> String {
        let outputs = method.outputs();
        let targets = outputs.iter().enumerate().map(|(index, (_, output))| match step.targets.get(index) {
            None => "Unwanted".to_owned(),
            Some(Target::Param(id)) => {
                format!("Output({:?})", names::snake(&self.params[id.0].name).to_string())
            }
            Some(Target::Local { name, like }) => {
                let like = like.as_ref().map_or_else(|| "Absent".to_owned(), |like| self.name(like));
                let ty = element_type(output.map(|output| output.ty));
                format!("Like({:?}, {like}, {ty})", names::snake(name).to_string())
            }
        });
        let (targets, operands) = (list(targets), self.operands(&step.call, method));
        let name = names::snake(&method.name).to_string();
        format!("Run({targets}, {name:?}, {operands}, {}),", self.attributes(&step.call, method))
    }

    /// Formats the values of the inputs of a method. Those that the call does not give are absent.
    fn operands(&self, call: &OperatorCall, method: &Method) -> String {
        let given = |index: usize| match call.arguments.get(index) {
            Some(value) => self.value(value),
            None => "Absent".to_owned(),
        };
        list((0..method.inputs.len()).map(given))
    }

    /// Formats the attributes that a call passes to a method: its own values, or the defaults.
    fn attributes(&self, call: &OperatorCall, method: &Method) -> String {
        let attributes = method.attributes.iter().map(|index| &method.operator.attributes[*index]);
        list(attributes.map(|wanted| match (call.attribute(&wanted.name), &wanted.default) {
            (Some(ComputeValue::Integer(value)), _) if wanted.ty == AttributeType::F64 => {
                float(*value as f64)
            }
            (Some(value), _) => self.value(value),
            (None, Some(default)) => constant(default),
            (None, None) => "Absent".to_owned(),
        }))
    }

    /// Formats a call of an elementwise method, or of a rule.
    fn call(&self, call: &OperatorCall) -> String {
        let Some(method) = self.operators.method(&call.callee) else {
            let Callee::Rule(path) = &call.callee else { return "Absent".to_owned() };
            let rule = path.rsplit("::").next().unwrap_or(path);
            return format!("Rule({rule:?}, {})", list(call.values().map(|value| self.value(value))));
        };
        let result = method.formula().map_or(Ty::Number, |(formulas, _)| formulas.result);
        let (operands, attributes) = (self.operands(call, &method), self.attributes(call, &method));
        self::call(&method.name, &operands, &attributes, result)
    }

    fn value(&self, value: &ComputeValue) -> String {
        match value {
            ComputeValue::Name(name) => self.name(name),
            ComputeValue::Integer(value) => format!("Integer({value})"),
            ComputeValue::Number(value) => float(*value),
            ComputeValue::Truth(value) => format!("Truth({value})"),
            ComputeValue::Text(text) => format!("Text({text:?})"),
            ComputeValue::Absent => "Absent".to_owned(),
            ComputeValue::List(values) => {
                format!("List({})", list(values.iter().map(|value| self.value(value))))
            }
            ComputeValue::Call(call) => self.call(call),
        }
    }

    fn name(&self, name: &TensorName) -> String {
        match name {
            TensorName::Param(id) => named(&self.params[id.0].name),
            TensorName::Local(name) => named(name),
        }
    }
}

/// Formats the default of an attribute.
fn constant(value: &AttributeValue) -> String {
    let integers = |values: &[i64]| list(values.iter().map(|value| format!("Integer({value})")));
    match value {
        AttributeValue::Truth(value) => format!("Truth({value})"),
        AttributeValue::Integer(value) => format!("Integer({value})"),
        AttributeValue::Number(value) => float(*value),
        AttributeValue::Text(text) => format!("Text({text:?})"),
        AttributeValue::Integers(values) => format!("List({})", integers(values)),
        AttributeValue::Numbers(values) => format!("List({})", list(values.iter().copied().map(float))),
        AttributeValue::Texts(texts) => {
            format!("List({})", list(texts.iter().map(|text| format!("Text({text:?})"))))
        }
    }
}

/// Formats the type of the elements of a temporary tensor.
fn element_type(ty: Option<OutputType>) -> String {
    match ty.map(data_type).filter(|ty| !ty.is_empty()) {
        None => "Type::Own".to_owned(),
        Some(fixed) => format!("Type::Fixed({})", fixed.to_string().replace(' ', "")),
    }
}
