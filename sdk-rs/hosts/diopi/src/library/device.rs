//! Device memory and streams, for hosts without their own device interface.

use std::ffi::c_void;
use std::ptr;

use tenon::device::{DeviceId, Stream};
use tenon::{DevicePtr, HostPtr, support};

use super::{blocks, streams};
use crate::error::{self, Result, failed, invalid};
use crate::provider::library;
use crate::runtime::{DiopiError, ffi::diopiStreamHandle_t};

/// Allocates device memory; null if memory is exhausted.
#[unsafe(no_mangle)]
pub extern "C" fn device_malloc(bytes: u64) -> *mut c_void {
    let mut memory = ptr::null_mut();
    error::call("device_malloc", || {
        memory = blocks::allocate(bytes)?.as_ptr();
        Ok(())
    });
    memory
}

/// Frees device memory, after all work on the device. Ignores null.
#[unsafe(no_mangle)]
pub extern "C" fn device_free(ptr: *mut c_void) {
    error::call("device_free", || blocks::free(DevicePtr::from_ptr(ptr)));
}

/// Copies from the host to the device, in stream order.
///
/// # Safety
/// The memory must be valid for `bytes` bytes until the stream has executed the copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn device_memcpy_h2d_async(
    stream: diopiStreamHandle_t,
    dst: *mut c_void,
    src: *const c_void,
    bytes: u64,
) -> DiopiError {
    error::call("device_memcpy_h2d_async", || {
        let (dst, src) = (DevicePtr::from_ptr(dst), HostPtr::from_ptr(src.cast_mut()));
        copy(stream, bytes, &[("dst", dst)], &[("src", src)], |device, stream, size| {
            library().device.async_memory_copy_h2d(device, stream, dst, src, size)
        })
    })
}

/// Copies from the device to the host, in stream order.
///
/// # Safety
/// As for [`device_memcpy_h2d_async`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn device_memcpy_d2h_async(
    stream: diopiStreamHandle_t,
    dst: *mut c_void,
    src: *const c_void,
    bytes: u64,
) -> DiopiError {
    error::call("device_memcpy_d2h_async", || {
        let (dst, src) = (HostPtr::from_ptr(dst), DevicePtr::from_ptr(src.cast_mut()));
        copy(stream, bytes, &[("src", src)], &[("dst", dst)], |device, stream, size| {
            library().device.async_memory_copy_d2h(device, stream, dst, src, size)
        })
    })
}

/// Copies within the device, in stream order.
///
/// # Safety
/// As for [`device_memcpy_h2d_async`]. The two ranges must not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn device_memcpy_d2d_async(
    stream: diopiStreamHandle_t,
    dst: *mut c_void,
    src: *const c_void,
    bytes: u64,
) -> DiopiError {
    error::call("device_memcpy_d2d_async", || {
        let (dst, src) = (DevicePtr::from_ptr(dst), DevicePtr::from_ptr(src.cast_mut()));
        copy(stream, bytes, &[("dst", dst), ("src", src)], &[], |device, stream, size| {
            library().device.async_memory_copy_d2d(device, stream, dst, src, size)
        })
    })
}

/// Checks the arguments of a copy, and submits it.
fn copy(
    stream: diopiStreamHandle_t,
    bytes: u64,
    on_device: &[(&str, DevicePtr)],
    on_host: &[(&str, HostPtr)],
    submit: impl FnOnce(DeviceId, Stream, usize) -> tenon::device::Result<()>,
) -> Result<()> {
    let stream = Stream::from_addr(stream.expose_provenance());
    let device = streams::device_of(stream)?;
    let size = usize::try_from(bytes).map_err(|_| invalid(format!("`bytes` is {bytes}")))?;
    for (name, ptr) in on_device {
        support::range(name, ptr.addr(), size).map_err(failed)?;
        blocks::check(name, *ptr, size)?;
    }
    for (name, ptr) in on_host {
        support::range(name, ptr.addr(), size).map_err(failed)?;
    }
    if size == 0 { Ok(()) } else { submit(device, stream, size).map_err(failed) }
}

/// Creates a stream on the current device.
///
/// # Safety
/// `stream` must be null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn device_make_stream(stream: *mut diopiStreamHandle_t) -> DiopiError {
    error::call("device_make_stream", || {
        let place = support::place("stream", stream).map_err(failed)?;
        let made = streams::make()?;
        // SAFETY: it is aligned and not null, as just checked; writable by the caller's promise.
        unsafe { place.write(ptr::with_exposed_provenance_mut(made.addr())) };
        Ok(())
    })
}

/// Destroys a stream, after its work is done.
#[unsafe(no_mangle)]
pub extern "C" fn device_destroy_stream(stream: diopiStreamHandle_t) -> DiopiError {
    error::call("device_destroy_stream", || streams::destroy(Stream::from_addr(stream.expose_provenance())))
}

/// Waits for all work on a stream.
#[unsafe(no_mangle)]
pub extern "C" fn device_synchronize_stream(stream: diopiStreamHandle_t) -> DiopiError {
    error::call("device_synchronize_stream", || {
        let stream = Stream::from_addr(stream.expose_provenance());
        let device = streams::device_of(stream)?;
        library().device.synchronize_stream(device, stream).map_err(failed)
    })
}
