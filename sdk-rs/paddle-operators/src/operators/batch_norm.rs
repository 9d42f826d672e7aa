//! Batch normalisation, which keeps running statistics in place.

use tenon::device::DataType;
use tenon::operators::TensorMut;

use crate::error::Result;
use crate::kernel::{Any, Call, FLOATS, Output, Registry, Run, Tensor, kernel, outputs};

/// Registers `batch_norm`.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_any::<BatchNorm<'static>>(&["batch_norm"], &[FLOATS])
}

kernel! {
    /// Normalises each channel with the statistics of the batch, which then update the running statistics, or
    /// with the running statistics.
    struct BatchNorm<'c> = c"batch_norm" {
        inputs: {
            x: Tensor<'c>,
            mean: Tensor<'c>,
            variance: Tensor<'c>,
            scale: Option<Tensor<'c>>,
            bias: Option<Tensor<'c>>,
        },
        attributes: {
            is_test: bool,
            momentum: f32,
            epsilon: f32,
            data_layout: &'c str,
            use_global_stats: bool,
            trainable_statistics: bool,
        },
        outputs: {
            y: Output<'c>,
            mean_out: Output<'c>,
            variance_out: Output<'c>,
            saved_mean: Option<Output<'c>>,
            saved_variance: Option<Output<'c>>,
            reserve_space: Option<Output<'c>>,
        },
    }
}

impl Run<Any> for BatchNorm<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let (x, mean, variance) = (self.x.view()?, self.mean.view()?, self.variance.view()?);
        let [scale, bias] = [self.scale, self.bias].map(|tensor| tensor.map(Tensor::view).transpose());
        let (scale, bias) = (scale?, bias?);
        let ty = outputs::like(&mean);
        let mut y = self.y.view(outputs::like(&x))?;
        let mut mean_out = self.mean_out.view(ty)?;
        let mut variance_out = self.variance_out.view(ty)?;
        // Saves the statistics for the gradient, if requested.
        let mut saved_mean = saved(self.saved_mean, mean.len(), ty)?;
        let mut saved_variance = saved(self.saved_variance, mean.len(), ty)?;
        if let Some(reserve_space) = self.reserve_space {
            // Not used here, but the gradient takes it, and static graphs require it to be initialised.
            reserve_space.set_dims(&[0])?;
            reserve_space.allocate(DataType::FLOAT32)?;
        }
        let global = (self.is_test && !self.trainable_statistics) || self.use_global_stats;
        call.run(|device, launch| {
            device.batch_norm(
                launch,
                &mut y,
                Some(&mut mean_out),
                Some(&mut variance_out),
                saved_mean.as_mut(),
                saved_variance.as_mut(),
                &x,
                &mean,
                &variance,
                scale.as_ref(),
                bias.as_ref(),
                f64::from(self.momentum),
                f64::from(self.epsilon),
                self.data_layout,
                global,
            )
        })
    }
}

/// Allocates one number for each channel in an output, if it is requested.
fn saved<'c>(output: Option<Output<'c>>, count: usize, ty: DataType) -> Result<Option<TensorMut<'c>>> {
    let Some(output) = output else { return Ok(None) };
    output.reshape(&[count])?;
    output.view(ty).map(Some)
}
