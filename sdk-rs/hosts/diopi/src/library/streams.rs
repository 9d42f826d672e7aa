//! The streams that the host has created, and their devices.

use std::collections::BTreeMap;
use std::sync::MutexGuard;
use tenon::support::Mutex;

use tenon::device::{DeviceId, Stream};

use super::lifecycle;
use crate::error::{Result, failed, invalid};
use crate::provider::library;

/// The device of each stream. Devices without streams use the null handle for all.
static STREAMS: Mutex<BTreeMap<Stream, DeviceId>> = Mutex::new(BTreeMap::new());

fn streams() -> MutexGuard<'static, BTreeMap<Stream, DeviceId>> {
    STREAMS.lock()
}

/// Creates a stream on the current device.
pub(crate) fn make() -> Result<Stream> {
    lifecycle::ready()?;
    let library = library();
    let device = library.device.get_device().map_err(failed)?;
    let stream = library.device.create_stream(device).map_err(failed)?;
    streams().insert(stream, device);
    Ok(stream)
}

/// Destroys a stream after its work is done.
pub(crate) fn destroy(stream: Stream) -> Result<()> {
    if lifecycle::is_stopped() {
        return Ok(());
    }
    let mut streams = streams();
    let Some(&device) = streams.get(&stream) else {
        return Err(if stream.is_null() { invalid("`stream` is null") } else { unknown(stream) });
    };
    if !stream.is_null() {
        streams.remove(&stream);
    }
    drop(streams);
    // The host may free memory that the work uses right after this call.
    let done = library().device.synchronize_stream(device, stream);
    done.and(library().device.destroy_stream(device, stream)).map_err(failed)
}

/// Returns the device of a stream. The null handle is the default stream of the current device.
pub(crate) fn device_of(stream: Stream) -> Result<DeviceId> {
    lifecycle::ready()?;
    match streams().get(&stream) {
        Some(device) => Ok(*device),
        None if stream.is_null() => library().device.get_device().map_err(failed),
        None => Err(unknown(stream)),
    }
}

#[cold]
fn unknown(stream: Stream) -> crate::error::Error {
    invalid(format!("`stream` is {:#x}, which was destroyed or never made", stream.addr()))
}

/// Forgets all streams. Called when the device destroys them.
pub(crate) fn forget() {
    streams().clear();
}
