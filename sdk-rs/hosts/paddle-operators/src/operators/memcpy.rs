//! Copies between host and device, as operators of a static graph.
//!
//! Releases from 3.0 on have these operators for every device. In 3.0, `memcpy_h2d` refuses the place that programs of
//! the old format name, those of `FLAGS_enable_pir_api=0`; programs of the new format do not use ours.

use tenon::DevicePtr;
use tenon::device::Release;

use crate::error::{Error, Result};
use crate::kernel::{Call, Element, Output, Registry, Run, Tensor, Window, kernel, register};

/// Registers `memcpy_d2h` and `memcpy_h2d` where they are missing.
pub(super) fn register(registry: Registry) -> Result<()> {
    if registry.release() <= Release::V2_6 {
        register!(registry, &[], MemcpyD2h, every);
    }
    if registry.release() <= Release::V3_0 {
        register!(registry, &[], MemcpyH2d, every);
    }
    Ok(())
}

/// The codes of places that are host memory: pageable and pinned.
const HOST_PLACES: [i32; 2] = [0, 1];

kernel! {
    /// Copies a tensor to the host synchronously.
    struct MemcpyD2h<'c> = c"memcpy_d2h" {
        inputs: { x: Tensor<'c> },
        attributes: { dst_place_type: i32 },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for MemcpyD2h<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { x, dst_place_type, out } = self;
        if !HOST_PLACES.contains(&dst_place_type) {
            return Err(Error::invalid(format!("place {dst_place_type} is not the host")));
        }
        shape(x, out)?;
        out.allocate_on_host(T::DATA_TYPE)?;
        if call.has_host_memory() {
            return copy::<T>(x, out);
        }
        let source = x.view()?;
        if !source.is_contiguous() {
            return Err(Error::unimplemented("`x` has gaps between its elements"));
        }
        let target = out.memory::<u8>(Window::first(source.len() * size_of::<T>()))?;
        call.copy_to_host(target, source.first())
    }
}

kernel! {
    /// Copies a tensor to the device of the context, regardless of the place's code.
    struct MemcpyH2d<'c> = c"memcpy_h2d" {
        inputs: { x: Tensor<'c> },
        attributes: { dst_place_type: i32 },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for MemcpyH2d<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let Self { x, dst_place_type: _, out } = self;
        shape(x, out)?;
        out.allocate(T::DATA_TYPE)?;
        if call.has_host_memory() {
            return copy::<T>(x, out);
        }
        let source = x.read_window::<u8>(Window::first(x.len()? * size_of::<T>()))?;
        call.copy_to_device(DevicePtr::from_ptr(out.place()?.first), source)
    }
}

fn shape(x: Tensor<'_>, out: Output<'_>) -> Result<()> {
    out.set_dims(&x.dims()?)?;
    out.set_contiguous()
}

fn copy<T: Element>(x: Tensor<'_>, out: Output<'_>) -> Result<()> {
    let source = x.read::<T>()?;
    out.memory::<T>(Window::first(source.len()))?.copy_from_slice(source);
    Ok(())
}
