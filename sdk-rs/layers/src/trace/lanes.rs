//! Records when the work of streams ends, with a callback behind each piece of work.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use tenon::support::Mutex;

use tenon::AnyPtr;
use tenon::device::{Device, DeviceId, Function, Stream, StreamCallback, ffi};
use tenon::reflect::{Call, Kind as ParamKind};

use super::ring::{Header, Kind};
use super::tracer::{Tracer, header};
use crate::{clock, own_callback};

/// The streams of one plugin, as lanes.
pub(super) struct Lanes {
    tracer: &'static Tracer,
    plugin: u8,
    on: AtomicBool,
    /// The number of consecutive callbacks that the plugin refused.
    refused: AtomicU32,
    /// The captures in progress. Work that is queued meanwhile may become part of a graph.
    captures: AtomicUsize,
    known: Mutex<Vec<Arc<Lane>>>,
}

struct Lane {
    number: u64,
    device: i32,
    stream: u64,
    /// The end of the previous work.
    end: AtomicU64,
}

/// A callback that is queued.
struct Mark {
    lanes: Arc<Lanes>,
    lane: Arc<Lane>,
    function: u16,
    queued: u64,
}

/// The marks that no stream has reached yet. A callback gets a number instead of a pointer, so that a second call, or
/// a call after a refusal, has no effect.
static MARKS: Mutex<Marks> = Mutex::new(Marks { last: 0, waiting: BTreeMap::new() });

struct Marks {
    last: u64,
    waiting: BTreeMap<u64, Mark>,
}

fn marks() -> MutexGuard<'static, Marks> {
    MARKS.lock()
}

fn take(number: u64) -> Option<Mark> {
    marks().waiting.remove(&number)
}

impl Lanes {
    /// The number of consecutive refusals after which no more callbacks are queued.
    const PATIENCE: u32 = 16;

    pub(super) fn new(tracer: &'static Tracer, plugin: u8) -> Arc<Self> {
        Arc::new(Self {
            tracer,
            plugin,
            on: AtomicBool::new(true),
            refused: AtomicU32::new(0),
            captures: AtomicUsize::new(0),
            known: Mutex::default(),
        })
    }

    /// Prepares for a call that may begin a capture.
    pub(super) fn before(&self, call: &Call<'_>) {
        if call.index == Function::CudaStreamBeginCapture as usize {
            self.captures.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Follows the effect of a call on streams.
    pub(super) fn after(self: &Arc<Self>, call: &Call<'_>, failed: bool, next: &dyn Device) {
        let begun = call.index == Function::CudaStreamBeginCapture as usize;
        if begun && failed || call.index == Function::CudaStreamEndCapture as usize {
            let less = |count: usize| count.checked_sub(1);
            let _ = self.captures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
        if failed || !self.on.load(Ordering::Relaxed) {
            return;
        }
        if call.index == Function::DestroyStream as usize {
            let (device, stream) = (call.argument("device"), call.argument("stream"));
            self.known().retain(|lane| Some(lane.device as u64) != device || Some(lane.stream) != stream);
        }
        if let Some(stream) = call.function.stream_ordered
            && self.captures.load(Ordering::Relaxed) == 0
            && let Some(device) = device_of(call, next)
        {
            self.mark(call.index as u16, (device, call.arguments[stream]), next);
        }
    }

    fn mark(self: &Arc<Self>, function: u16, (device, stream): (DeviceId, u64), next: &dyn Device) {
        let mark =
            Mark { lanes: self.clone(), lane: self.lane(device.0, stream), function, queued: clock::now() };
        let number = {
            let mut marks = marks();
            marks.last += 1;
            let number = marks.last;
            marks.waiting.insert(number, mark);
            number
        };
        // SAFETY: the function takes any number for its context, from any thread, and outlives the process's use of it,
        // since the library is pinned.
        let callback = unsafe { StreamCallback::from_raw(Some(passed), AnyPtr::from_addr(number as usize)) };
        let stream = Stream::from_addr(stream as usize);
        let queued = own_callback::queue(|| next.stream_add_callback(device, stream, callback));
        if queued.is_ok() {
            self.refused.store(0, Ordering::Relaxed);
            return;
        }
        drop(take(number));
        if self.refused.fetch_add(1, Ordering::Relaxed) + 1 >= Self::PATIENCE {
            self.on.store(false, Ordering::Relaxed);
        }
    }

    fn lane(&self, device: i32, stream: u64) -> Arc<Lane> {
        let mut known = self.known();
        if let Some(lane) = known.iter().find(|lane| lane.device == device && lane.stream == stream) {
            return lane.clone();
        }
        let number = self.tracer.lanes.fetch_add(1, Ordering::Relaxed) as u64 + 1;
        let lane = Arc::new(Lane { number, device, stream, end: AtomicU64::new(0) });
        known.push(lane.clone());
        drop(known);
        let header = Header { plugin: self.plugin, ..header(Kind::Lane, 4) };
        self.tracer.record(&[header.pack(), number, device as u64, stream]);
        lane
    }

    fn known(&self) -> MutexGuard<'_, Vec<Arc<Lane>>> {
        self.known.lock()
    }
}

/// Returns the device of a call, or the current device of the thread if the call names none.
fn device_of(call: &Call<'_>, next: &dyn Device) -> Option<DeviceId> {
    let named = call.function.params.iter().position(|param| matches!(param.kind, ParamKind::Id("DeviceId")));
    match named {
        Some(param) => Some(DeviceId(call.arguments[param] as i32)),
        None => next.get_device().ok(),
    }
}

impl Mark {
    /// Notes that the stream has reached the mark.
    fn pass(&self) {
        let end = clock::now();
        let before = self.lane.end.swap(end, Ordering::AcqRel);
        let Lanes { tracer, plugin, .. } = &*self.lanes;
        let header = Header { function: self.function, plugin: *plugin, ..header(Kind::Work, 5) };
        let start = self.queued.max(before).min(end);
        tracer.record(&[header.pack(), start, end, self.lane.number, self.lane.device as u64]);
    }
}

/// Runs when a stream reaches a mark.
unsafe extern "C-unwind" fn passed(
    _: ffi::C_Device,
    _: ffi::C_Stream,
    number: *mut c_void,
    _: *mut tenon::device::Status,
) {
    if let Some(mark) = take(number.addr() as u64) {
        mark.pass();
    }
}
