//! Tensors filled with one number.

use tenon::device::DataType;

use crate::error::{Error, Result};
use crate::kernel::{Call, Element, IntArray, Output, Registry, Run, Scalar, Tensor, kernel, register};

/// Registers `full`, `full_like` and `full_batch_size_like`.
pub(super) fn register(registry: Registry) -> Result<()> {
    register!(registry, &["expand"], Full, every);
    register!(registry, &["expand"], FullLike, every);
    register!(registry, &["expand"], FullBatchSizeLike, every);
    Ok(())
}

kernel! {
    /// Creates a tensor of the given shape, and sets every element.
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
        fill(call, out, value)
    }
}

kernel! {
    /// Creates a tensor with the shape of another, and sets every element.
    struct FullLike<'c> = c"full_like" {
        inputs: { x: Tensor<'c> },
        attributes: { value: Scalar<'c>, dtype: DataType },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for FullLike<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { value, out, .. } = self;
        fill(call, out, value.to::<T>()?)
    }
}

kernel! {
    /// Creates a tensor with one dimension taken from another tensor, and sets every element.
    struct FullBatchSizeLike<'c> = c"full_batch_size_like" {
        inputs: { x: Tensor<'c> },
        attributes: {
            shape: &'c [i32], value: Scalar<'c>, dtype: DataType, x_batch_size_dim: i32,
            out_batch_size_dim: i32,
        },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for FullBatchSizeLike<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { value, out, .. } = self;
        fill(call, out, value.to::<T>()?)
    }
}

/// Sets every element of an output whose shape is set.
pub(super) fn fill<T: Element>(call: &Call, out: Output<'_>, value: T) -> Result<()> {
    let value = [value];
    let value = call.upload(&value, &[])?;
    let mut out = out.view(T::DATA_TYPE)?;
    call.run(&mut |device, launch| device.expand(launch, &mut out, &value))
}
