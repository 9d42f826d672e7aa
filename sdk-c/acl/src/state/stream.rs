//! Streams: the device's stream, and a pending queue for work that waits at a latch.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Instant;
use tenon::support::{Condvar, Mutex};

use tenon::device;

use super::device_state::{DeviceState, Lease};
use super::failures::{Failures, Task};
use super::pending_queue::{Hold, PendingQueue, Step};
use super::session::DeviceSession;
use super::thread_slots;
use crate::api::AclError;
use crate::error::{Error, Result, refuse};
use crate::wait;
use crate::wait::latch::Latch;
use crate::wait::workers;

/// Most streams of a device.
pub(crate) const MAX_STREAMS: u32 = 2048;

type Work = Box<dyn FnOnce(&Arc<Stream>) -> Result<()> + Send>;

/// A device call that uses the stream. The stream is not destroyed before this is dropped.
struct Call<'a>(&'a Stream);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut pending = self.0.pending();
        pending.calls -= 1;
        if pending.is_destroyed {
            self.0.moved.notify_all();
        }
    }
}

/// A job that the host runs for a stream. Destroying the stream or aborting its work waits until this is dropped,
/// because the program may then free the memory that the job uses.
pub(crate) struct HostJob {
    stream: Arc<Stream>,
    /// The epoch of the stream when the job was submitted.
    epoch: u64,
}

impl HostJob {
    /// Begins a job that was submitted to the stream in `epoch`.
    pub(crate) fn begin(stream: Arc<Stream>, epoch: u64) -> Self {
        stream.pending().host_jobs += 1;
        HostJob { stream, epoch }
    }

    /// Returns false after the stream's work was aborted.
    pub(crate) fn is_wanted(&self) -> bool {
        self.stream.epoch() == self.epoch
    }
}

impl Drop for HostJob {
    fn drop(&mut self) {
        let mut pending = self.stream.pending();
        pending.host_jobs -= 1;
        if pending.host_jobs == 0 {
            self.stream.moved.notify_all();
        }
    }
}

/// A stream of the program.
pub(crate) struct Stream {
    pub(crate) handle: usize,
    /// True for the default stream of its context, which is destroyed with the context.
    pub(crate) is_default: bool,
    /// A small number, for messages and reports.
    pub(crate) id: u32,
    /// The handle of its context. Set later for a default stream, which is created before its context.
    context: AtomicUsize,
    pub(crate) session: Arc<DeviceSession>,
    pub(crate) raw: device::Stream,
    pub(crate) priority: u32,
    pub(crate) flags: u32,
    device: Arc<DeviceState>,
    failures: Arc<Failures>,
    pending: Mutex<PendingQueue<Work>>,
    /// Notified when the pending queue advances, or when an activity of the stream ends.
    moved: Condvar,
    failure: Mutex<Option<Error>>,
    pub(crate) failure_mode: AtomicU32,
    pub(crate) overflow_switch: AtomicU32,
    /// Number of times that the pending work was dropped.
    epoch: AtomicU64,
    /// Settings by name and number.
    settings: Mutex<BTreeMap<(&'static str, i64), i64>>,
}

/// A stream of the device that has no handle yet.
pub(crate) struct NewStream {
    raw: device::Stream,
    id: u32,
    device: Arc<DeviceState>,
    session: Arc<DeviceSession>,
    failures: Arc<Failures>,
}

impl NewStream {
    /// Creates a stream on the device.
    pub(crate) fn create(lease: &Lease, failures: &Arc<Failures>) -> Result<Self> {
        let (device, session) = (lease.device.clone(), lease.session.clone());
        let id = {
            let mut usage = device.usage();
            let first = device.ordinal * MAX_STREAMS;
            let id = (first..first + MAX_STREAMS).find(|id| !usage.stream_ids.contains(id));
            let Some(id) = id else {
                return refuse(
                    AclError::RT_NO_STREAM_RESOURCE,
                    format!("device {} has {MAX_STREAMS} streams, which is the maximum", device.ordinal),
                );
            };
            usage.stream_ids.insert(id);
            id
        };
        match session.call(|device, device_id| device.create_stream(device_id)) {
            Ok(raw) => Ok(NewStream { raw, id, device, session, failures: failures.clone() }),
            Err(error) => {
                device.usage().stream_ids.remove(&id);
                Err(Error::new(AclError::RT_NO_STREAM_RESOURCE, error.message.clone()))
            }
        }
    }

    /// Gives the stream a handle and a context.
    pub(crate) fn finish(self, handle: usize, context: usize, priority: u32, flags: u32) -> Stream {
        Stream {
            handle,
            is_default: false,
            id: self.id,
            context: AtomicUsize::new(context),
            session: self.session,
            raw: self.raw,
            priority,
            flags,
            device: self.device,
            failures: self.failures,
            pending: Mutex::default(),
            moved: Condvar::new(),
            failure: Mutex::default(),
            failure_mode: AtomicU32::new(0),
            overflow_switch: AtomicU32::new(0),
            epoch: AtomicU64::new(0),
            settings: Mutex::default(),
        }
    }

