//! Tensors with values from a list in the program: `paddle.assign([1, 2], output=x)`.
//!
//! PaddlePaddle's own kernel works on a copy, so that an assignment to a view would be lost.

use tenon::device::DataType;

use crate::error::{Error, Result};
use crate::kernel::{Call, Element, Output, Registry, Run, Scalar, kernel, register, unsigned};

/// Registers `assign_value`.
pub(super) fn register(registry: Registry) -> Result<()> {
    register!(registry, &["expand"], AssignValue, every);
    Ok(())
}

kernel! {
    /// Sets the elements of a tensor of the given shape.
    struct AssignValue<'c> = c"assign_value" {
        inputs: {},
        attributes: { shape: &'c [i32], dtype: DataType, values: Vec<Scalar<'c>> },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for AssignValue<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { shape, dtype, values, out } = self;
        if ![T::DATA_TYPE, DataType::UNDEFINED].contains(&dtype) {
            return Err(Error::invalid(format!("{dtype:?} is asked for in a call for {:?}", T::DATA_TYPE)));
        }
        let dims = shape.iter().map(|&dim| unsigned("shape", dim.into())).collect::<Result<Vec<_>>>()?;
        let values = values.iter().map(|value| value.to()).collect::<Result<Vec<T>>>()?;
        let values = call.upload(&values, &dims)?;
        out.set_dims(&dims)?;
        let mut out = out.view(T::DATA_TYPE)?;
        call.run(&mut |device, launch| device.expand(launch, &mut out, &values))
    }
}
