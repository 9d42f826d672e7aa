//! Objects: the structs that a host calls, made from values that implement their traits.

mod between;
mod host;
pub mod release;
mod thunk;

pub use between::emit as between;
pub use host::emit;
pub use thunk::emit as thunks;
