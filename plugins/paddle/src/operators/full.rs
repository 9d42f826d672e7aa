//! Tensors of one number.

use tenon::device::DataType;

use crate::error::{Error, Result};
use crate::kernel::{Call, Element, IntArray, Output, Registry, Run, Scalar, kernel, register};

/// Registers `full`.
pub(super) fn register(registry: Registry) -> Result<()> {
    register!(registry, Full, every);
    Ok(())
}

kernel! {
    /// Makes a tensor of a shape, and sets every element.
    struct Full<'c> = c"full" {
        inputs: {},
        attributes: { shape: IntArray<'c>, value: Scalar<'c>, dtype: DataType },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for Full<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { shape, value, dtype, out } = self;
        if ![T::DATA_TYPE, DataType::UNDEFINED].contains(&dtype) {
            return Err(Error::invalid(format!("{dtype:?} is asked for in a call for {:?}", T::DATA_TYPE)));
        }
        let dim = |&dim| usize::try_from(dim).map_err(|_| Error::invalid(format!("a dimension of {dim}")));
        let dims: Vec<usize> = shape.get().iter().map(dim).collect::<Result<_>>()?;
        let value: T = value.to()?;
        out.set_dims(&dims)?;
        let elements = out.write::<T>()?;
        call.compute(|| {
            elements.fill(value);
            Ok(())
        })
    }
}
