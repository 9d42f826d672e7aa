//! Values while a plan runs.

use super::Temporaries;
use crate::by_name::Packed;
use crate::{TensorMut, TensorRef};
use tenon::device::{DataType, Error, Result, Status};

/// A value while a plan runs.
#[derive(Clone, Debug)]
pub(super) enum Live<'v> {
    Tensor(TensorRef<'v>),
    /// No tensor.
    Absent,
    /// The length of each dimension.
    Shape(Vec<usize>),
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Integer(i64),
    Number(f64),
    Truth(bool),
    Text(&'v str),
    /// A list of tensors or texts, which no plan uses.
    Other,
}

/// Returns the error of a plan that the generator did not check.
pub(super) fn wrong(what: &str) -> Error {
    Error::new(Status::INTERNAL_ERROR, format!("the plan of an operator is wrong: {what}"))
}

impl<'v> Live<'v> {
    /// Returns the length of each dimension of a tensor or a shape.
    pub(super) fn shape(&self) -> Result<&[usize]> {
        match self {
            Self::Tensor(tensor) => Ok(tensor.dims()),
            Self::Shape(dims) => Ok(dims),
            _ => Err(wrong("it needs a shape")),
        }
    }

    pub(super) fn tensor(&self) -> Result<&TensorRef<'v>> {
        match self {
            Self::Tensor(tensor) => Ok(tensor),
            _ => Err(wrong("it needs a tensor")),
        }
    }

    pub(super) fn integers(&self) -> Result<&[i64]> {
        match self {
            Self::Integers(values) => Ok(values),
            _ => Err(wrong("it needs integers")),
        }
    }

    pub(super) fn integer(&self) -> Result<i64> {
        match self {
            Self::Integer(value) => Ok(*value),
            _ => Err(wrong("it needs an integer")),
        }
    }

    pub(super) fn number(&self) -> Result<f64> {
        match self {
            Self::Integer(value) => Ok(*value as f64),
            Self::Number(value) => Ok(*value),
            _ => Err(wrong("it needs a number")),
        }
    }

    pub(super) fn truth(&self) -> Result<bool> {
        match self {
            Self::Truth(value) => Ok(*value),
            _ => Err(wrong("it needs a truth value")),
        }
    }

    pub(super) fn text(&self) -> Result<&'v str> {
        match self {
            Self::Text(value) => Ok(value),
            _ => Err(wrong("it needs a text")),
        }
    }

    /// Returns an operand of a method: a number stands for a tensor without dimensions.
    pub(super) fn operand(self, memory: &'v dyn Temporaries, ty: DataType) -> Result<TensorRef<'v>> {
        match self {
            Self::Tensor(tensor) => Ok(tensor),
            Self::Truth(value) => memory.constant(DataType::BOOL, f64::from(value)),
            other => memory.constant(ty, other.number()?),
        }
    }

    /// Appends an attribute to a call.
    pub(super) fn push<'p>(&'p self, packed: &mut Packed<'p>) -> Result<()> {
        match self {
            Self::Integers(values) => packed.push(values.as_slice()),
            Self::Numbers(values) => packed.push(values.as_slice()),
            Self::Integer(value) => packed.push(*value),
            Self::Number(value) => packed.push(*value),
            Self::Truth(value) => packed.push(*value),
            Self::Text(value) => packed.push(*value),
            _ => return Err(wrong("it needs the value of an attribute")),
        }
        Ok(())
    }
}

/// A list of values: of integers, unless one of them is a number.
pub(super) fn list<'v>(values: &[Live<'v>]) -> Result<Live<'v>> {
    match values.iter().map(Live::integer).collect() {
        Ok(integers) => Ok(Live::Integers(integers)),
        Err(_) => values.iter().map(Live::number).collect::<Result<_>>().map(Live::Numbers),
    }
}

/// An argument of a method that becomes an input or an attribute of a plan.
pub(super) trait Enter<'v> {
    fn enter(self) -> Live<'v>;
}

impl<'v> Enter<'v> for &TensorRef<'v> {
    fn enter(self) -> Live<'v> {
        Live::Tensor(self.clone())
    }
}

impl<'v> Enter<'v> for Option<&TensorRef<'v>> {
    fn enter(self) -> Live<'v> {
        self.map_or(Live::Absent, Enter::enter)
    }
}

impl<'v> Enter<'v> for &[TensorRef<'_>] {
    fn enter(self) -> Live<'v> {
        Live::Other
    }
}

impl<'v> Enter<'v> for Option<&[TensorRef<'_>]> {
    fn enter(self) -> Live<'v> {
        Live::Other
    }
}

impl<'v> Enter<'v> for &[&str] {
    fn enter(self) -> Live<'v> {
        Live::Other
    }
}

impl<'v> Enter<'v> for &'v str {
    fn enter(self) -> Live<'v> {
        Live::Text(self)
    }
}

impl<'v> Enter<'v> for bool {
    fn enter(self) -> Live<'v> {
        Live::Truth(self)
    }
}

impl<'v> Enter<'v> for i64 {
    fn enter(self) -> Live<'v> {
        Live::Integer(self)
    }
}

impl<'v> Enter<'v> for f64 {
    fn enter(self) -> Live<'v> {
        Live::Number(self)
    }
}

impl<'v> Enter<'v> for &[i64] {
    fn enter(self) -> Live<'v> {
        Live::Integers(self.to_vec())
    }
}

impl<'v> Enter<'v> for &[f64] {
    fn enter(self) -> Live<'v> {
        Live::Numbers(self.to_vec())
    }
}

/// An argument of a method that becomes an output of a plan.
pub(super) trait Leave<'v> {
    /// Returns the tensor if it is there.
    fn leave(self) -> Option<TensorMut<'v>>;
}

impl<'v> Leave<'v> for &'v mut TensorMut<'_> {
    fn leave(self) -> Option<TensorMut<'v>> {
        Some(self.reborrow())
    }
}

impl<'v> Leave<'v> for Option<&'v mut TensorMut<'_>> {
    fn leave(self) -> Option<TensorMut<'v>> {
        self.map(TensorMut::reborrow)
    }
}

impl<'v> Leave<'v> for &'v mut [Option<TensorMut<'_>>] {
    fn leave(self) -> Option<TensorMut<'v>> {
        None
    }
}
