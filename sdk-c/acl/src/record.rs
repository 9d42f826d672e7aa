//! Points in streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tenon::device;

use crate::api::AclError;
use crate::error::{Result, refuse};
use crate::gate::Gate;
use crate::home::Unit;
use crate::stream::Stream;
use crate::{arrival, wait, workers};

/// A point in a stream.
pub(crate) struct Record {
    unit: Arc<Unit>,
    mark: device::Event,
    /// Whether the device knows of it, or never will.
    known: Arc<Gate>,
    /// Whether it was dropped with the work of its stream.
    is_void: AtomicBool,
    pub(crate) is_timed: bool,
    /// When the stream passed it, in nanoseconds of [`now`]; 0 until then.
    time: AtomicU64,
}

impl Drop for Record {
    fn drop(&mut self) {
        self.unit.give_mark(self.mark);
    }
}

/// Nanoseconds since the system has started, on a clock that never goes back.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is this function's own.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec.cast_unsigned())
}

impl Record {
    /// Puts a record into a stream.
    pub(crate) fn put(stream: &Arc<Stream>, is_timed: bool) -> Result<Arc<Self>> {
        let unit = stream.unit.clone();
        let (key, known) = Gate::shut();
        let mark = unit.take_mark()?;
        let (is_void, time) = (AtomicBool::new(true), AtomicU64::new(0));
        let record = Arc::new(Record { unit, mark, known, is_void, is_timed, time });
        let queued = record.clone();
        if is_timed {
            let stamped = queued.clone();
            let stamp = move || stamped.time.store(now(), Ordering::Release);
            // A stream that has nothing to do is here already; what would tell takes longer than the record itself.
            if stream.is_done().unwrap_or(false) {
                stamp();
            } else {
                stream.submit(move |stream| arrival::when_reached(stream, stamp))?;
            }
        }
        stream.submit(move |stream| {
            stream.unit.on(|device, id| device.record_event(id, stream.raw, queued.mark))?;
            queued.is_void.store(false, Ordering::Release);
            drop(key);
            Ok(())
        })?;
        Ok(record)
    }

    /// When the stream passed it, in nanoseconds since the system has started; none before, and if nobody asked for it.
    pub(crate) fn time(&self) -> Option<u64> {
        Some(self.time.load(Ordering::Acquire)).filter(|time| *time != 0)
    }

    fn is_void(&self) -> bool {
        self.is_void.load(Ordering::Acquire)
    }

    /// Whether the stream has passed it, or was destroyed before it could.
    pub(crate) fn is_done(&self) -> Result<bool> {
        let is_known = self.known.is_open();
        Ok(is_known && (self.is_void() || self.unit.is_past(self.mark)?))
    }

    /// Waits for it; false if the time is up before.
    pub(crate) fn wait(&self, until: Option<Instant>) -> Result<bool> {
        if !self.known.wait(until) {
            return Ok(false);
        }
        match until {
            _ if self.is_void() => Ok(true),
            None => self.unit.wait_for(self.mark).map(|()| true),
            Some(until) => wait::poll(until, || self.is_done()),
        }
    }

    /// Makes what a stream is given from now on wait for it, so long at most; a failure of the stream if it takes longer.
    pub(crate) fn hold_for(self: &Arc<Self>, stream: &Arc<Stream>, patience: Duration) -> Result<()> {
        let record = self.clone();
        arrival::do_in_order(stream, move |work| {
            // The time counts from when the stream comes here.
            let until = Instant::now() + patience;
            if wait::poll(until, || Ok(!work.is_wanted() || record.is_done().unwrap_or(true)))? {
                return Ok(());
            }
            refuse(AclError::RT_WAIT_TIMEOUT, format!("an event was not done within {patience:?}"))
        })
    }

    /// Makes what a stream is given from now on wait for it.
    pub(crate) fn hold(self: &Arc<Self>, stream: &Arc<Stream>) -> Result<()> {
        if !Arc::ptr_eq(&self.unit, &stream.unit) {
            // The events of a device mean nothing to another one, nor to itself once it was reset.
            let record = self.clone();
            hold_until(stream, move || drop(record.wait(None)));
            return Ok(());
        }
        stream.submit_gate(self.known.clone());
        let record = self.clone();
        stream.submit(move |stream| match record.is_void() {
            true => Ok(()),
            false => stream.unit.on(|device, id| device.stream_wait_event(id, stream.raw, record.mark)),
        })
    }
}

/// Holds a stream until something that waits has returned.
pub(crate) fn hold_until(stream: &Arc<Stream>, waits: impl FnOnce() + Send + 'static) {
    let (key, gate) = Gate::shut();
    workers::run(move || {
        waits();
        drop(key);
    });
    stream.submit_gate(gate);
}
