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
            Value::List(&Value::Word(&["float", "integer", "bool"])),
            "The types of elements that the inputs may have.",
        ),
        needed("inputs", Value::Map(&Value::Prose), "Name of each input → what it is."),
        key(
            "attributes",
            Value::Map(&Value::Shape(&ATTRIBUTE)),
            "Numbers and truth values that are the same for all elements.",
        ),
        needed(
            "outputs",
            Value::Map(&Value::Any(&[Value::Prose, Value::Shape(&OUTPUT)])),
            "Name of the output → what it is.",
        ),
        key(
            "where",
            Value::Map(&Value::Line),
            "Named parts of the formula and the gradients; a part may use those before it.",
        ),
        needed("formula", Value::Line, "An element of the output, from the elements of the inputs."),
        key(
            "gradient",
            Value::Map(&Value::Line),
            "Input → an element of its gradient. `dy` is an element of the gradient of an output `y`.",
        ),
        needed(
            "reference",
            Value::Line,
            "The same in Python with `numpy` and `scipy.special` as `special`, computed in another way, for tests.",
        ),
        key("domain", Value::Map(&INTERVAL), "Input → the least and the largest number that tests pass."),
        key("kinks", Value::Line, "An expression that is zero where the gradient does not exist."),
    ],
};

const INTERVAL: Value = Value::List(&Value::Any(&[Value::Integer, Value::Float]));

static ATTRIBUTE: Shape = Shape {
    name: "an attribute",
    keys: &[
        needed("type", Value::Word(&["f64", "bool"]), "The type of its value."),
        key(
            "default",
            Value::Any(&[Value::Bool, Value::Integer, Value::Float]),
            "Its value where a caller gives none.",
        ),
        needed("doc", Value::Prose, "What it does."),
    ],
};

static OUTPUT: Shape = Shape {
    name: "an output",
    keys: &[
        needed("doc", Value::Prose, "What it is."),
        key("type", Value::Word(&["bool"]), "Truth values instead of the type of the inputs."),
    ],
};
