//! Facts about output languages that rules need, too: so that what a rule accepts is what an emitter can write.

pub mod c;
pub mod headers;
pub mod python;
