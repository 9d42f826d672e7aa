//! The grammar of nodes, which maps operators of a host's models to operators of the spec.

use super::{DOC, SUMMARY};
use crate::yaml::shape::Value::*;
use crate::yaml::shape::{needed, optional, shapes};

shapes! {
    /// A file of nodes.
    pub static NODE_GROUP = "a group of nodes" {
        /// Name of the group; also of its file.
        group: needed(Snake),
        /// Heading in the docs.
        title: needed(Line),
        SUMMARY,
        DOC,
        /// Nodes, in the order of the docs.
        nodes: needed(List(&Shape(&NODE))),
    }

    static NODE = "a node" {
        /// Its operator in models.
        node: needed(Symbol),
        /// The domain of the operator; default: that of ONNX.
        domain: optional(Line),
        /// The first version of the domain in which the operator has this form.
        since: needed(Integer),
        /// The last version; default: the newest known one.
        until: optional(Integer),
        /// Type of the operator's schema → the types of elements that are taken for it. The operators of the device must
        /// accept those of the first one.
        types: needed(ForeignMap(&List(&Word(ELEMENTS)))),
        /// The operator that computes it: an elementwise one, whose inputs are those of the node in this order.
        op: optional(Snake),
        /// True if the operator combines any number of inputs, from the first one on.
        folds: optional(Bool),
        /// Attribute of the operator → the attribute of the node and its default.
        attributes: optional(Map(&Shape(&ATTRIBUTE))),
        /// Attribute of the operator that the node does not have → its value; default: that of the operator.
        constants: optional(Map(&Any(&[Bool, Integer, Float]))),
        /// Without `op`: the function that computes it, written by hand.
        rule: optional(Line),
        /// Without `op` and `rule`: the kernel of the host that runs its subgraphs.
        host_kernel: optional(Word(HOST_KERNELS)),
        /// The operators that the function calls, or that the kernel of the host needs.
        uses: optional(List(&Snake)),
        /// The indices of inputs that the function reads in host memory.
        host: optional(List(&Integer)),
        /// True if its output is in host memory.
        host_output: optional(Bool),
        /// True if the first output may have the memory of the first input.
        in_place: optional(Bool),
    }

    static ATTRIBUTE = "an attribute of a node" {
        /// Its name in the node.
        name: needed(Symbol),
        /// Its value where the node does not have it; default: that of the operator.
        default: optional(Any(&[Bool, Integer, Float])),
    }
}

/// The kernels of a host for nodes with subgraphs.
pub(crate) const HOST_KERNELS: &[&str] = &["if", "loop", "scan"];

/// The names of sets of types of elements.
pub(crate) const ELEMENTS: &[&str] =
    &["float", "integer", "unsigned", "bool", "float32", "int32", "int64", "int8", "uint8"];
