//! Operators as JSON, with the kernels of hosts that compute them.

use serde_json::{Value, json};

use crate::emit::descriptions::operator::{element_types, output_type};
use crate::model::{
    Arity, Attribute, AttributeValue, Body, Formula, Interface, Kernel, KernelOutput, ModelNode, Operand,
    Operator, OperatorId, Operators, Reduction, ReductionWork, Spec, gradient_name,
};

/// Describes the operators of a spec.
pub fn operators(spec: &Spec, operators: &Operators) -> Value {
    let entries = operators.groups.iter().enumerate().flat_map(|(group, entries)| {
        let operator = move |(index, operator)| {
            entry(spec, operators, &entries.name, operator, OperatorId { group, index })
        };
        entries.operators.iter().enumerate().map(operator)
    });
    entries.collect()
}

fn entry(spec: &Spec, operators: &Operators, group: &str, operator: &Operator, id: OperatorId) -> Value {
    let output = |output: &Operand| {
        let in_place = output.in_place.map(|index| &operator.inputs[index].name);
        json!({ "elements": output_type(operator, output.ty), "in_place": in_place })
    };
    let kernels = spec.interfaces.iter().flat_map(|interface| {
        let kernels = interface.kernels.iter().flat_map(|group| &group.kernels);
        let ours = kernels.filter(move |kernel| kernel.operator == id);
        ours.map(move |bound| kernel(interface, operators, operator, bound))
    });
    json!({
        "name": operator.name.value,
        "group": group,
        "summary": operator.summary,
        "doc": operator.doc,
        "types": operator.types.iter().map(|ty| element_types(&[*ty])).collect::<Vec<_>>(),
        "inputs": operator.inputs.iter().map(input).collect::<Vec<_>>(),
        "attributes": operator.attributes.iter().map(attribute).collect::<Vec<_>>(),
        "outputs": operator.outputs.iter().map(|it| operand(it, output(it))).collect::<Vec<_>>(),
        "body": body(operator),
        "random": operator.random,
        "reference": operator.reference,
        "kernels": kernels.collect::<Vec<_>>(),
        "nodes": nodes(spec, id),
    })
}

/// Returns the operators of models that need an operator.
fn nodes(spec: &Spec, id: OperatorId) -> Vec<Value> {
    let all = spec.interfaces.iter().flat_map(|interface| {
        let nodes = interface.nodes.iter().flat_map(|group| &group.nodes);
        nodes.map(move |node| (interface, node))
    });
    let ours = all.filter(|(_, node)| node.operators().contains(&id));
    let node = |(interface, node): (&Interface, &ModelNode)| {
        json!({
            "interface": interface.name.value,
            "name": node.name.value,
            "domain": node.domain,
            "since": node.since,
            "until": node.until,
        })
    };
    ours.map(node).collect()
}

fn input(input: &Operand) -> Value {
    operand(input, json!({ "decides_shape": input.decides_shape }))
}

fn operand(operand: &Operand, more: Value) -> Value {
    let arity = match operand.arity {
        Arity::One => "one",
        Arity::Optional => "optional",
        Arity::List => "list",
        Arity::OptionalList => "optional list",
    };
    super::joined(json!({ "name": operand.name, "doc": operand.doc, "tensors": arity }), more, json!({}))
}

fn attribute(attribute: &Attribute) -> Value {
    let default = attribute.default.as_ref().map(|value| match value {
        AttributeValue::Truth(truth) => json!(truth),
        AttributeValue::Integer(integer) => json!(integer),
        // JSON has no infinity.
        AttributeValue::Number(number) if !number.is_finite() => json!(number.to_string()),
        AttributeValue::Number(number) => json!(number),
        AttributeValue::Integers(integers) => json!(integers),
        AttributeValue::Numbers(numbers) => json!(numbers),
        AttributeValue::Text(text) => json!(text),
        AttributeValue::Texts(texts) => json!(texts),
    });
    json!({ "name": attribute.name, "type": attribute.ty.shown(), "default": default, "doc": attribute.doc })
}

fn body(operator: &Operator) -> Value {
    let formulas = match &operator.body {
        Body::Kernel(path) => return json!({ "kernel": path }),
        Body::Reduction(reduction) => return reduced(reduction),
        Body::Formula(formulas) => formulas,
    };
    let part = |(name, formula): &(String, Formula)| json!({ "name": name, "formula": formula.text });
    let gradients = formulas.gradients.iter().map(|gradient| {
        let name = gradient_name(&operator.inputs[gradient.input].name);
        json!({ "name": name, "formula": gradient.formula.text })
    });
    json!({
        "formula": formulas.formula.text,
        "parts": formulas.parts.iter().map(part).collect::<Vec<_>>(),
        "gradients": gradients.collect::<Vec<_>>(),
        "domains": formulas.domains,
        "kinks": formulas.kinks.as_ref().map(|kinks| &kinks.text),
    })
}

fn reduced(reduction: &Reduction) -> Value {
    match &reduction.work {
        ReductionWork::Fold(fold) => json!({
            "reduction": {
                "element": fold.element.as_ref().map(|element| &element.text),
                "start": fold.start.text,
                "step": fold.step.text,
                "finish": fold.finish.as_ref().map(|finish| &finish.text),
                "nonempty": fold.nonempty,
            }
        }),
        ReductionWork::Spread { reduced, formula } => {
            json!({ "spread": { "formula": formula.text, "reduced": reduced } })
        }
    }
}

fn kernel(interface: &Interface, operators: &Operators, operator: &Operator, kernel: &Kernel) -> Value {
    let given = kernel.outputs.iter().filter(|output| !matches!(output, KernelOutput::Ignored(_)));
    let types = kernel.element_types(operators).iter().map(|ty| element_types(&[*ty]));
    let release = |id: crate::model::ReleaseId| &interface.releases[id.0].name.value;
    json!({
        "interface": interface.name.value,
        "name": kernel.name.value,
        "outputs": given.map(|output| operator.output_name(output)).collect::<Vec<_>>(),
        "types": types.collect::<Vec<_>>(),
        "since": kernel.available.since.map(release),
        "until": kernel.available.until.map(release),
    })
}
