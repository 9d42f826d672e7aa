//! The list of the methods of operators, from which macros make what nobody reads: calls by name, calls of kernels, and
//! what only passes a call on.

use super::attributes::struct_name;
use super::methods;
use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::emit::rust::attribute::constant;
use crate::emit::rust::names;
use crate::formula::{ExprKind, Variable};
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{
    Arity, AttributeType, AttributeValue, Method, OperatorGroup, OutputPlace, Parameter, ParameterKind, Work,
};
use crate::out::Output;
use crate::text::count;

/// The file with the list.
pub struct OperatorList;

/// The margin of a method.
const MARGIN: &str = "                ";

/// The lines before the list.
const HEAD: &str = "\
//! The methods of operators, in the order of the spec: a list for macros.

/// Calls a macro with the methods of operators, by group.
///
/// A method has its name, its outputs, its inputs, its attributes with their defaults (in braces after the struct that the
/// method takes them as, if it does), the integers that its random numbers depend on, and what the CPU device computes it
/// with: `kernel` and `formula` name a function, `gradient` the tensors that its formula uses too, `same` is the gradient of
/// an operand that the result equals, and `shape` names the function of a shape and what it takes.
#[doc(hidden)]
#[macro_export]
macro_rules! operator_methods {
    ($($callback:tt)*) => {
        $($callback)*! {
";

impl Emitter for OperatorList {
    const KIND: &'static OutputKind = &outputs::RUST_OPERATOR_LIST;
    const IS_COMPACT: bool = true;

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let Some(operators) = &job.spec.operators else { return Ok(Vec::new()) };
        let mut text = format!("// {}\n\n{HEAD}", job.stamp.operators(operators));
        let mut length = 0;
        for group in &operators.groups {
            text.push_str(&format!("            {} {{\n", names::pascal(&group.name)));
            for method in methods(group) {
                text.push_str(&line(group, &method));
                length += 1;
            }
            text.push_str("            }\n");
        }
        text.push_str("        }\n    };\n}\n");
        Ok(vec![Output::new("", text, count(length, "method"))])
    }
}

/// Formats a method.
fn line(group: &OperatorGroup, method: &Method) -> String {
    let parameters = method.parameters();
    let of = |is_wanted: fn(ParameterKind) -> bool| {
        let wanted = parameters.iter().filter(|parameter| is_wanted(parameter.kind));
        wanted.map(|it| parameter(method, it)).collect::<Vec<_>>().join(", ")
    };
    let outputs = of(|kind| matches!(kind, ParameterKind::Output(_)));
    let inputs = of(|kind| matches!(kind, ParameterKind::Input(_)));
    let attributes = of(|kind| matches!(kind, ParameterKind::Attribute(_)));
    let attributes = match struct_name(method) {
        Some(name) => format!("{{{name}; {attributes}}}"),
        None => attributes,
    };
    let is_random = |parameter: &&Parameter| parameter.kind == ParameterKind::Random;
    let random =
        parameters.iter().filter(is_random).map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
    let random = if random.is_empty() { random } else { format!(" random({random})") };
    let (name, work) = (names::snake(&method.name), work(group, method));
    format!("{MARGIN}{name}({outputs}; {inputs}; {attributes}){random} = {work};\n")
}

/// Formats a parameter: `x: input`, or `alpha: number = 0.02`.
fn parameter(method: &Method, parameter: &Parameter) -> String {
    let default =
        method.default(parameter).map(|value| format!(" = {}", default_value(value))).unwrap_or_default();
    format!("{}: {}{default}", names::snake(&parameter.name), kind(parameter.kind))
}

/// Formats the default of an attribute. Tokens are printed with spaces between all of them.
fn default_value(value: &AttributeValue) -> String {
    constant(value).to_string().replace("& [", "&[").replace("- ", "-").replace(" ,", ",")
}

/// Returns the word for a kind of parameters, for which the macros have the types.
fn kind(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::Output(Arity::One) => "output",
        ParameterKind::Output(Arity::Optional) => "optional_output",
        ParameterKind::Output(Arity::List | Arity::OptionalList) => "outputs",
        ParameterKind::Input(Arity::One) => "input",
        ParameterKind::Input(Arity::Optional) => "optional_input",
        ParameterKind::Input(Arity::List) => "inputs",
        ParameterKind::Input(Arity::OptionalList) => "optional_inputs",
        ParameterKind::Attribute(AttributeType::Bool) => "boolean",
        ParameterKind::Attribute(AttributeType::I64) | ParameterKind::Random => "integer",
        ParameterKind::Attribute(AttributeType::F64) => "number",
        ParameterKind::Attribute(AttributeType::Integers) => "integers",
        ParameterKind::Attribute(AttributeType::Numbers) => "numbers",
        ParameterKind::Attribute(AttributeType::Text) => "text",
        ParameterKind::Attribute(AttributeType::Texts) => "texts",
    }
}

/// Formats what the CPU device computes a method with.
fn work(group: &OperatorGroup, method: &Method) -> String {
    let function = format!("{}::{}", names::snake(&group.name), names::snake(&method.name));
    match method.work {
        Work::Kernel(path) => format!("kernel({path})"),
        Work::Formula(_) => format!("formula({function})"),
        Work::Gradient(..) if is_same(method) => "same()".to_owned(),
        Work::Gradient(..) => format!("gradient({function}; {})", used(method).join(", ")),
        Work::Shape(path) => {
            let inputs = method.inputs.iter().map(|variable| taken(method, *variable));
            format!("shape({path}; {})", inputs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns true for the gradient of an operand that the result equals.
fn is_same(method: &Method) -> bool {
    method
        .formula()
        .is_some_and(|(_, formula)| matches!(formula.expr.kind, ExprKind::Variable(Variable::OutputGradient)))
}

/// Returns the inputs that a formula uses. The gradient has the shape of the others too.
fn used(method: &Method) -> Vec<String> {
    let used = method.formula().map(|(formulas, formula)| formulas.uses(formula)).unwrap_or_default();
    let inputs = method.inputs.iter().filter(|variable| used.contains(variable));
    inputs.map(|variable| variable_name(method, *variable)).collect()
}

/// Formats an input as a function of a shape takes it: with its elements only if they decide about the shape.
fn taken(method: &Method, variable: Variable) -> String {
    let form = match (method.operator.arity(variable), method.operator.decides_shape(variable)) {
        (Arity::One, true) => "view",
        (Arity::Optional, true) => "optional_view",
        (Arity::List, true) => "views",
        (Arity::OptionalList, true) => "optional_views",
        (Arity::One, false) => "meta",
        (Arity::Optional, false) => "optional_meta",
        (Arity::List, false) => "metas",
        (Arity::OptionalList, false) => "optional_metas",
    };
    format!("{}: {form}", variable_name(method, variable))
}

fn variable_name(method: &Method, variable: Variable) -> String {
    names::snake(&method.operator.variable_name(variable)).to_string()
}
