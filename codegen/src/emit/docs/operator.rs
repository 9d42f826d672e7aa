//! The pages of operators: the list of groups, one page for each group, and one for each operator.

use serde::Serialize;

use super::function::Link;
use super::links::{
    interface_page, operator_group_page, operator_list_page, operator_page, operators_page, relative,
};
use super::mathml;
use crate::emit::text::{capital, collapse, count, enumerate, sentence};
use crate::emit::words::Words;
use crate::emit::words::operator::{attribute_value, element_types, output_type, tensors};
use crate::model::*;

/// The content of the page with the groups of operators.
#[derive(Debug, Serialize)]
pub struct OperatorsPage {
    marker: String,
    title: String,
    summary: String,
    doc: String,
    tally: String,
    list: String,
    groups: Vec<GroupRow>,
}

#[derive(Debug, Serialize)]
struct GroupRow {
    title: String,
    to: String,
    summary: String,
    operators: usize,
    kernels: usize,
}

/// The content of the page of a group of operators.
#[derive(Debug, Serialize)]
pub struct OperatorGroupPage {
    marker: String,
    title: String,
    summary: String,
    doc: String,
    parent: Link,
    operators: Vec<OperatorRow>,
}

#[derive(Debug, Serialize)]
struct OperatorRow {
    name: String,
    to: String,
    summary: String,
    types: String,
    kernels: String,
}

/// The content of the page of an operator.
#[derive(Debug, Serialize)]
pub struct OperatorPage {
    marker: String,
    name: String,
    summary: String,
    doc: String,
    parent: Link,
    /// MathML.
    equations: Vec<String>,
    /// MathML of the gradients.
    gradients: Vec<String>,
    reference: String,
    types: String,
    provider: String,
    random: bool,
    operands: Vec<OperandRow>,
    kernels: Vec<KernelRow>,
}

#[derive(Debug, Serialize)]
struct OperandRow {
    name: String,
    kind: &'static str,
    ty: String,
    doc: String,
}

#[derive(Debug, Serialize)]
struct KernelRow {
    host: Link,
    name: String,
    computes: String,
    releases: String,
    types: String,
}

/// A kernel of a host, with the interface through which it is registered.
#[derive(Clone, Copy)]
struct Bound<'a> {
    interface: &'a Interface,
    kernel: &'a Kernel,
}

/// Returns the kernels of all hosts that compute an operator.
fn bound(spec: &Spec, id: OperatorId) -> impl Iterator<Item = Bound<'_>> {
    spec.interfaces.iter().flat_map(move |interface| {
        let kernels = interface.kernels.iter().flat_map(|group| &group.kernels);
        kernels.filter(move |kernel| kernel.operator == id).map(move |kernel| Bound { interface, kernel })
    })
}

fn of_group(operators: &Operators, group: usize) -> impl Iterator<Item = OperatorId> {
    operators.ids().filter(move |id| id.group == group)
}

/// Prepares the page with the groups.
pub fn list(spec: &Spec, operators: &Operators, marker: String) -> OperatorsPage {
    let path = operators_page(operators);
    let row = |(index, group): (usize, &OperatorGroup)| GroupRow {
        title: group.title.clone(),
        to: relative(&path, &operator_group_page(operators, index)),
        summary: sentence(&cell(&group.summary)),
        operators: group.operators.len(),
        kernels: of_group(operators, index).map(|id| bound(spec, id).count()).sum(),
    };
    let groups: Vec<GroupRow> = operators.groups.iter().enumerate().map(row).collect();
    OperatorsPage {
        marker,
        title: operators.title.clone(),
        summary: sentence(&operators.summary),
        doc: operators.doc.clone(),
        tally: count(groups.iter().map(|group| group.operators).sum(), "operator"),
        list: relative(&path, &operator_list_page(operators)),
        groups,
    }
}

/// Prepares the page of a group.
pub fn group(spec: &Spec, operators: &Operators, index: usize, marker: String) -> OperatorGroupPage {
    let group = &operators.groups[index];
    let path = operator_group_page(operators, index);
    let row = |id: OperatorId| {
        let operator = operators.operator(id);
        let mut kernels: Vec<String> =
            bound(spec, id).map(|bound| format!("`{}`", bound.kernel.name.value)).collect();
        kernels.dedup();
        OperatorRow {
            name: operator.name.value.clone(),
            to: relative(&path, &operator_page(operators, id)),
            summary: sentence(&cell(&operator.summary)),
            types: element_types(&operator.types),
            kernels: kernels.join(", "),
        }
    };
    OperatorGroupPage {
        marker,
        title: group.title.clone(),
        summary: sentence(&group.summary),
        doc: group.doc.clone(),
        parent: parent(operators, &path),
        operators: of_group(operators, index).map(row).collect(),
    }
}

