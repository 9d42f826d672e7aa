//! Builds `libdiopi_impl.so`, an operator library for hosts of DIOPI, from a device and its operators.
//!
//! ```text
//! // Cargo.toml: crate-type = ["cdylib"]
//! tenon_diopi::library!(MyNpu);
//! ```
//!
//! The library exports the symbols that a host looks up: the device functions in `library`, and the
//! operators.
//!
//! * `host` finds the functions of the host, `libdiopirt.so`.
//! * `operators` has the functions that compute operators, generated from `spec/diopi`, and `compute` the
//!   code that they use.
//! * `error` has the codes for the host, and the message of the last failure.

mod compute;
mod error;
mod host;
#[allow(non_snake_case, reason = "the names are the ABI's")]
mod library;
#[allow(non_snake_case, reason = "the names are the ABI's")]
mod operators;
mod provider;
/// The functions that a DIOPI host provides to a library, generated from `spec/diopi_runtime`.
pub mod runtime;
use runtime as diopi_runtime;

pub use provider::Library;
