//! Functions that compute operators: what their steps call, and with which values.

use super::{Function, Interface, OperatorId, Param, ParamId, Spec};
use crate::source::Span;

/// The meaning of a type in computations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComputeKind {
    /// The surroundings of the call.
    Call,
    /// A tensor.
    Tensor,
    /// A number with a type of its own.
    Number,
    /// A list of integers.
    Integers,
    /// A random number generator.
    Generator,
}

impl ComputeKind {
    /// The words of the spec language, with their meanings.
    pub const WORDS: [(&'static str, ComputeKind); 5] = [
        ("call", ComputeKind::Call),
        ("tensor", ComputeKind::Tensor),
        ("number", ComputeKind::Number),
        ("integers", ComputeKind::Integers),
        ("generator", ComputeKind::Generator),
    ];

    /// Returns the kind with a name in the spec language.
    pub fn of(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, kind)| kind)
    }
}

/// One step of a computation: a call whose results go to tensors.
#[derive(Clone, Debug)]
pub struct Step {
    /// The text in the spec.
    pub text: String,
    /// The tensors that it writes, in the order of the outputs.
    pub targets: Vec<Target>,
    /// The call.
    pub call: OperatorCall,
    /// The place of the text.
    pub span: Span,
}

/// A tensor that a step writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A parameter of the function.
    Param(ParamId),
    /// A tensor that later steps use.
    Local {
        /// Its name.
        name: String,
        /// The parameter or the local tensor whose shape and type it has; `None`: the call decides.
        like: Option<TensorName>,
    },
}

/// A tensor by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TensorName {
    /// A parameter of the function.
    Param(ParamId),
    /// The result of an earlier step.
    Local(String),
}

/// A call of a method of the operators, or of a function that is written by hand.
#[derive(Clone, Debug)]
pub struct OperatorCall {
    /// The callee.
    pub callee: Callee,
    /// The values without a name, in order.
    pub arguments: Vec<ComputeValue>,
    /// The values of attributes.
    pub attributes: Vec<(String, ComputeValue)>,
}

/// The callee of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A method of the operators.
    Method {
        /// The operator.
        operator: OperatorId,
        /// The name of the method: that of the operator, or of a gradient.
        name: String,
    },
    /// The path of a function in the crate that uses the generated file.
    Rule(String),
}

/// A value in a step.
#[derive(Clone, Debug)]
pub enum ComputeValue {
    /// A tensor, or a parameter that is not one.
    Name(TensorName),
    /// An integer.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A truth value.
    Truth(bool),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<ComputeValue>),
    /// No tensor.
    Absent,
    /// The result of another call.
    Call(Box<OperatorCall>),
}

/// The part of a function that the operators of a device compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// One operator is all that it needs.
    Operator,
    /// It is composed of operators.
    Rule,
    /// It is not computed.
    Missing,
}

impl Function {
    /// Returns which part of the function the operators of a device compute.
    pub fn coverage(&self) -> Coverage {
        match self.compute.as_slice() {
            [] => Coverage::Missing,
            [step] if step.call.is_plain() => Coverage::Operator,
            _ => Coverage::Rule,
        }
    }
}

impl Spec {
    /// Returns the functions of an interface that operators can compute: those with the surroundings of a call.
    pub fn computable<'a>(&'a self, interface: &'a Interface) -> impl Iterator<Item = &'a Function> {
        let is_call = |param: &Param| self.compute_kind(param.ty) == Some(ComputeKind::Call);
        interface.functions.iter().filter(move |function| {
            interface.kind.is_export() && function.is_optional() && function.params.iter().any(is_call)
        })
    }
}

impl OperatorCall {
    /// Returns true for a method whose arguments need no other call.
    fn is_plain(&self) -> bool {
        let is_call = |value: &ComputeValue| matches!(value, ComputeValue::Call(_));
        matches!(self.callee, Callee::Method { .. }) && !self.arguments.iter().any(is_call)
    }

    /// Returns true if an operator in the call takes the elements of the parameter or the tensor.
    pub fn reads(&self, name: &TensorName) -> bool {
        let is_method = matches!(self.callee, Callee::Method { .. });
        self.arguments.iter().any(|value| match value {
            ComputeValue::Name(own) => is_method && own == name,
            ComputeValue::Call(call) => call.reads(name),
            _ => false,
        })
    }

    /// Returns true if a value of the call is the parameter or the tensor.
    pub fn names(&self, name: &TensorName) -> bool {
        self.values().any(|value| value.names(name))
    }

    /// Returns the values of the call: first those without a name.
    pub fn values(&self) -> impl Iterator<Item = &ComputeValue> {
        self.arguments.iter().chain(self.attributes.iter().map(|(_, value)| value))
    }

    /// Returns the value of an attribute, if the call names it.
    pub fn attribute(&self, name: &str) -> Option<&ComputeValue> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

impl ComputeValue {
    fn names(&self, wanted: &TensorName) -> bool {
        match self {
            ComputeValue::Name(name) => name == wanted,
            ComputeValue::List(values) => values.iter().any(|value| value.names(wanted)),
            ComputeValue::Call(call) => call.names(wanted),
            _ => false,
        }
    }
}

impl Step {
    /// Returns true if the step reads or writes a parameter.
    pub fn uses(&self, param: ParamId) -> bool {
        self.targets.contains(&Target::Param(param)) || self.names(&TensorName::Param(param))
    }

    /// Returns true if the call, or the shape of a target, names the parameter or the tensor.
    pub fn names(&self, name: &TensorName) -> bool {
        let has_shape =
            |target: &Target| matches!(target, Target::Local { like, .. } if like.as_ref() == Some(name));
        self.targets.iter().any(has_shape) || self.call.names(name)
    }
}
