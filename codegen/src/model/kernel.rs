//! Kernels: which kernel of a host is which operator.

use super::{Availability, Operator, Operators};
use crate::formula::Variable;
use crate::source::At;

/// Kernels that belong together.
#[derive(Debug)]
pub struct KernelGroup {
    /// Its name and its file.
    pub name: String,
    /// The heading in the docs.
    pub title: String,
    /// One line.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: String,
    /// The kernels, in the order of the docs.
    pub kernels: Vec<Kernel>,
}

/// A kernel of a host: how it computes an operator, or gradients of one, in some releases.
#[derive(Debug)]
pub struct Kernel {
    /// Its name in the host.
    pub name: At<String>,
    /// The operator.
    pub operator: OperatorId,
    /// Its tensors, in the order of the host: inputs of the operator, its output, or the gradient of that.
    pub inputs: Vec<Variable>,
    /// Its attributes, in the order of the host.
    pub attributes: Vec<KernelAttribute>,
    /// What it computes, in the order of the host.
    pub outputs: Vec<KernelOutput>,
    /// The releases that have it in this form.
    pub available: Availability,
}

/// Where an operator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperatorId {
    /// Index into [`Operators::groups`].
    pub group: usize,
    /// Index into the operators of the group.
    pub index: usize,
}

/// An attribute of a kernel.
#[derive(Debug)]
pub struct KernelAttribute {
    /// Its name.
    pub name: String,
    /// Its type in the host.
    pub ty: KernelType,
    /// What it is for.
    pub role: KernelRole,
}

/// What an attribute of a kernel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelRole {
    /// Index into the attributes of the operator.
    Attribute(usize),
    /// The first dimension of the larger shape that the smaller one is aligned with; -1: the last dimensions agree.
    Axis,
    /// Its value makes no difference.
    Ignored,
}

/// The type of an attribute in a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelType {
    /// A truth value.
    Bool,
    /// A 32-bit integer.
    I32,
    /// A 64-bit integer.
    I64,
    /// A 32-bit number.
    F32,
    /// A 64-bit number.
    F64,
    /// A number with its type.
    Scalar,
    /// A text.
    String,
    /// A type of elements.
    DataType,
}

impl KernelType {
    /// The type of a word of the grammar.
    pub fn of(word: &str) -> Option<Self> {
        Some(match word {
            "bool" => KernelType::Bool,
            "i32" => KernelType::I32,
            "i64" => KernelType::I64,
            "f32" => KernelType::F32,
            "f64" => KernelType::F64,
            "scalar" => KernelType::Scalar,
            "string" => KernelType::String,
            "data_type" => KernelType::DataType,
            _ => return None,
        })
    }
}

/// What a kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelOutput {
    /// The output of the operator.
    Result,
    /// Index into the gradients of the operator.
    Gradient(usize),
}

impl Operators {
    /// The operator of an id.
    pub fn operator(&self, id: OperatorId) -> &Operator {
        &self.groups[id.group].operators[id.index]
    }

    /// The operator of a name.
    pub fn find(&self, name: &str) -> Option<OperatorId> {
        self.groups.iter().enumerate().find_map(|(group, entries)| {
            let index = entries.operators.iter().position(|operator| operator.name.value == name)?;
            Some(OperatorId { group, index })
        })
    }
}
