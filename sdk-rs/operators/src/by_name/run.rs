//! Calls of a plugin's methods.

use std::ffi::CStr;

use super::{Argument, Call, Calls, RawLaunch, Shape};
use crate::Launch;
use tenon::device::ffi::C_Device_st;
use tenon::device::{Error, Result, Status};

/// The bytes that a plugin has for its message.
const MESSAGE_SIZE: usize = 512;

impl Calls {
    /// Calls a method.
    ///
    /// # Errors
    /// The status of the plugin with its message, which is empty if it wrote none.
    ///
    /// # Safety
    /// The arguments are as [`Arguments::new`](super::Arguments::new) promises, and the functions as [`Calls`] says. `shape` is
    /// null, or can be written.
    pub unsafe fn run(
        &self,
        method: &CStr,
        launch: Launch,
        arguments: &[Argument],
        shape: *mut Shape,
    ) -> Result<()> {
        let mut device = C_Device_st { id: launch.device.0 };
        let mut message = [0_u8; MESSAGE_SIZE];
        let launch = RawLaunch {
            device: &raw mut device,
            stream: launch.stream.as_raw(),
            message: message.as_mut_ptr().cast(),
            message_size: message.len(),
        };
        let call = Call {
            size: size_of::<Call>(),
            method: method.as_ptr(),
            launch: &raw const launch,
            arguments: arguments.as_ptr(),
            count: arguments.len(),
            shape,
        };
        // SAFETY: the pointers are those of the values above and of the caller, which outlive the call.
        let status = unsafe { (self.call)(&raw const call) };
        if status == Status::SUCCESS {
            return Ok(());
        }
        let said = match CStr::from_bytes_until_nul(&message) {
            Ok(text) => text.to_string_lossy(),
            Err(_) => String::from_utf8_lossy(&message),
        };
        Err(Error::from_plugin(status, said.into_owned()))
    }
}
