//! The operators as functions of Python on buffers, one module for each group.
//!
//! An operator is offered if its entry, or a function of the kernels, says the shapes of its outputs. Operators for
//! gradients and operators with random numbers are left out.

mod cases;
mod function;

use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;

use self::function::Parts;
use super::docstring::Docstring;
use super::{layout, names};
use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{Arity, AttributeType, Operand, Operator, OperatorGroup, OutputPlace, OutputType};
use crate::out::Output;
use crate::text::{count, sentence};

pub use self::cases::OperatorCases;

/// The functions of operators.
pub struct OperatorFunctions;

impl Emitter for OperatorFunctions {
    const KIND: &'static OutputKind = &outputs::PYTHON_OPERATORS;
    const TEMPLATES: &'static [(&'static str, &'static str)] = &[
        ("python/operators.py.j2", include_str!("../../../../templates/python/operators.py.j2")),
        ("python/operators_init.py.j2", include_str!("../../../../templates/python/operators_init.py.j2")),
    ];

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let Some(operators) = &job.spec.operators else { return Ok(Vec::new()) };
        let marker = job.stamp.operators(operators);
        let render = |template: &str, data: Value| {
            let template = job.templates.get_template(template)?;
            template.render(context! { marker => &marker, ..data })
        };
        let mut outputs = Vec::new();
        let mut imports = Vec::new();
        let mut all: Vec<String> = Vec::new();
        for group in &operators.groups {
            let offered: Vec<Function> = group.operators.iter().filter_map(function).collect();
            if offered.is_empty() {
                continue;
            }
            let mut known: Vec<String> = offered.iter().map(|function| function.name.clone()).collect();
            names::sort_imports(&mut known);
            imports.push((group.name.clone(), known.clone()));
            let note = count(known.len(), "function");
            all.extend(known);
            let text = render("python/operators.py.j2", module(group, &offered))?;
            outputs.push(Output::new(format!("{}.py", group.name), text, note));
        }
        imports.sort();
        all.push("supported".to_owned());
        all.sort();
        let imports: Vec<String> = imports
            .iter()
            .map(|(group, names)| layout::imported(&format!("from tenon.ops.{group} import "), names))
            .collect();
        let note = count(all.len(), "function");
        let data = context! { imports, all };
        outputs.push(Output::new("__init__.py", render("python/operators_init.py.j2", data)?, note));
        Ok(outputs)
    }
}

/// A function, as data for the template.
#[derive(Serialize)]
struct Function {
    name: String,
    /// The name of the object that describes the operator.
    object: String,
    /// The arguments with which that object is made.
    made: Vec<String>,
    params: Vec<String>,
    gives: String,
    doc: String,
    /// The names of the results, if there are several.
    results: Vec<String>,
    method: &'static str,
    passed: Vec<String>,
}

fn module(group: &OperatorGroup, functions: &[Function]) -> Value {
    let uses =
        |word: &str| functions.iter().any(|function| function.params.iter().any(|it| it.contains(word)));
    let mut doc = Docstring::new(&sentence(&group.summary));
    doc.paragraphs(&group.doc);
    context! {
        doc => doc.text(0),
        sequences => uses("Sequence["),
        operands => uses("Operand"),
        dtypes => uses("DTypeLike"),
        functions => Serde(functions),
    }
}

/// The way in which the shapes of outputs are found.
#[derive(Clone, Copy)]
enum Shapes {
    /// The common shape of the inputs.
    Broadcast,
    /// The shapes of inputs, by the operator's entry.
    Inputs,
    /// The shape of the first input without the dimensions that the attribute `axis` lists.
    Reduced,
    /// A function of the device.
    Asked,
}

/// Describes the function of an operator; `None` if the operator is not offered.
fn function(operator: &Operator) -> Option<Function> {
    parts(operator).map(|parts| parts.function())
}

/// Returns what the function of an operator is made of; `None` if the operator is not offered.
fn parts(operator: &Operator) -> Option<Parts<'_>> {
    let name = &operator.name.value;
    let is_gradient = name.ends_with("_grad") || name.contains("_grad_");
    let has_lists = operator.inputs.iter().chain(&operator.outputs).any(|operand| operand.arity.is_list());
    let has_texts = operator.attributes.iter().any(|attribute| attribute.ty == AttributeType::Texts);
    if is_gradient || operator.random || has_lists || has_texts || operator.inputs.is_empty() {
        return None;
    }
    let shapes = shapes(operator)?;
    let method = operator.methods().into_iter().next()?;
    Some(Parts { operator, method, shapes })
}

fn shapes(operator: &Operator) -> Option<Shapes> {
    if operator.elementwise().is_some() {
        return Some(Shapes::Broadcast);
    }
    let mut wanted = operator.outputs.iter().filter(|output| output.arity == Arity::One).peekable();
    if operator.outputs.first()?.arity != Arity::One || wanted.peek().is_none() {
        return None;
    }
    let wanted: Vec<&Operand> = wanted.collect();
    let is_other = |ty| matches!(ty, OutputType::Wide(_) | OutputType::ComplexOf(_) | OutputType::RealOf(_));
    if wanted.iter().any(|output| is_other(output.ty)) {
        return None;
    }
    // Such as the mode of a median, on which the shape of its indices depends.
    let has_text = operator.attributes.iter().any(|attribute| attribute.ty == AttributeType::Text);
    let has = |name: &str| operator.attributes.iter().any(|attribute| attribute.name == name);
    if wanted.iter().all(|output| output.shape.is_some()) {
        Some(Shapes::Asked)
    } else if wanted.iter().all(|output| output.shape_of.is_some()) {
        Some(Shapes::Inputs)
    } else if has("axis") && has("keep_dim") && !has_text {
        Some(Shapes::Reduced)
    } else {
        None
    }
}