    /// Gives the stream a handle, as the default stream of a context that is created next.
    pub(crate) fn finish_default(self, handle: usize) -> Stream {
        Stream { is_default: true, ..self.finish(handle, 0, 0, 0) }
    }
}

/// Returns the error for the case that all stream handles are in use.
#[cold]
pub(crate) fn too_many_streams() -> Error {
    Error::new(AclError::RT_NO_STREAM_RESOURCE, "16 million streams exist already")
}

impl Stream {
    /// Returns the handle of its context.
    pub(crate) fn context(&self) -> usize {
        self.context.load(Ordering::Relaxed)
    }

    /// Sets the context of a default stream.
    pub(crate) fn set_context(&self, context: usize) {
        self.context.store(context, Ordering::Relaxed);
    }

    /// Submits work to the device, in stream order.
    ///
    /// The work runs at once, or later on another thread if the stream waits at a latch. The next wait for the stream
    /// reports a failure that happens later.
    pub(crate) fn submit(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Stream>) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        thread_slots::count_task();
        {
            let mut pending = self.pending();
            if !pending.is_free() {
                pending.push(Step::Work(Task::last(), Box::new(work)));
                return Ok(());
            }
        }
        self.run(work)
    }

    /// Submits work to the device, after waiting for the latches that hold the stream.
    pub(crate) fn submit_now(self: &Arc<Self>, work: impl FnOnce(&Arc<Stream>) -> Result<()>) -> Result<()> {
        thread_slots::count_task();
        // Another thread may have held the stream again in the meantime.
        while !self.pending().is_free() {
            self.settle(None)?;
        }
        self.run(work)
    }

    /// Runs work that calls the device.
    fn run(self: &Arc<Self>, work: impl FnOnce(&Arc<Stream>) -> Result<()>) -> Result<()> {
        let _call = self.call()?;
        work(self)
    }

