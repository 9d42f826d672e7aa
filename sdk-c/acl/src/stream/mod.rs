//! Streams: creation, destruction and synchronization, and completion notification.
//!
//! The stream itself, with its pending queue, is part of the shared state.

pub(crate) mod completion;
pub(crate) mod config;
mod creation;
mod functions;
