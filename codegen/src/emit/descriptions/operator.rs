//! Descriptions of operators.

use crate::formula::Variable;
use crate::model::{
    Arity, AttributeValue, ElementType, Elementwise, Formula, Method, Operand, Operator, OutputType,
    Reduction, ReductionWork, Work,
};
use crate::text::{collapse, enumerate, sentence};

/// The documentation of a method, without the syntax of a language.
#[derive(Debug)]
pub struct MethodDescription {
    /// A sentence that says what the method computes.
    pub summary: String,
    /// Its formula; empty if it has none.
    pub equation: String,
    /// The operator's own documentation, in Markdown; empty for gradients and shapes.
    pub doc: String,
    /// The names of its tensors and attributes, each with its documentation; empty for gradients and shapes.
    pub parameters: Vec<(String, String)>,
}

/// Describes a method. `link` formats the name of another one.
pub fn method(method: &Method, link: impl Fn(&str) -> String) -> MethodDescription {
    let operator = method.operator;
    let summary = match method.work {
        Work::Gradient(formulas, index) => {
            let input = &operator.inputs[formulas.gradients[index].input].name;
            format!("Computes the gradient of {} by `{input}`.", link(&operator.name.value))
        }
        Work::Shape(_) => {
            let of = format!("Computes the shape of an output of {}", link(&operator.name.value));
            match operator.inputs.iter().filter(|input| input.decides_shape).collect::<Vec<_>>()[..] {
                [] => format!("{of}."),
                [input] => format!("{of}, which depends on the elements of `{}`.", input.name),
                _ => format!("{of}, which depends on elements of the inputs."),
            }
        }
        Work::Kernel(_) | Work::Formula(_) => sentence(&operator.summary),
    };
    let equation = match (method.formula(), method.outputs().first(), operator.reduction()) {
        (Some((formulas, formula)), Some((out, _)), _) => equation(formulas, out, formula),
        (_, _, Some(reduction)) => reduction_equation(operator, reduction),
        _ => String::new(),
    };
    if matches!(method.work, Work::Gradient(..) | Work::Shape(_)) {
        return MethodDescription { summary, equation, doc: String::new(), parameters: Vec::new() };
    }
    let outputs = operator.outputs.iter().map(|output| (output.name.clone(), output_doc(operator, output)));
    let inputs = operator.inputs.iter().map(|input| (input.name.clone(), collapse(&input.doc)));
    let tensors = outputs.chain(inputs);
    let attributes = method.attributes.iter().map(|index| &operator.attributes[*index]);
    let attributes = attributes.map(|attribute| (attribute.name.clone(), collapse(&attribute.doc)));
    let doc = operator.doc.trim().to_owned();
    MethodDescription { summary, equation, doc, parameters: tensors.chain(attributes).collect() }
}

/// Describes an output for those who implement the operator.
pub fn output_doc(operator: &Operator, output: &Operand) -> String {
    let doc = collapse(&output.doc);
    match output.in_place.map(|index| &operator.inputs[index].name) {
        Some(input) => format!("{} It may be the same memory as `{input}`.", sentence(&doc)),
        None => doc,
    }
}

/// Lists element types in words: `floating-point numbers and integers`.
pub fn element_types(types: &[ElementType]) -> String {
    let words = types.iter().map(|ty| match ty {
        ElementType::Float => "floating-point numbers".to_owned(),
        ElementType::Integer => "integers".to_owned(),
        ElementType::Bool => "booleans".to_owned(),
        ElementType::Complex => "complex numbers".to_owned(),
    });
    enumerate(&words.collect::<Vec<_>>())
}

/// Describes the element type of an output: `of the type of x`.
pub fn output_type(operator: &Operator, ty: OutputType) -> String {
    let input = |index: usize| operator.inputs[index].name.as_str();
    match ty {
        OutputType::Like(index) => format!("of the type of `{}`", input(index)),
        OutputType::Wide(index) => format!("of the type of `{}`, float32 at least", input(index)),
        OutputType::ComplexOf(index) => format!("of complex numbers as wide as `{}`", input(index)),
        OutputType::RealOf(index) => format!("of real numbers as wide as the parts of `{}`", input(index)),
        OutputType::Any => "of the type that the caller chooses".to_owned(),
        OutputType::Bool => "of booleans".to_owned(),
        OutputType::I32 => "of int32".to_owned(),
        OutputType::I64 => "of int64".to_owned(),
        OutputType::F32 => "of float32".to_owned(),
    }
}

/// Describes the tensors of an operand: `a tensor`, `a tensor, optional` or `a list of tensors`, followed by the
/// elements.
pub fn tensors(arity: Arity, elements: &str) -> String {
    let words = match arity {
        Arity::One => "a tensor",
        Arity::Optional => "a tensor, optional",
        Arity::List => "a list of tensors",
        Arity::OptionalList => "a list of tensors, optional",
    };
    [words, elements].join(" ").trim().to_owned()
}

/// Formats the value of an attribute as in a spec.
pub fn attribute_value(value: &AttributeValue) -> String {
    fn list<T: ToString>(values: &[T]) -> String {
        format!("[{}]", values.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
    }
    match value {
        AttributeValue::Truth(truth) => truth.to_string(),
        AttributeValue::Integer(integer) => integer.to_string(),
        AttributeValue::Number(number) => format!("{number:?}"),
        AttributeValue::Integers(integers) => list(integers),
        AttributeValue::Numbers(numbers) => list(numbers),
        AttributeValue::Text(text) => format!("\"{text}\""),
        AttributeValue::Texts(texts) => list(texts),
    }
}

/// Formats the formulas of a reduction for documentation.
pub fn reduction_equation(operator: &Operator, reduction: &Reduction) -> String {
    let out = &operator.outputs[0].name;
    let fold = match &reduction.work {
        ReductionWork::Spread { formula, .. } => return format!("`{out} = {}`.", formula.text),
        ReductionWork::Fold(fold) => fold,
    };
    let over = match &fold.element {
        Some(element) => format!("`{}` of each element", element.text),
        None => "the elements".to_owned(),
    };
    let from = format!("over {over}, from `{}`", fold.start.text);
    match &fold.finish {
        Some(finish) => {
            format!("`{out} = {}`, with `result = {}` {from}.", finish.text, fold.step.text)
        }
        None => format!("`{out} = {}` {from}.", fold.step.text),
    }
}

/// Formats a formula for documentation, with the parts that it uses.
pub fn equation(formulas: &Elementwise, out: &str, formula: &Formula) -> String {
    let parts: Vec<String> = formulas
        .uses(formula)
        .into_iter()
        .filter_map(|variable| match variable {
            Variable::Part(index) => {
                let (name, part) = &formulas.parts[index];
                Some(format!("`{name} = {}`", part.text))
            }
            _ => None,
        })
        .collect();
    let parts = if parts.is_empty() { String::new() } else { format!(", where {}", parts.join(" and ")) };
    format!("`{out} = {}`{parts}.", formula.text)
}