    /// Begins a device call that uses the stream.
    fn call(&self) -> Result<Call<'_>> {
        let mut pending = self.pending();
        if pending.is_destroyed {
            return refuse(
                AclError::RT_INVALID_HANDLE,
                format!("stream {} was destroyed by another thread in the meantime", self.id),
            );
        }
        pending.calls += 1;
        Ok(Call(self))
    }

    /// Holds work that is submitted from now on until the latch opens.
    pub(crate) fn submit_latch(self: &Arc<Self>, latch: Arc<Latch>) {
        let mut pending = self.pending();
        if !pending.is_free() {
            pending.push(Step::Latch(latch));
        } else if self.waits_for(&latch) {
            pending.hold_at(latch);
        }
    }

    /// Submits work, and holds work that is submitted after it until the latch opens.
    ///
    /// Unlike with two calls, the stream is held before the device can complete the work. So a callback from the work
    /// finds the stream held.
    pub(crate) fn submit_and_hold(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Stream>) -> Result<()> + Send + 'static,
        latch: Arc<Latch>,
    ) -> Result<()> {
        thread_slots::count_task();
        {
            let mut pending = self.pending();
            if !pending.is_free() {
                pending.push(Step::Work(Task::last(), Box::new(work)));
                pending.push(Step::Latch(latch));
                return Ok(());
            }
            pending.entered += 1;
            pending.hold = Hold::Draining;
        }
        let done = self.run(work);
        if done.is_err() || !self.stop_at(latch) {
            self.drain();
        }
        done
    }

    /// Holds the work after the running step until the latch opens.
    pub(crate) fn hold_here(self: &Arc<Self>, latch: Arc<Latch>) {
        let mut pending = self.pending();
        if !pending.is_free() {
            // Not counted as entered: a wait for the running step includes this latch.
            pending.steps.push_front(Step::Latch(latch));
        } else if self.waits_for(&latch) {
            pending.hold_at(latch);
        }
    }

    /// Advances the stream when the latch opens. Returns false if it is already open.
    fn waits_for(self: &Arc<Self>, latch: &Arc<Latch>) -> bool {
        let (stream, opened) = (self.clone(), latch.clone());
        latch.when_open(move || stream.advance(&opened))
    }

    /// Drains the pending queue, if it was held by this latch.
    fn advance(self: &Arc<Self>, opened: &Latch) {
        {
            let mut pending = self.pending();
            match &pending.hold {
                Hold::Latched(latch) if std::ptr::eq(&**latch, opened) => pending.hold = Hold::Draining,
                // The queue was dropped in the meantime.
                _ => return,
            }
        }
        self.drain();
    }

    /// Submits the pending queue to the device, up to the next closed latch.
    fn drain(self: &Arc<Self>) {
        while let Some(step) = self.next_step() {
            match step {
                Step::Work(task, work) => {
                    if let Err(error) = self.run(work) {
                        self.fail_later(task, error);
                    }
                }
                Step::Latch(latch) => {
                    if self.stop_at(latch) {
                        return;
                    }
                }
            }
        }
    }

    /// Stops at a latch. Returns false if the latch is already open.
    fn stop_at(self: &Arc<Self>, latch: Arc<Latch>) -> bool {
        let mut pending = self.pending();
        let is_closed = self.waits_for(&latch);
        if is_closed {
            pending.hold = Hold::Latched(latch);
        }
        is_closed
    }

    fn next_step(&self) -> Option<Step<Work>> {
        let mut pending = self.pending();
        let step = pending.steps.pop_front();
        if step.is_none() {
            pending.hold = Hold::Free;
        }
        self.moved.notify_all();
        step
    }

    /// Waits until all work so far is submitted to the device. Returns false if the deadline passes first.
    pub(crate) fn settle(&self, until: Option<Instant>) -> Result<bool> {
        let mut pending = self.pending();
        let target = pending.entered;
        if pending.passed() < target && thread_slots::held_stream() == self.handle {
            return refuse(
                AclError::RT_INTERNAL_ERROR,
                "the callback that holds this stream would wait for itself",
            );
        }
        while pending.passed() < target {
            pending = match until {
                None => self.moved.wait(pending),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(false);
                    }
                    self.moved.wait_timeout(pending, left).0
                }
            };
        }
        Ok(true)
    }

    /// Waits until all work submitted so far is complete. Returns false if the deadline passes first.
    ///
    /// # Errors
    /// The first failure of the stream's work since the last wait.
    pub(crate) fn synchronize(&self, until: Option<Instant>) -> Result<bool> {
        if !self.settle(until)? {
            return Ok(false);
        }
        // The call that destroyed the stream has already waited for it.
        let Ok(_call) = self.call() else { return Ok(true) };
        let done = match until {
            None => true,
            Some(until) => {
                wait::poll(until, || self.session.call(|device, id| device.query_stream(id, self.raw)))?
            }
        };
        if done {
            // Called even if the stream is idle, because a device reports failures through this call.
            let waited = self.session.call(|device, id| device.synchronize_stream(id, self.raw));
            if let Some(failure) = self.take_failure() {
                return Err(failure);
            }
            waited.map_err(|error| Error::new(AclError::RT_INTERNAL_ERROR, error.message.clone()))?;
        }
        Ok(done)
    }

    /// Returns true if all submitted work is complete. Does not wait.
    pub(crate) fn is_done(&self) -> Result<bool> {
        {
            let pending = self.pending();
            if !pending.is_free() {
                return Ok(false);
            }
        }
        let _call = self.call()?;
        self.session.call(|device, id| device.query_stream(id, self.raw))
    }

    /// Settings by name and number.
    pub(crate) fn settings(&self) -> MutexGuard<'_, BTreeMap<(&'static str, i64), i64>> {
        self.settings.lock()
    }

    /// Returns the epoch, which changes whenever pending work is dropped.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Drops the work that is not yet submitted to the device. Running host jobs end soon;
    /// [`finish_dropped`](Self::finish_dropped) waits for them.
    pub(crate) fn drop_pending(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        let dropped = {
            let mut pending = self.pending();
            if let Hold::Latched(_) = pending.hold {
                pending.hold = Hold::Free;
            }
            std::mem::take(&mut pending.steps)
        };
        self.moved.notify_all();
        // This also drops the latch guards in the work, so that nothing waits for work that never runs.
        drop(dropped);
    }

    /// Waits for work that was submitted to the device, and for running host jobs.
    pub(crate) fn finish_dropped(&self) -> Result<()> {
        let waited = self.synchronize(None).map(drop);
        let mut pending = self.pending();
        while pending.host_jobs > 0 {
            pending = self.moved.wait(pending);
        }
        waited
    }

    /// Stores a failure until the next wait for the stream, and reports it to the program's listeners.
    ///
    /// Calls the listeners, so it must not be called under a lock or on a thread of the device.
    pub(crate) fn fail(&self, task: Task, error: Error) {
        let code = error.status;
        self.keep_failure(error);
        self.failures.report(code, task, self.id, self.session.ordinal);
    }

    /// Stores a failure, and reports it to the listeners on another thread.
    fn fail_later(self: &Arc<Self>, task: Task, error: Error) {
        let code = error.status;
        self.keep_failure(error);
        if self.failures.has_listeners() {
            let stream = self.clone();
            workers::run(move || stream.failures.report(code, task, stream.id, stream.session.ordinal));
        }
    }

    /// Stores the first failure until the next wait for the stream.
    fn keep_failure(&self, error: Error) {
        self.failure.lock().get_or_insert(error);
    }

    fn take_failure(&self) -> Option<Error> {
        self.failure.lock().take()
    }

    /// Destroys the device's stream. Its handle was already removed.
    pub(crate) fn destroy(&self) -> Result<()> {
        self.pending().is_destroyed = true;
        // Another thread may have submitted work after the wait.
        self.drop_pending();
        {
            let mut pending = self.pending();
            while pending.calls + pending.host_jobs > 0 {
                pending = self.moved.wait(pending);
            }
        }
        let destroyed = self.session.call(|device, id| device.destroy_stream(id, self.raw));
        self.device.usage().stream_ids.remove(&self.id);
        destroyed
    }

    fn pending(&self) -> MutexGuard<'_, PendingQueue<Work>> {
        self.pending.lock()
    }
}
