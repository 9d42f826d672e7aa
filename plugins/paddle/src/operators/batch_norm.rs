//! Batch normalisation, which keeps running statistics in place.

use tenon::device::DataType;
use tenon_kernels::norm::{self, Channels, Normalizer};
use tenon_kernels::{Real, copy};

use crate::error::{Error, Result};
use crate::kernel::{Call, Element, Output, Registry, Run, Tensor, kernel, register};

/// Registers `batch_norm`.
pub(super) fn register(registry: Registry) -> Result<()> {
    register!(registry, BatchNorm, [f32, f64]);
    Ok(())
}

kernel! {
    /// Normalises each channel, with the statistics of the batch, which the running ones then follow, or with the
    /// running ones.
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

impl<T: Element + Real> Run<T> for BatchNorm<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let x = self.x.read::<T>()?;
        let scale = self.scale.map(Tensor::read::<T>).transpose()?;
        let bias = self.bias.map(Tensor::read::<T>).transpose()?;
        let shape = channels(&self.x.dims()?, self.data_layout)?;
        let y = self.y.write::<T>()?;
        let running_mean = self.mean_out.update::<T>(self.mean)?;
        let running_variance = self.variance_out.update::<T>(self.variance)?;
        if let Some(reserve_space) = self.reserve_space {
            // Of no use here, but the gradient takes it, and static graphs want it to be something.
            reserve_space.set_dims(&[0])?;
            reserve_space.allocate(DataType::FLOAT32)?;
        }

        // The statistics that are used are saved for the gradient; if it does not ask, they are kept here.
        let (mut no_mean, mut no_variance) = (Vec::new(), Vec::new());
        let mean = statistic(self.saved_mean, &mut no_mean, shape.count())?;
        let deviation = statistic(self.saved_variance, &mut no_variance, shape.count())?;
        let global = (self.is_test && !self.trainable_statistics) || self.use_global_stats;
        let (momentum, epsilon) = (f64::from(self.momentum), f64::from(self.epsilon));
        call.compute(|| {
            if global {
                copy(mean, running_mean)?;
                copy(deviation, running_variance)?;
            } else {
                if shape.samples() <= 1 {
                    // No elements for statistics: Paddle's own operator leaves the input as it is.
                    mean.fill(T::zero());
                    deviation.fill(T::zero());
                    return copy(y, x);
                }
                norm::statistics(shape, x, mean, deviation)?;
                norm::track(running_mean, mean, momentum)?;
                norm::track(running_variance, deviation, momentum)?;
            }
            norm::reciprocal_deviation(deviation, epsilon);
            Normalizer { mean, reciprocal_deviation: deviation, scale, bias }.apply(shape, x, y)
        })
    }
}

/// Room for one number for each channel: an output, or, if it is not wanted, a vector.
fn statistic<'a, T: Element + Real>(
    output: Option<Output<'a>>,
    instead: &'a mut Vec<T>,
    count: usize,
) -> Result<&'a mut [T]> {
    match output {
        Some(output) => {
            output.set_dims(&[count])?;
            output.write()
        }
        None => {
            instead.resize(count, T::zero());
            Ok(instead)
        }
    }
}

fn channels(dims: &[usize], layout: &str) -> Result<Channels> {
    if !(2..=5).contains(&dims.len()) {
        return Err(Error::invalid(format!("`x` has {} dimensions, not 2 to 5", dims.len())));
    }
    match layout {
        "NCHW" | "NCDHW" => Ok(Channels::first(dims)?),
        "NHWC" | "NDHWC" => Ok(Channels::last(dims)?),
        other => Err(Error::invalid(format!("`data_layout` is {other}, not NCHW or NHWC"))),
    }
}
