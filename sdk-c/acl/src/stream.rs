//! Streams: what the device runs in order, and in front of that a line for what has to wait for a gate.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tenon::device;

use crate::api::AclError;
use crate::error::{Error, Result, refuse};
use crate::exception::{Exceptions, Task};
use crate::gate::Gate;
use crate::home::{Home, Unit};
use crate::{thread, wait};

/// How many streams a device may have.
pub(crate) const MOST: u32 = 2048;

type Work = Box<dyn FnOnce(&Arc<Stream>) -> Result<()> + Send>;

enum Step {
    Work(Task, Work),
    Gate(Arc<Gate>),
}

/// Why work does not go to the device at once.
#[derive(Default)]
enum Hold {
    #[default]
    Free,
    /// The gate at the head of the line is shut.
    At(Arc<Gate>),
    /// A thread takes the line to the device.
    Moving,
}

/// Work that the device does not know of yet. It is empty, and nothing is held, unless there is a gate.
#[derive(Default)]
struct Line {
    hold: Hold,
    steps: VecDeque<Step>,
    /// How many steps ever came into the line.
    entered: u64,
    /// How many calls to the device are under way that name the stream.
    calls: usize,
    /// How much of the host's work for the stream has begun and is not over.
    works: usize,
    /// Whether the device has it back, or soon will.
    is_gone: bool,
}

/// A call to the device that names a stream, which is not destroyed before this is dropped.
struct Call<'a>(&'a Stream);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut line = self.0.line();
        line.calls -= 1;
        if line.is_gone {
            self.0.moved.notify_all();
        }
    }
}

/// Work that the host does for a stream. Whoever ends the stream or throws its work away waits until this is dropped, since
/// the program may take back what the work uses then.
pub(crate) struct HostWork {
    stream: Arc<Stream>,
    /// The stream's when it was given the work.
    epoch: u64,
}

impl HostWork {
    /// Begins work that the stream was given in an epoch.
    pub(crate) fn begin(stream: Arc<Stream>, epoch: u64) -> Self {
        stream.line().works += 1;
        HostWork { stream, epoch }
    }

    /// Whether the work was not thrown away since.
    pub(crate) fn is_wanted(&self) -> bool {
        self.stream.epoch() == self.epoch
    }
}

impl Drop for HostWork {
    fn drop(&mut self) {
        let mut line = self.stream.line();
        line.works -= 1;
        if line.works == 0 {
            self.stream.moved.notify_all();
        }
    }
}

impl Line {
    fn is_free(&self) -> bool {
        matches!(self.hold, Hold::Free)
    }

    /// How many of the steps are over.
    ///
    /// One that turned out to need a gate of its own, see [`Stream::hold_here`], is not over before that is open.
    fn passed(&self) -> u64 {
        self.entered.saturating_sub(self.steps.len() as u64 + u64::from(!self.is_free()))
    }
}

/// A stream of the program's.
pub(crate) struct Stream {
    pub(crate) handle: usize,
    /// Whether it is the default stream of its context, which goes with that.
    pub(crate) is_default: bool,
    /// A small number, for people.
    pub(crate) id: u32,
    /// The context that it belongs to. A default stream is made before its context.
    pub(crate) context: AtomicUsize,
    pub(crate) unit: Arc<Unit>,
    pub(crate) raw: device::Stream,
    pub(crate) priority: u32,
    pub(crate) flags: u32,
    home: Arc<Home>,
    /// Who is told what fails after the call that has queued it.
    pub(crate) exceptions: Arc<Exceptions>,
    line: Mutex<Line>,
    moved: Condvar,
    failure: Mutex<Option<Error>>,
    pub(crate) failure_mode: AtomicU32,
    pub(crate) overflow_switch: AtomicU32,
    /// How often what the device did not know of yet was thrown away.
    epoch: AtomicU64,
    /// Figures that a program sets and reads, by what they are called.
    settings: Mutex<BTreeMap<(&'static str, i64), i64>>,
}

/// What a stream is made from.
pub(crate) struct Making {
    raw: device::Stream,
    id: u32,
    home: Arc<Home>,
    unit: Arc<Unit>,
    exceptions: Arc<Exceptions>,
}

impl Making {
    /// Has the device make a stream.
    pub(crate) fn begin(home: &Arc<Home>, unit: &Arc<Unit>, exceptions: &Arc<Exceptions>) -> Result<Self> {
        let id = {
            let mut state = home.state();
            let first = home.ordinal * MOST;
            let id = (first..first + MOST).find(|id| !state.stream_ids.contains(id));
            let Some(id) = id else {
                return refuse(
                    AclError::RT_NO_STREAM_RESOURCE,
                    format!("device {} has {MOST} streams, and no more", home.ordinal),
                );
            };
            state.stream_ids.insert(id);
            id
        };
        match unit.on(|device, device_id| device.create_stream(device_id)) {
            Ok(raw) => {
                let (home, unit, exceptions) = (home.clone(), unit.clone(), exceptions.clone());
                Ok(Making { raw, id, home, unit, exceptions })
            }
            Err(error) => {
                home.state().stream_ids.remove(&id);
                Err(Error::new(AclError::RT_NO_STREAM_RESOURCE, error.message.clone()))
            }
        }
    }

