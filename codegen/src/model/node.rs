//! Nodes: maps operators of a host's models to operators of the spec.

use super::{AttributeValue, OperatorId};
use crate::source::At;

/// Nodes that belong together.
#[derive(Debug)]
pub struct NodeGroup {
    /// Its name, which is also the name of its file.
    pub name: String,
    /// The heading in the docs.
    pub title: String,
    /// One line.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: String,
    /// The nodes, in the order of the docs.
    pub nodes: Vec<ModelNode>,
}

/// An operator of a host's models, in some versions.
#[derive(Debug)]
pub struct ModelNode {
    /// The name of the operator in models.
    pub name: At<String>,
    /// The domain of the operator; empty for that of ONNX.
    pub domain: String,
    /// The first version of the domain.
    pub since: u32,
    /// The last version; `None`: the newest known one.
    pub until: Option<u32>,
    /// The types of the operator's schema, with the sets of types of elements for each.
    pub types: Vec<(String, Vec<String>)>,
    /// What computes it.
    pub work: NodeWork,
    /// The indices of the inputs in host memory.
    pub host_inputs: Vec<u32>,
    /// True if its output is in host memory.
    pub is_host_output: bool,
    /// True if the first output may have the memory of the first input.
    pub is_in_place: bool,
}

/// What computes a node.
#[derive(Debug)]
pub enum NodeWork {
    /// An elementwise operator.
    Operator {
        /// The operator.
        id: OperatorId,
        /// A value for each attribute of the operator, in its order.
        attributes: Vec<NodeAttribute>,
        /// True if it combines any number of inputs.
        folds: bool,
    },
    /// A function that is written by hand.
    Rule {
        /// Its path among the rules of the host.
        path: String,
        /// The operators that it calls.
        uses: Vec<OperatorId>,
    },
    /// A kernel of the host, which runs the subgraphs of the node.
    Host {
        /// Its name: `if`, `loop` or `scan`.
        kernel: String,
        /// The operators that it needs.
        uses: Vec<OperatorId>,
    },
}

/// The value of an attribute of an operator.
#[derive(Debug)]
pub struct NodeAttribute {
    /// The attribute of the node that has it; `None`: the value is the same for all nodes.
    pub name: Option<String>,
    /// The value where the node does not have the attribute.
    pub value: AttributeValue,
}

impl ModelNode {
    /// Returns the operators that it needs.
    pub fn operators(&self) -> Vec<OperatorId> {
        match &self.work {
            NodeWork::Operator { id, .. } => vec![*id],
            NodeWork::Rule { uses, .. } | NodeWork::Host { uses, .. } => uses.clone(),
        }
    }
}
