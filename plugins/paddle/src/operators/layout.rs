//! Tensors with gaps between their elements: copied together, written through, filled.
//!
//! Since 3.0 a view is a tensor with strides. Paddle packs views for operators that cannot read them, and writes
//! through views after operators that cannot write them; for both it takes these operators and nothing else.

use tenon_kernels::strided::{self, Layout};

use crate::error::Result;
use crate::kernel::{Call, Element, Output, Registry, Run, Scalar, Tensor, kernel, register, unsigned};

/// Registers `contiguous`, `strided_copy` and `fill`.
pub(super) fn register(registry: Registry) -> Result<()> {
    register!(registry, Contiguous, every);
    register!(registry, StridedCopy, every);
    register!(registry, Fill, every);
    Ok(())
}

kernel! {
    /// Copies a tensor of any strides to one without gaps.
    struct Contiguous<'c> = c"contiguous" {
        inputs: { x: Tensor<'c> },
        attributes: {},
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for Contiguous<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { x, out } = self;
        x.expect_type(T::DATA_TYPE)?;
        let (dims, strides) = (x.dims()?, x.strides()?);
        let from = Layout::new(&dims, &strides)?;
        // The strides and the offset of the output are still those of the view.
        out.set_dims(&dims)?;
        out.set_contiguous()?;
        out.set_offset(0)?;
        let target = out.write::<T>()?;
        let source = x.read_window::<T>(from.into())?;
        call.compute(|| {
            let packed = strided::contiguous_strides(&dims)?;
            strided::copy(target, Layout::new(&dims, &packed)?, source, from)
        })
    }
}

kernel! {
    /// Copies a tensor into a view, whose memory is there, of other strides and perhaps another shape.
    struct StridedCopy<'c> = c"strided_copy" {
        inputs: { x: Tensor<'c> },
        attributes: { dims: &'c [i64], out_stride: &'c [i64], offset: i64 },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for StridedCopy<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { x, dims, out_stride, offset, out } = self;
        x.expect_type(T::DATA_TYPE)?;
        let (from_dims, from_strides) = (x.dims()?, x.strides()?);
        let from = Layout::new(&from_dims, &from_strides)?;
        let to_dims = dims.iter().map(|&dim| unsigned("dims", dim)).collect::<Result<Vec<_>>>()?;
        let to_strides: Vec<isize> = out_stride.iter().map(|&stride| stride as isize).collect();
        let to = Layout::new(&to_dims, &to_strides)?;
        if to.is_empty() {
            return Ok(());
        }
        out.set_dims(&to_dims)?;
        out.set_strides(&to_strides)?;
        out.set_offset(unsigned("offset", offset)?)?;
        let span = out.span::<T>(to.into())?;
        let source = x.read_apart_from::<T>(from.into(), &span)?;
        let target = out.memory::<T>(to.into())?;
        call.compute(|| strided::copy(target, to, &source, from))
    }
}

kernel! {
    /// Sets every element of a tensor of any strides. Mostly input and output are one tensor.
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
        let (dims, strides) = (out.tensor().dims()?, out.tensor().strides()?);
        let layout = Layout::new(&dims, &strides)?;
        let target = out.memory::<T>(layout.into())?;
        call.compute(|| strided::fill(target, layout, value))
    }
}
