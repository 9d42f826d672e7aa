//! Parts of tensors: `x[1, 2:4]` in static programs.
//!
//! The end of an index is that behind it, which is 0 for the index -1. PaddlePaddle writes a larger end where it knows
//! the index, but an index in a tensor is known only here.

use crate::error::Result;
use crate::kernel::{
    Any, BOOL, COMPLEX, Call, FLOATS, INTEGERS, IntArray, Output, Registry, Run, Tensor, kernel, outputs,
    shapes,
};
use tenon_operators::attributes::SliceAttributes;

/// Registers `slice` and its gradient.
pub(super) fn register(registry: Registry) -> Result<()> {
    let types = &[FLOATS, INTEGERS, BOOL, COMPLEX];
    registry.add_any::<Slice<'static>>(&["slice"], types)?;
    registry.add_any::<SliceGrad<'static>>(&["slice_grad"], types)
}

kernel! {
    /// Selects the elements between indices along dimensions.
    struct Slice<'c> = c"slice" {
        inputs: { x: Tensor<'c> },
        attributes: {
            axes: &'c [i64], starts: IntArray<'c>, ends: IntArray<'c>, infer_flags: &'c [i64],
            decrease_axis: &'c [i64],
        },
        outputs: { out: Output<'c> },
    }
}

impl Run<Any> for Slice<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { axes, decrease_axis, .. } = self;
        let (starts, ends) = (self.starts.get(), ends(&self.starts, &self.ends, axes, decrease_axis));
        let x = self.x.view()?;
        self.out.reshape(&shapes::slice(&x, axes, [starts, &ends], decrease_axis)?)?;
        let mut out = self.out.view(outputs::like(&x))?;
        call.run(&mut |device, launch| {
            device.slice(launch, &mut out, &x, &SliceAttributes { axes, starts, ends: &ends, decrease_axis })
        })
    }
}

kernel! {
    /// Computes the gradient of `slice`.
    struct SliceGrad<'c> = c"slice_grad" {
        inputs: { x: Tensor<'c>, dout: Tensor<'c> },
        attributes: {
            axes: &'c [i64], starts: IntArray<'c>, ends: IntArray<'c>, infer_flags: &'c [i64],
            decrease_axis: &'c [i64],
        },
        outputs: { dx: Output<'c> },
    }
}

impl Run<Any> for SliceGrad<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { axes, decrease_axis, .. } = self;
        let (starts, ends) = (self.starts.get(), ends(&self.starts, &self.ends, axes, decrease_axis));
        let dout = self.dout.view()?;
        let mut dx = self.dx.view(outputs::like(&dout))?;
        call.run(&mut |device, launch| {
            device.slice_grad(
                launch,
                &mut dx,
                &dout,
                &SliceAttributes { axes, starts, ends: &ends, decrease_axis },
            )
        })
    }
}

/// Returns the ends, with the end of the dimension for the last index of a dimension that the result lacks.
pub(super) fn ends(
    starts: &IntArray<'_>,
    ends: &IntArray<'_>,
    axes: &[i64],
    decrease_axis: &[i64],
) -> Vec<i64> {
    let is_last = |index: usize, end: i64| {
        end == 0
            && starts.get().get(index) == Some(&-1)
            && axes.get(index).is_some_and(|axis| decrease_axis.contains(axis))
    };
    let end = |(index, &end)| if is_last(index, end) { i64::MAX } else { end };
    ends.get().iter().enumerate().map(end).collect()
}
