//! Operators that a device lacks, composed of those that it has.

mod bound;
mod compositions;
mod interpreter;
mod live;
mod methods;
pub(super) mod plan;
mod rules;

use std::panic::{AssertUnwindSafe, catch_unwind};

use bound::ThreadBound;
pub use compositions::Compositions;

use super::{Operators, TensorMut, TensorRef};
use tenon::device::{DataType, Error, Result, Status};
use tenon::support::panic_text;

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

    /// Calls a method of the device. A panic becomes an error here, so that exceptions of C++ can pass through the other
    /// functions: `Temporaries` may raise them.
    fn own<T>(&self, call: impl FnOnce(&dyn Operators) -> Result<T>) -> Result<T> {
        catch_unwind(AssertUnwindSafe(|| call(self.own))).unwrap_or_else(|panic| {
            Err(Error::new(Status::INTERNAL_ERROR, format!("panicked: {}", panic_text(&*panic))))
        })
    }

    /// Returns the type of the elements of some operands, where booleans only choose between the others.
    fn elements(operands: &[Option<&TensorRef<'_>>]) -> DataType {
        let mut types = operands.iter().flatten().map(|operand| operand.data_type());
        types.find(|ty| *ty != DataType::BOOL).unwrap_or(DataType::BOOL)
    }
}

impl Operators for Composed<'_> {
    fn provides(&self, method: &str, ty: DataType) -> bool {
        self.own.provides(method, ty) || self.compositions.has(method, ty)
    }
}

#[cfg(test)]
mod tests;
