//! The common parts of all optimizers.

use tenon_kernels::optimizer::Precision;
use tenon_kernels::{Real, Stored, bf16, f16};

use crate::error::{Error, Result};
use crate::kernel::{Element, Output, Tensor};

/// A type of stored parameters.
pub(super) trait Parameter: Element + Stored<Self::Math> {
    /// The type of a step's computation and state.
    type Math: Real + Element;
}

impl Parameter for f32 {
    type Math = f32;
}

impl Parameter for f64 {
    type Math = f64;
}

impl Parameter for f16 {
    type Math = f32;
}

impl Parameter for bf16 {
    type Math = f32;
}

/// The parameter of a step, and its master copy.
pub(super) struct Operand<'c> {
    pub(super) param: Tensor<'c>,
    pub(super) param_out: Output<'c>,
    pub(super) master_param: Option<Tensor<'c>>,
    pub(super) master_param_out: Option<Output<'c>>,
    pub(super) multi_precision: bool,
}

impl<'c> Operand<'c> {
    /// Returns the parameter for the step, initialised from the inputs.
    pub(super) fn open<P: Parameter>(self) -> Result<Precision<'c, P, P::Math>> {
        let parameter = self.param_out.update(self.param)?;
        if !self.multi_precision {
            return Ok(Precision::Single(parameter));
        }
        let (Some(master), Some(master_out)) = (self.master_param, self.master_param_out) else {
            return Err(Error::invalid("`multi_precision` needs `master_param` and `master_param_out`"));
        };
        Ok(Precision::Mixed { parameter, master: master_out.update(master)? })
    }
}

/// A state that only some steps have. If it is not `wanted`, the argument is ignored.
pub(super) fn optional_state<'c, M: Element>(
    name: &str,
    wanted: bool,
    input: Option<Tensor<'c>>,
    output: Option<Output<'c>>,
) -> Result<Option<&'c mut [M]>> {
    match (wanted, input, output) {
        (false, ..) => Ok(None),
        (true, Some(input), Some(output)) => output.update(input).map(Some),
        _ => Err(Error::invalid(format!("`{name}` is not given"))),
    }
}
