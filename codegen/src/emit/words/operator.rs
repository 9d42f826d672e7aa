//! The words of operators.

use crate::emit::text::enumerate;
use crate::model::{Arity, AttributeValue, ElementType, Operator, OutputType};

/// `floating-point numbers and integers`
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
