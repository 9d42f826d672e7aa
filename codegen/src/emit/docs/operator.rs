//! The pages of operators: the list of groups, one page for each group, and one for each operator.

use minijinja::{Value, context};

use super::function::link;
use super::links::{
    interface_page, operator_group_page, operator_list_page, operator_page, operators_page, relative,
};
use super::mathml;
use crate::emit::descriptions::Describer;
use crate::emit::descriptions::operator::{attribute_value, element_types, output_doc, output_type, tensors};
use crate::model::*;
use crate::text::{capital, collapse, count, enumerate, sentence};

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
pub fn list(spec: &Spec, operators: &Operators, marker: String) -> Value {
    let path = operators_page(operators);
    let row = |(index, group): (usize, &OperatorGroup)| {
        context! {
            title => &group.title,
            to => relative(&path, &operator_group_page(operators, index)),
            summary => sentence(&cell(&group.summary)),
            operators => group.operators.len(),
            kernels => of_group(operators, index).map(|id| bound(spec, id).count()).sum::<usize>(),
        }
    };
    let groups: Vec<Value> = operators.groups.iter().enumerate().map(row).collect();
    context! {
        marker,
        title => &operators.title,
        summary => sentence(&operators.summary),
        doc => &operators.doc,
        tally => count(operators.ids().count(), "operator"),
        list => relative(&path, &operator_list_page(operators)),
        groups,
    }
}

/// Prepares the page of a group.
pub fn group(spec: &Spec, operators: &Operators, index: usize, marker: String) -> Value {
    let group = &operators.groups[index];
    let path = operator_group_page(operators, index);
    let row = |id: OperatorId| {
        let operator = operators.operator(id);
        let mut kernels: Vec<String> =
            bound(spec, id).map(|bound| format!("`{}`", bound.kernel.name.value)).collect();
        kernels.dedup();
        context! {
            name => &operator.name.value,
            to => relative(&path, &operator_page(operators, id)),
            summary => sentence(&cell(&operator.summary)),
            types => element_types(&operator.types),
            kernels => kernels.join(", "),
        }
    };
    context! {
        marker,
        title => &group.title,
        summary => sentence(&group.summary),
        doc => &group.doc,
        parent => parent(operators, &path),
        operators => of_group(operators, index).map(row).collect::<Value>(),
    }
}

fn parent(operators: &Operators, path: &str) -> Value {
    link(&operators.title, relative(path, &operators_page(operators)))
}

/// Prepares the page of an operator.
pub fn page(spec: &Spec, operators: &Operators, id: OperatorId, marker: String) -> Value {
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
    if let Some(reduction) = operator.reduction() {
        equations.extend(reduction_equations(operator, reduction));
    }
    context! {
        marker,
        name => &operator.name.value,
        summary => sentence(&operator.summary),
        doc => &operator.doc,
        parent => link(&group.title, relative(&path, &operator_group_page(operators, id.group))),
        equations,
        gradients,
        reference => &operator.reference,
        types => capital(&element_types(&operator.types)),
        provider => provider(operator),
        random => operator.random,
        operands => operands(operator),
        kernels => bound(spec, id).map(|bound| kernel_row(spec, operators, bound, &path)).collect::<Value>(),
    }
}

/// Draws the formulas of a reduction, each with the name of its value.
fn reduction_equations(operator: &Operator, reduction: &Reduction) -> Vec<String> {
    let out = &operator.outputs[0].name;
    let drawn = |name: &str, formula: &Formula| {
        mathml::equation(name, &formula.expr, &|variable| operator.variable_name(variable))
    };
    match &reduction.work {
        ReductionWork::Spread { formula, .. } => vec![drawn(out, formula)],
        ReductionWork::Fold(fold) => {
            let values = [
                ("element", fold.element.as_ref()),
                ("start", Some(&fold.start)),
                ("step", Some(&fold.step)),
                (out, fold.finish.as_ref()),
            ];
            values.into_iter().filter_map(|(name, formula)| Some(drawn(name, formula?))).collect()
        }
    }
}

/// Describes the computation on the CPU device, and on a device without the operator.
fn provider(operator: &Operator) -> String {
    let own = match &operator.body {
        Body::Formula(_) => "A loop that is generated from the formula.".to_owned(),
        Body::Reduction(_) => "Loops that are generated from the formulas.".to_owned(),
        Body::Kernel(path) => format!("The function `tenon_kernels::{path}`."),
    };
    let steps: Vec<String> = operator.sequence.iter().map(|step| format!("`{}`", step.text)).collect();
    match steps.as_slice() {
        [] => own,
        steps => format!("{own} A device without it composes it: {}.", steps.join(", ")),
    }
}

fn operands(operator: &Operator) -> Vec<Value> {
    let inputs = operator.inputs.iter().map(|input| {
        context! {
            name => &input.name,
            kind => "input",
            ty => tensors(input.arity, ""),
            doc => cell(&input.doc),
        }
    });
    let attributes = operator.attributes.iter().map(|attribute| {
        context! {
            name => &attribute.name,
            kind => "attribute",
            ty => match &attribute.default {
                Some(value) => format!("{}, default `{}`", attribute.ty.shown(), attribute_value(value)),
                None => attribute.ty.shown().to_owned(),
            },
            doc => cell(&attribute.doc),
        }
    });
    let outputs = operator.outputs.iter().map(|output| {
        context! {
            name => &output.name,
            kind => "output",
            ty => tensors(output.arity, &output_type(operator, output.ty)),
            doc => cell(&output_doc(operator, output)),
        }
    });
    inputs.chain(attributes).chain(outputs).collect()
}

fn kernel_row(spec: &Spec, operators: &Operators, bound: Bound<'_>, path: &str) -> Value {
    let Bound { interface, kernel } = bound;
    let operator = operators.operator(kernel.operator);
    let given = kernel.outputs.iter().filter(|output| !matches!(output, KernelOutput::Ignored(_)));
    let outputs: Vec<String> = given.map(|output| format!("`{}`", operator.output_name(output))).collect();
    let releases = Describer::new(spec, interface).availability(kernel.available);
    context! {
        host => link(&interface.title, relative(path, &interface_page(interface))),
        name => &kernel.name.value,
        computes => enumerate(&outputs),
        releases => if releases.is_empty() { "all".to_owned() } else { releases },
        types => element_types(kernel.element_types(operators)),
    }
}

/// Formats text for a cell of a table.
fn cell(text: &str) -> String {
    collapse(text).replace('|', "\\|")
}
