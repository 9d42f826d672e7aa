//! Allocation and registration of memory, and what is known of an address.
//!
//! Also managed memory, and values in device memory that streams write and wait for.

pub(crate) mod allocation;
mod functions;
pub(crate) mod managed;
pub(crate) mod registration;
pub(crate) mod value;
