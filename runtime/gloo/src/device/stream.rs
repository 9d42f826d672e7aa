//! Operations in the order of a device's streams.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::mpsc;

use tenon::AnyPtr;
use tenon::device::{Device, Result, Status, Stream, StreamCallback, ffi};

use super::staging::{Staged, Staging};
use crate::communicator::{Memory, Ticket};

/// Puts operations into their stream: copies to the host, a callback that waits for the operations, and copies back.
pub(super) fn launch(
    staging: &Arc<Staging>,
    ticket: Ticket,
    memory: Vec<Memory>,
) -> std::result::Result<(), String> {
    let mut staged: Vec<Staged> =
        memory.into_iter().filter_map(|one| one.downcast().ok()).map(|one| *one).collect();
    let queued =
        if staging.waits() { run(staging, ticket, &staged) } else { queue(staging, ticket, &mut staged) };
    queued.map_err(|error| error.to_string())
}

/// Queues the operations.
fn queue(staging: &Arc<Staging>, ticket: Ticket, staged: &mut Vec<Staged>) -> Result<()> {
    let Some(stream) = staged.first().map(|one| one.stream) else { return Ok(()) };
    // Copies that are queued when a later call fails use the blocks, and nothing would say when they are done.
    let lose = |staged: &mut Vec<Staged>| staged.iter_mut().for_each(Staged::lose);
    let turn = Box::into_raw(Box::new(Turn { ticket, staging: staging.clone() }));
    let inputs = copy_inputs(staging, staged).and_then(|()| add_callback(staging, stream, wait, turn.cast()));
    if let Err(error) = inputs {
        // SAFETY: no callback was queued, so the box is still this function's. Its ticket withdraws the operations.
        drop(unsafe { Box::from_raw(turn) });
        lose(staged);
        return Err(error);
    }
    if let Err(error) = copy_outputs(staging, staged) {
        lose(staged);
        return Err(error);
    }
    let done = Box::into_raw(Box::new(std::mem::take(staged)));
    add_callback(staging, stream, release, done.cast()).inspect_err(|_| {
        // SAFETY: no callback was queued, so the box is still this function's.
        let mut staged = unsafe { Box::from_raw(done) };
        lose(&mut staged);
    })
}

/// Runs the operations while the caller waits.
fn run(staging: &Arc<Staging>, ticket: Ticket, staged: &[Staged]) -> Result<()> {
    copy_inputs(staging, staged)?;
    synchronize(staging, staged)?;
    if let Err(reason) = wait_for(ticket) {
        staging.fail(reason.clone());
        return Err(tenon::device::Error::new(Status::FAILED, reason));
    }
    copy_outputs(staging, staged)?;
    synchronize(staging, staged)
}

fn copy_inputs(staging: &Staging, staged: &[Staged]) -> Result<()> {
    let Staging { device, id, .. } = staging;
    for (stream, place) in staged.iter().flat_map(|one| one.inputs().map(move |place| (one.stream, place))) {
        device.async_memory_copy_d2h(*id, stream, place.host, place.device, place.bytes)?;
    }
    Ok(())
}

fn copy_outputs(staging: &Staging, staged: &[Staged]) -> Result<()> {
    let Staging { device, id, .. } = staging;
    for (stream, place) in staged.iter().flat_map(|one| one.outputs().map(move |place| (one.stream, place))) {
        device.async_memory_copy_h2d(*id, stream, place.device, place.host, place.bytes)?;
    }
    Ok(())
}

fn synchronize(staging: &Staging, staged: &[Staged]) -> Result<()> {
    staged.iter().try_for_each(|one| staging.device.synchronize_stream(staging.id, one.stream))
}

/// The context of the callback that waits for operations.
struct Turn {
    ticket: Ticket,
    staging: Arc<Staging>,
}

fn add_callback(
    staging: &Staging,
    stream: Stream,
    function: unsafe extern "C-unwind" fn(ffi::C_Device, ffi::C_Stream, *mut c_void, *mut Status),
    context: *mut c_void,
) -> Result<()> {
    // SAFETY: the function takes this context, once, from any thread.
    let callback = unsafe { StreamCallback::from_raw(Some(function), AnyPtr::from_ptr(context)) };
    staging.device.stream_add_callback(staging.id, stream, callback)
}

/// Waits until the operations are over.
fn wait_for(ticket: Ticket) -> std::result::Result<(), String> {
    let (say, over) = mpsc::channel();
    ticket.ready(Box::new(move |outcome| {
        // The receiver waits below.
        let _ = say.send(outcome.map_err(|error| error.to_string()));
    }));
    over.recv().unwrap_or_else(|_| Err("the communicator was destroyed".to_owned()))
}

/// Runs when the stream has come to the operations.
///
/// # Safety
/// `turn` is a box of [`Turn`], which the call owns.
unsafe extern "C-unwind" fn wait(_: ffi::C_Device, _: ffi::C_Stream, turn: *mut c_void, status: *mut Status) {
    // SAFETY: the caller's promise.
    let Turn { ticket, staging } = *unsafe { Box::from_raw(turn.cast::<Turn>()) };
    if let Err(reason) = wait_for(ticket) {
        staging.fail(reason);
        if !status.is_null() {
            // SAFETY: the device waits for the status there.
            unsafe { status.write(Status::FAILED) };
        }
    }
}

/// Runs when the stream has copied the results.
///
/// # Safety
/// `staged` is a box of a list, which the call owns.
unsafe extern "C-unwind" fn release(_: ffi::C_Device, _: ffi::C_Stream, staged: *mut c_void, _: *mut Status) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(staged.cast::<Vec<Staged>>()) });
}
