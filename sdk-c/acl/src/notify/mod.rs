//! Notifies: flags and counters that one stream sets and another waits for.
//!
//! Devices have no such object, so the values live on the host and waiting streams are held by latches.

mod functions;
pub(crate) mod notify_table;
pub(crate) mod signal;
