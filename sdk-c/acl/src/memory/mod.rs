//! Allocation and registration of memory, and queries about addresses.
//!
//! Also managed memory, and values in device memory that streams write and wait for.

pub(crate) mod allocation;
mod functions;
pub(crate) mod managed;
pub(crate) mod pool;
pub(crate) mod registration;
pub(crate) mod value;
