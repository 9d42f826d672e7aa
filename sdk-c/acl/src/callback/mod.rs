//! Functions of the program that the library calls.
//!
//! Subscribed threads run callbacks in stream order; observers are called for the lifecycle of the library,
//! devices and streams.

mod functions;
pub(crate) mod observers;
pub(crate) mod subscriptions;
