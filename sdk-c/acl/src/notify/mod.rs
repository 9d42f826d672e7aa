//! Notifies: flags and counters that one stream sets and another waits for.
//!
//! Devices do not support notifies, so the values are kept on the host, and latches block waiting streams.

mod functions;
pub(crate) mod notify_table;
mod shared_flag;
pub(crate) mod signal;
