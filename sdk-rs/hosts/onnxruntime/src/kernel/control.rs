//! Kernels of the host, which run the subgraphs of a node on any devices.

use std::ffi::c_void;
use std::sync::Arc;

use tenon::AnyPtr;
use tenon::DevicePtr;
use tenon::device::Stream;
use tenon_operators::Launch;

use super::value::Elements;
use crate::api::objects::{Error, HostStream, LoopHelper, Result, ScanHelper};
use crate::api::runtime::{KernelInfo, Value};
use crate::error::reported;
use crate::library::Memory;
use crate::session::{DeviceState, state_of, stream_of};

/// A kernel that the host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostKernel {
    /// That of `If`.
    If,
    /// That of `Loop`.
    Loop,
    /// That of `Scan`.
    Scan,
}

impl HostKernel {
    /// Makes the kernel of a node, which the host releases.
    ///
    /// # Safety
    /// The host passes a node that is alive.
    pub(crate) unsafe fn make(self, device: Arc<DeviceState>, info: KernelInfo) -> Result<*mut c_void> {
        let host = device.host;
        let objects = host.objects();
        // SAFETY: the caller's promise. The kernel of the host owns the helper.
        let made = unsafe {
            match self {
                Self::If => host.ep.create_if_kernel(info)?,
                Self::Loop => {
                    let helper = objects.make_loop_helper(Box::new(Helper { device }));
                    host.ep.create_loop_kernel(info, helper.cast())?
                }
                Self::Scan => {
                    let helper = objects.make_scan_helper(Box::new(Helper { device }));
                    host.ep.create_scan_kernel(info, helper.cast())?
                }
            }
        };
        Ok(made.as_ptr())
    }
}

/// Does for the host's kernels what only the device can do.
struct Helper {
    device: Arc<DeviceState>,
}

impl Helper {
    /// Copies the elements of a tensor, and returns their number of bytes.
    ///
    /// # Safety
    /// The tensor and the target are memory of the device, or of the host if that is the device's.
    unsafe fn append(
        &self,
        step: Value,
        target: DevicePtr,
        room: usize,
        stream: Option<Stream>,
    ) -> Result<usize> {
        let DeviceState { library, host, id, .. } = &*self.device;
        // SAFETY: the caller's promise.
        let (size, from) = unsafe { (host.runtime.tensor_bytes(step)?, host.runtime.tensor_data(step)?) };
        if size > room {
            return Err(Error::invalid("the steps of a loop have more elements than its output"));
        }
        let from = DevicePtr::from_ptr(from.as_ptr());
        match (library.memory, stream) {
            (_, _) if size == 0 => {}
            // SAFETY: both are host memory of this size, which do not overlap.
            (Memory::OfTheHost, _) => unsafe {
                target.as_ptr().cast::<u8>().copy_from_nonoverlapping(from.as_ptr().cast(), size);
            },
            (Memory::OfTheDevice, Some(stream)) => {
                library.device.async_memory_copy_d2d(*id, stream, target, from, size).map_err(reported)?;
            }
            (Memory::OfTheDevice, None) => {
                library.device.synchronize_device(*id).map_err(reported)?;
                library.device.memory_copy_d2d(*id, target, from, size).map_err(reported)?;
            }
        }
        Ok(size)
    }
}

#[tenon::object]
impl LoopHelper for Helper {
    fn concatenate(&self, handle: AnyPtr, steps: &[Value], target: AnyPtr, size: usize) -> Result<()> {
        // SAFETY: the handle is one of this library, or null.
        let stream = unsafe { state_of(handle) }.map(|state| state.stream);
        let mut done = 0;
        for step in steps {
            let behind = DevicePtr::from_addr(target.addr() + done);
            // SAFETY: the host passes tensors that are alive, and memory of the size.
            done += unsafe { self.append(*step, behind, size - done, stream) }?;
        }
        Ok(())
    }
}

#[tenon::object]
impl ScanHelper for Helper {
    fn transpose(&self, order: &[usize], input: Value, stream: HostStream, output: Value) -> Result<()> {
        let DeviceState { library, host, id, .. } = &*self.device;
        let launch = Launch { device: *id, stream: stream_of(*host, stream).unwrap_or(Stream::NULL) };
        // SAFETY: the host passes tensors that are alive, of which it uses the second in no other way.
        let transposed = unsafe {
            Elements::of(host.runtime, input).and_then(|input| {
                let mut output = Elements::of(host.runtime, output)?.view_mut(host.runtime)?;
                let input = input.view(host.runtime)?.permuted(order)?;
                library.operators.copy(launch, &mut output, &input)
            })
        };
        transposed.map_err(reported)
    }
}
