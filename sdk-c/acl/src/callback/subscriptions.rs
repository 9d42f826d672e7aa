//! Callbacks and host functions: functions of the program that run in stream order, in a subscribed or a worker thread.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, Weak};
use std::time::Instant;
use tenon::support::{Condvar, Mutex};

use crate::api::{AclError, CallbackBlockType};
use crate::error::{Error, Result, refuse, unknown_value};
use crate::state::stream::Stream;
use crate::state::thread_slots;
use crate::stream::completion;
use crate::wait;
use crate::wait::latch::{Latch, LatchGuard};
use crate::wait::workers;

/// Most threads that can be subscribed.
const MAX_THREADS: usize = 1024;

/// A function of the program with its argument.
pub(crate) type Function = Box<dyn FnOnce() + Send>;

/// The kind of functions that a thread is subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallbackKind {
    /// The functions of `aclrtLaunchCallback`.
    Callback,
    /// The functions of `aclrtLaunchHostFunc`.
    HostFunction,
}

/// A function that is ready to run.
struct Report {
    function: Function,
    subscription: Arc<Subscription>,
    /// If the stream waits for the function: holds the stream until the function has run.
    guard: Option<LatchGuard>,
}

/// The subscription of a thread to a stream.
struct Subscription {
    stream: usize,
    thread: u64,
    inbox: Arc<Inbox>,
    is_over: AtomicBool,
}

/// The functions that are ready to run in a thread.
struct Inbox {
    ordinal: u32,
    reports: Mutex<VecDeque<Report>>,
    arrived: Condvar,
    /// The number of subscriptions of the thread.
    streams: Mutex<usize>,
}

impl Inbox {
    fn reports(&self) -> MutexGuard<'_, VecDeque<Report>> {
        self.reports.lock()
    }

    fn streams(&self) -> MutexGuard<'_, usize> {
        self.streams.lock()
    }
}

#[derive(Default)]
struct State {
    subscriptions: BTreeMap<(CallbackKind, usize), Arc<Subscription>>,
    inboxes: BTreeMap<u64, Arc<Inbox>>,
}

/// Returns true if a stream waits for a callback.
pub(crate) fn is_blocking(kind: CallbackBlockType) -> Result<bool> {
    match kind {
        CallbackBlockType::NO_BLOCK => Ok(false),
        CallbackBlockType::BLOCK => Ok(true),
        CallbackBlockType(other) => unknown_value("block_type", other),
    }
}

/// The subscribed threads by stream.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<State>);

/// Returns the id of the calling thread, with which programs subscribe it.
fn this_thread() -> u64 {
    // SAFETY: it has no preconditions.
    let thread = unsafe { libc::pthread_self() };
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "it is a pointer on some systems")]
    {
        thread as u64
    }
}

/// The subscriptions of a thread, which end with the thread.
#[derive(Default)]
struct Served(Vec<(Weak<Subscriptions>, u64)>);

impl Drop for Served {
    fn drop(&mut self) {
        for (subscriptions, thread) in self.0.drain(..) {
            if let Some(subscriptions) = subscriptions.upgrade() {
                subscriptions.end_thread(thread);
            }
        }
    }
}

thread_local! {
    static SERVED: RefCell<Served> = RefCell::default();
}

