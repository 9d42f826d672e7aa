//! Memory from a device's pool: as buffers, which are handles, and as plain addresses.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use tenon::DevicePtr;
use tenon::device::{Stream, ffi};

use crate::call::text::place;
use crate::call::{export, export_on, fail, need_room};
use crate::devices::pool::pool;
use crate::handles::{HandleKind, Handles};
use crate::pool::PoolStatistics;
use crate::{BufferHandle, DeviceHandle, Status};

static BUFFERS: Handles<Buffer> = Handles::new(HandleKind::Buffer);

/// Memory of a device with its length.
struct Buffer {
    device: usize,
    address: DevicePtr,
    size: usize,
}

/// Removes the handles of a device's buffers. Their memory is freed with the pool.
pub(crate) fn forget(device: usize) {
    BUFFERS.table.remove_all(|buffer| buffer.device == device);
}

/// Allocates memory from the pool, for work on a stream.
///
/// The content is undefined. The pool reuses freed memory, and allocates from the device only if it has none
/// that fits.
///
/// @param[in] device The device.
/// @param[in] size Length in bytes; may be 0.
/// @param[in] stream The stream that uses it; `null`: the default stream.
/// @param[out] ptr The address, which is aligned for every data type.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_OUT_OF_MEMORY The device is out of memory, even after the pool has released its cached
/// memory.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval TENON_INVALID_ARGUMENT [C] `ptr` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `ptr` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_pool_allocate(
    device: DeviceHandle,
    size: usize,
    stream: ffi::C_Stream,
    ptr: *mut *mut c_void,
) -> Status {
    export_on("tenon_pool_allocate", device, |open| {
        let ptr = place("ptr", ptr)?;
        need_room()?;
        let address = pool(open)?.allocate(size, Stream::from_raw(stream))?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { ptr.write(address.as_ptr()) };
        Ok(())
    })
}

/// Frees memory of #tenon_pool_allocate.
///
/// Work that was queued on the stream before may still use the memory. Work on other streams must have
/// completed, or be ordered before this point of the stream, for example by an event. The same stream may
/// reuse the memory at once; other streams may reuse it after this stream has passed the point.
///
/// @param[in] device The device.
/// @param[in] ptr The address; `null` does nothing.
/// @param[in] stream The stream that used the memory last; `null`: the default stream.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval TENON_INVALID_ARGUMENT The address is not from this pool, or was freed before.
/// @par Threads
///     Any thread, also several at once.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_pool_free(device: DeviceHandle, ptr: *mut c_void, stream: ffi::C_Stream) -> Status {
    export_on("tenon_pool_free", device, |open| {
        Ok(pool(open)?.free(DevicePtr::from_ptr(ptr), Stream::from_raw(stream))?)
    })
}

/// Gets the statistics of a device's pool.
///
/// @param[in] device The device.
/// @param[out] statistics The statistics. While other threads allocate and free, the figures may be from
/// slightly different moments.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval TENON_INVALID_ARGUMENT [C] `statistics` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `statistics` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_pool_get_statistics(
    device: DeviceHandle,
    statistics: *mut PoolStatistics,
) -> Status {
    export_on("tenon_pool_get_statistics", device, |open| {
        let statistics = place("statistics", statistics)?;
        let found = pool(open)?.statistics();
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { statistics.write(found) };
        Ok(())
    })
}

/// Returns unused memory of the pool to the device.
///
/// @param[in] device The device.
/// @param[in] keep The number of unused bytes that the pool may keep.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval other The status that the plugin returned; memory that it failed to free stays in the pool.
/// @par Threads
///     Any thread, also several at once.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_pool_trim(device: DeviceHandle, keep: usize) -> Status {
    export_on("tenon_pool_trim", device, |open| Ok(pool(open)?.trim(keep).map(drop)?))
}

/// Creates a buffer: memory from the pool, with a handle.
///
/// @param[in] device The device.
/// @param[in] size Length in bytes; may be 0.
/// @param[in] stream The stream that uses it; `null`: the default stream.
/// @param[out] buffer The buffer.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_OUT_OF_MEMORY The device is out of memory, even after the pool has released its cached
/// memory.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval TENON_INVALID_ARGUMENT [C] `buffer` is `null`.
/// @retval TENON_BUSY 16 million buffers exist already.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `buffer` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_buffer_create(
    device: DeviceHandle,
    size: usize,
    stream: ffi::C_Stream,
    buffer: *mut BufferHandle,
) -> Status {
    export_on("tenon_buffer_create", device, |open| {
        let buffer = place("buffer", buffer)?;
        need_room()?;
        let (pool, stream) = (pool(open)?, Stream::from_raw(stream));
        let address = pool.allocate(size, stream)?;
        let made = BUFFERS.insert_with(|_| Buffer { device: open.handle, address, size });
        let (handle, _) = made.inspect_err(|_| {
            // The address was just allocated, so the free cannot fail.
            let _ = pool.free(address, stream);
        })?;
        open.buffers.fetch_add(1, Ordering::AcqRel);
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { buffer.write(BufferHandle(handle)) };
        Ok(())
    })
}

/// Destroys a buffer and frees its memory.
///
/// @param[in] buffer The buffer; its handle is invalid afterwards.
/// @param[in] stream The stream that used the buffer last, with the rules of #tenon_pool_free.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `buffer` is not a live buffer.
/// @par Threads
///     Any thread, also several at once.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_buffer_destroy(buffer: BufferHandle, stream: ffi::C_Stream) -> Status {
    const NAME: &str = "tenon_buffer_destroy";
    let device = match BUFFERS.get(buffer.0) {
        Ok(buffer) => buffer.device,
        Err(failure) => return fail(NAME, None, None, None, failure),
    };
    export_on(NAME, DeviceHandle(device), |open| {
        let gone = BUFFERS.remove_if(buffer.0, |_| Ok(()))?;
        open.buffers.fetch_sub(1, Ordering::AcqRel);
        Ok(pool(open)?.free(gone.address, Stream::from_raw(stream))?)
    })
}

/// Gets the address of a buffer.
///
/// @param[in] buffer The buffer.
/// @param[out] address The address in device memory.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `buffer` is not a live buffer.
/// @retval TENON_INVALID_ARGUMENT [C] `address` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `address` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_buffer_address(buffer: BufferHandle, address: *mut *mut c_void) -> Status {
    export("tenon_buffer_address", || {
        let found = BUFFERS.with(buffer.0, |buffer| buffer.address)?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { place("address", address)?.write(found.as_ptr()) };
        Ok(())
    })
}

/// Gets the size of a buffer.
///
/// @param[in] buffer The buffer.
/// @param[out] size The requested length in bytes.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `buffer` is not a live buffer.
/// @retval TENON_INVALID_ARGUMENT [C] `size` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `size` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_buffer_size(buffer: BufferHandle, size: *mut usize) -> Status {
    export("tenon_buffer_size", || {
        let found = BUFFERS.with(buffer.0, |buffer| buffer.size)?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { place("size", size)?.write(found) };
        Ok(())
    })
}

/// Gets the device of a buffer.
///
/// @param[in] buffer The buffer.
/// @param[out] device The device.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `buffer` is not a live buffer.
/// @retval TENON_INVALID_ARGUMENT [C] `device` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `device` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_buffer_device(buffer: BufferHandle, device: *mut DeviceHandle) -> Status {
    export("tenon_buffer_device", || {
        let found = BUFFERS.with(buffer.0, |buffer| buffer.device)?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { place("device", device)?.write(DeviceHandle(found)) };
        Ok(())
    })
}
