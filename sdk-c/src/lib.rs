//! `libtenon`: the C SDK. Every export returns a status, and records the last error per thread.
//!
//! The crate contains the exports, the tables behind their handles, the lifecycle of the library and of
//! devices, and the memory pool. `tenon-loader` finds and loads plugins; `tenon-layers` has the layers. The
//! functions of the spec are generated; `include/tenon/core.h` is generated from the others.

pub mod acl;
pub mod buffer;
mod c_text;
pub mod call;
pub mod collectives;
pub mod devices;
/// cbindgen:ignore
mod dlpack;
pub mod error;
/// The functions of the spec, one export each, and the statuses that all exports return.
///
/// cbindgen:ignore
pub mod functions;
mod handles;
pub mod layers;
pub mod library;
pub mod operators;
pub mod plugins;
mod pool;
pub mod version;

pub use functions::Status;

/// `tenon_device`: a device that was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct DeviceHandle(usize);

impl DeviceHandle {
    /// Returns the handle as an argument of [`functions::call_raw`].
    pub fn bits(self) -> u64 {
        self.0 as u64
    }
}

/// `tenon_plugin`: a plugin that was loaded, or the built-in one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct PluginHandle(usize);

impl PluginHandle {
    /// Returns the handle as an argument of [`functions::call_raw`].
    pub fn bits(self) -> u64 {
        self.0 as u64
    }
}

/// `tenon_buffer`: memory of a device with its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct BufferHandle(usize);
