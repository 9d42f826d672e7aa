//! Unique elements.
//!
//! An attribute holds the type of the indices, which Paddle does not always set on the outputs.

use tenon::device::DataType;
use tenon_operators::TensorMut;

use crate::error::{Error, Result};
use crate::kernel::{Any, Call, FLOATS, INTEGERS, Output, Registry, Run, Tensor, kernel, outputs};

/// Registers `unique`.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_any::<Unique<'static>>(&["unique", "unique_out_shape"], &[FLOATS, INTEGERS])
}

kernel! {
    /// Computes the unique elements, or the unique slices along a dimension.
    struct Unique<'c> = c"unique" {
        inputs: { x: Tensor<'c> },
        attributes: {
            return_index: bool,
            return_inverse: bool,
            return_counts: bool,
            axis: &'c [i32],
            dtype: DataType,
        },
        outputs: {
            out: Output<'c>,
            indices: Option<Output<'c>>,
            inverse: Option<Output<'c>>,
            counts: Option<Output<'c>>,
        },
    }
}

impl Run<Any> for Unique<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let x = self.x.view()?;
        let axis: Vec<i64> = self.axis.iter().copied().map(i64::from).collect();
        let dims = call.run(&mut |device, launch| device.unique_out_shape(launch, &x, &axis, true))?;
        self.out.reshape(&dims)?;
        let (count, rows) = match axis.first() {
            None => (dims.iter().product(), x.len()),
            Some(&axis) => {
                let place = if axis < 0 { axis + x.dims().len() as i64 } else { axis } as usize;
                let place = Some(place).filter(|&place| place < dims.len());
                let place = place.ok_or_else(|| Error::invalid(format!("there is no dimension {axis}")))?;
                (dims[place], x.dims()[place])
            }
        };
        let mut out = self.out.view(outputs::like(&x))?;
        let mut indices = list(self.indices.filter(|_| self.return_index), count, self.dtype)?;
        let mut inverse = list(self.inverse.filter(|_| self.return_inverse), rows, self.dtype)?;
        let mut counts = list(self.counts.filter(|_| self.return_counts), count, self.dtype)?;
        call.run(&mut |device, launch| {
            let (indices, inverse, counts) = (indices.as_mut(), inverse.as_mut(), counts.as_mut());
            device.unique(launch, &mut out, indices, inverse, counts, &x, &axis, true)
        })
    }
}

/// Allocates memory for a list in an output, if it is requested.
fn list<'c>(output: Option<Output<'c>>, len: usize, ty: DataType) -> Result<Option<TensorMut<'c>>> {
    let Some(output) = output else { return Ok(None) };
    output.reshape(&[len])?;
    output.view(ty).map(Some)
}
