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

/// Runs a job when a device calls back. The status is success until a callback writes it.
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

/// Runs `job` after all work that was submitted to the device's stream so far.
///
/// The job may run on a thread of the device: it must be short, and must not wait or call the device.
pub(crate) fn when_reached(stream: &Arc<Stream>, job: impl FnOnce() + Send + 'static) -> Result<()> {
    let session = &stream.session;
    let number = AnyPtr::from_ptr(JOBS.put(Box::new(job)));
    // SAFETY: the function accepts any number as its context, on any thread, and is part of this library.
    let callback = unsafe { StreamCallback::from_raw(Some(completed), number) };
    if session.call_raw(|device, id| device.stream_add_callback(id, stream.raw, callback)).is_ok() {
        return Ok(());
    }
    // A device without callbacks still has events, so a worker thread waits for one.
    let Some(job) = JOBS.take(number.as_ptr()) else { return Ok(()) };
    let event = session.take_event()?;
    session.call(|device, id| device.record_event(id, stream.raw, event))?;
    let session = session.clone();
    let (guard, latch) = Latch::closed();
    let host_job = HostJob::begin(stream.clone(), stream.epoch());
    workers::run(move || {
        // The next wait for the stream reports a failure of earlier work; the stream has reached the point
        // nevertheless.
        let _ = session.wait_for_event(event);
        session.return_event(event);
        job();
        drop(host_job);
        drop(guard);
    });
    // A callback of the device would hold the stream as well.
    stream.hold_here(latch);
    Ok(())
}

/// Runs `job` in stream order, on a worker thread, where it may block. It should end soon after it is no longer
/// wanted. The next wait for the stream reports its failure.
pub(crate) fn run_in_order(
    stream: &Arc<Stream>,
    job: impl FnOnce(&HostJob) -> Result<()> + Send + 'static,
) -> Result<()> {
    let (guard, latch) = Latch::closed();
    let (owner, epoch, task) = (stream.clone(), stream.epoch(), Task::next());
    let begin = move || {
        // Begun here and not on the worker, so that a wait for the stream includes the job.
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
    // Ends the job first: listeners may destroy the stream, which waits for its jobs.
    drop(host_job);
    if let Some(error) = failure {
        stream.fail(task, error);
    }
}
