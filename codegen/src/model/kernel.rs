//! Kernels: maps kernels of a host to operators.

use super::{
    Arity, AttributeType, AttributeValue, Availability, ElementType, Elementwise, Formula, Operator,
    Operators, gradient_name,
};
use crate::formula::Variable;
use crate::source::At;

/// Kernels that belong together.
#[derive(Debug)]
pub struct KernelGroup {
    /// Its name, which is also the name of its file.
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

/// A kernel of a host, which computes an operator or its gradients in some releases.
#[derive(Debug)]
pub struct Kernel {
    /// Its name in the host.
    pub name: At<String>,
    /// The operator.
    pub operator: OperatorId,
    /// Its tensors, in the order of the host.
    pub inputs: Vec<KernelInput>,
    /// The names of optional inputs that the host passes as references, which may be null.
    pub plain: Vec<String>,
    /// Its attributes, in the order of the host.
    pub attributes: Vec<KernelAttribute>,
    /// Its outputs, in the order of the host.
    pub outputs: Vec<KernelOutput>,
    /// The shape of its first output, if the host does not always know it.
    pub shape: Option<KernelShape>,
    /// Attributes of the operator that the host does not pass: index into them, and the value.
    pub constants: Vec<(usize, AttributeValue)>,
    /// The element types for which the host calls it, if they differ from those of the operator.
    pub types: Option<Vec<ElementType>>,
    /// The releases that have it in this form.
    pub available: Availability,
}

/// A tensor that a kernel takes.
#[derive(Debug)]
pub enum KernelInput {
    /// An input of the operator, its output, or the gradient of its output.
    Variable(Variable),
    /// A tensor that has no effect.
    Ignored(IgnoredTensor),
}

/// A tensor of a kernel that has no effect.
#[derive(Debug)]
pub struct IgnoredTensor {
    /// Its name.
    pub name: String,
    /// The number of its tensors.
    pub arity: Arity,
}

/// The shape of an output, as a function of arguments.
#[derive(Debug)]
pub struct KernelShape {
    /// The name of the function.
    pub rule: String,
    /// Its arguments, in order.
    pub takes: Vec<ShapeArgument>,
}

/// An argument of a function that computes a shape.
#[derive(Clone, Copy, Debug)]
pub enum ShapeArgument {
    /// Index into the inputs of the operator.
    Input(usize),
    /// Index into the inputs of the kernel, for one that has no effect on the values.
    Ignored(usize),
    /// Index into the attributes of the kernel.
    Attribute(usize),
}

/// The position of an operator.
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
    /// Its purpose.
    pub role: KernelRole,
}

/// The purpose of an attribute of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelRole {
    /// Index into the attributes of the operator.
    Attribute(usize),
    /// The first dimension of the larger shape that the smaller shape is aligned with; -1: aligns the last
    /// dimensions.
    Axis,
    /// The seed of random numbers; 0: use the host's generator.
    Seed,
    /// It has no effect.
    Ignored,
}

/// The type of an attribute in a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelType {
    /// A boolean.
    Bool,
    /// A 32-bit integer.
    I32,
    /// A 64-bit integer.
    I64,
    /// A 32-bit floating-point number.
    F32,
    /// A 64-bit floating-point number.
    F64,
    /// A number with its type.
    Scalar,
    /// A string.
    String,
    /// An element type.
    DataType,
    /// Integers, which the host may store in tensors.
    IntArray,
    /// 32-bit integers.
    ListI32,
    /// 64-bit integers.
    ListI64,
    /// 32-bit floating-point numbers.
    ListF32,
    /// 64-bit floating-point numbers.
    ListF64,
    /// Strings.
    ListString,
}

impl KernelType {
    /// The names of the types in the spec language.
    pub const WORDS: &[(&str, Self)] = &[
        ("bool", KernelType::Bool),
        ("i32", KernelType::I32),
        ("i64", KernelType::I64),
        ("f32", KernelType::F32),
        ("f64", KernelType::F64),
        ("scalar", KernelType::Scalar),
        ("string", KernelType::String),
        ("data_type", KernelType::DataType),
        ("int_array", KernelType::IntArray),
        ("list_i32", KernelType::ListI32),
        ("list_i64", KernelType::ListI64),
        ("list_f32", KernelType::ListF32),
        ("list_f64", KernelType::ListF64),
        ("list_string", KernelType::ListString),
    ];

