//! Batch normalisation, which keeps running statistics in place.
//!
//! `sync_batch_norm` combines the statistics of several processes. In one process it is `batch_norm`. PaddlePaddle's CPU
//! has no kernel for it, so that there is no fallback.

use tenon::device::DataType;
use tenon_operators::TensorMut;
use tenon_operators::attributes::{BatchNormAttributes, BatchNormGradAttributes};

use crate::error::{Error, Result};
use crate::kernel::{Any, Call, FLOATS, Output, Registry, Run, Tensor, kernel, outputs};

/// Registers `batch_norm`, and `sync_batch_norm` with its gradient.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_any::<BatchNorm<'static>>(&["batch_norm"], &[FLOATS])?;
    registry.add_any::<SyncBatchNorm<'static>>(&["batch_norm"], &[FLOATS])?;
    registry.add_any::<SyncBatchNormGrad<'static>>(&["batch_norm_grad"], &[FLOATS])
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
        call.run(&mut |device, launch| {
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
                &BatchNormAttributes {
                    momentum: f64::from(self.momentum),
                    epsilon: f64::from(self.epsilon),
                    data_layout: self.data_layout,
                    use_running_statistics: global,
                },
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

kernel! {
    /// Normalises as `batch_norm` does, with the statistics of all processes.
    struct SyncBatchNorm<'c> = c"sync_batch_norm" {
        inputs: {
            x: Tensor<'c>,
            mean: Tensor<'c>,
            variance: Tensor<'c>,
            scale: Tensor<'c>,
            bias: Tensor<'c>,
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

impl Run<Any> for SyncBatchNorm<'_> {
    fn run(self, call: &Call) -> Result<()> {
        if !self.is_test {
            expect_one_process()?;
        }
        let alone = BatchNorm {
            x: self.x,
            mean: self.mean,
            variance: self.variance,
            scale: Some(self.scale),
            bias: Some(self.bias),
            is_test: self.is_test,
            momentum: self.momentum,
            epsilon: self.epsilon,
            data_layout: self.data_layout,
            use_global_stats: self.use_global_stats,
            trainable_statistics: self.trainable_statistics,
            y: self.y,
            mean_out: self.mean_out,
            variance_out: self.variance_out,
            saved_mean: self.saved_mean,
            saved_variance: self.saved_variance,
            reserve_space: self.reserve_space,
        };
        alone.run(call)
    }
}

kernel! {
    /// Computes the gradients of `sync_batch_norm`.
    struct SyncBatchNormGrad<'c> = c"sync_batch_norm_grad" {
        inputs: {
            x: Tensor<'c>,
            scale: Tensor<'c>,
            bias: Tensor<'c>,
            saved_mean: Tensor<'c>,
            saved_variance: Tensor<'c>,
            reserve_space: Option<Tensor<'c>>,
            dout: Tensor<'c>,
        },
        attributes: {
            momentum: f32,
            epsilon: f32,
            data_layout: &'c str,
            is_test: bool,
            use_global_stats: bool,
            trainable_statistics: bool,
        },
        outputs: { dx: Option<Output<'c>>, dscale: Option<Output<'c>>, dbias: Option<Output<'c>> },
    }
}

impl Run<Any> for SyncBatchNormGrad<'_> {
    fn run(self, call: &Call) -> Result<()> {
        expect_one_process()?;
        let (x, scale, dout) = (self.x.view()?, self.scale.view()?, self.dout.view()?);
        let (mean, deviation) = (self.saved_mean.view()?, self.saved_variance.view()?);
        let view = |out, ty| outputs::wanted(out)?.map(|out| out.view(ty)).transpose();
        let ty = outputs::like(&mean);
        let (mut dx, mut dscale, mut dbias) =
            (view(self.dx, outputs::like(&x))?, view(self.dscale, ty)?, view(self.dbias, ty)?);
        call.run(&mut |device, launch| {
            device.batch_norm_grad(
                launch,
                dx.as_mut(),
                dscale.as_mut(),
                dbias.as_mut(),
                &x,
                Some(&scale),
                &mean,
                &deviation,
                &dout,
                &BatchNormGradAttributes {
                    data_layout: self.data_layout,
                    is_test: self.is_test,
                    use_global_stats: self.use_global_stats,
                    trainable_statistics: self.trainable_statistics,
                },
            )
        })
    }
}

/// The number of processes of a distributed program, a variable of PaddlePaddle.
const PROCESSES: &str = "PADDLE_TRAINERS_NUM";

/// Rejects a process that is one of several: a kernel has no access to their communicator.
fn expect_one_process() -> Result<()> {
    match std::env::var(PROCESSES) {
        Ok(count) if count.parse().is_ok_and(|count: u32| count > 1) => Err(Error::unimplemented(format!(
            "the statistics of {PROCESSES}={count} processes need `all_reduce`, which this kernel does not call: \
             use `BatchNorm`, which has statistics for each process",
        ))),
        _ => Ok(()),
    }
}
