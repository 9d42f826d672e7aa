//! Transposition in place, in 2.6.
//!
//! PaddlePaddle 2.6 passes one tensor for the input and the output, and has given it the shape of the output before the
//! kernel runs. Later releases change only the strides, or pass another tensor.

use tenon::operators::{TensorRef, contiguous_strides};

use crate::error::{Error, Result};
use crate::kernel::{Any, Call, Output, Registry, Run, Tensor, kernel, layout, outputs};

/// Registers `transpose`.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_every::<Transpose<'static>>(&["transpose", "expand"])
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
            return call.run(|device, launch| device.transpose(launch, &mut out, &x, &axis));
        }
        let dims = before(x.dims(), &axis)?;
        let strides = contiguous_strides(&dims).map_err(Error::of_operator)?;
        // SAFETY: it is the same memory with the same number of elements: tensors of 2.6 are contiguous.
        let source = unsafe { TensorRef::new(x.first(), x.data_type(), layout(&dims, &strides)?) }?;
        let mut turned = call.temporary(x.data_type(), x.dims())?;
        call.run(|device, launch| device.transpose(launch, &mut turned, &source, &axis))?;
        let (turned, mut out) = (turned.into_input(), self.out.view(x.data_type())?);
        call.run(|device, launch| device.expand(launch, &mut out, &turned))
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

#[cfg(test)]
mod tests {
    use super::before;

    #[test]
    fn shape_before_a_transposition_is_found() {
        assert_eq!(before(&[4, 2, 3], &[2, 0, -2]), Ok(vec![2, 3, 4]));
        assert!(before(&[4, 2], &[2, 0]).is_err());
    }
}
