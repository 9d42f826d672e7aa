//! The times of nodes on the device, which the host adds to its profile.
//!
//! The host says on which thread an event of its own begins and ends. Work that a kernel does in between belongs to that event.
//! On a stream it runs later: callbacks of the stream measure it.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use tenon::AnyPtr;
use tenon::device::{Status, Stream, StreamCallback, ffi};
use tenon::support::Mutex;

use super::device::DeviceState;
use crate::api::ep::EventCategory;
use crate::api::objects::{Profiler, ProfilingEvent, ProfilingEvents, Result};
use crate::error::reported;
use crate::library::Memory;

thread_local! {
    /// The events of the host that have begun on this thread, from the outermost one on.
    static OPEN: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) };
}

/// An event of the host that has begun.
struct Open {
    profile: Arc<Profile>,
    /// Its number.
    event: u64,
    /// The work of nodes since then.
    spans: Vec<Span>,
}

/// The profile of a session.
struct Profile {
    device: Arc<DeviceState>,
    recorded: Mutex<Recorded>,
}

struct Recorded {
    /// The start of the host's profile.
    start: Instant,
    /// The work of nodes, each with the name of the host's event.
    spans: Vec<(Span, CString)>,
    /// The streams that have worked, in the order of their first work.
    streams: Vec<Stream>,
}

/// The work of a node on the device.
struct Span {
    operator: &'static str,
    /// The number of the thread, or of the stream from 0 on.
    lane: i32,
    stream: Option<usize>,
    times: Arc<Times>,
}

/// The begin and the end of work, in nanoseconds since the start of the profile, once they are known.
struct Times([AtomicI64; 2]);

/// A time that is not known.
const UNKNOWN: i64 = i64::MIN;

/// A time that a callback measures.
struct Mark {
    times: Arc<Times>,
    which: usize,
    start: Instant,
}

impl Mark {
    fn set(&self) {
        let elapsed = i64::try_from(self.start.elapsed().as_nanos()).unwrap_or(i64::MAX);
        self.times.0[self.which].store(elapsed, Ordering::Release);
    }

    /// Measures when the stream has done its work so far; without a stream that is now.
    fn place(self, device: &DeviceState, stream: Option<Stream>) {
        let Some(stream) = stream else { return self.set() };
        let context = Box::into_raw(Box::new(self));
        // SAFETY: the function takes this context, once, from any thread.
        let callback = unsafe { StreamCallback::from_raw(Some(reached), AnyPtr::from_ptr(context)) };
        if device.library.device.stream_add_callback(device.id, stream, callback).is_err() {
            // SAFETY: a call that fails does not call the function, so that the box is still here.
            unsafe { Box::from_raw(context) }.set();
        }
    }
}

/// Runs when a stream has come to a mark.
///
/// # Safety
/// `mark` is a box of [`Mark`], which the call owns.
unsafe extern "C-unwind" fn reached(
    _: ffi::C_Device,
    _: ffi::C_Stream,
    mark: *mut c_void,
    status: *mut Status,
) {
    // SAFETY: the caller's promise.
    unsafe { Box::from_raw(mark.cast::<Mark>()) }.set();
    if !status.is_null() {
        // SAFETY: the device waits for the status there.
        unsafe { status.write(Status::SUCCESS) };
    }
}

/// Does the work of a node, and measures it if the host makes a profile.
pub(crate) fn measured<T>(operator: &'static str, stream: Stream, work: impl FnOnce() -> T) -> T {
    let profile = OPEN.with_borrow(|open| open.last().map(|open| Arc::clone(&open.profile)));
    let Some(profile) = profile else { return work() };
    let device = &profile.device;
    let stream = (device.library.memory == Memory::OfTheDevice).then_some(stream);
    let times = Arc::new(Times([AtomicI64::new(UNKNOWN), AtomicI64::new(UNKNOWN)]));
    let (start, number) = profile.recorded.lock().place_of(stream);
    let lane = match number {
        Some(number) => number as i32,
        // SAFETY: the function only returns the number of the calling thread.
        None => unsafe { libc::gettid() },
    };
    let span = Span { operator, lane, stream: number, times: Arc::clone(&times) };
    OPEN.with_borrow_mut(|open| open.last_mut().map(|open| open.spans.push(span)));
    Mark { times: Arc::clone(&times), which: 0, start }.place(device, stream);
    let result = work();
    Mark { times, which: 1, start }.place(device, stream);
    result
}

