//! Views of the memory of other tensors: `paddle.view`. 2.6 has no fallback for them.
//!
//! `as_strided` and `tensor_unfold` have no kernel: in 2.6, operators of a custom device cannot use a tensor
//! with gaps between its elements. Gradients have none because 2.6 looks for them by other names, and fails on
//! its CPU too.

use tenon::device::DataType;
use tenon_operators::contiguous_strides;

use crate::error::{Error, Result};
use crate::kernel::{
    Any, BOOL, COMPLEX, Call, FLOATS, INTEGERS, Output, Registry, Run, Tensor, kernel, unsigned,
};

/// Registers `view_shape` and `view_dtype`.
pub(super) fn register(registry: Registry) -> Result<()> {
    for &ty in [FLOATS, INTEGERS, BOOL, COMPLEX].into_iter().flatten() {
        registry.add_strided::<ViewShape<'static>, Any>(&[], ty)?;
        registry.add_strided::<ViewType<'static>, Any>(&[], ty)?;
    }
    Ok(())
}

/// Makes a tensor a view of a contiguous one, with another shape and type of elements.
fn share<'c>(x: Tensor<'c>, out: Output<'c>, ty: DataType, dims: &[usize]) -> Result<()> {
    if !x.view()?.is_contiguous() {
        return Err(Error::unimplemented("a view of a tensor with gaps between its elements"));
    }
    let strides = contiguous_strides(dims).map_err(Error::of_operator)?;
    out.share(x)?;
    out.set_data_type(ty)?;
    out.set_dims(dims)?;
    out.set_strides(&strides)?;
    // Fails if the view extends past the memory.
    out.place().map(drop)
}

/// Makes a tensor a view of another one with the same number of elements.
fn reshape<'c>(x: Tensor<'c>, out: Output<'c>, dims: &[usize]) -> Result<()> {
    if dims.iter().product::<usize>() != x.len()? {
        return Err(Error::invalid(format!("the shape {:?} cannot be viewed as {dims:?}", x.dims()?)));
    }
    share(x, out, x.data_type()?, dims)
}

/// Makes a tensor a view of another one with elements of another type. The last dimension changes with their
/// size.
fn reinterpret<'c>(x: Tensor<'c>, out: Output<'c>, ty: DataType) -> Result<()> {
    let mut dims = x.dims()?;
    let shape = dims.clone();
    let invalid =
        || Error::invalid(format!("{shape:?} elements cannot be viewed as elements of type {ty:?}"));
    let (from, to) = (x.data_type()?.size().ok_or_else(invalid)?, ty.size().ok_or_else(invalid)?);
    if from != to {
        let last = dims.last_mut().ok_or_else(invalid)?;
        let bytes = *last * from;
        if !bytes.is_multiple_of(to) {
            return Err(invalid());
        }
        *last = bytes / to;
    }
    share(x, out, ty, &dims)
}

kernel! {
    /// Views a tensor with another shape.
    struct ViewShape<'c> = c"view_shape" {
        inputs: { x: Tensor<'c> },
        attributes: { dims: &'c [i64] },
        outputs: { out: Output<'c> },
    }
}

impl Run<Any> for ViewShape<'_> {
    fn run(self, _: &Call) -> Result<()> {
        let Self { x, dims, out } = self;
        let known: i64 = dims.iter().filter(|&&dim| dim != -1).product();
        let len = i64::try_from(x.len()?).map_err(|_| Error::invalid("too many elements"))?;
        let dim = |&dim| unsigned("dims", if dim == -1 { len / known.max(1) } else { dim });
        reshape(x, out, &dims.iter().map(dim).collect::<Result<Vec<_>>>()?)
    }
}

kernel! {
    /// Views a tensor with elements of another type.
    struct ViewType<'c> = c"view_dtype" {
        inputs: { x: Tensor<'c> },
        attributes: { dtype: DataType },
        outputs: { out: Output<'c> },
    }
}

impl Run<Any> for ViewType<'_> {
    fn run(self, _: &Call) -> Result<()> {
        reinterpret(self.x, self.out, self.dtype)
    }
}
