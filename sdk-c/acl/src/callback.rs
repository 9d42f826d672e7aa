//! Callbacks: functions of the program that run when a stream comes to them, in a thread of the program's or of ours.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use crate::api::{AclError, CallbackBlockType};
use crate::error::{Error, Result, refuse};
use crate::gate::{Gate, Key};
use crate::info::no_such;
use crate::runtime::Runtime;
use crate::stream::Stream;
use crate::{arrival, thread, wait, workers};

/// How many threads can be subscribed.
const MOST_THREADS: usize = 1024;

/// A function of the program with what it is called with.
pub(crate) type Function = Box<dyn FnOnce() + Send>;

/// What a thread is subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Functions of `aclrtLaunchCallback`.
    Callback,
    /// Functions of `aclrtLaunchHostFunc`.
    HostFunction,
}

/// A function whose turn has come.
struct Report {
    function: Function,
    subscription: Arc<Subscription>,
    /// Lets the stream go on; none if it has gone on.
    key: Option<Key>,
}

/// That a thread serves a stream.
struct Subscription {
    stream: usize,
    thread: u64,
    inbox: Arc<Inbox>,
    is_over: AtomicBool,
}

/// What comes to a thread.
struct Inbox {
    ordinal: u32,
    reports: Mutex<VecDeque<Report>>,
    came: Condvar,
    /// How many streams the thread serves.
    streams: Mutex<usize>,
}

impl Inbox {
    fn reports(&self) -> MutexGuard<'_, VecDeque<Report>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams(&self) -> MutexGuard<'_, usize> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct State {
    subscriptions: BTreeMap<(Kind, usize), Arc<Subscription>>,
    inboxes: BTreeMap<u64, Arc<Inbox>>,
}

/// Whether a stream waits for a callback.
pub(crate) fn is_blocking(kind: CallbackBlockType) -> Result<bool> {
    match kind {
        CallbackBlockType::NO_BLOCK => Ok(false),
        CallbackBlockType::BLOCK => Ok(true),
        CallbackBlockType(other) => no_such("block_type", other),
    }
}

/// Who serves which stream.
#[derive(Default)]
pub(crate) struct Reports(Mutex<State>);

/// The number of the calling thread, by which programs name it.
pub(crate) fn this_thread() -> u64 {
    // SAFETY: the call has no conditions.
    let thread = unsafe { libc::pthread_self() };
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "it is a pointer on some systems")]
    {
        thread as u64
    }
}

/// Ends the subscriptions of a thread with the thread.
#[derive(Default)]
struct Served(Vec<(Weak<Reports>, u64)>);

impl Drop for Served {
    fn drop(&mut self) {
        for (reports, thread) in self.0.drain(..) {
            if let Some(reports) = reports.upgrade() {
                reports.end_thread(thread);
            }
        }
    }
}

thread_local! {
    static SERVED: RefCell<Served> = RefCell::default();
}

impl Reports {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subscribe(&self, kind: Kind, thread: u64, stream: &Stream) -> Result<()> {
        let mut state = self.state();
        if state.subscriptions.get(&(kind, stream.handle)).is_some_and(|of| of.is_served()) {
            return refuse(AclError::REPEAT_SUBSCRIBE, format!("stream {} has a thread already", stream.id));
        }
        let inbox = match state.inboxes.get(&thread) {
            Some(inbox) if inbox.ordinal != stream.unit.ordinal => {
                return refuse(
                    AclError::RT_PARAM_INVALID,
                    format!("`thread_id` is {thread}, which serves streams of device {}", inbox.ordinal),
                );
            }
            Some(inbox) => inbox.clone(),
            None if state.inboxes.len() >= MOST_THREADS => {
                return refuse(
                    AclError::RT_RESOURCE_ALLOC_FAIL,
                    format!("{MOST_THREADS} threads are subscribed, and there can be no more"),
                );
            }
            None => {
                let inbox = Arc::new(Inbox {
                    ordinal: stream.unit.ordinal,
                    reports: Mutex::default(),
                    came: Condvar::new(),
                    streams: Mutex::new(0),
                });
                state.inboxes.insert(thread, inbox.clone());
                inbox
            }
        };
        *inbox.streams() += 1;
        let subscription =
            Subscription { stream: stream.handle, thread, inbox, is_over: AtomicBool::new(false) };
        state.subscriptions.insert((kind, stream.handle), Arc::new(subscription));
        Ok(())
    }

