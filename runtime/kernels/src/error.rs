//! Errors in the slices and shapes of a call.

use thiserror::Error as ThisError;

use crate::elements::dtype::DType;

/// The result of an operator.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why an operator rejected its arguments. No output was written.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A slice has a different length than the other arguments require.
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
        /// The number of elements that the layout spans.
        needed: usize,
        /// The number of available elements.
        available: usize,
    },
    /// A shape or its layout is larger than the address space.
    #[error("the shape is larger than the address space")]
    Overflow,
    /// An argument is missing that another argument requires.
    #[error("`{missing}` is missing, which `{because}` needs")]
    Missing {
        /// The missing argument.
        missing: &'static str,
        /// The argument that requires it.
        because: &'static str,
    },
    /// The operator does not support the element type.
    #[error("the operator does not take elements of type {dtype}")]
    Type {
        /// The type.
        dtype: DType,
    },
    /// A tensor has a different element type than the other arguments require.
    #[error("`{what}` has elements of type {actual}, not {expected}")]
    Types {
        /// The tensor.
        what: &'static str,
        /// Its type.
        actual: DType,
        /// The required type.
        expected: DType,
    },
    /// The inner dimensions of two matrices to be multiplied differ.
    #[error(
        "matrices of the shapes {x:?} and {y:?} cannot be multiplied: their inner dimensions are not equal"
    )]
    Inner {
        /// The shape of the left matrix, after transposition.
        x: [usize; 2],
        /// The shape of the right matrix, after transposition.
        y: [usize; 2],
    },
    /// A tensor cannot be broadcast to a shape.
    #[error("the shape {from:?} cannot be broadcast to {to:?}")]
    Broadcast {
        /// The shape of the tensor.
        from: Vec<usize>,
        /// The required shape.
        to: Vec<usize>,
    },
    /// An output has a different shape than the inputs require.
    #[error("the output has the shape {actual:?} where {expected:?} is needed")]
    Shape {
        /// The required shape.
        expected: Vec<usize>,
        /// The actual shape.
        actual: Vec<usize>,
    },
    /// A tensor has no such dimension, or the dimension is given twice.
    #[error("axis {axis} is given twice, or is none of {rank} dimensions")]
    Axis {
        /// The dimension.
        axis: usize,
        /// The number of dimensions of the tensor.
        rank: usize,
    },
    /// An index is out of range for a dimension.
    #[error("the index {index} is outside of a dimension of length {len}")]
    Index {
        /// The index.
        index: i64,
        /// The length of the dimension.
        len: usize,
    },
    /// An attribute has a value that the operator does not support.
    #[error("the attribute `{name}` cannot be {value}")]
    Attribute {
        /// The attribute.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// The maximum or minimum of an empty set of elements was requested.
    #[error("there is no largest or smallest of no elements")]
    Empty,
    /// A matrix has no inverse.
    #[error("a matrix has no inverse: its pivot {step} is zero")]
    Singular {
        /// The number of the first step of the LU decomposition whose pivot is zero, from 1.
        step: usize,
    },
    /// A matrix is not positive definite.
    #[error("matrix {matrix} is not positive definite: its leading part of order {order} is not")]
    Indefinite {
        /// The matrix, counted through the batch from 0.
        matrix: usize,
        /// The order of the first leading part that is not positive definite.
        order: usize,
    },
    /// An iterative algorithm found no result.
    #[error("no result: {routine}")]
    Converge {
        /// The algorithm.
        routine: &'static str,
    },
    /// The operator needs a library that is not available.
    #[error("the operator needs {name}: {reason}")]
    Library {
        /// The library.
        name: &'static str,
        /// The reason why it is not available.
        reason: String,
    },
    /// Several elements of an output share a memory location.
    #[error("an output of the shape {dims:?} has the strides {strides:?}: elements lie upon one another")]
    Repeated {
        /// The shape of the output.
        dims: Vec<usize>,
        /// Its strides.
        strides: Vec<isize>,
    },
    /// An address is invalid for elements of the type.
    #[error("there cannot be elements of type {dtype} at the address {address:#x}")]
    Address {
        /// The type of the elements.
        dtype: DType,
        /// The address of the first element.
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

/// Checks that a shape is the one that other tensors require.
///
/// # Errors
/// [`Error::Shape`].
pub(crate) fn expect_shape(expected: &[usize], actual: &[usize]) -> Result<()> {
    if expected == actual {
        return Ok(());
    }
    Err(Error::Shape { expected: expected.to_vec(), actual: actual.to_vec() })
}
