//! Objects: their lifetimes, their owners, and the order of work on streams.

pub(super) mod lives;
pub(super) mod order;
pub(super) mod owners;
pub(super) mod structs;
