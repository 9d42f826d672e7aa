//! How the host learns that a stream has come to a point.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tenon::AnyPtr;
use tenon::device::{Status, StreamCallback, ffi};
use tenon::support::Kept;

use crate::error::Result;
use crate::gate::Gate;
use crate::stream::Stream;
use crate::workers;

type Job = Box<dyn FnOnce() + Send>;

static WAITING: Kept<Job> = Kept::new();

/// What devices call. The status is success unless it is written.
unsafe extern "C-unwind" fn arrived(_: ffi::C_Device, _: ffi::C_Stream, number: *mut c_void, _: *mut Status) {
    if let Some(job) = WAITING.take(number) {
        // Nothing unwinds into a device.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}

/// Has something done when the stream comes to the present end of what the device knows of it.
///
/// It may run in a thread of the device, and must be short, wait for nothing and not call the device.
pub(crate) fn when_reached(stream: &Arc<Stream>, job: impl FnOnce() + Send + 'static) -> Result<()> {
    let unit = &stream.unit;
    let number = AnyPtr::from_ptr(WAITING.put(Box::new(job)));
    // SAFETY: the function takes any number for its context, from any thread, and is part of this library.
    let callback = unsafe { StreamCallback::from_raw(Some(arrived), number) };
    if unit.ask(|device, id| device.stream_add_callback(id, stream.raw, callback)).is_ok() {
        return Ok(());
    }
    // A device without callbacks has events all the same, and a thread of ours can wait for one.
    let Some(job) = WAITING.take(number.as_ptr()) else { return Ok(()) };
    let mark = unit.take_mark()?;
    unit.on(|device, id| device.record_event(id, stream.raw, mark))?;
    let unit = unit.clone();
    let (key, gate) = Gate::shut();
    workers::run(move || {
        // A failure of earlier work is told by the stream, which is past the point nevertheless.
        let _ = unit.on(|device, id| device.synchronize_event(id, mark));
        unit.give_mark(mark);
        job();
        drop(key);
    });
    // A callback would have held the stream as long.
    stream.hold_here(gate);
    Ok(())
}

/// Has the host do something in the order of a stream, in a thread where it may take its time.
pub(crate) fn do_in_order(stream: &Arc<Stream>, job: impl FnOnce() + Send + 'static) -> Result<()> {
    let (key, gate) = Gate::shut();
    let begin = move || {
        workers::run(move || {
            job();
            drop(key);
        });
    };
    stream.submit_and_hold(move |stream| when_reached(stream, begin), gate)
}
