//! Numbers, and the common type of operands of different types.

use tenon::device::DataType;

use super::tensor::Tensor;
use crate::runtime::Dtype;

/// A number with its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Float(f64),
}

impl Number {
    /// Returns the number as a floating-point number.
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Number::Bool(value) => f64::from(u8::from(value)),
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// Returns the number as an integer. Drops the fraction.
    pub(crate) fn to_i64(self) -> i64 {
        match self {
            Number::Bool(value) => i64::from(value),
            Number::Integer(value) => value,
            Number::Float(value) => value as i64,
        }
    }

    /// Returns true if the number is nonzero.
    pub(crate) fn to_bool(self) -> bool {
        self.to_f64() != 0.0
    }

    /// Returns the bytes of the number and their type: the wanted type if it can be written directly,
    /// otherwise float64 or int64.
    pub(super) fn to_bytes(self, wanted: DataType) -> (DataType, Vec<u8>) {
        match (wanted, self) {
            (DataType::FLOAT32, _) => (wanted, (self.to_f64() as f32).to_ne_bytes().to_vec()),
            (DataType::INT32, _) => (wanted, (self.to_i64() as i32).to_ne_bytes().to_vec()),
            (DataType::INT64, _) => (wanted, self.to_i64().to_ne_bytes().to_vec()),
            (DataType::BOOL, _) => (wanted, vec![u8::from(self.to_bool())]),
            (DataType::FLOAT64, _) | (_, Number::Float(_)) => {
                (DataType::FLOAT64, self.to_f64().to_ne_bytes().to_vec())
            }
            (_, Number::Bool(_) | Number::Integer(_)) => {
                (DataType::INT64, self.to_i64().to_ne_bytes().to_vec())
            }
        }
    }

    fn category(self) -> Category {
        match self {
            Number::Bool(_) => Category::Bool,
            Number::Integer(_) => Category::Integer,
            Number::Float(_) => Category::Float,
        }
    }
}

/// An operand of a formula.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand<'a> {
    /// A tensor.
    Tensor(&'a Tensor<'a>),
    /// A tensor of truth values that keeps its type, and does not change that of the others.
    Condition(&'a Tensor<'a>),
    /// A number.
    Number(Number),
}

impl<'a> From<&'a Tensor<'a>> for Operand<'a> {
    fn from(tensor: &'a Tensor<'a>) -> Self {
        Operand::Tensor(tensor)
    }
}

impl From<Number> for Operand<'_> {
    fn from(number: Number) -> Self {
        Operand::Number(number)
    }
}

impl From<&Number> for Operand<'_> {
    fn from(number: &Number) -> Self {
        Operand::Number(*number)
    }
}

impl From<f64> for Operand<'_> {
    fn from(number: f64) -> Self {
        Operand::Number(Number::Float(number))
    }
}

impl From<f32> for Operand<'_> {
    fn from(number: f32) -> Self {
        f64::from(number).into()
    }
}

impl From<i32> for Operand<'_> {
    fn from(number: i32) -> Self {
        i64::from(number).into()
    }
}

impl From<i64> for Operand<'_> {
    fn from(number: i64) -> Self {
        Operand::Number(Number::Integer(number))
    }
}

/// The kinds of types, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Category {
    Bool,
    Integer,
    Float,
    Complex,
}

impl Category {
    pub(super) fn of(ty: DataType) -> Self {
        match ty {
            DataType::BOOL => Category::Bool,
            DataType::FLOAT16 | DataType::BFLOAT16 | DataType::FLOAT32 | DataType::FLOAT64 => Category::Float,
            DataType::COMPLEX64 | DataType::COMPLEX128 => Category::Complex,
            _ => Category::Integer,
        }
    }
}

