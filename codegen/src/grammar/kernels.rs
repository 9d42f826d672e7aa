//! The grammar of kernels, which maps kernels of a host to operators.

use super::{DOC, SINCE, SUMMARY, UNTIL};
use crate::yaml::shape::Value::*;
use crate::yaml::shape::{needed, optional, shapes};

shapes! {
    /// A file of kernels.
    pub static KERNEL_GROUP = "a group of kernels" {
        /// Name of the group; also of its file.
        group: needed(Snake),
        /// Heading in the docs.
        title: needed(Line),
        SUMMARY,
        DOC,
        /// Kernels, in the order of the docs.
        kernels: needed(List(&Shape(&KERNEL))),
    }

    static KERNEL = "a kernel" {
        /// Its name in the host.
        kernel: needed(Snake),
        /// The operator; default: the one with the same name.
        op: optional(Snake),
        /// Its tensors, in the order of the host: inputs of the operator, its output `y` or the gradient `dy`
        /// of it; default: the inputs of the operator.
        inputs: optional(List(&Any(&[Snake, Shape(&TENSOR)]))),
        /// Optional inputs of the operator that the host passes as references, which are null if a tensor is absent.
        plain: optional(List(&Snake)),
        /// Its attributes, in the order of the host: name of the operator's attribute → the type in the host.
        /// The name `axis` is for the first dimension of the larger shape that the smaller one is aligned
        /// with, the name `seed` for a seed of random numbers in place of the generator's.
        attributes: optional(Map(&Any(&[Word(TYPES), Shape(&ATTRIBUTE)]))),
        /// Its results: outputs of the operator, or gradients such as `dx`; default: the outputs.
        outputs: optional(List(&Any(&[Snake, Shape(&TENSOR)]))),
        /// The shape of the first output, if hosts do not always know it, as where an attribute comes from a tensor.
        shape: optional(Shape(&SHAPE)),
        /// Attribute of the operator that the host does not pass → its value.
        constants: optional(Map(&Any(&[Bool, Integer, Float, Line, List(&Any(&[Integer, Float]))]))),
        /// The types of elements for which the host requests it; default: those of the operator.
        types: optional(List(&Word(&["float", "integer", "bool", "complex"]))),
        SINCE,
        UNTIL,
    }
}

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

shapes! {
    static TENSOR = "a tensor without effect" {
        /// Its name.
        name: needed(Snake),
        /// The reason for which it has no effect.
        ignored: needed(Line),
        /// True if it may be absent.
        optional: optional(Bool),
        /// True if it is any number of tensors.
        list: optional(Bool),
    }

    static SHAPE = "the shape of an output" {
        /// The function that computes it.
        rule: needed(Snake),
        /// The inputs and the attributes of the kernel that the function takes, in its order.
        takes: needed(List(&Snake)),
    }

    static ATTRIBUTE = "an attribute of a kernel" {
        /// The type in the host.
        type: needed(Word(TYPES)),
        /// The reason for which its value has no effect.
        ignored: needed(Line),
    }
}
