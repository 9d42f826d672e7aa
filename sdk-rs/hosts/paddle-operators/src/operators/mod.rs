//! The kernels that combine several operators, or differ from an operator in ways that a binding cannot
//! express.
//!
//! If a device lacks a kernel, PaddlePaddle computes it on the CPU, on copies. The result is correct unless
//! the kernel changes its arguments in place: in a static graph, the changed copies are discarded. Most of
//! these kernels change parameters or statistics, or are needed by such kernels.

mod arange;
mod assign_raw;
mod assign_value;
mod batch_norm;
mod concat;
mod einsum;
mod full;
mod identity;
mod index_elementwise;
mod layout;
mod memcpy;
mod release_2_6;
mod set_value;
mod shift;
mod slice;
mod sparse_gradients;
mod unique;

use std::ffi::CStr;

use crate::bindings;
use crate::error::Result;
use crate::host::Host;
use crate::kernel::Registry;
use crate::provider::Provider;

/// Registers the kernels of a device for a release of the host and a device type.
///
/// # Errors
/// A one-line message that names the kernel that could not be registered.
pub(crate) fn register(
    host: &'static Host,
    provider: &'static Provider,
    device_type: &'static CStr,
) -> Result<(), String> {
    let registry = Registry::new(host, provider, device_type);
    [
        bindings::register,
        layout::register,
        full::register,
        memcpy::register,
        arange::register,
        assign_raw::register,
        assign_value::register,
        shift::register,
        slice::register,
        sparse_gradients::register,
        set_value::register,
        index_elementwise::register,
        identity::register,
        concat::register,
        batch_norm::register,
        unique::register,
        einsum::register,
        release_2_6::register,
    ]
    .into_iter()
    .try_for_each(|register| register(registry))
    .map_err(|error| format!("the operators could not be registered: {}", error.message))
}
