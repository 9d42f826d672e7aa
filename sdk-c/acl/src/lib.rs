//! The ACL runtime: what its functions mean, written once, on top of any device.
//!
//! What lives here: the state that the interface has and the device API has not, such as contexts, counts, current
//! devices, subscriptions, and the codes of misuse. What does not: how plugins are found, which is behind [`Devices`], and
//! the C symbols, which a library exports with `export_acl!`.
//!
//! # How the parts hang together
//!
//! [`Runtime`] finds things by handles (`table`), and no handle is trusted. A device is open as long as something is on it
//! (`home`). A stream is the device's stream with a line in front (`stream`): work goes through at once, unless a gate
//! (`gate`) holds it for something that only the host can bring about. Every function of the interface is one line in
//! `functions`, which says where its meaning is.

// What is generated cannot say why each line is sound; its generator does.
mod address;
#[allow(clippy::undocumented_unsafe_blocks, reason = "comments do not survive an expansion")]
pub mod api;
mod arrival;
mod batch;
mod block;
mod buffer;
mod cache;
mod callback;
mod context;
mod copy;
mod copy_desc;
mod data_buffer;
mod device;
mod devices;
mod element;
mod error;
mod event;
mod exception;
mod fill;
mod functions;
mod gate;
mod health;
mod home;
mod indirect;
mod info;
mod limits;
mod managed;
mod memory;
mod notify;
mod observer;
mod options;
mod pages;
mod reach;
mod record;
mod reduce;
mod runtime;
mod scratch;
mod share;
mod signal;
mod stream;
mod stream_config;
mod streams;
mod table;
mod tensor_desc;
mod thread;
mod value;
mod virtual_memory;
mod wait;
mod workers;

pub use devices::{Devices, OpenDevice};
pub use error::{Error, Result};
pub use runtime::Runtime;