    /// The stream, under its handle and in its context.
    pub(crate) fn finish(self, handle: usize, context: usize, priority: u32, flags: u32) -> Stream {
        Stream {
            handle,
            is_default: false,
            id: self.id,
            context: AtomicUsize::new(context),
            unit: self.unit,
            raw: self.raw,
            priority,
            flags,
            home: self.home,
            exceptions: self.exceptions,
            line: Mutex::default(),
            moved: Condvar::new(),
            failure: Mutex::default(),
            failure_mode: AtomicU32::new(0),
            overflow_switch: AtomicU32::new(0),
            epoch: AtomicU64::new(0),
            settings: Mutex::default(),
        }
    }
}

impl Making {
    /// The default stream of a context that is still to be made.
    pub(crate) fn finish_default(self, handle: usize) -> Stream {
        Stream { is_default: true, ..self.finish(handle, 0, 0, 0) }
    }
}

/// What is said when there is no handle for a stream.
#[cold]
pub(crate) fn too_many() -> Error {
    Error::new(AclError::RT_NO_STREAM_RESOURCE, "a million streams are alive")
}

impl Stream {
    /// The context that it belongs to.
    pub(crate) fn context(&self) -> usize {
        self.context.load(Ordering::Relaxed)
    }

    /// Gives work to the device, behind all that the stream was given before.
    ///
    /// The work is done at once, or later and by another thread if the stream waits at a gate; what fails then is told by
    /// the next wait for the stream.
    pub(crate) fn submit(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Stream>) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        thread::count_task();
        {
            let mut line = self.line();
            if !line.is_free() {
                line.entered += 1;
                line.steps.push_back(Step::Work(Task::last(), Box::new(work)));
                return Ok(());
            }
        }
        self.run(work)
    }

    /// Gives work to the device as [`submit`](Self::submit) does, but before it returns: it waits for what holds the stream.
    pub(crate) fn submit_now(self: &Arc<Self>, work: impl FnOnce(&Arc<Stream>) -> Result<()>) -> Result<()> {
        thread::count_task();
        // Another thread may hold the stream again meanwhile.
        while !self.line().is_free() {
            self.settle(None)?;
        }
        self.run(work)
    }

    /// Runs work that calls the device.
    fn run(self: &Arc<Self>, work: impl FnOnce(&Arc<Stream>) -> Result<()>) -> Result<()> {
        let _call = self.call()?;
        work(self)
    }

