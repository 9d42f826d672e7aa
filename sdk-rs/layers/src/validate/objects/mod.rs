//! The handles and the memory that are alive, the work that uses them, and recently destroyed ones.

pub mod accesses;
pub mod allocations;
pub mod destroyed;
pub mod groups;
pub mod handles;
mod hash;
pub mod lookup_cache;
pub mod registry;
pub mod stream_progress;
