//! Layers between a program and a device.
//!
//! A [`Layer`](tenon::device::Layer) sees each call on its way to a plugin and on its way back. There are two here:
//!
//! - [`validate`] refuses calls that break the rules of the interface, and says which rule and how;
//! - [`trace`] writes down what was called, and what the streams did, for a viewer of traces.
//!
//! A program names the layers that it wants in `TENON_LAYERS=validate,trace`; [`open`] makes them. The trace is always
//! the outer one, so that it also shows the calls that validation refused.
//!
//! What a layer knows about functions it reads from [`tenon::reflect`]. No code for a certain device belongs here.

mod clock;
mod setting;
mod stack;
pub mod trace;
pub mod validate;

pub use setting::BadSetting;
pub use stack::{NAMES, OpenError, Stack, open};
