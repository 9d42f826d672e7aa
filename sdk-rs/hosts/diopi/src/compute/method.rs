//! Methods of the operators, and the element types that they support.

use tenon::device::{DataType, Result};

use super::number::{Category, Operand, promoted};
use crate::error::unsupported;
use crate::provider::Library;

/// A set of types.
pub(crate) type Types = u8;

/// Floating-point numbers.
pub(crate) const FLOAT: Types = 1;
/// Integers.
pub(crate) const INTEGER: Types = 2;
/// Booleans.
pub(crate) const BOOL: Types = 4;
/// Complex numbers.
pub(crate) const COMPLEX: Types = 8;

/// A method of the operators.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Method {
    pub(super) name: &'static str,
    types: Types,
    yields_bool: bool,
}

impl Method {
    /// Describes a method that supports the given types.
    pub(crate) const fn new(name: &'static str, types: Types) -> Self {
        Self { name, types, yields_bool: false }
    }

    /// Sets the type of the results to boolean.
    pub(crate) const fn yields_bool(self) -> Self {
        Self { yields_bool: true, ..self }
    }

    /// Returns the type of the results for operands of the given type.
    pub(super) fn result(&self, ty: DataType) -> DataType {
        if self.yields_bool { DataType::BOOL } else { ty }
    }

    /// Returns an error unless the device supports the method for the given type.
    pub(super) fn check(&self, library: &Library, ty: DataType) -> Result<()> {
        if self.takes(ty) && library.provides(self.name, ty) {
            Ok(())
        } else {
            Err(unsupported(format!("`{}` is not implemented for {ty:?}", self.name)))
        }
    }

    /// Returns true if the method supports elements of the given type.
    pub(crate) fn takes(&self, ty: DataType) -> bool {
        let set = match Category::of(ty) {
            Category::Bool => BOOL,
            Category::Integer => INTEGER,
            Category::Float => FLOAT,
            Category::Complex => COMPLEX,
        };
        self.types & set != 0
    }

    /// Returns the compute type of a formula of some operands, given the type of the result if known.
    ///
    /// Integers become floating-point numbers for methods that do not support them, as in PyTorch.
    pub(super) fn working_type(&self, operands: &[Operand<'_>], target: Option<DataType>) -> DataType {
        let ty = promoted(operands);
        match Category::of(ty) {
            _ if self.takes(ty) => ty,
            Category::Bool if self.takes(DataType::UINT8) => DataType::UINT8,
            Category::Bool | Category::Integer if self.takes(DataType::FLOAT32) => match target {
                Some(DataType::FLOAT64) => DataType::FLOAT64,
                _ => DataType::FLOAT32,
            },
            _ => ty,
        }
    }
}
