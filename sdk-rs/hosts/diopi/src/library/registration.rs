//! Registers the device functions with older hosts, which do not look up their symbols.
//!
//! The registered functions return the error code as a number. Otherwise they have the types of the symbols.

use std::ffi::{c_char, c_void};

use super::device;
use crate::error::{self, Result};
use crate::host::runtime;
use crate::runtime::{DiopiError, ffi::diopiStreamHandle_t};

/// Registers all functions that the host requests.
pub(crate) fn register() -> Result<()> {
    let host = runtime();
    // SAFETY: the functions conform to the interface, and are part of this library.
    unsafe {
        if_present(host.register_stream_create_func(Some(make_stream)))?;
        if_present(host.register_stream_destroy_func(Some(destroy_stream)))?;
        if_present(host.register_synchronize_stream_func(Some(synchronize_stream)))?;
        if_present(host.register_device_malloc_func(Some(malloc)))?;
        if_present(host.register_dev_mem_free_func(Some(free)))?;
        if_present(host.register_memcpy_h2d_async_func(Some(memcpy_h2d)))?;
        if_present(host.register_memcpy_d2h_async_func(Some(memcpy_d2h)))?;
        if_present(host.register_memcpy_d2d_async_func(Some(memcpy_d2d)))?;
        if_present(host.register_get_last_error_func(Some(last_error)))
    }
}

/// Accepts that the host lacks a function: current hosts have none of them.
fn if_present(registered: Result<()>) -> Result<()> {
    match registered {
        Err(error) if error.status == DiopiError::NO_IMPLEMENT => Ok(()),
        other => other,
    }
}

unsafe extern "C-unwind" fn make_stream(stream: *mut diopiStreamHandle_t) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { device::device_make_stream(stream) }.0
}

unsafe extern "C-unwind" fn destroy_stream(stream: diopiStreamHandle_t) -> i32 {
    device::device_destroy_stream(stream).0
}

unsafe extern "C-unwind" fn synchronize_stream(stream: diopiStreamHandle_t) -> i32 {
    device::device_synchronize_stream(stream).0
}

unsafe extern "C-unwind" fn malloc(bytes: u64) -> *mut c_void {
    device::device_malloc(bytes)
}

unsafe extern "C-unwind" fn free(ptr: *mut c_void) {
    device::device_free(ptr);
}

unsafe extern "C-unwind" fn memcpy_h2d(
    stream: diopiStreamHandle_t,
    dst: *mut c_void,
    src: *const c_void,
    bytes: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { device::device_memcpy_h2d_async(stream, dst, src, bytes) }.0
}

unsafe extern "C-unwind" fn memcpy_d2h(
    stream: diopiStreamHandle_t,
    dst: *mut c_void,
    src: *const c_void,
    bytes: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { device::device_memcpy_d2h_async(stream, dst, src, bytes) }.0
}

unsafe extern "C-unwind" fn memcpy_d2d(
    stream: diopiStreamHandle_t,
    dst: *mut c_void,
    src: *const c_void,
    bytes: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { device::device_memcpy_d2d_async(stream, dst, src, bytes) }.0
}

unsafe extern "C-unwind" fn last_error() -> *const c_char {
    error::last_message()
}
