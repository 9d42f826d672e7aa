//! The arguments of operators: for each method a struct, and a function that reads it from a call.

use heck::ToPascalCase;
use minijinja::{Value, context};

use super::doxygen::WIDTH;
use super::names::untaken;
use super::types::WIDTH as LINE;
use crate::emit::descriptions::operator as descriptions;
use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{
    Arity, AttributeType, AttributeValue, Method, OperatorGroup, OutputPlace, Parameter, ParameterKind,
};
use crate::out::Output;
use crate::text::{count, sentence, wrap};

/// The header with the arguments of operators.
pub struct OperatorArguments;

impl Emitter for OperatorArguments {
    const KIND: &'static OutputKind = &outputs::C_OPERATORS;
    const TEMPLATES: &'static [(&'static str, &'static str)] =
        &[("c/operators.h.j2", include_str!("../../../templates/c/operators.h.j2"))];

    fn emit(job: &Job, place: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let Some(operators) = &job.spec.operators else { return Ok(Vec::new()) };
        let methods = operators.groups.iter().flat_map(|group| &group.operators);
        let methods = methods.map(|operator| operator.methods().len()).sum();
        let header = context! {
            marker => job.stamp.operators(operators),
            file => place.path.value.rsplit('/').next().unwrap_or_default().to_owned(),
            groups => operators.groups.iter().map(group).collect::<Value>(),
        };
        let text = job.templates.get_template("c/operators.h.j2")?.render(header)?;
        Ok(vec![Output::new("", text, count(methods, "method"))])
    }
}

fn group(group: &OperatorGroup) -> Value {
    let mut heading = wrap(&format!("{}: {}", group.title, sentence(&group.summary)), WIDTH);
    heading.extend(prose(&group.doc));
    let methods = group.operators.iter().flat_map(|operator| operator.methods());
    context! { heading, methods => methods.map(|method| self::method(&method)).collect::<Value>() }
}

fn method(method: &Method) -> Value {
    let description = descriptions::method(method, |name| format!("`{name}`"));
    let parameters = method.call_parameters();
    let documented = |parameter: &Parameter| {
        let doc = description.parameters.iter().find(|(name, _)| *name == parameter.name);
        let lines = doc.map(|(_, doc)| wrap(&format!("{}{}", sentence(doc), absence(parameter.kind)), WIDTH));
        context! { comment => lines, declarations => declarations(parameter) }
    };
    let shape = method.shape().map(|shape| {
        let declarations = [format!("TenonShape* {shape}")];
        context! { comment => ["The shape. The function writes it."], declarations }
    });
    let read_shape = method.shape().map(|shape| format!("TENON_SHAPE_({shape})"));
    let reads = parameters.iter().map(|parameter| read(parameter, method.default(parameter)));
    context! {
        name => method.name.clone(),
        arguments => format!("Tenon{}Arguments", method.name.to_pascal_case()),
        comment => comment(&method.name, &description),
        fields => shape.into_iter().chain(parameters.iter().map(documented)).collect::<Value>(),
        count => parameters.len(),
        reads => filled(read_shape.into_iter().chain(reads), LINE - 5),
    }
}

/// Formats the documentation of a method as lines.
fn comment(name: &str, description: &descriptions::MethodDescription) -> Vec<String> {
    let mut lines = wrap(&format!("@brief The arguments of `{name}`."), WIDTH);
    lines.push(String::new());
    lines.extend(wrap(&description.summary, WIDTH));
    if !description.equation.is_empty() {
        lines.push(String::new());
        lines.extend(wrap(&description.equation, WIDTH));
    }
    lines.extend(prose(&description.doc));
    lines
}

/// Says whether a parameter or an element of it may be null.
fn absence(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::Output(Arity::Optional) => " NULL if the host does not want it.",
        ParameterKind::Output(Arity::List | Arity::OptionalList) => {
            " An element is NULL if the host does not want it."
        }
        ParameterKind::Input(Arity::Optional | Arity::OptionalList) => " NULL if there is none.",
        _ => "",
    }
}

/// Formats a paragraph as lines, with an empty line before it; returns no lines for an empty text.
fn prose(text: &str) -> Vec<String> {
    let lines = text.trim().lines().map(|line| line.trim_end().replace("*/", "* /").replace("/*", "/ *"));
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { lines } else { std::iter::once(String::new()).chain(lines).collect() }
}

