//! Registers the operators of a device with PaddlePaddle, in every release from 2.6 to 3.3.
//!
//! A Rust device names this crate in its plugin, and PaddlePaddle uses the operators of its `impl Operators`:
//!
//! ```text
//! #[tenon::plugin(device_type = "my_npu", operators = tenon_paddle_operators)]
//! impl Device for MyNpu { … }
//!
//! #[tenon_operators::operators]
//! impl Operators for MyNpu { … }
//! ```
//!
//! A kernel of PaddlePaddle is registered for an element type if the device provides all methods that the
//! kernel needs for that type, or if they can be [composed](tenon_operators::Composed) of methods that the
//! device provides. All other kernels run on PaddlePaddle's CPU, through copies.
//!
//! * `host` finds the exported functions of the running PaddlePaddle, and raises its exceptions.
//! * `kernel` is the framework: a kernel is declared once, with its arguments, and gets both of the entry points that
//!   PaddlePaddle requires.
//! * `paddle` is the kernel C API, generated from `spec/paddle`.
//! * `bindings` has the kernels that compute one operator each, generated from `spec/paddle/kernels`.
//! * `operators` has the kernels that combine several operators.
//!
//! # Errors
//!
//! PaddlePaddle's functions throw C++ exceptions. They pass through the frames of a kernel and run its
//! destructors; this crate does not catch exceptions from calls to PaddlePaddle. Errors and panics of an
//! operator become PaddlePaddle exceptions, such as `ValueError` or `RuntimeError` in Python.

mod bindings;
mod constants;
mod error;
mod host;
mod kernel;
mod operators;
/// The functions that PaddlePaddle exports to a plugin: the kernel C API, generated from `spec/paddle`.
#[allow(dead_code, unused_imports, reason = "it contains all that the spec describes")]
mod paddle;
mod provider;
mod synchronous;

use std::ffi::CStr;

use tenon::device::{self, Device, Partial, Plugin, Release};
use tenon_operators::Operators;

use host::Host;
pub use provider::Memory;
use provider::Provider;

/// The host that has loaded a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// PaddlePaddle. The operators are registered.
    ByPaddle,
    /// Another host of the same table, without operators.
    ByAnother,
}

/// Registers the operators of a device with the running PaddlePaddle.
///
/// `release` is the result of [`hand_over`](tenon::device::hand_over) for the device, and `device_type` is
/// its name. Call this once per process for each plugin.
///
/// # Errors
/// A one-line message: PaddlePaddle does not export a function that operators need, or rejects a kernel.
pub fn register<D: Plugin<Instance = D> + Partial + Operators>(
    release: Release,
    device_type: &'static CStr,
) -> Result<Loaded, String> {
    register_device(D::whole(), D::instance(), release, device_type)
}

/// Registers kernels as [`register`] does, for a device that is not a plugin in Rust, such as a
/// [`Loaded`](tenon::device::Loaded) table.
///
/// # Errors
/// As [`register`].
pub fn register_device(
    device: impl Device,
    operators: &'static dyn Operators,
    release: Release,
    device_type: &'static CStr,
) -> Result<Loaded, String> {
    register_provider(Provider::new(device, operators, Memory::OfTheDevice), release, device_type)
}

/// Registers kernels as [`register`] does, for a device whose operators belong to another type, and whose memory the
/// host may be able to access.
///
/// # Errors
/// As [`register`].
///
/// # Safety
/// With [`Memory::OfTheHost`], all memory of the device must be host memory, which any thread may read and
/// write once the work on its streams is done.
pub unsafe fn register_with<D: Plugin>(
    operators: &'static dyn Operators,
    memory: Memory,
    release: Release,
    device_type: &'static CStr,
) -> Result<Loaded, String> {
    register_provider(Provider::new(D::whole(), operators, memory), release, device_type)
}

/// Checks the variable that [`register`] reads, for a plugin that refuses to start rather than to run without operators.
///
/// # Errors
/// A one-line message.
pub fn check_environment() -> Result<(), String> {
    synchronous::is_requested().map(drop)
}

fn register_provider(
    mut provider: Provider,
    release: Release,
    device_type: &'static CStr,
) -> Result<Loaded, String> {
    provider.waits = synchronous::is_requested()?;
    let Some(host) = Host::find(release)? else { return Ok(Loaded::ByAnother) };
    host::stay_loaded()?;
    operators::register(host, provider::install(provider), device_type)?;
    Ok(Loaded::ByPaddle)
}
