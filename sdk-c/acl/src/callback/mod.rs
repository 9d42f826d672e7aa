//! Functions of the program that the library calls.
//!
//! Subscribed threads run callbacks in stream order. Observers are called for changes in the lifecycle of the
//! library, its devices and its streams.

mod functions;
pub(crate) mod observers;
pub(crate) mod subscriptions;
