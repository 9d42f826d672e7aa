//! The object of a kernel, which the host calls.

use std::sync::Arc;

use super::call::Places;
use super::kept::Kept;
use super::{Call, Compute};
use crate::api::objects::{Kernel, Result};
use crate::api::runtime::KernelContext;
use crate::error::reported;
use crate::session::{DeviceState, measured};

/// A kernel for a node.
pub(crate) struct NodeKernel {
    pub(crate) device: Arc<DeviceState>,
    pub(crate) compute: Compute,
    pub(crate) places: Places,
    /// The name of the operator, for messages.
    pub(crate) operator: &'static str,
}

impl Drop for NodeKernel {
    fn drop(&mut self) {
        Kept::free(self.places.kept.take().unwrap_or_default(), &self.device);
    }
}

#[tenon::object]
impl Kernel for NodeKernel {
    fn compute_node(&self, context: KernelContext) -> Result<()> {
        let computed = Call::new(&self.device, context, &self.places)
            .and_then(|call| measured(self.operator, call.stream(), || (self.compute)(&call)));
        computed.map_err(|error| {
            let message = format!("{}: {}", self.operator, error.message);
            reported(tenon::device::Error::new(error.status, message))
        })
    }
}
