//! Virtual memory: reserved addresses, physical memory, and the mappings between them.
//!
//! Also sharing of memory by key or number, with other processes too.

pub(crate) mod capabilities;
mod functions;
pub(crate) mod mappings;
pub(crate) mod sharing;