fn parent(operators: &Operators, path: &str) -> Link {
    Link { name: operators.title.clone(), to: relative(path, &operators_page(operators)) }
}

/// Prepares the page of an operator.
pub fn page(spec: &Spec, operators: &Operators, id: OperatorId, marker: String) -> OperatorPage {
    let operator = operators.operator(id);
    let group = &operators.groups[id.group];
    let path = operator_page(operators, id);
    let (mut equations, mut gradients) = (Vec::new(), Vec::new());
    if let Some(formulas) = operator.elementwise() {
        let drawn = |name: &str, formula: &Formula| {
            mathml::equation(name, &formula.expr, &|variable| operator.variable_name(variable))
        };
        equations.extend(operator.outputs.iter().map(|output| drawn(&output.name, &formulas.formula)));
        equations.extend(formulas.parts.iter().map(|(name, formula)| drawn(name, formula)));
        gradients.extend(
            formulas.gradients.iter().map(|gradient| {
                drawn(&gradient_name(&operator.inputs[gradient.input].name), &gradient.formula)
            }),
        );
    }
    OperatorPage {
        marker,
        name: operator.name.value.clone(),
        summary: sentence(&operator.summary),
        doc: operator.doc.clone(),
        parent: Link {
            name: group.title.clone(),
            to: relative(&path, &operator_group_page(operators, id.group)),
        },
        equations,
        gradients,
        reference: operator.reference.clone(),
        types: capital(&element_types(&operator.types)),
        provider: provider(operator),
        random: operator.random,
        operands: operands(operator),
        kernels: bound(spec, id).map(|bound| kernel_row(spec, operators, bound, &path)).collect(),
    }
}

/// Describes the computation on the CPU device, and on a device without the operator.
fn provider(operator: &Operator) -> String {
    let own = match &operator.body {
        Body::Formula(_) => "A loop that is generated from the formula.".to_owned(),
        Body::Kernel(path) => format!("The function `tenon_kernels::{path}`."),
    };
    let steps: Vec<String> = operator.sequence.iter().map(|step| format!("`{}`", step.text)).collect();
    match steps.as_slice() {
        [] => own,
        steps => format!("{own} A device without it composes it: {}.", steps.join(", ")),
    }
}

fn operands(operator: &Operator) -> Vec<OperandRow> {
    let inputs = operator.inputs.iter().map(|input| OperandRow {
        name: input.name.clone(),
        kind: "input",
        ty: tensors(input.arity, ""),
        doc: cell(&input.doc),
    });
    let attributes = operator.attributes.iter().map(|attribute| OperandRow {
        name: attribute.name.clone(),
        kind: "attribute",
        ty: match &attribute.default {
            Some(value) => format!("{}, default `{}`", attribute.ty.shown(), attribute_value(value)),
            None => attribute.ty.shown().to_owned(),
        },
        doc: cell(&attribute.doc),
    });
    let outputs = operator.outputs.iter().map(|output| OperandRow {
        name: output.name.clone(),
        kind: "output",
        ty: tensors(output.arity, &output_type(operator, output.ty)),
        doc: cell(&output.doc),
    });
    inputs.chain(attributes).chain(outputs).collect()
}

fn kernel_row(spec: &Spec, operators: &Operators, bound: Bound<'_>, path: &str) -> KernelRow {
    let Bound { interface, kernel } = bound;
    let operator = operators.operator(kernel.operator);
    let given = kernel.outputs.iter().filter(|output| !matches!(output, KernelOutput::Ignored(_)));
    let outputs: Vec<String> = given.map(|output| format!("`{}`", operator.output_name(output))).collect();
    let releases = Words::new(spec, interface).availability(kernel.available);
    KernelRow {
        host: Link { name: interface.title.clone(), to: relative(path, &interface_page(interface)) },
        name: kernel.name.value.clone(),
        computes: enumerate(&outputs),
        releases: if releases.is_empty() { "all".to_owned() } else { releases },
        types: element_types(kernel.element_types(operators)),
    }
}

/// Formats text for a cell of a table.
fn cell(text: &str) -> String {
    collapse(text).replace('|', "\\|")
}
