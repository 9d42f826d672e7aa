//! The grammar of kernels: which kernel of a host is which operator.

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
        key("op", Value::Snake, "The operator; left out: the one of the same name."),
        key(
            "inputs",
            Value::List(&Value::Snake),
            "Its tensors, in the order of the host: inputs of the operator, its output `y` or the gradient `dy` of it; left out: the inputs of the operator.",
        ),
        key(
            "attributes",
            Value::Map(&Value::Any(&[Value::Word(TYPES), Value::Shape(&ATTRIBUTE)])),
            "Its attributes, in the order of the host: name of the operator's attribute → the type in the host. The name `axis` is for the first dimension of the larger shape that the smaller one is aligned with.",
        ),
        key(
            "outputs",
            Value::List(&Value::Snake),
            "What it computes: the output of the operator, or gradients such as `dx`; left out: the output.",
        ),
        SINCE,
        UNTIL,
    ],
};

/// The types of attributes.
const TYPES: &[&str] = &["bool", "i32", "i64", "f32", "f64", "scalar", "string", "data_type"];

static ATTRIBUTE: Shape = Shape {
    name: "an attribute of a kernel",
    keys: &[
        needed("type", Value::Word(TYPES), "The type in the host."),
        needed("ignored", Value::Line, "Why its value makes no difference."),
    ],
};