    /// Returns the type with a name.
    pub fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, ty)| *ty)
    }

    /// Returns true if an attribute of an operator can be converted from this type.
    pub fn gives(self, ty: AttributeType) -> bool {
        match ty {
            AttributeType::Bool => matches!(self, KernelType::Bool | KernelType::Scalar),
            AttributeType::I64 => matches!(self, KernelType::I32 | KernelType::I64 | KernelType::Scalar),
            AttributeType::F64 => matches!(
                self,
                KernelType::I32 | KernelType::I64 | KernelType::F32 | KernelType::F64 | KernelType::Scalar
            ),
            AttributeType::Integers => {
                matches!(self, KernelType::IntArray | KernelType::ListI32 | KernelType::ListI64)
            }
            AttributeType::Numbers => matches!(self, KernelType::ListF32 | KernelType::ListF64),
            AttributeType::Text => self == KernelType::String,
            AttributeType::Texts => self == KernelType::ListString,
        }
    }
}

/// An output of a kernel.
#[derive(Debug)]
pub enum KernelOutput {
    /// Index into the outputs of the operator.
    Output(usize),
    /// Index into the gradients of an elementwise operator.
    Gradient(usize),
    /// A tensor that the host does not use; nothing is written to it.
    Ignored(IgnoredTensor),
}

impl Kernel {
    /// Returns true if the host passes a tensor of the operator.
    pub fn takes(&self, tensor: Variable) -> bool {
        self.inputs
            .iter()
            .any(|input| matches!(input, KernelInput::Variable(variable) if *variable == tensor))
    }

    /// Returns true if the host requests an output of the operator.
    pub fn gives(&self, output: usize) -> bool {
        self.outputs.iter().any(|given| matches!(given, KernelOutput::Output(index) if *index == output))
    }

    /// Returns the kernel's attribute that provides an attribute of the operator.
    pub fn source(&self, attribute: usize) -> Option<&KernelAttribute> {
        self.attributes.iter().find(|given| given.role == KernelRole::Attribute(attribute))
    }

    /// Returns the value of an attribute of the operator that the host does not pass.
    pub fn constant<'a>(&'a self, operator: &'a Operator, attribute: usize) -> Option<&'a AttributeValue> {
        let constant = self.constants.iter().find(|(index, _)| *index == attribute).map(|(_, value)| value);
        constant.or(operator.attributes[attribute].default.as_ref())
    }

    /// Returns true if the value of an attribute of the operator is known.
    pub fn knows(&self, operator: &Operator, attribute: usize) -> bool {
        self.source(attribute).is_some() || self.constant(operator, attribute).is_some()
    }

    /// Returns the element types for which the host calls it.
    pub fn element_types<'a>(&'a self, operators: &'a Operators) -> &'a [ElementType] {
        match &self.types {
            Some(types) => types,
            None if self.is_gradient() => &[ElementType::Float],
            None => &operators.operator(self.operator).types,
        }
    }

    /// Returns true if it computes gradients.
    pub fn is_gradient(&self) -> bool {
        self.outputs.iter().any(|output| matches!(output, KernelOutput::Gradient(_)))
    }
}

impl Operator {
    /// Returns the name of an output of a kernel: the name of the operator's output, or `dx` for the gradient with
    /// respect to `x`.
    pub fn output_name(&self, output: &KernelOutput) -> String {
        match output {
            KernelOutput::Output(index) => self.outputs[*index].name.clone(),
            KernelOutput::Gradient(index) => {
                let gradients = self.elementwise().map_or(&[][..], |formulas| &formulas.gradients);
                gradient_name(&self.inputs[gradients[*index].input].name)
            }
            KernelOutput::Ignored(ignored) => ignored.name.clone(),
        }
    }
}

impl Elementwise {
    /// Returns the formula of an output of a kernel.
    pub fn formula_of(&self, output: &KernelOutput) -> Option<&Formula> {
        match output {
            KernelOutput::Output(_) => Some(&self.formula),
            KernelOutput::Gradient(index) => Some(&self.gradients[*index].formula),
            KernelOutput::Ignored(_) => None,
        }
    }
}

impl Operators {
    /// Returns the operator with an id.
    pub fn operator(&self, id: OperatorId) -> &Operator {
        &self.groups[id.group].operators[id.index]
    }

    /// Returns all operators, in the order of the docs.
    pub fn ids(&self) -> impl Iterator<Item = OperatorId> {
        let groups = self.groups.iter().enumerate();
        groups.flat_map(|(group, entries)| {
            (0..entries.operators.len()).map(move |index| OperatorId { group, index })
        })
    }

    /// Returns the operator with a name.
    pub fn find(&self, name: &str) -> Option<OperatorId> {
        self.groups.iter().enumerate().find_map(|(group, entries)| {
            let index = entries.operators.iter().position(|operator| operator.name.value == name)?;
            Some(OperatorId { group, index })
        })
    }
}
