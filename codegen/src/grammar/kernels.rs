//! The grammar of kernels, which maps kernels of a host to operators.

use super::{DOC, SINCE, SUMMARY, UNTIL, key, needed};
use crate::source::shape::{Shape, Value};

/// A file of kernels.
pub static KERNEL_GROUP: Shape = Shape {
    name: "a group of kernels",
    keys: &[
        needed("group", Value::Snake, "Name of the group; also of its file."),
        needed("title", Value::Line, "Heading in the docs."),
        SUMMARY,
        DOC,
        needed("kernels", Value::List(&Value::Shape(&KERNEL)), "Kernels, in the order of the docs."),
    ],
};

static KERNEL: Shape = Shape {
    name: "a kernel",
    keys: &[
        needed("kernel", Value::Snake, "Its name in the host."),
        key("op", Value::Snake, "The operator; default: the one with the same name."),
        key(
            "inputs",
            Value::List(&Value::Any(&[Value::Snake, Value::Shape(&TENSOR)])),
            "Its tensors, in the order of the host: inputs of the operator, its output `y` or the gradient `dy` of it; default: the inputs of the operator.",
        ),
        key(
            "attributes",
            Value::Map(&Value::Any(&[Value::Word(TYPES), Value::Shape(&ATTRIBUTE)])),
            "Its attributes, in the order of the host: name of the operator's attribute → the type in the host. The name `axis` is for the first dimension of the larger shape that the smaller one is aligned with, the name `seed` for a seed of random numbers in place of the generator's.",
        ),
        key(
            "outputs",
            Value::List(&Value::Any(&[Value::Snake, Value::Shape(&TENSOR)])),
            "Its results: outputs of the operator, or gradients such as `dx`; default: the outputs.",
        ),
        key(
            "constants",
            Value::Map(&Value::Any(&[
                Value::Bool,
                Value::Integer,
                Value::Float,
                Value::Line,
                Value::List(&Value::Any(&[Value::Integer, Value::Float])),
            ])),
            "Attribute of the operator that the host does not pass → its value.",
        ),
        key(
            "types",
            Value::List(&Value::Word(&["float", "integer", "bool", "complex"])),
            "The types of elements for which the host requests it; default: those of the operator.",
        ),
        SINCE,
        UNTIL,
    ],
};

/// The types of attributes.
pub(crate) const TYPES: &[&str] = &[
    "bool",
    "i32",
    "i64",
    "f32",
    "f64",
    "scalar",
    "string",
    "data_type",
    "int_array",
    "list_i32",
    "list_i64",
    "list_f32",
    "list_f64",
    "list_string",
];

static TENSOR: Shape = Shape {
    name: "a tensor without effect",
    keys: &[
        needed("name", Value::Snake, "Its name."),
        needed("ignored", Value::Line, "The reason for which it has no effect."),
        key("optional", Value::Bool, "True if it may be absent."),
        key("list", Value::Bool, "True if it is any number of tensors."),
    ],
};

static ATTRIBUTE: Shape = Shape {
    name: "an attribute of a kernel",
    keys: &[
        needed("type", Value::Word(TYPES), "The type in the host."),
        needed("ignored", Value::Line, "The reason for which its value has no effect."),
    ],
};
