//! Memory out of a device's pool: as buffers, which are handles, and as plain addresses.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tenon::device::{self, Device, Function, Layer, Outcome, Stream, ffi};
use tenon::reflect::Call;
use tenon::{DevicePtr, Refusal, StatusCode as _};

use crate::call::{export, export_on, fail};
use crate::call_counts::CallCounts;
use crate::device_table::{DeviceGuard, OpenDevice};
use crate::error::Failure;
use crate::handles::{HandleKind, Handles};
use crate::pool::{Allocator, PoolError, PoolStatistics};
use crate::text::place;
use crate::{BufferHandle, DeviceHandle, Status};

static BUFFERS: Handles<Buffer> = Handles::new(HandleKind::Buffer);

/// Memory of a device with its length.
struct Buffer {
    device: usize,
    address: DevicePtr,
    size: usize,
}

/// Takes the handles of a device's buffers away; their memory goes with the pool.
pub(crate) fn forget(device: usize) {
    BUFFERS.table.remove_all(|buffer| buffer.device == device);
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::TooLarge { size } | PoolError::OutOfMemory { size } => {
                Failure::OutOfMemory { bytes: size }
            }
            PoolError::HostMemory => Failure::new(Status::OUT_OF_MEMORY, error.to_string()),
            PoolError::Unknown { .. } | PoolError::Inside { .. } | PoolError::Free { .. } => {
                Failure::invalid(error.to_string())
            }
            PoolError::Device(error) => Failure::Device(error),
        }
    }
}

/// The pool of a device, made at its first use.
fn pool(device: &OpenDevice) -> Result<&Arc<Allocator>, Failure> {
    if let Some(pool) = device.pool.get() {
        return Ok(pool);
    }
    let counted = device.plugin.device_through(Arc::new(Counted(device.calls.clone())))?;
    let made = Arc::new(Allocator::new(counted, device.id, device.plugin.is_validated()?)?);
    // Two threads may both have made one; the second one is empty and goes.
    Ok(device.pool.get_or_init(|| made))
}

/// Counts the calls of the pool, which go by no export.
struct Counted(Arc<CallCounts>);

impl Layer for Counted {
    fn before(&self, call: &Call<'_>, _: &dyn Device) -> device::Result<u64> {
        self.0.add(Function::ALL[call.index]);
        Ok(0)
    }

    fn after(&self, _: &Call<'_>, _: u64, _: &Outcome<'_>, _: &dyn Device) {}
}

/// Retires a stream from the pool before the device destroys it. Used for one call only.
struct RetireFirst(Arc<Allocator>);

impl Layer for RetireFirst {
    fn before(&self, call: &Call<'_>, _: &dyn Device) -> device::Result<u64> {
        if let Some(stream) = call.argument("stream") {
            self.0.retire(Stream::from_addr(stream as usize));
        }
        Ok(0)
    }

    fn after(&self, _: &Call<'_>, _: u64, _: &Outcome<'_>, _: &dyn Device) {}
}

/// Refuses to free blocks of the pool other than by the pool. Used for one call only.
struct KeepBlocks(Arc<Allocator>);

impl Layer for KeepBlocks {
    fn before(&self, call: &Call<'_>, _: &dyn Device) -> device::Result<u64> {
        match call.argument("ptr") {
            Some(ptr) if self.0.is_block(DevicePtr::from_addr(ptr as usize)) => {
                let message = format!(
                    "{ptr:#x} is a block of the pool: `tenon_pool_free` or `tenon_buffer_destroy` frees it"
                );
                let refusal = Refusal { layer: "pool".into(), rule: None, code: None };
                Err(device::Error::refused(device::Status::INVALID_ARGUMENT, message, refusal))
            }
            _ => Ok(0),
        }
    }

    fn after(&self, _: &Call<'_>, _: u64, _: &Outcome<'_>, _: &dyn Device) {}
}

/// The device for a call that destroys a stream or frees memory; `None`: the usual one, since no pool has to see it.
#[cold]
pub(crate) fn before_pool(
    device: &DeviceGuard,
    function: Function,
) -> Result<Option<Arc<dyn Device>>, Failure> {
    let Some(pool) = device.pool.get() else { return Ok(None) };
    let first: Arc<dyn Layer> = match function {
        // Outermost: what the pool still calls with the stream must come before any layer takes it for destroyed.
        Function::DestroyStream => Arc::new(RetireFirst(pool.clone())),
        _ if pool.is_direct() => Arc::new(KeepBlocks(pool.clone())),
        _ => return Ok(None),
    };
    device.plugin.device_behind(first).map(Some)
}

