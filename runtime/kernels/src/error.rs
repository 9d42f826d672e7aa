//! Errors in the slices and shapes of a call.

use thiserror::Error as ThisError;

use crate::dtype::DType;

/// The result of an operator.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why an operator refused its arguments. No output was written.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A slice has another length than the others call for.
    #[error("`{what}` has {actual} elements where {expected} are needed")]
    Length {
        /// The argument.
        what: &'static str,
        /// The length that the other arguments require.
        expected: usize,
        /// The actual length.
        actual: usize,
    },
    /// A shape and its strides have different numbers of dimensions.
    #[error("{dims} dimensions have {strides} strides")]
    Rank {
        /// The number of dimensions.
        dims: usize,
        /// The number of strides.
        strides: usize,
    },
    /// A layout reaches past the end of its memory.
    #[error("the layout reaches over {needed} elements, the memory has {available}")]
    OutOfBounds {
        /// Number of elements that the layout reaches over.
        needed: usize,
        /// The number of available elements.
        available: usize,
    },
    /// A shape, or its layout, is larger than what can be addressed.
    #[error("the shape is larger than the address space")]
    Overflow,
    /// Two arguments go together, and one is missing.
    #[error("`{missing}` is missing, which `{because}` needs")]
    Missing {
        /// The missing argument.
        missing: &'static str,
        /// The argument that requires it.
        because: &'static str,
    },
    /// The operator does not compute with elements of a type.
    #[error("the operator does not take elements of type {dtype}")]
    Type {
        /// The type.
        dtype: DType,
    },
    /// A tensor has another type than the others call for.
    #[error("`{what}` has elements of type {actual}, not {expected}")]
    Types {
        /// The tensor.
        what: &'static str,
        /// Its type.
        actual: DType,
        /// The type that it should have.
        expected: DType,
    },
    /// Matrices do not have the shapes of factors.
    #[error(
        "matrices of the shapes {x:?} and {y:?} cannot be multiplied: their inner dimensions are not equal"
    )]
    Inner {
        /// The shape of the left matrix, after it was transposed.
        x: [usize; 2],
        /// The shape of the right matrix, after it was transposed.
        y: [usize; 2],
    },
    /// A tensor cannot be repeated so that it has another shape.
    #[error("the shape {from:?} cannot be broadcast to {to:?}")]
    Broadcast {
        /// The shape of the tensor.
        from: Vec<usize>,
        /// The shape that it is to have.
        to: Vec<usize>,
    },
    /// An output has another shape than the inputs call for.
    #[error("the output has the shape {actual:?} where {expected:?} is needed")]
    Shape {
        /// The shape that it should have.
        expected: Vec<usize>,
        /// The shape that it has.
        actual: Vec<usize>,
    },
    /// A tensor has no such dimension, or it is given twice.
    #[error("axis {axis} is given twice, or is none of {rank} dimensions")]
    Axis {
        /// The dimension.
        axis: usize,
        /// The number of dimensions of the tensor.
        rank: usize,
    },
    /// An index is outside of a dimension.
    #[error("the index {index} is outside of a dimension of length {len}")]
    Index {
        /// The index.
        index: i64,
        /// The length of the dimension.
        len: usize,
    },
    /// An attribute has a value that the operator does not have.
    #[error("the attribute `{name}` cannot be {value}")]
    Attribute {
        /// The attribute.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// The largest or smallest of no elements is asked for.
    #[error("there is no largest or smallest of no elements")]
    Empty,
    /// Several elements of an output have the same place in memory.
    #[error("an output of the shape {dims:?} has the strides {strides:?}: elements lie upon one another")]
    Repeated {
        /// The shape of the output.
        dims: Vec<usize>,
        /// Its strides.
        strides: Vec<isize>,
    },
    /// An address cannot be that of an element of the type.
    #[error("there cannot be elements of type {dtype} at the address {address:#x}")]
    Address {
        /// The type of the elements.
        dtype: DType,
        /// The address of the first.
        address: usize,
    },
}

/// Checks the length of an argument.
///
/// # Errors
/// [`Error::Length`].
pub fn expect_length(what: &'static str, expected: usize, actual: usize) -> Result<()> {
    if expected == actual { Ok(()) } else { Err(Error::Length { what, expected, actual }) }
}

/// Checks a shape that other tensors determine.
///
/// # Errors
/// [`Error::Shape`].
pub(crate) fn expect_shape(expected: &[usize], actual: &[usize]) -> Result<()> {
    if expected == actual {
        return Ok(());
    }
    Err(Error::Shape { expected: expected.to_vec(), actual: actual.to_vec() })
}
