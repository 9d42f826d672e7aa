//! Element types, and the types in which operators compute.

pub(crate) mod accumulate;
pub(crate) mod dtype;
pub(crate) mod element;
pub(crate) mod float;
