//! An execution provider of ONNX Runtime that adds tensors of `float`s, a backend of ggml that counts graphs, and a plugin for
//! PJRT whose work is always complete.
//!
//! The modules are expanded from the spec beside this crate. What is written by hand are the three implementations, and the
//! functions with which the library hands over its first objects.

mod entry;
mod idle_backend;
mod provider_of_add;
mod quiet_plugin;

/// The functions of ONNX Runtime.
pub mod runtime {
    tenon_spec_macros::interface!("runtime", spec = "spec");
}

/// The functions that find them.
pub mod base {
    tenon_spec_macros::interface!("base", spec = "spec");
}

/// The objects of an execution provider.
pub mod provider {
    tenon_spec_macros::interface!("provider", spec = "spec");
}

/// The functions of ONNX Runtime that only execution providers call.
pub mod provider_api {
    tenon_spec_macros::interface!("provider_api", spec = "spec");
}

/// The objects of a backend of ggml.
pub mod ggml {
    tenon_spec_macros::interface!("ggml", spec = "spec");
}

/// The table of a plugin for PJRT.
pub mod pjrt {
    tenon_spec_macros::interface!("pjrt", spec = "spec");
}
