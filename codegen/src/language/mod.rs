//! Facts about output languages that rules and emitters share, so that emitters can write every spec that rules accept.

pub mod c;
pub mod headers;
pub mod python;
