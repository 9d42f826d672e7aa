//! The sources of a trace: the rings of the threads, and the thread that writes them to the file.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;
use tenon::support::Mutex;

use tenon::support::write_line;

use super::format::{self, Setting, Text};
use super::output::Output;
use super::ring::{Header, Kind, MOST, Ring};
use crate::clock;

/// The maximum number of threads that record at the same time; records of further threads are dropped.
const RINGS: usize = 256;
/// The maximum number of plugins.
const PLUGINS: usize = 64;
/// Size of the text that is formatted before a write, in bytes.
const BUFFER: usize = 1 << 16;
/// The longest time that records stay in memory, approximately.
const PAUSE: Duration = Duration::from_millis(50);

/// Rings without an owner.
static SPARE: Mutex<Vec<&'static Ring>> = Mutex::new(Vec::new());
static LAST_ID: AtomicU32 = AtomicU32::new(0);

/// An active trace. It is never freed, so that signal handlers and ending threads may use it.
pub(super) struct Tracer {
    id: u32,
    process: u32,
    start: u64,
    output: Output,
    rings: [AtomicPtr<Ring>; RINGS],
    plugins: [OnceLock<&'static str>; PLUGINS],
    /// The maximum number of events, and their current number.
    limit: u64,
    events: AtomicU64,
    dropped: AtomicU64,
    /// True once records are no longer accepted.
    closed: AtomicBool,
    /// Number of the thread that writes to the file; 0: none.
    writing: AtomicI32,
    buffer: Mutex<Box<[u8]>>,
    /// The thread that writes, once it runs.
    writer: OnceLock<Thread>,
    woken: AtomicBool,
    /// Number of lanes.
    pub(super) lanes: AtomicUsize,
}

thread_local! {
    // No destructor, so that it can be used to the very end of a thread.
    static CURRENT: Cell<Option<(u32, &'static Ring)>> = const { Cell::new(None) };
    static OWNED: RefCell<Owned> = const { RefCell::new(Owned(Vec::new())) };
}

/// The rings of a thread, one for each trace.
struct Owned(Vec<(&'static Tracer, &'static Ring)>);

impl Drop for Owned {
    fn drop(&mut self) {
        CURRENT.set(None);
        for (_, ring) in &self.0 {
            ring.ended.store(true, Ordering::Release);
        }
    }
}

fn thread_id() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

impl Tracer {
    /// Creates the file and starts the thread that writes it.
    pub(super) fn start(path: &Path, limit: u64) -> io::Result<&'static Self> {
        super::memory::prepare();
        let mut head = [0; format::EVENT];
        let mut text = Text::new(&mut head);
        let name = std::env::args_os().next().unwrap_or_default();
        format::head(&mut text, u64::from(std::process::id()), &name.to_string_lossy());
        let output = Output::open(path, text.bytes())?;
        let tracer: &'static Self = Box::leak(Box::new(Self {
            id: LAST_ID.fetch_add(1, Ordering::Relaxed) + 1,
            process: std::process::id(),
            start: clock::now(),
            output,
            rings: [const { AtomicPtr::new(std::ptr::null_mut()) }; RINGS],
            plugins: [const { OnceLock::new() }; PLUGINS],
            limit,
            events: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            writing: AtomicI32::new(0),
            buffer: Mutex::new(vec![0; BUFFER].into_boxed_slice()),
            writer: OnceLock::new(),
            woken: AtomicBool::new(false),
            lanes: AtomicUsize::new(0),
        }));
        // Writing at once reports a file that cannot be written, and viewers can open the file while the trace runs.
        tracer.output.write(&[]);
        let writer = thread::Builder::new().name("tenon-trace".into()).spawn(|| tracer.write_on())?;
        let _ = tracer.writer.set(writer.thread().clone());
        Ok(tracer)
    }

    /// Gives a plugin a number; `None` when there are too many.
    pub(super) fn add_plugin(&self, name: &str) -> Option<u8> {
        let name: &'static str = Box::leak(name.into());
        (0..PLUGINS as u8).find(|number| self.plugins[usize::from(*number)].set(name).is_ok())
    }

    pub(super) fn plugin(&self, number: u8) -> &'static str {
        self.plugins.get(usize::from(number)).and_then(|name| name.get()).copied().unwrap_or("plugin")
    }

    /// Returns true if everything is written and nothing is read any more.
    fn has_ended(&self) -> bool {
        self.is_closed() && self.output.is_closed()
    }

    /// Returns the destination.
    pub(super) fn path(&self) -> &Path {
        self.output.path()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Adds a record. Waits if the file does not keep up.
    #[inline]
    pub(super) fn record(&'static self, record: &[u64]) {
        match CURRENT.get() {
            Some((id, ring)) if id == self.id => self.push(ring, record),
            _ => self.record_slowly(record),
        }
    }

    #[inline]
    fn push(&self, ring: &Ring, record: &[u64]) {
        match ring.push(record) {
            Some(eighths) if eighths < 4 => {}
            Some(_) => self.wake(),
            None => self.push_slowly(ring, record),
        }
    }

    #[cold]
    fn record_slowly(&'static self, record: &[u64]) {
        match self.ring() {
            Some(ring) => {
                CURRENT.set(Some((self.id, ring)));
                self.push(ring, record);
            }
            None => self.drop_one(),
        }
    }

    #[cold]
    fn push_slowly(&self, ring: &Ring, record: &[u64]) {
        // A forked process has no writer thread.
        while !self.is_closed() && self.process == std::process::id() {
            self.wake();
            thread::sleep(Duration::from_micros(100));
            if ring.push(record).is_some() {
                return;
            }
        }
        self.drop_one();
    }

    fn drop_one(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    #[cold]
    fn wake(&self) {
        if !self.woken.swap(true, Ordering::Relaxed)
            && let Some(writer) = self.writer.get()
        {
            writer.unpark();
        }
    }

    /// Returns the ring of this thread; `None` at the end of the thread, or where there are too many threads.
    fn ring(&'static self) -> Option<&'static Ring> {
        if self.is_closed() {
            return None;
        }
        OWNED
            .try_with(|owned| {
                let mut owned = owned.try_borrow_mut().ok()?;
                if let Some((_, ring)) = owned.0.iter().find(|(tracer, _)| tracer.id == self.id) {
                    return Some(*ring);
                }
                // Nothing reads the thread's ring of a trace that has ended.
                let own = owned.0.iter().position(|(tracer, _)| tracer.has_ended());
                let own = own.map(|index| owned.0.swap_remove(index).1).inspect(|ring| ring.forget());
                let spare = || SPARE.lock().pop();
                let ring = own.or_else(spare).unwrap_or_else(Ring::leak);
                ring.thread.store(u64::from(thread_id().cast_unsigned()), Ordering::Relaxed);
                ring.ended.store(false, Ordering::Relaxed);
                if !self.add_ring(ring) {
                    SPARE.lock().push(ring);
                    return None;
                }
                owned.0.push((self, ring));
                let name = thread_name();
                let header = header(Kind::Thread, 3);
                self.push(ring, &[header.pack(), name[0], name[1]]);
                Some(ring)
            })
            .ok()
            .flatten()
    }

    fn add_ring(&self, ring: &'static Ring) -> bool {
        let pointer = std::ptr::from_ref(ring).cast_mut();
        self.rings.iter().any(|place| {
            let free = std::ptr::null_mut();
            place.compare_exchange(free, pointer, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    fn rings(&self) -> impl Iterator<Item = (&AtomicPtr<Ring>, &'static Ring)> {
        self.rings.iter().filter_map(|place| {
            // SAFETY: the stored pointer is null or to memory that is never freed.
            unsafe { place.load(Ordering::Acquire).as_ref() }.map(|ring| (place, ring))
        })
    }

    /// Runs the loop of the writing thread.
    fn write_on(&self) {
        while !self.is_closed() {
            thread::park_timeout(PAUSE);
            self.woken.store(false, Ordering::Relaxed);
            if self.begin_writing(Duration::MAX) {
                let mut buffer = self.buffer.lock();
                // After the end of the trace, its rings may belong to another one.
                if !self.is_closed() {
                    self.drain(&mut buffer);
                    self.give_back_rings();
                }
                drop(buffer);
                self.end_writing();
            }
        }
    }

    /// Writes all that was recorded until now.
    pub(super) fn flush(&self) {
        if self.is_closed() || self.process != std::process::id() || !self.begin_writing(Duration::MAX) {
            return;
        }
        let mut buffer = self.buffer.lock();
        if !self.is_closed() {
            self.drain(&mut buffer);
        }
        drop(buffer);
        self.end_writing();
    }

    /// Writes all, and the end of the file.
    pub(super) fn close(&self) {
        if self.process != std::process::id() || !self.begin_writing(Duration::MAX) {
            return;
        }
        if !self.closed.swap(true, Ordering::AcqRel) {
            let mut buffer = self.buffer.lock();
            self.drain(&mut buffer);
            let mut text = Text::new(&mut buffer);
            self.report_missing(&mut text);
            format::tail(&mut text);
            self.output.close(text.bytes());
            // The trace itself is never freed, so its buffers are released.
            *buffer = Box::default();
            self.warn_of_missing();
        }
        self.end_writing();
        self.wake();
    }

    /// Writes the remaining records in a signal handler: without locks or allocation, and for a limited time.
    pub(super) fn save(&self, buffer: &mut [u8]) {
        if self.is_closed() || self.process != std::process::id() {
            return;
        }
        // Gives the current writer time to end its line.
        let alone = self.begin_writing(Duration::from_millis(200));
        self.drain(buffer);
        let mut text = Text::new(buffer);
        self.report_missing(&mut text);
        self.output.write(text.bytes());
        if alone {
            self.end_writing();
        }
    }

    /// Returns the number of missing events, for any reason.
    fn missing(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed) + self.output.missing()
    }

    /// Writes how many events are missing: in the head of the file, which has room for it, or else at its
    /// end.
    fn report_missing(&self, text: &mut Text<'_>) {
        let missing = self.missing();
        if missing > 0 {
            format::dropped(text, u64::from(self.process), missing);
            if self.output.fill_reserved(text.bytes()) {
                text.clear();
            }
        }
    }

    /// Prints the number of missing events to standard error.
    fn warn_of_missing(&self) {
        let path = self.output.path().display();
        match (self.missing(), self.output.error()) {
            (0, None) => {}
            (0, Some(error)) => write_line(format_args!("the trace {path} lacks its end: {error}")),
            (missing, Some(error)) => {
                write_line(format_args!("the trace {path} lacks {missing} events: {error}"));
            }
            (missing, None) if self.events.load(Ordering::Relaxed) > self.limit => write_line(format_args!(
                "the trace {path} lacks {missing} events: the limit is {} (TENON_TRACE_LIMIT)",
                self.limit
            )),
            (missing, None) => write_line(format_args!(
                "the trace {path} lacks {missing} events: they were made in forked processes, at the end of threads, or on \
                 more than {RINGS} threads"
            )),
        }
    }

    /// Becomes the only writer. Returns false if that takes too long, or if this thread is the writer already.
    fn begin_writing(&self, patience: Duration) -> bool {
        let me = thread_id();
        let until = u128::from(clock::now()) + patience.as_nanos();
        loop {
            match self.writing.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) if other == me || u128::from(clock::now()) > until => return false,
                Err(_) => pause(),
            }
        }
    }

    fn end_writing(&self) {
        self.writing.store(0, Ordering::Release);
    }

    /// Writes what is in the rings.
    fn drain(&self, buffer: &mut [u8]) {
        let plugin = |number| self.plugin(number);
        let setting = Setting { process: u64::from(self.process), start: self.start, plugin: &plugin };
        let mut text = Text::new(buffer);
        for (_, ring) in self.rings() {
            let thread = ring.thread.load(Ordering::Relaxed);
            let mut from = ring.oldest();
            loop {
                let until = ring.read(from, |header, words| {
                    if self.is_over(header) {
                        self.drop_one();
                    } else {
                        format::record(&mut text, &setting, thread, header, words);
                    }
                    text.has_room()
                });
                // Only what was written is passed, so that a crash in between finds the rest.
                self.output.write(text.bytes());
                text.clear();
                ring.pass(until);
                if until == from {
                    break;
                }
                from = until;
            }
        }
    }

    /// Counts an event. Returns true if it is beyond the limit. Names are not events.
    fn is_over(&self, header: Header) -> bool {
        match header.kind {
            Kind::Lane | Kind::Thread => false,
            Kind::Call | Kind::MemoryCall | Kind::Collective | Kind::Work => {
                self.events.fetch_add(1, Ordering::Relaxed) >= self.limit
            }
        }
    }

    fn give_back_rings(&self) {
        for (place, ring) in self.rings() {
            if ring.ended.load(Ordering::Acquire) && ring.is_empty() {
                place.store(std::ptr::null_mut(), Ordering::Release);
                SPARE.lock().push(ring);
            }
        }
    }
}

/// Sleeps briefly. Safe in a signal handler.
fn pause() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: 100_000 };
    // SAFETY: the time is valid, and what is left of it is not asked for.
    unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
}

/// Returns the header of a record that is not a call.
pub(super) fn header(kind: Kind, words: u8) -> Header {
    Header { kind, words, function: 0, plugin: 0, answer: 0, status: 0 }
}

/// Returns the first 16 bytes of the name of this thread.
fn thread_name() -> [u64; 2] {
    let mut name = [0u8; 16];
    // SAFETY: the system writes at most 16 bytes, with the zero at the end.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let (a, b) = name.split_at(8);
    [a, b].map(|half| u64::from_le_bytes(half.try_into().unwrap_or_default()))
}

const _: () = assert!(MOST <= u8::MAX as usize);
