//! Operators that a plugin lacks, composed of those that it has.

use tenon::support::Mutex;

use tenon::DevicePtr;
use tenon::device::{DataType, Device, DeviceId, Error, Result};
use tenon_operators::by_name::{Calls, LoadedOperators, call_method};
use tenon_operators::{
    Composed, Compositions, Launch, Layout, Temporaries, TensorMut, TensorRef, contiguous_strides,
};

use super::request::{Request, failure};
use crate::error::Failure;

/// The operators of a plugin, and what is composed of them.
#[derive(Debug)]
pub(crate) struct ComposedOperators {
    own: LoadedOperators,
    compositions: Compositions,
}

impl ComposedOperators {
    /// Finds what can be composed of the operators of a plugin.
    pub(crate) fn new(calls: Calls, plugin: &str) -> Self {
        let own = LoadedOperators::new(calls, plugin);
        let compositions = Compositions::of(&own);
        Self { own, compositions }
    }

    /// Returns true if a method is composed for elements of a type.
    pub(super) fn has(&self, request: Request<'_>) -> bool {
        request.method.to_str().is_ok_and(|method| self.compositions.has(method, request.data_type))
    }

    /// Runs a method that is composed.
    ///
    /// # Safety
    /// As for [`super::calls::run`].
    pub(super) unsafe fn run(
        &self,
        device: &dyn Device,
        id: DeviceId,
        request: Request<'_>,
    ) -> std::result::Result<(), Failure> {
        let memory = Memory { device, id, allocations: Mutex::default() };
        let composed = Composed::new(&self.own, &self.compositions, &memory);
        let method = request.method.to_string_lossy();
        let launch = Launch { device: id, stream: request.stream };
        // SAFETY: the caller's promise.
        unsafe { call_method(&composed, &method, launch, request.arguments) }.map_err(|error| {
            failure(Error::from_plugin(error.status, format!("the operator `{method}`: {}", error.message)))
        })
    }
}

/// Memory of a call. It is freed when all work of the call is queued: a device keeps memory until the work that was queued
/// before is done.
struct Memory<'d> {
    device: &'d dyn Device,
    id: DeviceId,
    allocations: Mutex<Vec<(DevicePtr, usize)>>,
}

impl Memory<'_> {
    fn allocate(&self, size: usize) -> Result<DevicePtr> {
        let size = size.max(1);
        let memory = self.device.device_memory_allocate(self.id, size)?;
        self.allocations.lock().push((memory, size));
        Ok(memory)
    }
}

impl Temporaries for Memory<'_> {
    fn temporary(&self, ty: DataType, dims: &[usize]) -> Result<TensorMut<'_>> {
        let sizes = dims.iter().copied().chain(ty.size());
        let size = sizes.into_iter().try_fold(1_usize, usize::checked_mul);
        let size = size.ok_or_else(|| Error::invalid("a tensor is larger than the address space"))?;
        let strides = contiguous_strides(dims)?;
        let layout = Layout::new(dims, &strides)?;
        // SAFETY: the memory has room for the elements, and is freed when the call ends.
        unsafe { TensorMut::new(self.allocate(size)?, ty, layout) }
    }

    fn constant(&self, ty: DataType, value: f64) -> Result<TensorRef<'_>> {
        let (narrow, wide, truth) =
            ((value as f32).to_ne_bytes(), value.to_ne_bytes(), [u8::from(value != 0.0)]);
        let bytes: &[u8] = match ty {
            DataType::FLOAT32 => &narrow,
            DataType::FLOAT64 => &wide,
            DataType::BOOL => &truth,
            _ => return Err(Error::unsupported("a composed operator for elements of this type")),
        };
        let memory = self.allocate(bytes.len())?;
        self.device.memory_copy_h2d(self.id, memory, bytes)?;
        // SAFETY: the memory has room for the element, and is freed when the call ends.
        unsafe { TensorRef::new(memory, ty, Layout::new(&[], &[])?) }
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        let allocations = self.allocations.get_mut();
        for (memory, size) in allocations.drain(..) {
            // A device that cannot free memory has nothing else to do about it.
            let _ = self.device.device_memory_deallocate(self.id, memory, size);
        }
    }
}
