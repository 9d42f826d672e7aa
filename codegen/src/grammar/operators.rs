//! The grammar of operators.

use super::{DOC, SUMMARY, key, needed};
use crate::source::shape::{Shape, Value};

/// `operators.yaml`.
pub static OPERATORS: Shape = Shape {
    name: "a list of operators",
    keys: &[
        needed("operators", Value::Snake, "Name of the list; also of its folder."),
        needed("title", Value::Line, "Heading in the docs."),
        SUMMARY,
        DOC,
        needed("groups", Value::List(&Value::Snake), "Files, in the order of the docs."),
    ],
};

/// A group file of operators.
pub static OPERATOR_GROUP: Shape = Shape {
    name: "a group of operators",
    keys: &[
        needed("group", Value::Snake, "Name of the group; also of its file."),
        needed("title", Value::Line, "Heading in the docs."),
        SUMMARY,
        DOC,
        needed("operators", Value::List(&Value::Shape(&OPERATOR)), "Operators, in the order of the docs."),
    ],
};

static OPERATOR: Shape = Shape {
    name: "an operator",
    keys: &[
        needed("op", Value::Snake, "Its name, which is unique."),
        SUMMARY,
        DOC,
        needed(
            "types",
            Value::List(&Value::Word(&["float", "integer", "bool", "complex"])),
            "The types of elements that the inputs may have.",
        ),
        needed(
            "inputs",
            Value::Map(&Value::Any(&[Value::Prose, Value::Shape(&INPUT)])),
            "Name of each input → its meaning.",
        ),
        key(
            "attributes",
            Value::Map(&Value::Shape(&ATTRIBUTE)),
            "Values that are the same for all elements; formulas take numbers and truth values.",
        ),
        needed(
            "outputs",
            Value::Map(&Value::Any(&[Value::Prose, Value::Shape(&OUTPUT)])),
            "Name of each output → its meaning; a formula has one output.",
        ),
        key(
            "where",
            Value::Map(&Value::Line),
            "Named parts of the formula and the gradients; a part may use earlier parts.",
        ),
        key("formula", Value::Line, "An element of the output, from the elements of the inputs."),
        key(
            "kernel",
            Value::Line,
            "Instead of a formula: the function of `runtime/kernels` that computes the outputs, such as `softmax::softmax`. It takes the outputs, the inputs and the attributes.",
        ),
        key(
            "sequence",
            Value::Any(&[Value::Line, Value::List(&Value::Line)]),
            "Steps such as `out = divide(e, total)` that compute the outputs by other operators, for devices without this one. The function of a formula needs none.",
        ),
        key(
            "random",
            Value::Bool,
            "True if the kernel also takes a seed and an offset, both `i64`, after the attributes. They come from the host's generator.",
        ),
        key(
            "checks_elements",
            Value::Bool,
            "Errors of the kernel, or the shapes of its outputs, depend on elements of the inputs, such as indices. The CPU device computes it before the call returns, so that the call reports the error.",
        ),
        key(
            "gradient",
            Value::Map(&Value::Line),
            "Input → an element of its gradient. `dy` is an element of the gradient of an output `y`. The gradient of a kernel is an operator of its own.",
        ),
        key(
            "reference",
            Value::Line,
            "The same computation in Python with `numpy` and `scipy.special` as `special`, in another way, for tests. Required for a formula.",
        ),
        key("domain", Value::Map(&INTERVAL), "Input → the least and the largest number that tests pass."),
        key("kinks", Value::Line, "An expression that is zero where the gradient does not exist."),
    ],
};

const NUMBER: Value = Value::Any(&[Value::Integer, Value::Float]);
const INTERVAL: Value = Value::List(&NUMBER);

static INPUT: Shape = Shape {
    name: "an input",
    keys: &[
        needed("doc", Value::Prose, "Its meaning."),
        key("optional", Value::Bool, "True if it may be absent."),
        key("list", Value::Bool, "True if it is any number of tensors."),
    ],
};

static ATTRIBUTE: Shape = Shape {
    name: "an attribute",
    keys: &[
        needed(
            "type",
            Value::Word(&["f64", "bool", "i64", "integers", "numbers", "text", "texts"]),
            "The type of its value.",
        ),
        key(
            "default",
            Value::Any(&[Value::Bool, Value::Integer, Value::Float, Value::Line, Value::List(&NUMBER)]),
            "Its value if a caller passes none.",
        ),
        needed("doc", Value::Prose, "Its effect."),
    ],
};

static OUTPUT: Shape = Shape {
    name: "an output",
    keys: &[
        needed("doc", Value::Prose, "Its meaning."),
        key(
            "type",
            Value::Word(&["bool", "i32", "i64", "f32", "any"]),
            "The type of its elements; default: that of the first input. `any`: the caller chooses it.",
        ),
        key("like", Value::Snake, "The input with the same type of elements."),
        key(
            "shape",
            Value::Line,
            "The function of `runtime/kernels` that computes its shape from the inputs and the attributes, if hosts do not.",
        ),
        key(
            "wide",
            Value::Snake,
            "The input with the same type of elements; `f32` if that type is narrower.",
        ),
        key("optional", Value::Bool, "True if it may be absent."),
        key("list", Value::Bool, "True if it is any number of tensors."),
    ],
};
