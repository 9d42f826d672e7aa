//! Operators that a device lacks, composed of those that it has.

mod bound;
mod plan;
pub(super) mod rules;

use std::panic::{AssertUnwindSafe, catch_unwind};

use bound::ThreadBound;
pub use plan::Compositions;

use super::{Expansion, Launch, Operators, Reduction, TensorMut, TensorRef, broadcast};
use crate::device::{DataType, Error, Result, Status};
use crate::support::panic_text;

/// Memory for the intermediate results of a call.
///
/// It stays allocated until all work is done that is on the stream of the call when the call ends.
pub trait Temporaries {
    /// Makes a tensor whose elements are one after the other.
    ///
    /// # Errors
    /// The device has no memory left.
    fn temporary(&self, ty: DataType, dims: &[usize]) -> Result<TensorMut<'_>>;

    /// Makes a tensor without dimensions with a value, which work on the stream of the call can read.
    ///
    /// # Errors
    /// The device has no memory left, or the type cannot hold numbers.
    fn constant(&self, ty: DataType, value: f64) -> Result<TensorRef<'_>>;
}

/// The operators of a device during a call: its own methods, and those that are composed of them.
///
/// It belongs to the thread that made it.
#[allow(missing_debug_implementations, reason = "it consists of references to functions")]
pub struct Composed<'c> {
    own: &'c dyn Operators,
    compositions: &'c Compositions,
    memory: ThreadBound<&'c dyn Temporaries>,
}

impl<'c> Composed<'c> {
    /// Combines the methods of a device and its compositions.
    pub fn new(own: &'c dyn Operators, compositions: &'c Compositions, memory: &'c dyn Temporaries) -> Self {
        Self { own, compositions, memory: ThreadBound::new(memory) }
    }

    /// Returns true if the method is composed for elements of a type.
    pub(super) fn composes(&self, method: &str, ty: DataType) -> bool {
        self.compositions.has(method, ty)
    }

    /// Calls a method of the device. A panic becomes an error here, so that exceptions of C++ can pass through the other
    /// functions: `Temporaries` may raise them.
    pub(super) fn own<T>(&self, call: impl FnOnce(&dyn Operators) -> Result<T>) -> Result<T> {
        catch_unwind(AssertUnwindSafe(|| call(self.own))).unwrap_or_else(|panic| {
            Err(Error::new(Status::INTERNAL_ERROR, format!("panicked: {}", panic_text(&*panic))))
        })
    }

    /// Returns the type of the elements of some operands, where booleans only choose between the others.
    pub(super) fn elements(operands: &[&TensorRef<'_>]) -> DataType {
        let mut types = operands.iter().map(|operand| operand.data_type());
        types.find(|ty| *ty != DataType::BOOL).unwrap_or(DataType::BOOL)
    }

    /// Makes a tensor of a shape.
    pub(super) fn temporary(&self, ty: DataType, shape: &impl Shaped) -> Result<TensorMut<'c>> {
        self.memory.get()?.temporary(ty, shape.shape())
    }

    /// Makes a tensor without dimensions.
    pub(super) fn constant(&self, ty: DataType, value: f64) -> Result<TensorRef<'c>> {
        self.memory.get()?.constant(ty, value)
    }

    /// Makes a tensor of the result of a rule.
    pub(super) fn operand<'v>(&self, ty: DataType, value: impl Into<Operand<'v>>) -> Result<TensorRef<'v>>
    where
        'c: 'v,
    {
        match value.into() {
            Operand::Tensor(tensor) => Ok(tensor),
            Operand::Number(value) => self.constant(ty, value),
        }
    }

    /// Computes an elementwise method in memory of its own.
    pub(super) fn result(
        &self,
        ty: DataType,
        operands: &[&TensorRef<'_>],
        compute: impl FnOnce(&mut TensorMut<'_>) -> Result<()>,
    ) -> Result<TensorRef<'c>> {
        let mut result = self.temporary(ty, &common_shape(operands)?)?;
        compute(&mut result)?;
        Ok(result.into_input())
    }

    /// Computes an elementwise method, whose result may be repeated to fill the output.
    pub(super) fn write(
        &self,
        launch: Launch,
        out: &mut TensorMut<'_>,
        operands: &[&TensorRef<'_>],
        compute: impl FnOnce(&mut TensorMut<'_>) -> Result<()>,
    ) -> Result<()> {
        let dims = common_shape(operands)?;
        if dims == out.dims() {
            return compute(out);
        }
        let mut result = self.temporary(out.data_type(), &dims)?;
        compute(&mut result)?;
        self.expand(launch, out, &result.into_input())
    }

    /// Computes a gradient, which is summed over the dimensions along which its operand was repeated.
    pub(super) fn gradient(
        &self,
        launch: Launch,
        out: &mut TensorMut<'_>,
        operands: &[&TensorRef<'_>],
        compute: impl FnOnce(&mut TensorMut<'_>) -> Result<()>,
    ) -> Result<()> {
        let dims = common_shape(operands)?;
        if dims == out.dims() {
            return compute(out);
        }
        let mut whole = self.temporary(out.data_type(), &dims)?;
        compute(&mut whole)?;
        self.reduce_as(launch, out, &whole.into_input())
    }
}

/// Computes the common shape of some operands.
fn common_shape(operands: &[&TensorRef<'_>]) -> Result<Vec<usize>> {
    let mut dims = Vec::new();
    let mut numbers = None;
    for operand in operands {
        dims = broadcast(&dims, operand.dims())?;
        let ty = operand.data_type();
        if ty != DataType::BOOL && *numbers.get_or_insert(ty) != ty {
            return Err(Error::unsupported("a composed operator with operands of different types"));
        }
    }
    Ok(dims)
}

impl Operators for Composed<'_> {
    fn provides(&self, method: &str, ty: DataType) -> bool {
        self.own.provides(method, ty) || self.composes(method, ty)
    }
}

/// The result of a rule as an operand: a number stands for a tensor of one element.
pub(super) enum Operand<'v> {
    /// A tensor.
    Tensor(TensorRef<'v>),
    /// A number.
    Number(f64),
}

impl<'v> From<TensorRef<'v>> for Operand<'v> {
    fn from(tensor: TensorRef<'v>) -> Self {
        Self::Tensor(tensor)
    }
}

impl From<f64> for Operand<'_> {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

/// A shape, or a tensor with one.
pub(super) trait Shaped {
    /// Returns the length of each dimension.
    fn shape(&self) -> &[usize];
}

impl Shaped for Vec<usize> {
    fn shape(&self) -> &[usize] {
        self
    }
}

impl Shaped for TensorRef<'_> {
    fn shape(&self) -> &[usize] {
        self.dims()
    }
}

impl Shaped for TensorMut<'_> {
    fn shape(&self) -> &[usize] {
        self.dims()
    }
}
