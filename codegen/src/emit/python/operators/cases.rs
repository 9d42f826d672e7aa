//! The elementwise operators with their references, for the tests of the functions.

use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;

use super::function::{literal, types};
use super::{Parts, parts};
use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::emit::python::names;
use crate::formula::Variable;
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{AttributeType, OutputPlace};
use crate::out::Output;
use crate::text::count;

/// The cases of the tests.
pub struct OperatorCases;

impl Emitter for OperatorCases {
    const KIND: &'static OutputKind = &outputs::PYTHON_OPERATOR_CASES;
    const TEMPLATES: &'static [(&'static str, &'static str)] =
        &[("python/operator_cases.py.j2", include_str!("../../../../templates/python/operator_cases.py.j2"))];

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let Some(operators) = &job.spec.operators else { return Ok(Vec::new()) };
        let all = operators.groups.iter().flat_map(|group| &group.operators);
        let elementwise = all.filter_map(|operator| {
            let offered = parts(operator)?;
            operator.elementwise().map(|_| offered)
        });
        let cases: Vec<Case> = elementwise.map(|parts| case(&parts)).collect();
        let note = count(cases.len(), "case");
        let marker = job.stamp.operators(operators);
        let template = job.templates.get_template("python/operator_cases.py.j2")?;
        Ok(vec![Output::new("", template.render(context! { marker, cases => Serde(&cases) })?, note)])
    }
}

/// An operator, as data for the template.
#[derive(Serialize)]
struct Case {
    arguments: Vec<String>,
}

fn case(parts: &Parts) -> Case {
    let operator = parts.operator;
    let conditions = parts.conditions();
    let domains = operator.elementwise().map(|formulas| formulas.domains.clone()).unwrap_or_default();
    let inputs = parts.method.inputs.iter().enumerate().filter_map(|(place, variable)| {
        let Variable::Input(index) = variable else { return None };
        let name = names::variable(&operator.inputs[*index].name);
        let [least, largest] = domains.get(*index).copied().unwrap_or([-5.0, 5.0]);
        Some(if conditions.contains(&place) {
            format!("\"{name}\": None")
        } else {
            format!("\"{name}\": ({least:?}, {largest:?})")
        })
    });
    let attributes = parts.method.attributes.iter().map(|index| {
        let attribute = &operator.attributes[*index];
        let other = if attribute.ty == AttributeType::Bool { "True" } else { "0.5" };
        let value = attribute.default.as_ref().and_then(literal).unwrap_or_else(|| other.to_owned());
        format!("\"{}\": {value}", names::variable(&attribute.name))
    });
    let arguments = vec![
        format!("\"{}\"", operator.name.value),
        format!("\"{}\"", types(operator).join(" ")),
        format!("{{{}}}", inputs.collect::<Vec<_>>().join(", ")),
        format!("{{{}}}", attributes.collect::<Vec<_>>().join(", ")),
        quoted(operator.reference.trim()),
    ];
    Case { arguments }
}

/// Writes a string with the quotes that need no escapes.
fn quoted(text: &str) -> String {
    if text.contains('"') { format!("'{text}'") } else { format!("\"{text}\"") }
}
