//! Copies, fills and reductions, synchronous and in stream order.
//!
//! A copy looks up where both ends are, and chooses the device function. A descriptor stores a copy in device memory.

pub(crate) mod batch;
pub(crate) mod cache_hint;
pub(crate) mod descriptor;
pub(crate) mod fill;
mod functions;
pub(crate) mod indirect;
pub(crate) mod reduction;
pub(crate) mod transfer;
