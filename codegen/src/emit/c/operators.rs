//! The table of operators: a struct of functions, which a plugin in C or C++ fills.

use minijinja::{Value, context};

use super::doxygen::{WIDTH, tagged};
use super::names::untaken;
use super::types::{WIDTH as LINE, fill};
use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::emit::words::operator as words;
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{
    Arity, AttributeType, Method, OperatorGroup, Operators, OutputPlace, Parameter, ParameterKind,
};
use crate::out::{Fnv, Output};
use crate::text::{count, sentence, wrap};

/// The header with the table of operators.
pub struct OperatorTable;

impl Emitter for OperatorTable {
    const KIND: &'static OutputKind = &outputs::C_OPERATORS;
    const TEMPLATES: &'static [(&'static str, &'static str)] =
        &[("c/operators.h.j2", include_str!("../../../templates/c/operators.h.j2"))];

    fn emit(job: &Job, place: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let Some(operators) = &job.spec.operators else { return Ok(Vec::new()) };
        let members = members(operators);
        let header = context! {
            marker => job.stamp.operators(operators),
            file => place.path.value.rsplit('/').next().unwrap_or_default().to_owned(),
            layout => format!("{:016x}", layout(members.iter().map(|(_, hash)| *hash))),
            size => table_size(members.len()),
            groups => operators.groups.iter().map(group).collect::<Value>(),
        };
        let text = job.templates.get_template("c/operators.h.j2")?.render(header)?;
        Ok(vec![Output::new("", text, count(members.len(), "method"))])
    }
}

/// Computes the size in bytes of a table with some methods: its size and its layout, and for each method a pointer and
/// the types of elements.
pub fn table_size(methods: usize) -> usize {
    16 * (1 + methods)
}

/// Returns the methods in the order of the table, each with a hash of its name and parameters.
pub fn members(operators: &Operators) -> Vec<(Method<'_>, u64)> {
    let operators = operators.groups.iter().flat_map(|group| &group.operators);
    let methods = operators.flat_map(|operator| operator.methods());
    methods
        .map(|method| {
            let name = Fnv::default().text(method.name.as_bytes());
            let parameters = parameters(&method);
            let hash = parameters.iter().fold(name, |hash, parameter| hash.text(parameter.as_bytes()));
            (method, hash.finish().number())
        })
        .collect()
}

/// Identifies the order and the parameters of some methods, from the hash of each. The library that reads the table
/// computes the same from the hashes.
fn layout(hashes: impl Iterator<Item = u64>) -> u64 {
    hashes.fold(0, |layout, hash| (layout ^ hash).wrapping_mul(0x0000_0100_0000_01b3))
}

fn group(group: &OperatorGroup) -> Value {
    let mut heading = wrap(&format!("{}: {}", group.title, sentence(&group.summary)), WIDTH);
    heading.extend(prose(&group.doc));
    let methods = group.operators.iter().flat_map(|operator| operator.methods());
    context! { heading, members => methods.map(|method| member(&method)).collect::<Value>() }
}

fn member(method: &Method) -> Value {
    context! { comment => comment(method), pointer => pointer(method), name => untaken(&method.name) }
}

/// Formats the documentation of a method as lines.
fn comment(method: &Method) -> Vec<String> {
    let words = words::method(method, |name| format!("`{name}`"));
    let mut lines = wrap(&format!("@brief {}", words.summary), WIDTH);
    if !words.equation.is_empty() {
        lines.push(String::new());
        lines.extend(wrap(&words.equation, WIDTH));
    }
    lines.extend(prose(&words.doc));
    if !words.parameters.is_empty() {
        lines.push(String::new());
    }
    let documented = |parameter: &Parameter| {
        let doc = words.parameters.iter().find(|(name, _)| *name == parameter.name)?;
        let direction = match parameter.kind {
            ParameterKind::Output(_) => "@param[out]",
            _ => "@param[in]",
        };
        let name = untaken(&parameter.name);
        let text = format!("{name} {}{}", sentence(&doc.1), absence(parameter.kind));
        Some(tagged(direction, &text))
    };
    lines.extend(method.parameters().iter().filter_map(documented).flatten());
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

/// Formats the pointer to a function: `C_Status (*function)(const TenonLaunch* launch, …);`
fn pointer(method: &Method) -> String {
    const MARGIN: usize = 4;
    let head = "C_Status (*function)(";
    let parameters = parameters(method);
    let line = format!("{head}{});", parameters.join(", "));
    if MARGIN + line.len() <= LINE {
        return line;
    }
    let margin = format!("\n{}", " ".repeat(MARGIN + 4));
    format!("{head}{margin}{});", fill(&parameters, LINE - MARGIN - 6).join(&margin))
}

/// Formats the declarations of the parameters of a method.
fn parameters(method: &Method) -> Vec<String> {
    let shape = method.shape().map(|shape| vec![format!("TenonShape* {shape}")]);
    let launch = vec!["const TenonLaunch* launch".to_owned()];
    let parameters = method.parameters();
    let parameters = parameters.iter().map(declarations);
    std::iter::once(launch).chain(shape).chain(parameters).flatten().collect()
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
        ParameterKind::Attribute(AttributeType::Text) => ("const char*", false),
        ParameterKind::Attribute(AttributeType::Texts) => ("const char* const*", true),
    };
    let count = is_list.then(|| format!("size_t {}_count", parameter.name));
    std::iter::once(format!("{ty} {name}")).chain(count).collect()
}
