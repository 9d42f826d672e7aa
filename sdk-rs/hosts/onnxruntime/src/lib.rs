//! Runs models of ONNX Runtime on a device: builds an execution provider, a plugin of ONNX Runtime, from a device and its
//! operators. One library runs in every release from 1.24 on.
//!
//! ```text
//! // Cargo.toml: crate-type = ["cdylib"]
//! tenon_onnxruntime::library!(MyNpu);
//! ```
//!
//! A program then registers the library:
//!
//! ```text
//! onnxruntime.register_execution_provider_library("my_npu", "/path/to/libmy_npu.so")
//! devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "MyNpuExecutionProvider"]
//! options = onnxruntime.SessionOptions()
//! options.add_provider_for_devices(devices, {})
//! session = onnxruntime.InferenceSession("model.onnx", options)
//! ```
//!
//! A node runs on the device if there is a kernel for its operator, its version and its types, and the device provides all
//! methods that the kernel needs, or they can be [composed](tenon_operators::Composed) of others. ONNX Runtime runs all other
//! nodes on its CPU, and copies tensors between both.
//!
//! * `api` has the tables of the host and the objects that it calls, generated from `spec/onnxruntime` and its neighbours.
//! * `host` finds the tables and agrees on a release; `entry` has the functions that a library exports.
//! * `session` has the objects: the factory, providers, memory, copies and streams.
//! * `nodes` lists the kernels by operator, version and type; `kernel` is what they run in, and `rules` what they compute.

#[allow(dead_code, unused_imports, reason = "it contains all that the spec describes")]
mod api;
mod element;
mod entry;
mod error;
mod host;
mod kernel;
mod library;
mod nodes;
mod rules;
mod session;

/// Descriptions and functions for layers between the host and objects. It is not a public API.
#[doc(hidden)]
pub mod between {
    use std::ffi::CStr;

    use crate::api::ep::OrtEp;
    pub use crate::api::objects::between::{OBJECTS, put_in_front};
    use crate::api::runtime::{OnnxRuntime, Release};

    /// Returns the position of a function in the host's table `OrtApi`.
    pub fn runtime_slot(name: &CStr) -> Option<usize> {
        OnnxRuntime::slot(name)
    }

    /// Returns the position of a function in the host's table `OrtEpApi`.
    pub fn ep_slot(name: &CStr) -> Option<usize> {
        OrtEp::slot(name, Release::NEWEST)
    }
}

#[doc(hidden)]
pub use entry::{create_factories, refuse_host, release_factory};
pub use kernel::share;
pub use library::{Library, Memory};
