//! Events: points in streams that the host, the same device and other devices wait for.
//!
//! Each record of an event creates a new recording, which uses a pooled event of the device.

pub(crate) mod event_table;
mod functions;
mod recording;
mod shared_event;
