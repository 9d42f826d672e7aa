//! Operators that a device computes: the traits, generated from `spec/ops`, and the tensors that their methods take.
//!
//! A device implements what it is good at; hosts compute the other operators by themselves:
//!
//! ```
//! use tenon::device::{DataType, Error, Result};
//! use tenon_operators::{Launch, Operators, TensorMut, TensorRef};
//!
//! struct MyNpu;
//!
//! #[tenon_operators::operators]
//! impl Operators for MyNpu {
//!     #[data_types(FLOAT32)]
//!     fn relu(&self, launch: Launch, out: &mut TensorMut<'_>, x: &TensorRef<'_>) -> Result<()> {
//!         if !(out.is_contiguous() && x.is_contiguous()) {
//!             return Err(Error::unsupported("relu with gaps between elements"));
//!         }
//! #       fn start_relu(_: Launch, _: tenon::DevicePtr, _: tenon::DevicePtr, _: usize) -> Result<()> { Ok(()) }
//!         // Starts a kernel on the stream and returns.
//!         start_relu(launch, out.first(), x.first(), x.len())
//!     }
//! }
//!
//! assert!(MyNpu.provides("relu", DataType::FLOAT32));
//! assert!(!MyNpu.provides("relu", DataType::FLOAT64) && !MyNpu.provides("gelu", DataType::FLOAT32));
//! ```
//!
//! # What a method does
//!
//! * It queues its work on `launch.stream` and may return before the work is done. The memory of the tensors stays
//!   allocated until all work that is on the stream by then is done. Strides and shapes must be copied.
//! * An output may be the same memory as an input: hosts call operators in place. Other overlaps do not occur.
//! * Shapes of elementwise operators are broadcast as in NumPy, and the output has the common shape. The gradient by an
//!   input, such as `add_dx`, has the shape of that input: it is the sum over the dimensions along which the input was
//!   repeated.
//! * The host has set the shape and the type of each output. A shape that hosts cannot compute comes from a method of its
//!   own, such as `nonzero_out_shape`, which the host calls first.
//! * Optional inputs and outputs are `None` if the host does not have or want them.
//! * Operators with random numbers take a seed and an offset. The same pair gives the same numbers.
//! * Methods are called from many threads.
//!
//! # Errors
//!
//! [`Error::invalid`](tenon::Error::invalid) reports arguments that the operator does not accept, and
//! [`Error::unsupported`](tenon::Error::unsupported) those that this device does not. In PaddlePaddle they become a
//! `ValueError` and a `NotImplementedError`: a host does not try another implementation after an error.

// Generated code names this crate `tenon_operators`, also inside the crate.
extern crate self as tenon_operators;

#[macro_use]
mod kinds;
#[macro_use]
#[rustfmt::skip]
mod list;

pub mod by_name;
mod composed;
mod constant;
mod layout;
#[rustfmt::skip]
mod plans;
mod tensor;
mod traits;
mod views;

#[doc(hidden)]
pub use tenon;
pub use tenon_macros::operators;
pub use tenon_operator_attributes as attributes;

pub use composed::{Composed, Compositions, Temporaries};
pub use constant::Constant;
pub use layout::{Layout, broadcast, contiguous_strides};
pub use tensor::{TensorMut, TensorRef};
pub use traits::*;

use tenon::device::{Device, DeviceId, Result, Status, Stream};

/// The device and stream on which an operator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The current device of the calling thread.
    pub device: DeviceId,
    /// The stream of the call; null is the default stream of the device.
    pub stream: Stream,
}

impl Launch {
    /// Waits for the work that is queued on the stream.
    ///
    /// A host may use a stream of a device that is not current, and does not say which device it belongs to. So the other
    /// devices are asked too.
    ///
    /// # Errors
    /// The work has failed, or no device has the stream.
    pub fn synchronize(self, devices: &(impl Device + ?Sized)) -> Result<()> {
        let mut outcome = devices.synchronize_stream(self.device, self.stream);
        // Each device has a default stream, which the null handle means.
        if outcome.is_ok() && !self.stream.is_null() {
            return outcome;
        }
        for other in 0..devices.get_device_count()? {
            let Ok(other) = i32::try_from(other) else { break };
            if other == self.device.0 {
                continue;
            }
            match devices.synchronize_stream(DeviceId(other), self.stream) {
                Ok(()) if self.stream.is_null() => {}
                Ok(()) => return Ok(()),
                // Either the work on the stream failed, or the stream belongs to another device.
                Err(error) if error.status != Status::ERROR => outcome = Err(error),
                Err(_) => {}
            }
        }
        outcome
    }
}
