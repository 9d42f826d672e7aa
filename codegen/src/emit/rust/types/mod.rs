//! Types: as in the ABI, and as in the Rust API.

pub mod api_type;
pub mod args;
pub mod callbacks;
pub mod declarations;
pub mod erased;
pub mod ffi;
mod layout;
pub mod raw_types;
