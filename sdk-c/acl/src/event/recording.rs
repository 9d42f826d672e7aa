//! Recordings: points in streams, each with a pooled event of the device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tenon::device;

use crate::api::AclError;
use crate::error::{Result, refuse};
use crate::state::session::DeviceSession;
use crate::state::stream::Stream;
use crate::stream::completion;
use crate::wait;
use crate::wait::latch::Latch;
use crate::wait::workers;

/// A point in a stream.
pub(crate) struct Recording {
    session: Arc<DeviceSession>,
    event: device::Event,
    /// Opens when the device has the record, or when it is known that it never will.
    submitted: Arc<Latch>,
    /// True until the record is submitted to the device. Stays true if it was dropped with the pending work of its
    /// stream.
    is_void: AtomicBool,
    pub(crate) is_timed: bool,
    /// The time at which the stream reached the point, in nanoseconds of [`now`]; 0 until then.
    time: AtomicU64,
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.session.return_event(self.event);
    }
}

/// Returns the nanoseconds since the system started, on a monotonic clock.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local variable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec.cast_unsigned())
}

impl Recording {
    /// Records a point after all work submitted to a stream so far.
    pub(crate) fn submit(stream: &Arc<Stream>, is_timed: bool) -> Result<Arc<Self>> {
        let session = stream.session.clone();
        let (guard, submitted) = Latch::closed();
        let event = session.take_event()?;
        let (is_void, time) = (AtomicBool::new(true), AtomicU64::new(0));
        let record = Arc::new(Recording { session, event, submitted, is_void, is_timed, time });
        let queued = record.clone();
        if is_timed {
            let stamped = queued.clone();
            let stamp = move || stamped.time.store(now(), Ordering::Release);
            // An idle stream has already reached the point, and a notification would take longer than the record.
            if stream.is_done().unwrap_or(false) {
                stamp();
            } else {
                stream.submit(move |stream| completion::when_reached(stream, stamp))?;
            }
        }
        stream.submit(move |stream| {
            stream.session.call(|device, id| device.record_event(id, stream.raw, queued.event))?;
            queued.is_void.store(false, Ordering::Release);
            drop(guard);
            Ok(())
        })?;
        Ok(record)
    }

    /// Returns when the stream reached the point, in nanoseconds since the system started; `None` before that, or
    /// without timing.
    pub(crate) fn time(&self) -> Option<u64> {
        Some(self.time.load(Ordering::Acquire)).filter(|time| *time != 0)
    }

    /// Returns the time from this point to `end` in nanoseconds, by the device's clock; `None` if the device does not
    /// measure it.
    pub(crate) fn elapsed_on_device(&self, end: &Recording) -> Option<i64> {
        // A pooled event that was not recorded for this point may still have an earlier record.
        if !Arc::ptr_eq(&self.session, &end.session) || self.is_void() || end.is_void() {
            return None;
        }
        self.session.time_between_events(self.event, end.event)
    }

    fn is_void(&self) -> bool {
        self.is_void.load(Ordering::Acquire)
    }

    /// Returns true if the stream has reached the point, or was destroyed before.
    pub(crate) fn is_done(&self) -> Result<bool> {
        let is_submitted = self.submitted.is_open();
        Ok(is_submitted && (self.is_void() || self.session.is_event_done(self.event)?))
    }

    /// Waits until the stream has reached the point. Returns false if the deadline passes first.
    pub(crate) fn wait(&self, until: Option<Instant>) -> Result<bool> {
        if !self.submitted.wait(until) {
            return Ok(false);
        }
        match until {
            _ if self.is_void() => Ok(true),
            None => self.session.wait_for_event(self.event).map(|()| true),
            Some(until) => wait::poll(until, || self.is_done()),
        }
    }

    /// Makes later work of a stream wait for the point. The stream fails if the wait takes longer than `timeout`.
    pub(crate) fn hold_with_timeout(self: &Arc<Self>, stream: &Arc<Stream>, timeout: Duration) -> Result<()> {
        let record = self.clone();
        completion::run_in_order(stream, move |work| {
            // The timeout starts when the stream reaches the wait.
            let until = Instant::now() + timeout;
            if wait::poll(until, || Ok(!work.is_wanted() || record.is_done().unwrap_or(true)))? {
                return Ok(());
            }
            refuse(AclError::RT_WAIT_TIMEOUT, format!("an event did not complete within {timeout:?}"))
        })
    }

    /// Makes later work of a stream wait for the point.
    pub(crate) fn hold(self: &Arc<Self>, stream: &Arc<Stream>) -> Result<()> {
        if !Arc::ptr_eq(&self.session, &stream.session) {
            // A device cannot use events of another device, nor its own events from before a reset.
            let record = self.clone();
            hold_until(stream, move || drop(record.wait(None)));
            return Ok(());
        }
        stream.submit_latch(self.submitted.clone());
        let record = self.clone();
        stream.submit(move |stream| {
            if record.is_void() {
                Ok(())
            } else {
                stream.session.call(|device, id| device.stream_wait_event(id, stream.raw, record.event))
            }
        })
    }
}

/// Holds a stream until a blocking function has returned.
fn hold_until(stream: &Arc<Stream>, blocks: impl FnOnce() + Send + 'static) {
    let (guard, latch) = Latch::closed();
    workers::run(move || {
        blocks();
        drop(guard);
    });
    stream.submit_latch(latch);
}
