//! Optimizer steps: they update parameters and their state, in place or into other tensors.
//!
//! Attributes are doubles, converted to the compute type of the step.

mod accumulated;
mod adaptive;
mod averages;
mod descent;
mod loss_scaling;
mod operand;
mod resilient;
mod variants;

pub use accumulated::{adadelta, adagrad, adamax, decayed_adagrad, rmsprop};
pub use adaptive::{adam, adamw, fused_adam, merged_adam};
pub use averages::average_accumulates;
pub use descent::{lars_momentum, merged_momentum, momentum, sgd};
pub use loss_scaling::{check_finite_and_unscale, update_loss_scaling};
pub use resilient::{asgd, rprop};
pub use variants::{lamb, nadam, radam};