    fn unsubscribe(&self, kind: Kind, thread: u64, stream: &Stream) -> Result<()> {
        let ended = {
            let mut state = self.state();
            match state.subscriptions.get(&(kind, stream.handle)) {
                None => {
                    return refuse(
                        AclError::RT_STREAM_SUBSCRIBE,
                        format!("stream {} has no thread", stream.id),
                    );
                }
                Some(subscription) if subscription.thread != thread => {
                    return refuse(
                        AclError::RT_THREAD_SUBSCRIBE,
                        format!("`thread_id` is {thread}, but stream {} has another thread", stream.id),
                    );
                }
                Some(_) => state.forget(&(kind, stream.handle)),
            }
        };
        drop(ended);
        Ok(())
    }

    /// Ends what concerns a stream; its functions that did not run yet are dropped.
    pub(crate) fn forget(&self, stream: &Stream) {
        let ended = {
            let mut state = self.state();
            [Kind::Callback, Kind::HostFunction].map(|kind| state.forget(&(kind, stream.handle)))
        };
        drop(ended);
    }

    /// Ends what a thread does for its streams. A program that ends its thread before it unsubscribes may still do that.
    fn end_thread(&self, thread: u64) {
        let ended: Vec<_> = {
            let mut state = self.state();
            let served = state.subscriptions.values().filter(|of| of.thread == thread);
            let served: Vec<_> = served.cloned().collect();
            served.iter().map(|subscription| state.end(subscription)).collect()
        };
        drop(ended);
    }

    fn of(&self, kind: Kind, stream: &Stream) -> Option<Arc<Subscription>> {
        self.state().subscriptions.get(&(kind, stream.handle)).filter(|of| of.is_served()).cloned()
    }

