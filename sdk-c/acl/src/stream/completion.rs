//! Completion notification: runs host code when a stream reaches a point.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tenon::AnyPtr;
use tenon::device::{Status, StreamCallback, ffi};
use tenon::support::Kept;

use crate::error::Result;
use crate::state::failures::Task;
use crate::state::stream::{HostJob, Stream};
use crate::wait::latch::Latch;
use crate::wait::workers;

type Job = Box<dyn FnOnce() + Send>;

static JOBS: Kept<Job> = Kept::new();

/// The callback that devices call. The status stays success unless it is written.
unsafe extern "C-unwind" fn completed(
    _: ffi::C_Device,
    _: ffi::C_Stream,
    number: *mut c_void,
    _: *mut Status,
) {
    if let Some(job) = JOBS.take(number) {
        // A panic must not unwind into a device.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}

/// Runs `job` when the stream has finished all work that the device has of it so far.
///
/// The job may run in a thread of the device: it must be short, and must not wait or call the device.
pub(crate) fn when_reached(stream: &Arc<Stream>, job: impl FnOnce() + Send + 'static) -> Result<()> {
    let session = &stream.session;
    let number = AnyPtr::from_ptr(JOBS.put(Box::new(job)));
    // SAFETY: the function takes any number for its context, from any thread, and is part of this library.
    let callback = unsafe { StreamCallback::from_raw(Some(completed), number) };
    if session.call_raw(|device, id| device.stream_add_callback(id, stream.raw, callback)).is_ok() {
        return Ok(());
    }
    // A device without callbacks still has events, and a worker thread can wait for one.
    let Some(job) = JOBS.take(number.as_ptr()) else { return Ok(()) };
    let event = session.take_event()?;
    session.call(|device, id| device.record_event(id, stream.raw, event))?;
    let session = session.clone();
    let (guard, latch) = Latch::closed();
    let host_job = HostJob::begin(stream.clone(), stream.epoch());
    workers::run(move || {
        // The next wait for the stream reports a failure of earlier work; the point is still reached.
        let _ = session.wait_for_event(event);
        session.return_event(event);
        job();
        drop(host_job);
        drop(guard);
    });
    // A callback of the device would hold the stream as long.
    stream.hold_here(latch);
    Ok(())
}

/// Runs `job` in stream order, in a worker thread where it may block. It should end soon once it is no longer
/// wanted; the next wait for the stream reports its failure.
pub(crate) fn run_in_order(
    stream: &Arc<Stream>,
    job: impl FnOnce(&HostJob) -> Result<()> + Send + 'static,
) -> Result<()> {
    let (guard, latch) = Latch::closed();
    let (owner, epoch, task) = (stream.clone(), stream.epoch(), Task::next());
    let begin = move || {
        // Counted here and not in the worker, so that a wait for the stream includes it.
        let host_job = HostJob::begin(owner.clone(), epoch);
        workers::run(move || {
            run_now(&owner, host_job, task, job);
            drop(guard);
        });
    };
    stream.submit_and_hold(move |stream| when_reached(stream, begin), latch)
}

fn run_now(stream: &Arc<Stream>, host_job: HostJob, task: Task, job: impl FnOnce(&HostJob) -> Result<()>) {
    let done = if host_job.is_wanted() { job(&host_job) } else { Ok(()) };
    let failure = done.err().filter(|_| host_job.is_wanted());
    // Listeners may destroy the stream, which must not wait for this job.
    drop(host_job);
    if let Some(error) = failure {
        stream.fail(task, error);
    }
}