impl Subscriptions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// Subscribes a thread to a stream.
    pub(crate) fn subscribe(&self, kind: CallbackKind, thread: u64, stream: &Stream) -> Result<()> {
        let mut state = self.state();
        if state.subscriptions.get(&(kind, stream.handle)).is_some_and(|of| of.is_served()) {
            return refuse(
                AclError::REPEAT_SUBSCRIBE,
                format!("stream {} already has a subscribed thread", stream.id),
            );
        }
        let inbox = match state.inboxes.get(&thread) {
            Some(inbox) if inbox.ordinal != stream.session.ordinal => {
                return refuse(
                    AclError::RT_PARAM_INVALID,
                    format!(
                        "`thread_id` is {thread}, which is subscribed to streams of device {}",
                        inbox.ordinal
                    ),
                );
            }
            Some(inbox) => inbox.clone(),
            None if state.inboxes.len() >= MAX_THREADS => {
                return refuse(
                    AclError::RT_RESOURCE_ALLOC_FAIL,
                    format!("{MAX_THREADS} threads are subscribed, which is the maximum"),
                );
            }
            None => {
                let inbox = Arc::new(Inbox {
                    ordinal: stream.session.ordinal,
                    reports: Mutex::default(),
                    arrived: Condvar::new(),
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

    /// Unsubscribes a thread from a stream.
    pub(crate) fn unsubscribe(&self, kind: CallbackKind, thread: u64, stream: &Stream) -> Result<()> {
        let ended = {
            let mut state = self.state();
            match state.subscriptions.get(&(kind, stream.handle)) {
                None => {
                    return refuse(
                        AclError::RT_STREAM_SUBSCRIBE,
                        format!("stream {} has no subscribed thread", stream.id),
                    );
                }
                Some(subscription) if subscription.thread != thread => {
                    return refuse(
                        AclError::RT_THREAD_SUBSCRIBE,
                        format!(
                            "`thread_id` is {thread}, but another thread is subscribed to stream {}",
                            stream.id
                        ),
                    );
                }
                Some(_) => state.remove(&(kind, stream.handle)),
            }
        };
        drop(ended);
        Ok(())
    }

    /// Ends the subscriptions to a stream. Functions that have not run are dropped.
    pub(crate) fn end_stream(&self, stream: &Stream) {
        let ended = {
            let mut state = self.state();
            [CallbackKind::Callback, CallbackKind::HostFunction]
                .map(|kind| state.remove(&(kind, stream.handle)))
        };
        drop(ended);
    }

    /// Ends the functions of a thread. The program may still unsubscribe the thread afterwards.
    fn end_thread(&self, thread: u64) {
        let ended: Vec<_> = {
            let mut state = self.state();
            let served = state.subscriptions.values().filter(|of| of.thread == thread);
            let served: Vec<_> = served.cloned().collect();
            served.iter().map(|subscription| state.end(subscription)).collect()
        };
        drop(ended);
    }

    fn find(&self, kind: CallbackKind, stream: &Stream) -> Option<Arc<Subscription>> {
        self.state().subscriptions.get(&(kind, stream.handle)).filter(|of| of.is_served()).cloned()
    }

    /// Runs the functions that are ready for the calling thread, after waiting for the first.
    pub(crate) fn process(self: &Arc<Self>, timeout: i32) -> Result<()> {
        let until = wait::deadline(timeout)?;
        let this = this_thread();
        let none = || {
            let message = "this thread is not subscribed to any stream";
            Error::new(AclError::RT_THREAD_SUBSCRIBE, message)
        };
        let inbox = self.state().inboxes.get(&this).cloned().ok_or_else(none)?;
        let _ = SERVED.try_with(|served| {
            let served = &mut served.borrow_mut().0;
            served.retain(|(subscriptions, _)| subscriptions.strong_count() > 0);
            if !served.iter().any(|(known, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(self))) {
                served.push((Arc::downgrade(self), this));
            }
        });
        let mut reports = inbox.reports();
        while reports.is_empty() {
            if *inbox.streams() == 0 {
                return Err(none());
            }
            reports = match until {
                None => inbox.arrived.wait(reports),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return refuse(
                            AclError::RT_REPORT_TIMEOUT,
                            format!("no stream reached a callback within {timeout} ms"),
                        );
                    }
                    inbox.arrived.wait_timeout(reports, left).0
                }
            };
        }
        // Runs at most the functions that are ready now. Otherwise a callback that launches the next one would never
        // let the thread return.
        for _ in 0..reports.len() {
            let Some(report) = reports.pop_front() else { break };
            drop(reports);
            report.run();
            reports = inbox.reports();
        }
        Ok(())
    }

    /// Launches a callback, for which a thread must be subscribed to the stream.
    pub(crate) fn launch_callback(
        &self,
        stream: &Arc<Stream>,
        is_blocking: bool,
        function: Function,
    ) -> Result<()> {
        let Some(subscription) = self.find(CallbackKind::Callback, stream) else {
            return refuse(
                AclError::RT_STREAM_NO_CB_REG,
                format!("no thread is subscribed to stream {}", stream.id),
            );
        };
        launch(stream, is_blocking, move |guard| subscription.deliver(function, guard))
    }

    /// Launches a host function, which the stream waits for. It runs in the subscribed thread, or else in a worker
    /// thread.
    pub(crate) fn launch_host_function(&self, stream: &Arc<Stream>, function: Function) -> Result<()> {
        match self.find(CallbackKind::HostFunction, stream) {
            Some(subscription) => launch(stream, true, move |guard| subscription.deliver(function, guard)),
            None => {
                let handle = stream.handle;
                launch(stream, true, move |guard| {
                    workers::run(move || {
                        thread_slots::while_holding(handle, function);
                        drop(guard);
                    });
                })
            }
        }
    }
}

impl State {
    /// Removes and ends a subscription. See [`end`](Self::end) for the returned reports.
    fn remove(&mut self, key: &(CallbackKind, usize)) -> Vec<Report> {
        self.subscriptions.remove(key).map(|subscription| self.end(&subscription)).unwrap_or_default()
    }

    /// Ends a subscription. The caller drops the returned reports after it released the lock, because that releases
    /// streams.
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
            inbox.arrived.notify_all();
        }
        dropped.into()
    }
}

impl Report {
    fn run(self) {
        let Report { function, subscription, guard } = self;
        if guard.is_some() {
            thread_slots::while_holding(subscription.stream, function);
        } else {
            function();
        }
    }
}

impl Subscription {
    /// Returns true while the thread runs functions.
    fn is_served(&self) -> bool {
        !self.is_over.load(Ordering::Acquire)
    }

    /// Passes a function to the thread, or drops it if the subscription has ended.
    fn deliver(self: Arc<Self>, function: Function, guard: Option<LatchGuard>) {
        let inbox = self.inbox.clone();
        let mut reports = inbox.reports();
        if self.is_served() {
            reports.push_back(Report { function, subscription: self, guard });
            inbox.arrived.notify_all();
        } else {
            drop(reports);
        }
    }
}

/// Calls `deliver` in stream order, with the guard that holds the stream if the function is blocking.
fn launch(
    stream: &Arc<Stream>,
    is_blocking: bool,
    deliver: impl FnOnce(Option<LatchGuard>) + Send + 'static,
) -> Result<()> {
    if !is_blocking {
        return stream.submit(move |stream| completion::when_reached(stream, move || deliver(None)));
    }
    let (guard, latch) = Latch::closed();
    stream
        .submit_and_hold(move |stream| completion::when_reached(stream, move || deliver(Some(guard))), latch)
}
