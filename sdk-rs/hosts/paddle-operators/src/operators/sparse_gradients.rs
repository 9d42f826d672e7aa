//! Updates of parameters by gradients of some rows, which the C API cannot pass: these kernels only refuse.
//!
//! `paddle.nn.Embedding(sparse=True)` has such gradients. Without a kernel, PaddlePaddle updates a copy of the parameter
//! that lacks the other rows, and they are lost without an error. The kernels of other optimisers either write all
//! rows or refuse by themselves; AdamW has none that PaddlePaddle calls, and corrupts memory on the CPU too.

use tenon::device::Release;

use crate::error::{Error, Result};
use crate::kernel::{Any, Call, FLOATS, Output, Registry, Run, Scalar, Tensor, kernel};

/// Registers the kernels.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_any::<Sgd<'static>>(&["expand"], &[FLOATS])?;
    if registry.release() <= Release::V2_6 {
        registry.add_any::<AdamUntilV2_6<'static>>(&["expand"], &[FLOATS])
    } else {
        registry.add_any::<Adam<'static>>(&["expand"], &[FLOATS])
    }
}

/// The error of all these kernels. They must not touch the gradient, which is no tensor.
fn refused() -> Result<()> {
    Err(Error::unimplemented(
        "the gradient has only some rows, as that of an embedding with `sparse=True`: plugins cannot read such \
         gradients; use `sparse=False`",
    ))
}

kernel! {
    /// Refuses the update of SGD.
    struct Sgd<'c> = c"sgd_dense_param_sparse_grad" {
        inputs: {
            param: Tensor<'c>,
            learning_rate: Tensor<'c>,
            grad: Tensor<'c>,
            master_param: Option<Tensor<'c>>,
        },
        attributes: { multi_precision: bool },
        outputs: { param_out: Output<'c>, master_param_out: Option<Output<'c>> },
    }
}

kernel! {
    /// Refuses the update of Adam.
    struct AdamUntilV2_6<'c> = c"adam_dense_param_sparse_grad" {
        inputs: {
            param: Tensor<'c>,
            grad: Tensor<'c>,
            learning_rate: Tensor<'c>,
            moment1: Tensor<'c>,
            moment2: Tensor<'c>,
            beta1_pow: Tensor<'c>,
            beta2_pow: Tensor<'c>,
            master_param: Option<Tensor<'c>>,
            skip_update: Option<Tensor<'c>>,
        },
        attributes: {
            beta1: Scalar<'c>,
            beta2: Scalar<'c>,
            epsilon: Scalar<'c>,
            lazy_mode: bool,
            min_row_size_to_use_multithread: i64,
            multi_precision: bool,
            use_global_beta_pow: bool,
        },
        outputs: {
            param_out: Output<'c>,
            moment1_out: Output<'c>,
            moment2_out: Output<'c>,
            beta1_pow_out: Output<'c>,
            beta2_pow_out: Output<'c>,
            master_param_out: Option<Output<'c>>,
        },
    }
}

kernel! {
    /// Refuses the update of Adam.
    struct Adam<'c> = c"adam_dense_param_sparse_grad" {
        inputs: {
            param: Tensor<'c>,
            grad: Tensor<'c>,
            learning_rate: Tensor<'c>,
            moment1: Tensor<'c>,
            moment2: Tensor<'c>,
            moment2_max: Option<Tensor<'c>>,
            beta1_pow: Tensor<'c>,
            beta2_pow: Tensor<'c>,
            master_param: Option<Tensor<'c>>,
            skip_update: Option<Tensor<'c>>,
        },
        attributes: {
            beta1: Scalar<'c>,
            beta2: Scalar<'c>,
            epsilon: Scalar<'c>,
            lazy_mode: bool,
            min_row_size_to_use_multithread: i64,
            multi_precision: bool,
            use_global_beta_pow: bool,
            amsgrad: bool,
        },
        outputs: {
            param_out: Output<'c>,
            moment1_out: Output<'c>,
            moment2_out: Output<'c>,
            moment2_max_out: Option<Output<'c>>,
            beta1_pow_out: Output<'c>,
            beta2_pow_out: Output<'c>,
            master_param_out: Option<Output<'c>>,
        },
    }
}

/// Implements kernels that only refuse.
macro_rules! refuse {
    ($($kernel:ident)*) => {$(
        impl Run<Any> for $kernel<'_> {
            fn run(self, _: &Call) -> Result<()> {
                refused()
            }
        }
    )*};
}
refuse! { Sgd AdamUntilV2_6 Adam }