    /// Keeps the stream from being destroyed while the device is called with it.
    fn call(&self) -> Result<Call<'_>> {
        let mut line = self.line();
        if line.is_gone {
            return refuse(
                AclError::RT_INVALID_HANDLE,
                format!("stream {} was destroyed meanwhile, by another thread", self.id),
            );
        }
        line.calls += 1;
        Ok(Call(self))
    }

    /// Holds what the stream is given from now on until the gate is open.
    pub(crate) fn submit_gate(self: &Arc<Self>, gate: Arc<Gate>) {
        let mut line = self.line();
        if !line.is_free() {
            line.entered += 1;
            line.steps.push_back(Step::Gate(gate));
        } else if gate.hold(self) {
            line.entered += 1;
            line.hold = Hold::At(gate);
        }
    }

    /// Gives work to the device, and holds what the stream is given from then on until the gate is open.
    ///
    /// Other than with one call for each, the stream is held before the device can have done the work, so that whoever is
    /// called back by it finds the stream as it is.
    pub(crate) fn submit_and_hold(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Stream>) -> Result<()> + Send + 'static,
        gate: Arc<Gate>,
    ) -> Result<()> {
        thread::count_task();
        {
            let mut line = self.line();
            if !line.is_free() {
                line.entered += 2;
                line.steps.extend([Step::Work(Task::last(), Box::new(work)), Step::Gate(gate)]);
                return Ok(());
            }
            line.entered += 1;
            line.hold = Hold::Moving;
        }
        let done = self.run(work);
        if done.is_err() || !self.stop_at(gate) {
            self.drain();
        }
        done
    }

    /// Holds what comes behind the work that is just being done until the gate is open.
    pub(crate) fn hold_here(self: &Arc<Self>, gate: Arc<Gate>) {
        let mut line = self.line();
        if !line.is_free() {
            // Not counted as entered: whoever waits for what the stream was given waits for this too.
            line.steps.push_front(Step::Gate(gate));
        } else if gate.hold(self) {
            line.entered += 1;
            line.hold = Hold::At(gate);
        }
    }

    /// Goes on with the line, if it is this gate that has held it.
    pub(crate) fn advance(self: &Arc<Self>, opened: &Gate) {
        {
            let mut line = self.line();
            match &line.hold {
                Hold::At(gate) if std::ptr::eq(&**gate, opened) => line.hold = Hold::Moving,
                // The line was abandoned meanwhile.
                _ => return,
            }
        }
        self.drain();
    }

    /// Takes the line to the device, up to the next gate that is shut.
    fn drain(self: &Arc<Self>) {
        while let Some(step) = self.next_step() {
            match step {
                Step::Work(task, work) => {
                    if let Err(error) = self.run(work) {
                        self.exceptions.fail_soon(self, task, error);
                    }
                }
                Step::Gate(gate) => {
                    if self.stop_at(gate) {
                        return;
                    }
                }
            }
        }
    }

    /// Stops at a gate; false if it is open.
    fn stop_at(self: &Arc<Self>, gate: Arc<Gate>) -> bool {
        let mut line = self.line();
        let is_shut = gate.hold(self);
        if is_shut {
            line.hold = Hold::At(gate);
        }
        is_shut
    }

    fn next_step(&self) -> Option<Step> {
        let mut line = self.line();
        let step = line.steps.pop_front();
        if step.is_none() {
            line.hold = Hold::Free;
        }
        self.moved.notify_all();
        step
    }

    /// Waits until the device knows all that the stream was given so far; false if the time is up before.
    pub(crate) fn settle(&self, until: Option<Instant>) -> Result<bool> {
        let mut line = self.line();
        let target = line.entered;
        if line.passed() < target && thread::holding() == self.handle {
            return refuse(
                AclError::RT_INTERNAL_ERROR,
                "the callback that holds this stream back would wait for itself",
            );
        }
        while line.passed() < target {
            line = match until {
                None => self.moved.wait(line).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(false);
                    }
                    self.moved.wait_timeout(line, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        Ok(true)
    }

    /// Waits until all that the stream was given so far is done; false if the time is up before.
    ///
    /// # Errors
    /// What of it has failed, once.
    pub(crate) fn synchronize(&self, until: Option<Instant>) -> Result<bool> {
        if !self.settle(until)? {
            return Ok(false);
        }
        // One that is destroyed was waited for then.
        let Ok(_call) = self.call() else { return Ok(true) };
        let done = match until {
            None => true,
            Some(until) => {
                wait::poll(until, || self.unit.on(|device, id| device.query_stream(id, self.raw)))?
            }
        };
        if done {
            // Also when it is done: this is how a device tells what has failed.
            let waited = self.unit.on(|device, id| device.synchronize_stream(id, self.raw));
            if let Some(failure) = self.take_failure() {
                return Err(failure);
            }
            waited.map_err(|error| Error::new(AclError::RT_INTERNAL_ERROR, error.message.clone()))?;
        }
        Ok(done)
    }

    /// Whether all that the stream was given is done. Does not wait.
    pub(crate) fn is_done(&self) -> Result<bool> {
        {
            let line = self.line();
            if !line.is_free() {
                return Ok(false);
            }
        }
        let _call = self.call()?;
        self.unit.on(|device, id| device.query_stream(id, self.raw))
    }

    /// Figures that a program sets and reads, by what they are called.
    pub(crate) fn settings(&self) -> MutexGuard<'_, BTreeMap<(&'static str, i64), i64>> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells work that was thrown away from work that was not: it is another number then.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Throws away what the device does not know of yet. What of it the host has begun is soon over, and is waited for by
    /// [`finish_abandoned`](Self::finish_abandoned).
    pub(crate) fn abandon(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        let dropped = {
            let mut line = self.line();
            if let Hold::At(_) = line.hold {
                line.hold = Hold::Free;
            }
            std::mem::take(&mut line.steps)
        };
        self.moved.notify_all();
        // With the work go the keys in it, so that others need not wait for what does not come.
        drop(dropped);
    }

    /// Waits for what was not thrown away: what the device has, and what the host has begun.
    pub(crate) fn finish_abandoned(&self) -> Result<()> {
        let waited = self.synchronize(None).map(drop);
        let mut line = self.line();
        while line.works > 0 {
            line = self.moved.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
        waited
    }

    /// Keeps the first failure of work until somebody waits for the stream.
    pub(crate) fn fail(&self, error: Error) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn take_failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Gives the stream back to the device. Nobody can find it any more.
    pub(crate) fn destroy(&self) -> Result<()> {
        self.line().is_gone = true;
        // What another thread has put in since it was waited for has no stream any more.
        self.abandon();
        {
            let mut line = self.line();
            while line.calls + line.works > 0 {
                line = self.moved.wait(line).unwrap_or_else(PoisonError::into_inner);
            }
        }
        let destroyed = self.unit.on(|device, id| device.destroy_stream(id, self.raw));
        self.home.state().stream_ids.remove(&self.id);
        destroyed
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