/// Formats the declarations of a parameter: two for a list, whose length follows it.
fn declarations(parameter: &Parameter) -> Vec<String> {
    let name = untaken(&parameter.name);
    let (ty, is_list) = match parameter.kind {
        ParameterKind::Output(arity) | ParameterKind::Input(arity) if arity.is_list() => {
            ("const TenonTensor* const*", true)
        }
        ParameterKind::Output(_) | ParameterKind::Input(_) => ("const TenonTensor*", false),
        ParameterKind::Attribute(AttributeType::Bool) => ("bool", false),
        ParameterKind::Attribute(AttributeType::I64) | ParameterKind::Random => ("int64_t", false),
        ParameterKind::Attribute(AttributeType::F64) => ("double", false),
        ParameterKind::Attribute(AttributeType::Integers) => ("const int64_t*", true),
        ParameterKind::Attribute(AttributeType::Numbers) => ("const double*", true),
        ParameterKind::Attribute(AttributeType::Text) => ("TenonText", false),
        ParameterKind::Attribute(AttributeType::Texts) => ("const TenonText*", true),
    };
    let count = is_list.then(|| format!("size_t {name}_count"));
    std::iter::once(format!("{ty} {name}")).chain(count).collect()
}

/// Formats the call of the macro that reads a parameter: `TENON_NUMBER_OR_(alpha, 0.01)`.
fn read(parameter: &Parameter, default: Option<&AttributeValue>) -> String {
    let (name, kind) = (untaken(&parameter.name), kind(parameter.kind));
    let values = match default {
        None => return format!("TENON_{kind}_({name})"),
        Some(AttributeValue::Truth(value)) => vec![value.to_string()],
        Some(AttributeValue::Integer(value)) => vec![integer(*value)],
        Some(AttributeValue::Number(value)) => vec![number(*value)],
        Some(AttributeValue::Text(value)) => vec![format!("{value:?}")],
        Some(AttributeValue::Integers(values)) => values.iter().copied().map(integer).collect(),
        Some(AttributeValue::Numbers(values)) => values.iter().copied().map(number).collect(),
        Some(AttributeValue::Texts(values)) => {
            values.iter().map(|value| format!("{{{value:?}, {}}}", value.len())).collect()
        }
    };
    match values.as_slice() {
        [] => format!("TENON_{kind}_OR_NONE_({name})"),
        values => format!("TENON_{kind}_OR_({name}, {})", values.join(", ")),
    }
}

/// Joins parts by spaces to lines of a width.
fn filled(parts: impl Iterator<Item = String>, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut().filter(|line| line.len() + 1 + part.len() <= width) {
            Some(line) => line.extend([" ", &part]),
            None => lines.push(part),
        }
    }
    lines
}

/// Returns the word for a kind of parameters in the names of the macros.
fn kind(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::Output(Arity::One) | ParameterKind::Input(Arity::One) => "TENSOR",
        ParameterKind::Output(Arity::Optional) | ParameterKind::Input(Arity::Optional) => "OPTIONAL_TENSOR",
        ParameterKind::Output(Arity::List | Arity::OptionalList) => "OUTPUTS",
        ParameterKind::Input(Arity::List) => "INPUTS",
        ParameterKind::Input(Arity::OptionalList) => "OPTIONAL_INPUTS",
        ParameterKind::Attribute(AttributeType::Bool) => "BOOLEAN",
        ParameterKind::Attribute(AttributeType::I64) | ParameterKind::Random => "INTEGER",
        ParameterKind::Attribute(AttributeType::F64) => "NUMBER",
        ParameterKind::Attribute(AttributeType::Integers) => "INTEGERS",
        ParameterKind::Attribute(AttributeType::Numbers) => "NUMBERS",
        ParameterKind::Attribute(AttributeType::Text) => "TEXT",
        ParameterKind::Attribute(AttributeType::Texts) => "TEXTS",
    }
}

/// Formats an integer of 64 bits. The smallest one is no literal in C.
fn integer(value: i64) -> String {
    match i32::try_from(value) {
        Ok(value) => value.to_string(),
        Err(_) if value == i64::MIN => "INT64_MIN".to_owned(),
        Err(_) => format!("INT64_C({value})"),
    }
}

/// Formats a number.
fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NAN".to_owned(),
        f64::INFINITY => "INFINITY".to_owned(),
        f64::NEG_INFINITY => "-INFINITY".to_owned(),
        _ => format!("{value:?}"),
    }
}