/// Takes memory for work on a stream.
///
/// The content is undefined. The pool keeps what is freed and hands it out again; the device is asked only when there is
/// nothing at hand.
///
/// @param[in] device The device.
/// @param[in] size Length in bytes; 0 is a block too.
/// @param[in] stream The stream that uses it; `null`: the default stream.
/// @param[out] ptr The address, aligned for every data type.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_OUT_OF_MEMORY The device has no more, also after the pool has given back what it kept.
/// @retval TENON_INVALID_HANDLE It is no open device.
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
        let address = pool(open)?.allocate(size, Stream::from_raw(stream))?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { ptr.write(address.as_ptr()) };
        Ok(())
    })
}

/// Gives memory of #tenon_pool_allocate back.
///
/// Work that was queued on the stream before may still use it. Work on other streams must be done, or come before in
/// some order. The stream may have it again at once, other streams when this one has passed the point.
///
/// @param[in] device The device.
/// @param[in] ptr The address; `null` is left alone.
/// @param[in] stream The stream that used it last; `null`: the default stream.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE It is no open device.
/// @retval TENON_INVALID_ARGUMENT The pool has not given this address, or has it back already.
/// @par Threads
///     Any thread, also several at once.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_pool_free(device: DeviceHandle, ptr: *mut c_void, stream: ffi::C_Stream) -> Status {
    export_on("tenon_pool_free", device, |open| {
        Ok(pool(open)?.free(DevicePtr::from_ptr(ptr), Stream::from_raw(stream))?)
    })
}

/// Tells what the pool of a device has and has done.
///
/// @param[in] device The device.
/// @param[out] statistics The figures; while other threads allocate and free, of slightly different moments.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE It is no open device.
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

/// Gives memory that is not in use back to the device.
///
/// @param[in] device The device.
/// @param[in] keep How many bytes may stay.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE It is no open device.
/// @retval other What the plugin answered; what it did not take stays in the pool.
/// @par Threads
///     Any thread, also several at once.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_pool_trim(device: DeviceHandle, keep: usize) -> Status {
    export_on("tenon_pool_trim", device, |open| Ok(pool(open)?.trim(keep).map(drop)?))
}

/// Makes a buffer: memory out of the pool, with a handle that is looked up.
///
/// @param[in] device The device.
/// @param[in] size Length in bytes; 0 is a buffer too.
/// @param[in] stream The stream that uses it; `null`: the default stream.
/// @param[out] buffer The buffer.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_OUT_OF_MEMORY The device has no more, also after the pool has given back what it kept.
/// @retval TENON_INVALID_HANDLE It is no open device.
/// @retval TENON_INVALID_ARGUMENT [C] `buffer` is `null`.
/// @retval TENON_BUSY There are 16 million buffers.
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
        let (pool, stream) = (pool(open)?, Stream::from_raw(stream));
        let address = pool.allocate(size, stream)?;
        let made = BUFFERS.insert_with(|_| Buffer { device: open.handle, address, size });
        let (handle, _) = made.inspect_err(|_| {
            // It was just given, so it is taken back.
            let _ = pool.free(address, stream);
        })?;
        open.buffers.fetch_add(1, Ordering::AcqRel);
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { buffer.write(BufferHandle(handle)) };
        Ok(())
    })
}

/// Gives a buffer back.
///
/// @param[in] buffer The buffer; its handle leads nowhere afterwards.
/// @param[in] stream The stream that used it last, with the rules of #tenon_pool_free.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE It is no buffer.
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

/// Tells where a buffer begins.
///
/// @param[in] buffer The buffer.
/// @param[out] address The address, on the device.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE It is no buffer.
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

/// Tells how long a buffer is.
///
/// @param[in] buffer The buffer.
/// @param[out] size The length in bytes, as it was asked for.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE It is no buffer.
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

/// Tells which device a buffer is of.
///
/// @param[in] buffer The buffer.
/// @param[out] device The device.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE It is no buffer.
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
