//! Layers between a program and a device.
//!
//! A [`Layer`](tenon::device::Layer) sees each call to a plugin before and after it. There are four:
//!
//! - [`validate`] rejects calls that break the rules of the interface, and reports the rule and the reason;
//! - [`trace`] records calls and the work of streams for a trace viewer;
//! - [`capture`] records calls and the bytes that they read, so that they can be repeated on another device;
//! - [`profile`] makes a device look smaller: without some functions, with less memory, with fewer devices.
//!
//! A program selects layers with `TENON_LAYERS=validate,trace`; [`open`] creates them. The trace is always the
//! outermost one, so that it also shows the calls that validation rejected.
//!
//! A layer reads the description of functions from [`tenon::reflect`]. Code for a certain device does not belong here.

mod at_exit;
pub mod capture;
mod clock;
mod output;
mod own_callback;
pub mod profile;
mod setting;
mod stack;
pub mod trace;
pub mod validate;

pub use setting::BadSetting;
pub use stack::{NAMES, OpenError, Stack, open};
