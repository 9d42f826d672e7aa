//! How the host learns that a stream has come to a point.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tenon::AnyPtr;
use tenon::device::{Status, StreamCallback, ffi};
use tenon::support::Kept;

use crate::error::Result;
use crate::exception::Task;
use crate::gate::Gate;
use crate::stream::{HostWork, Stream};
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
    let work = HostWork::begin(stream.clone(), stream.epoch());
    workers::run(move || {
        // A failure of earlier work is told by the stream, which is past the point nevertheless.
        let _ = unit.wait_for(mark);
        unit.give_mark(mark);
        job();
        drop(work);
        drop(key);
    });
    // A callback would have held the stream as long.
    stream.hold_here(gate);
    Ok(())
}

/// Has the host do something in the order of a stream, in a thread where it may take its time. It is to end soon once it is
/// not wanted any more; what fails until then is told by the stream.
pub(crate) fn do_in_order(
    stream: &Arc<Stream>,
    job: impl FnOnce(&HostWork) -> Result<()> + Send + 'static,
) -> Result<()> {
    let (key, gate) = Gate::shut();
    let (behind, epoch, task) = (stream.clone(), stream.epoch(), Task::next());
    let begin = move || {
        // Here, and not where it runs: whoever waits for the device has it counted then.
        let work = HostWork::begin(behind.clone(), epoch);
        workers::run(move || {
            do_now(&behind, work, task, job);
            drop(key);
        });
    };
    stream.submit_and_hold(move |stream| when_reached(stream, begin), gate)
}

fn do_now(stream: &Arc<Stream>, work: HostWork, task: Task, job: impl FnOnce(&HostWork) -> Result<()>) {
    let done = if work.is_wanted() { job(&work) } else { Ok(()) };
    let failure = done.err().filter(|_| work.is_wanted());
    // Functions of the program that are told may end the stream, and do not wait for themselves.
    drop(work);
    if let Some(error) = failure {
        stream.exceptions.fail(stream, task, error);
    }
}