/// Returns the compute type of operands.
///
/// The rules are those of PyTorch (see "Type promotion" in its documentation): numbers and tensors without
/// dimensions change the type of other tensors only if their kind is wider.
pub(super) fn promoted(operands: &[Operand<'_>]) -> DataType {
    let [mut tensors, mut single, mut numbers] = [None; 3];
    for operand in operands {
        match operand {
            Operand::Tensor(tensor) if tensor.dims().is_empty() => {
                single = Some(wider(single, tensor.data_type()));
            }
            Operand::Condition(_) => {}
            Operand::Tensor(tensor) => tensors = Some(wider(tensors, tensor.data_type())),
            Operand::Number(number) => {
                let ty = match number.category() {
                    Category::Bool => DataType::BOOL,
                    Category::Integer => DataType::INT64,
                    Category::Float | Category::Complex => DataType::FLOAT32,
                };
                numbers = Some(wider(numbers, ty));
            }
        }
    }
    combined(tensors, combined(single, numbers)).unwrap_or(DataType::FLOAT32)
}

/// Combines the type of operands with that of operands of lower priority.
fn combined(first: Option<DataType>, second: Option<DataType>) -> Option<DataType> {
    let (Some(high), Some(low)) = (first, second) else { return first.or(second) };
    Some(match (Category::of(high), Category::of(low)) {
        (Category::Complex, _) | (Category::Integer, Category::Bool | Category::Integer) => high,
        (Category::Float, Category::Complex) if high == DataType::FLOAT64 => DataType::COMPLEX128,
        (Category::Float, Category::Complex) => DataType::COMPLEX64,
        (Category::Float, _) => high,
        _ => wider(Some(high), low),
    })
}

/// Returns the narrowest type that represents the values of both types.
fn wider(first: Option<DataType>, second: DataType) -> DataType {
    let Some(first) = first else { return second };
    if first == second {
        return first;
    }
    match (Category::of(first), Category::of(second)) {
        (Category::Complex, _) | (_, Category::Complex) => {
            let is_double =
                [first, second].iter().any(|ty| [DataType::FLOAT64, DataType::COMPLEX128].contains(ty));
            if is_double { DataType::COMPLEX128 } else { DataType::COMPLEX64 }
        }
        (Category::Float, Category::Float) => {
            if [first, second].contains(&DataType::FLOAT64) {
                DataType::FLOAT64
            } else {
                DataType::FLOAT32
            }
        }
        (Category::Integer, Category::Integer) => integers(first, second),
        (one, other) => {
            if one > other {
                first
            } else {
                second
            }
        }
    }
}

fn integers(first: DataType, second: DataType) -> DataType {
    let rank = |ty| match ty {
        DataType::UINT8 => 0,
        DataType::INT8 => 1,
        DataType::INT16 => 2,
        DataType::INT32 => 3,
        _ => 4,
    };
    match (rank(first), rank(second)) {
        (0, 1) | (1, 0) => DataType::INT16,
        (one, other) => {
            if one > other {
                first
            } else {
                second
            }
        }
    }
}

/// Returns the type in which sums of elements of a type are accumulated.
pub(crate) fn wide(ty: DataType) -> DataType {
    match ty {
        DataType::FLOAT16 | DataType::BFLOAT16 => DataType::FLOAT32,
        other => other,
    }
}

/// Returns the device's element type for a type of DIOPI.
pub(super) fn data_type(dtype: Dtype) -> Option<DataType> {
    TYPES.iter().find(|(known, _)| *known == dtype).map(|(_, ty)| *ty)
}

/// Returns the type of DIOPI for an element type.
pub(super) fn dtype(ty: DataType) -> Option<Dtype> {
    TYPES.iter().find(|(_, known)| *known == ty).map(|(dtype, _)| *dtype)
}

const TYPES: [(Dtype, DataType); 12] = [
    (Dtype::FLOAT32, DataType::FLOAT32),
    (Dtype::INT64, DataType::INT64),
    (Dtype::BOOLEAN, DataType::BOOL),
    (Dtype::FLOAT16, DataType::FLOAT16),
    (Dtype::FLOAT64, DataType::FLOAT64),
    (Dtype::INT32, DataType::INT32),
    (Dtype::BFLOAT16, DataType::BFLOAT16),
    (Dtype::INT8, DataType::INT8),
    (Dtype::UINT8, DataType::UINT8),
    (Dtype::INT16, DataType::INT16),
    (Dtype::COMPLEX64, DataType::COMPLEX64),
    (Dtype::COMPLEX128, DataType::COMPLEX128),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_promoted_as_in_pytorch() {
        let numbers = |numbers: &[Number]| {
            promoted(&numbers.iter().map(|number| Operand::Number(*number)).collect::<Vec<_>>())
        };
        assert_eq!(numbers(&[Number::Integer(1), Number::Float(1.0)]), DataType::FLOAT32);
        assert_eq!(numbers(&[Number::Integer(1), Number::Bool(true)]), DataType::INT64);
        assert_eq!(wider(Some(DataType::UINT8), DataType::INT8), DataType::INT16);
        assert_eq!(wider(Some(DataType::FLOAT16), DataType::BFLOAT16), DataType::FLOAT32);
        assert_eq!(wider(Some(DataType::INT64), DataType::FLOAT16), DataType::FLOAT16);
        assert_eq!(wider(Some(DataType::FLOAT64), DataType::COMPLEX64), DataType::COMPLEX128);
        assert_eq!(combined(Some(DataType::INT8), Some(DataType::INT64)), Some(DataType::INT8));
        assert_eq!(combined(Some(DataType::BOOL), Some(DataType::INT64)), Some(DataType::INT64));
        assert_eq!(combined(Some(DataType::FLOAT16), Some(DataType::FLOAT64)), Some(DataType::FLOAT16));
        assert_eq!(combined(Some(DataType::INT32), Some(DataType::FLOAT32)), Some(DataType::FLOAT32));
    }
}
