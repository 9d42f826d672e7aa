//! Strided tensors: packing them, writing through them and filling them.
//!
//! Since 3.0 a view is a tensor with strides. Paddle packs views for operators that cannot read them, and
//! writes through views after operators that cannot write them; for both it uses only these operators.

use tenon::DevicePtr;
use tenon_operators::{TensorMut, TensorRef, contiguous_strides};

use super::full;
use crate::error::{Error, Result};
use crate::kernel::{
    Any, Call, Element, Output, Registry, Run, Scalar, Tensor, kernel, layout, outputs, register, unsigned,
};

/// Registers `contiguous`, `strided_copy` and `fill`.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_every::<Contiguous<'static>>(&["expand"])?;
    registry.add_every::<StridedCopy<'static>>(&["expand"])?;
    register!(registry, &["expand"], Fill, every);
    Ok(())
}

kernel! {
    /// Copies a tensor of any strides to a contiguous one.
    struct Contiguous<'c> = c"contiguous" {
        inputs: { x: Tensor<'c> },
        attributes: {},
        outputs: { out: Output<'c> },
    }
}

impl Run<Any> for Contiguous<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let x = self.x.view()?;
        // The strides and the offset of the output are still those of the view.
        self.out.set_dims(x.dims())?;
        self.out.set_contiguous()?;
        self.out.set_offset(0)?;
        let mut out = self.out.view(outputs::like(&x))?;
        call.run(&mut |device, launch| device.expand(launch, &mut out, &x))
    }
}

kernel! {
    /// Copies a tensor into an existing view with other strides, and possibly a different shape.
    struct StridedCopy<'c> = c"strided_copy" {
        inputs: { x: Tensor<'c> },
        attributes: { dims: &'c [i64], out_stride: &'c [i64], offset: i64 },
        outputs: { out: Output<'c> },
    }
}

impl Run<Any> for StridedCopy<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { x, dims, out_stride, offset, out } = self;
        let x = x.view()?;
        let dims = dims.iter().map(|&dim| unsigned("dims", dim)).collect::<Result<Vec<_>>>()?;
        let strides: Vec<isize> = out_stride.iter().map(|&stride| stride as isize).collect();
        let len = layout(&dims, &strides)?.len();
        if len == 0 {
            return Ok(());
        }
        out.set_dims(&dims)?;
        out.set_strides(&strides)?;
        out.set_offset(unsigned("offset", offset)?)?;
        let place = out.place()?;
        let first = DevicePtr::from_ptr(place.first);
        // SAFETY: the elements are in memory of the output, which Paddle keeps for work on the stream.
        let mut out = unsafe { TensorMut::new(first, x.data_type(), layout(&place.dims, &place.strides)?) }?;
        if x.dims() == dims {
            return call.run(&mut |device, launch| device.expand(launch, &mut out, &x));
        }
        // The same elements in a different shape, in row-major order.
        let mut packed = call.temporary(x.data_type(), x.dims())?;
        call.run(&mut |device, launch| device.expand(launch, &mut packed, &x))?;
        if packed.len() != len {
            let message = format!("{:?} elements cannot have the shape {dims:?}", packed.dims());
            return Err(Error::invalid(message));
        }
        let strides = contiguous_strides(&dims).map_err(Error::of_operator)?;
        // SAFETY: it is the same memory.
        let packed = unsafe { TensorRef::new(packed.first(), packed.data_type(), layout(&dims, &strides)?) }?;
        call.run(&mut |device, launch| device.expand(launch, &mut out, &packed))
    }
}

kernel! {
    /// Sets every element of a tensor of any strides. Usually the input and the output are the same tensor.
    struct Fill<'c> = c"fill" {
        inputs: { x: Tensor<'c> },
        attributes: { value: Scalar<'c> },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for Fill<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { x, value, out } = self;
        let value: T = value.to()?;
        if !out.is_initialized()? {
            out.set_dims(&x.dims()?)?;
            out.set_contiguous()?;
            out.allocate(T::DATA_TYPE)?;
        }
        out.tensor().expect_type(T::DATA_TYPE)?;
        full::fill(call, out, value)
    }
}
