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
        needed("op", Value::Snake, "Its name, which no other operator has."),
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
            "Name of each input → what it is.",
        ),
        key(
            "attributes",
            Value::Map(&Value::Shape(&ATTRIBUTE)),
            "Values that are the same for all elements; formulas take numbers and truth values.",
        ),
        needed(
            "outputs",
            Value::Map(&Value::Any(&[Value::Prose, Value::Shape(&OUTPUT)])),
            "Name of each output → what it is; a formula has one.",
        ),
        key(
            "where",
            Value::Map(&Value::Line),
            "Named parts of the formula and the gradients; a part may use those before it.",
        ),
        key("formula", Value::Line, "An element of the output, from the elements of the inputs."),
        key(
            "kernel",
            Value::Line,
            "In place of a formula: the function of `runtime/kernels` that computes the outputs, such as `softmax::softmax`. It takes the outputs, the inputs and the attributes.",
        ),
        key(
            "random",
            Value::Bool,
            "The kernel also takes a seed and an offset, `i64` both, behind the attributes; the host's generator has them.",
        ),
        key(
            "gradient",
            Value::Map(&Value::Line),
            "Input → an element of its gradient. `dy` is an element of the gradient of an output `y`. The gradient of a kernel is an operator of its own.",
        ),
        key(
            "reference",
            Value::Line,
            "The same in Python with `numpy` and `scipy.special` as `special`, computed in another way, for tests. A formula needs one.",
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
        needed("doc", Value::Prose, "What it is."),
        key("optional", Value::Bool, "It may be left out."),
        key("list", Value::Bool, "It is any number of tensors."),
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
            "Its value where a caller gives none.",
        ),
        needed("doc", Value::Prose, "What it does."),
    ],
};

static OUTPUT: Shape = Shape {
    name: "an output",
    keys: &[
        needed("doc", Value::Prose, "What it is."),
        key(
            "type",
            Value::Word(&["bool", "i32", "i64", "f32", "any"]),
            "The type of its elements, if it is not that of the first input; `any`: the one that the caller chooses.",
        ),
        key("like", Value::Snake, "The input whose type of elements it has."),
        key(
            "shape",
            Value::Line,
            "The function of `runtime/kernels` that computes its shape from the inputs and the attributes, where hosts do not.",
        ),
        key("wide", Value::Snake, "The input whose type of elements it has, or `f32` if that is narrower."),
        key("optional", Value::Bool, "It may be left out."),
        key("list", Value::Bool, "It is any number of tensors."),
    ],
};