    /// Runs what is ready for the calling thread, or waits for something.
    fn process(self: &Arc<Self>, until: Option<Instant>, timeout: i32) -> Result<()> {
        let this = this_thread();
        let none = || {
            let message = "this thread serves no stream";
            Error::new(AclError::RT_THREAD_SUBSCRIBE, message)
        };
        let inbox = self.state().inboxes.get(&this).cloned().ok_or_else(none)?;
        let _ = SERVED.try_with(|served| {
            let served = &mut served.borrow_mut().0;
            served.retain(|(reports, _)| reports.strong_count() > 0);
            if !served.iter().any(|(reports, _)| std::ptr::eq(reports.as_ptr(), Arc::as_ptr(self))) {
                served.push((Arc::downgrade(self), this));
            }
        });
        let mut reports = inbox.reports();
        while reports.is_empty() {
            if *inbox.streams() == 0 {
                return Err(none());
            }
            reports = match until {
                None => inbox.came.wait(reports).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return refuse(
                            AclError::RT_REPORT_TIMEOUT,
                            format!("no stream came to a callback within {timeout} ms"),
                        );
                    }
                    inbox.came.wait_timeout(reports, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        // Not more than there are now: a callback that launches the next one must not keep the thread here for ever.
        for _ in 0..reports.len() {
            let Some(report) = reports.pop_front() else { break };
            drop(reports);
            report.run();
            reports = inbox.reports();
        }
        Ok(())
    }
}

impl State {
    /// Removes a subscription; for what is returned, see [`end`](Self::end).
    fn forget(&mut self, key: &(Kind, usize)) -> Vec<Report> {
        self.subscriptions.remove(key).map(|subscription| self.end(&subscription)).unwrap_or_default()
    }

    /// Ends a subscription; what is returned is to be dropped without the lock, since it lets streams go on.
    fn end(&mut self, subscription: &Arc<Subscription>) -> Vec<Report> {
        let inbox = &subscription.inbox;
        let mut reports = inbox.reports();
        if subscription.is_over.swap(true, Ordering::AcqRel) {
            return Vec::new();
        }
        let (dropped, kept) =
            reports.drain(..).partition(|report| Arc::ptr_eq(&report.subscription, subscription));
        *reports = kept;
        let is_last = {
            let mut streams = inbox.streams();
            *streams -= 1;
            *streams == 0
        };
        if is_last {
            self.inboxes.remove(&subscription.thread);
            inbox.came.notify_all();
        }
        dropped.into()
    }
}

impl Report {
    fn run(self) {
        let Report { function, subscription, key } = self;
        if key.is_some() {
            thread::while_holding(subscription.stream, function);
        } else {
            function();
        }
    }
}

impl Subscription {
    /// Whether its thread is there to serve.
    fn is_served(&self) -> bool {
        !self.is_over.load(Ordering::Acquire)
    }

    /// Brings a function to the thread, unless it serves the stream no more.
    fn deliver(self: Arc<Self>, function: Function, key: Option<Key>) {
        let inbox = self.inbox.clone();
        let mut reports = inbox.reports();
        if self.is_served() {
            reports.push_back(Report { function, subscription: self, key });
            inbox.came.notify_all();
        } else {
            drop(reports);
        }
    }
}

impl Runtime {
    /// Gives a stream a thread for its callbacks or host functions.
    pub(crate) fn subscribe(&self, kind: Kind, thread: u64, stream: usize) -> Result<()> {
        self.reports.subscribe(kind, thread, &*self.stream(stream)?)
    }

    /// Takes it away.
    pub(crate) fn unsubscribe(&self, kind: Kind, thread: u64, stream: usize) -> Result<()> {
        self.reports.unsubscribe(kind, thread, &*self.stream(stream)?)
    }

    /// Runs what is ready for the calling thread.
    pub(crate) fn process_reports(&self, timeout: i32) -> Result<()> {
        let until = wait::deadline(timeout)?;
        self.reports.process(until, timeout)
    }

    /// Puts a callback into a stream.
    pub(crate) fn launch_callback(&self, function: Function, is_blocking: bool, stream: usize) -> Result<()> {
        let stream = self.stream(stream)?;
        let Some(subscription) = self.reports.of(Kind::Callback, &stream) else {
            return refuse(
                AclError::RT_STREAM_NO_CB_REG,
                format!("no thread is subscribed to stream {}", stream.id),
            );
        };
        call_back(&stream, is_blocking, move |key| subscription.deliver(function, key))
    }

    /// Puts a host function into a stream, which it holds.
    pub(crate) fn launch_host_function(&self, stream: usize, function: Function) -> Result<()> {
        let stream = self.stream(stream)?;
        match self.reports.of(Kind::HostFunction, &stream) {
            Some(subscription) => call_back(&stream, true, move |key| subscription.deliver(function, key)),
            None => {
                let handle = stream.handle;
                call_back(&stream, true, move |key| {
                    workers::run(move || {
                        thread::while_holding(handle, function);
                        drop(key);
                    });
                })
            }
        }
    }
}

/// Has something done when the stream comes to this place, with what lets the stream go on if it is to be held.
fn call_back(
    stream: &Arc<Stream>,
    is_blocking: bool,
    deliver: impl FnOnce(Option<Key>) + Send + 'static,
) -> Result<()> {
    if !is_blocking {
        return stream.submit(move |stream| arrival::when_reached(stream, move || deliver(None)));
    }
    let (key, gate) = Gate::shut();
    stream.submit_and_hold(move |stream| arrival::when_reached(stream, move || deliver(Some(key))), gate)
}
