//! The pool of an open device, and the layers that keep it consistent with calls of the device.

use std::sync::Arc;

use tenon::device::{self, Device, Function, Layer, Outcome, Stream};
use tenon::reflect::Call;
use tenon::{DevicePtr, Refusal, StatusCode as _};

use crate::call::counts::CallCounts;
use crate::devices::table::{DeviceGuard, OpenDevice};
use crate::error::Failure;
use crate::pool::Allocator;

/// Returns the pool of a device, which is created at its first use.
pub(crate) fn pool(device: &OpenDevice) -> Result<&Arc<Allocator>, Failure> {
    if let Some(pool) = device.pool.get() {
        return Ok(pool);
    }
    let counted = device.plugin.device_through(Arc::new(Counted(device.calls.clone())))?;
    let made = Arc::new(Allocator::new(counted, device.id, device.plugin.is_validated()?)?);
    // Another thread may have created a pool at the same time; the second one is empty and is dropped.
    Ok(device.pool.get_or_init(|| made))
}

/// Counts the calls that the pool makes, which do not pass through an export.
struct Counted(Arc<CallCounts>);

impl Layer for Counted {
    fn before(&self, call: &Call<'_>, _: &dyn Device) -> device::Result<u64> {
        self.0.add(Function::ALL[call.index]);
        Ok(0)
    }

    fn after(&self, _: &Call<'_>, _: u64, _: &Outcome<'_>, _: &dyn Device) {}
}

/// Retires a stream from the pool before the device destroys it. Added to the layers for one call only.
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

/// Rejects calls that free a block of the pool directly. Added to the layers for one call only.
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

/// Returns the device to use for a call that destroys a stream or frees memory; `None` for the usual
/// device.
#[cold]
pub(crate) fn before_pool(
    device: &DeviceGuard,
    function: Function,
) -> Result<Option<Arc<dyn Device>>, Failure> {
    let Some(pool) = device.pool.get() else { return Ok(None) };
    let first: Arc<dyn Layer> = match function {
        // Outermost: the pool's last calls with the stream must come before a layer marks the stream as
        // destroyed.
        Function::DestroyStream => Arc::new(RetireFirst(pool.clone())),
        _ if pool.is_direct() => Arc::new(KeepBlocks(pool.clone())),
        _ => return Ok(None),
    };
    device.plugin.device_behind(first).map(Some)
}
