//! Operators in place that change the shape or the type of a tensor, in 2.6.
//!
//! PaddlePaddle 2.6 passes one tensor for the input and the output, and has given it the shape of the output before the
//! kernel runs. Later releases change only the strides, or pass another tensor.

use tenon::device::DataType;
use tenon_operators::{TensorRef, contiguous_strides};

use crate::error::{Error, Result};
use crate::kernel::{
    Any, Bf16, Bool, Call, Complex, Element, F16, Output, Registry, Run, Tensor, kernel, layout, outputs,
    register,
};

/// Registers `transpose` and `cast`.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_every::<Transpose<'static>>(&["transpose", "expand"])?;
    register!(registry, &["cast"], Cast, [Bool, u8, i8, i16, i32, i64, F16, Bf16, f32, f64]);
    register!(registry, &["cast"], Cast, [Complex<f32>, Complex<f64>]);
    Ok(())
}

kernel! {
    /// Reorders the dimensions.
    struct Transpose<'c> = c"transpose" {
        inputs: { x: Tensor<'c> },
        attributes: { axis: &'c [i32] },
        outputs: { out: Output<'c> },
    }
}

impl Run<Any> for Transpose<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let axis: Vec<i64> = self.axis.iter().copied().map(i64::from).collect();
        let x = self.x.view()?;
        if !self.out.is(self.x) {
            let mut out = self.out.view(outputs::like(&x))?;
            return call.run(&mut |device, launch| device.transpose(launch, &mut out, &x, &axis));
        }
        let dims = before(x.dims(), &axis)?;
        let strides = contiguous_strides(&dims).map_err(Error::of_operator)?;
        // SAFETY: it is the same memory with the same number of elements: tensors of 2.6 are contiguous.
        let source = unsafe { TensorRef::new(x.first(), x.data_type(), layout(&dims, &strides)?) }?;
        let mut turned = call.temporary(x.data_type(), x.dims())?;
        call.run(&mut |device, launch| device.transpose(launch, &mut turned, &source, &axis))?;
        let (turned, mut out) = (turned.into_input(), self.out.view(x.data_type())?);
        call.run(&mut |device, launch| device.expand(launch, &mut out, &turned))
    }
}

/// Returns the shape from which a transposition makes `dims`.
fn before(dims: &[usize], axis: &[i64]) -> Result<Vec<usize>> {
    let mut before = vec![0; dims.len()];
    let rank = dims.len() as i64;
    for (&dim, &axis) in dims.iter().zip(axis) {
        let from_start = if axis < 0 { axis + rank } else { axis };
        let place = usize::try_from(from_start).ok().and_then(|axis| before.get_mut(axis));
        *place.ok_or_else(|| Error::invalid(format!("`axis` has {axis} for {rank} dimensions")))? = dim;
    }
    Ok(before)
}

kernel! {
    /// Converts the elements to another type.
    struct Cast<'c> = c"cast" {
        inputs: { x: Tensor<'c> },
        attributes: { out_dtype: DataType },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for Cast<'_> {
    fn run(self, call: &Call) -> Result<()> {
        // The kernel is chosen by the type of the elements; that of the tensor may be the new one.
        let source = self.x.view_as(T::DATA_TYPE)?;
        // PaddlePaddle converts the learning rate of SGD to the type of the parameter, with an output that has no type: it
        // stays float32 then.
        let is_in_place = self.out.is(self.x);
        let ty = if is_in_place { self.out_dtype } else { self.out.tensor().data_type()? };
        let mut out = self.out.view(ty)?;
        call.run(&mut |device, launch| device.cast(launch, &mut out, &source))
    }
}

#[cfg(test)]
mod tests {
    use super::before;

    #[test]
    fn shape_before_a_transposition_is_found() {
        assert_eq!(before(&[4, 2, 3], &[2, 0, -2]), Ok(vec![2, 3, 4]));
        assert!(before(&[4, 2], &[2, 0]).is_err());
    }
}
