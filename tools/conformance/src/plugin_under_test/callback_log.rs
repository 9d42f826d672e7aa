//! Callbacks that record their calls and arguments.

use std::ffi::c_void;
use std::thread::ThreadId;
use tenon::support::Mutex;

use tenon::device::{Function, Status, ffi};

use super::{PluginUnderTest, id};
use crate::case::Verdict;

/// One call of a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The number that the callback was queued with.
    pub(crate) number: usize,
    pub(crate) stream: u64,
    /// The number of the device; `None`: null.
    pub(crate) device: Option<i32>,
    /// The status that the plugin had set before the call; `None`: null.
    pub(crate) status: Option<Status>,
    /// A byte that was read during the call.
    pub(crate) seen: Option<u8>,
    pub(crate) thread: ThreadId,
}

/// The calls, in order.
pub(crate) struct CallbackLog {
    // Leaked, as are the contexts: a wrong plugin may call back at any time.
    entries: &'static Mutex<Vec<Entry>>,
}

struct Context {
    entries: &'static Mutex<Vec<Entry>>,
    number: usize,
    watched: usize,
}

impl CallbackLog {
    pub(crate) fn new() -> Self {
        Self { entries: Box::leak(Box::default()) }
    }

    /// Returns a callback and its context.
    pub(crate) fn callback(&self, number: usize, watched: Option<u64>) -> [u64; 2] {
        let watched = watched.map_or(0, |address| address as usize);
        let context: &'static Context =
            Box::leak(Box::new(Context { entries: self.entries, number, watched }));
        let function = note as unsafe extern "C" fn(ffi::C_Device, ffi::C_Stream, *mut c_void, *mut Status);
        [function as usize as u64, std::ptr::from_ref(context).expose_provenance() as u64]
    }

    /// Queues a callback that will be entered under this number.
    pub(crate) fn queue(
        &self,
        subject: &PluginUnderTest,
        device: i32,
        stream: u64,
        number: usize,
    ) -> Verdict {
        let [function, context] = self.callback(number, None);
        subject.ok(Function::StreamAddCallback, &[id(device), stream, function, context])
    }

    /// Queues a callback as [`queue`](Self::queue) does; it also reads a byte of host memory.
    pub(crate) fn watch(&self, subject: &PluginUnderTest, device: i32, stream: u64, byte: u64) -> Verdict {
        let [function, context] = self.callback(0, Some(byte));
        subject.ok(Function::StreamAddCallback, &[id(device), stream, function, context])
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries.lock().clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.lock().len()
    }
}

/// Notes that a stream has called back.
unsafe extern "C" fn note(
    device: ffi::C_Device,
    stream: ffi::C_Stream,
    context: *mut c_void,
    status: *mut Status,
) {
    // SAFETY: the pointer is that of a `Context` which is never freed.
    let context = unsafe { &*context.cast::<Context>() };
    // SAFETY: a case that watches a byte keeps it until the stream has passed.
    let seen = (context.watched != 0)
        .then(|| unsafe { std::ptr::with_exposed_provenance::<u8>(context.watched).read_volatile() });
    let entry = Entry {
        number: context.number,
        stream: stream.expose_provenance() as u64,
        // SAFETY: the interface says that it is null or leads to a device.
        device: (!device.is_null()).then(|| unsafe { (*device).id }),
        // SAFETY: the interface says that it is null or leads to a status.
        status: (!status.is_null()).then(|| unsafe { *status }),
        seen,
        thread: std::thread::current().id(),
    };
    context.entries.lock().push(entry);
}