impl Recorded {
    /// Returns the start of the profile and the number of a stream.
    fn place_of(&mut self, stream: Option<Stream>) -> (Instant, Option<usize>) {
        let number = stream.map(|stream| {
            self.streams.iter().position(|known| *known == stream).unwrap_or_else(|| {
                self.streams.push(stream);
                self.streams.len() - 1
            })
        });
        (self.start, number)
    }
}

/// Measures the work of a session's nodes.
pub(crate) struct SessionProfiler(Arc<Profile>);

impl SessionProfiler {
    pub(crate) fn new(device: Arc<DeviceState>) -> Self {
        let recorded = Recorded { start: Instant::now(), spans: Vec::new(), streams: Vec::new() };
        Self(Arc::new(Profile { device, recorded: Mutex::new(recorded) }))
    }

    /// Ends the events on this thread from one on; all of them without a number. Returns the work of nodes in them.
    fn close(&self, number: Option<u64>) -> Vec<Span> {
        OPEN.with_borrow_mut(|open| {
            let is_own = |open: &Open| {
                Arc::ptr_eq(&open.profile, &self.0) && number.is_none_or(|number| number == open.event)
            };
            let first = open.iter().position(is_own).unwrap_or(open.len());
            open.drain(first..).flat_map(|open| open.spans).collect()
        })
    }
}

#[tenon::object]
impl Profiler for SessionProfiler {
    fn start_profiling(&self, elapsed: i64) -> Result<()> {
        let elapsed = Duration::from_nanos(u64::try_from(elapsed).unwrap_or(0));
        let now = Instant::now();
        self.0.recorded.lock().start = now.checked_sub(elapsed).unwrap_or(now);
        Ok(())
    }

    fn start_event(&self, number: u64) -> Result<()> {
        let open = Open { profile: Arc::clone(&self.0), event: number, spans: Vec::new() };
        OPEN.with_borrow_mut(|all| all.push(open));
        Ok(())
    }

    fn stop_event(&self, number: u64, event: ProfilingEvent) -> Result<()> {
        let spans = self.close(Some(number));
        if spans.is_empty() {
            return Ok(());
        }
        // SAFETY: the host passes an event that is alive, and its name is a text that lives as long.
        let parent = unsafe { CStr::from_ptr(self.0.device.host.ep.profiling_event_name(event)?) };
        let named = spans.into_iter().map(|span| (span, parent.to_owned()));
        self.0.recorded.lock().spans.extend(named);
        Ok(())
    }

    fn end_profiling(&self, events: ProfilingEvents) -> Result<()> {
        drop(self.close(None));
        let device = &self.0.device;
        if device.library.memory == Memory::OfTheDevice {
            device.library.device.synchronize_device(device.id).map_err(reported)?;
        }
        let spans = std::mem::take(&mut self.0.recorded.lock().spans);
        for (span, parent) in &spans {
            span.add_to(events, parent, device)?;
        }
        Ok(())
    }
}

impl Span {
    /// Adds the work to the events of a profile. Work of which a time is not known is left out.
    fn add_to(&self, events: ProfilingEvents, parent: &CStr, device: &DeviceState) -> Result<()> {
        let [start, end] = self.times.0.each_ref().map(|time| time.load(Ordering::Acquire));
        if start == UNKNOWN || end == UNKNOWN {
            return Ok(());
        }
        let text = |text: String| CString::new(text).unwrap_or_default();
        let operator = text(self.operator.to_owned());
        let mut arguments = vec![
            (c"operator", operator.clone()),
            (c"parent", parent.to_owned()),
            (c"device", text(device.id.0.to_string())),
        ];
        if let Some(stream) = self.stream {
            arguments.push((c"stream", text(stream.to_string())));
        }
        let keys: Vec<_> = arguments.iter().map(|(key, _)| key.as_ptr()).collect();
        let values: Vec<_> = arguments.iter().map(|(_, value)| value.as_ptr()).collect();
        let ep = device.host.ep;
        // SAFETY: both lists have `keys.len()` texts, and the event is released after it was added.
        unsafe {
            let event = ep.create_profiling_event(
                EventCategory::KERNEL,
                std::process::id().cast_signed(),
                self.lane,
                operator.as_ptr(),
                start / 1000,
                (end - start).max(0) / 1000,
                keys.as_ptr(),
                values.as_ptr(),
                keys.len(),
            )?;
            let list = [event.as_raw()];
            let added = ep.add_profiling_events(events, list.as_ptr(), list.len());
            ep.release_profiling_event(event)?;
            added
        }
    }
}
