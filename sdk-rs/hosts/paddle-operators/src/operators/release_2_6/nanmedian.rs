//! The median without NaN, in 2.6.
//!
//! In that release, PaddlePaddle computes a different shape for the indices. Only the gradient reads them,
//! which this crate provides, too.

use tenon::device::DataType;
use tenon_operators::attributes::MedianAttributes;

use crate::error::Result;
use crate::kernel::{Any, Call, FLOATS, IntArray, Output, Registry, Run, Tensor, kernel, outputs};

/// Registers `nanmedian`.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_any::<Nanmedian<'static>>(&["median", "median_grad"], &[FLOATS])
}

kernel! {
    /// Computes the mean of the two middle elements along dimensions, ignoring NaN.
    struct Nanmedian<'c> = c"nanmedian" {
        inputs: { x: Tensor<'c> },
        attributes: { axes: IntArray<'c>, keep_dim: bool },
        outputs: { out: Output<'c>, indices: Output<'c> },
    }
}

impl Run<Any> for Nanmedian<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let x = self.x.view()?;
        let mut out = self.out.view(outputs::like(&x))?;
        self.indices.reshape(&[out.dims(), &[2]].concat())?;
        let mut indices = self.indices.view(DataType::INT64)?;
        let axes = self.axes.get();
        call.run(&mut |device, launch| {
            device.median(
                launch,
                &mut out,
                &mut indices,
                &x,
                &MedianAttributes { axis: axes, keep_dim: self.keep_dim, mode: "avg", ignore_nan: true },
            )
        })
    }
}
