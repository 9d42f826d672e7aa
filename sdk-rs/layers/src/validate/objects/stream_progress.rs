//! Tracks which work is known to be done.
//!
//! Each piece of work that is put into a stream gets the next number of the stream. A stream is done up to a
//! number after a wait for it or for a later event, or after a query that reported it. When a wait for
//! another stream is done, so is the work that it waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tenon::support::{Mutex, RwLock};

use super::hash::Map;

/// Work on a stream: the stream's number here, and the work's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkId {
    stream: u32,
    number: u64,
}

/// Bits for the number of the work; enough for weeks with a call each microsecond.
const NUMBER_BITS: u32 = 40;

impl WorkId {
    pub fn new(stream: u32, number: u64) -> Self {
        Self { stream, number }
    }

    pub fn stream(self) -> u32 {
        self.stream
    }

    /// Returns its place in the work of the stream.
    pub fn number(self) -> u64 {
        self.number
    }

    #[inline]
    pub fn pack(self) -> u64 {
        u64::from(self.stream) << NUMBER_BITS | self.number
    }

    pub fn unpack(bits: u64) -> Option<Self> {
        let id = Self { stream: (bits >> NUMBER_BITS) as u32, number: bits & ((1 << NUMBER_BITS) - 1) };
        (bits != 0).then_some(id)
    }
}

/// The progress of one stream.
pub struct StreamProgress {
    /// Its number, from 1.
    pub id: u32,
    pub device: i32,
    pub address: u64,
    /// The last work that was put into it.
    queued: AtomicU64,
    /// The last work that is known to be done.
    done: AtomicU64,
    /// The last work that a callback may have reported to the program as done.
    announced: AtomicU64,
    /// The first callback that is not known to be done: work behind it may wait for anything.
    first_callback: AtomicU64,
    waits: Mutex<Vec<Wait>>,
}

/// From `at` on the stream waits for work on another.
#[derive(Clone, Copy)]
struct Wait {
    at: u64,
    work: WorkId,
}

impl StreamProgress {
    /// The greatest number of waits that are kept. Beyond it two are merged, so that work may count as done too early, and
    /// never for running too long.
    const WAITS: usize = 16;

    /// Puts work into the stream.
    #[inline]
    pub fn queue(&self) -> WorkId {
        WorkId::new(self.id, self.queued.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Returns the newest work of the stream.
    #[inline]
    pub fn until_now(&self) -> WorkId {
        WorkId::new(self.id, self.queued.load(Ordering::Relaxed))
    }

    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed) >= self.queued.load(Ordering::Relaxed)
    }

    /// Returns a name such as "Stream 0x1000".
    pub fn text(&self) -> String {
        match self.address {
            0 => "the default stream".to_owned(),
            address => format!("Stream {address:#x}"),
        }
    }

    /// Returns the waits that come before work.
    fn waits_before(&self, number: u64) -> Vec<WorkId> {
        let waits = self.waits.lock();
        waits.iter().filter(|wait| wait.at <= number).map(|wait| wait.work).collect()
    }

    /// Returns true if work runs behind a callback, which may wait for anything.
    fn is_held_back(&self, number: u64) -> bool {
        let first = self.first_callback.load(Ordering::Relaxed);
        first > self.done.load(Ordering::Relaxed) && first <= number
    }

    /// Returns the work that no longer fits.
    fn wait(&self, mut wait: Wait) -> Option<WorkId> {
        let mut waits = self.waits.lock();
        let mut forgotten = None;
        if waits.len() >= Self::WAITS {
            match waits.iter().position(|one| one.work.stream == wait.work.stream) {
                Some(same) => wait.at = waits.remove(same).at,
                None => forgotten = Some(waits.remove(0).work),
            }
        }
        waits.push(wait);
        forgotten
    }
}

/// The streams of a plugin.
#[derive(Default)]
pub struct Progress {
    streams: RwLock<Streams>,
}

#[derive(Default)]
struct Streams {
    last: u32,
    known: Map<u32, Arc<StreamProgress>>,
}

impl Progress {
    pub fn begin(&self, device: i32, address: u64) -> Arc<StreamProgress> {
        let mut streams = self.streams.write();
        // Numbers are reused after millions of streams; work in flight may then go unnoticed.
        streams.last = streams.last % ((1 << (64 - NUMBER_BITS)) - 1) + 1;
        let stream = Arc::new(StreamProgress {
            id: streams.last,
            device,
            address,
            queued: AtomicU64::new(0),
            done: AtomicU64::new(0),
            announced: AtomicU64::new(0),
            first_callback: AtomicU64::new(0),
            waits: Mutex::default(),
        });
        streams.known.insert(stream.id, stream.clone());
        stream
    }

    pub fn end(&self, stream: u32) {
        let ended = self.streams.write().known.remove(&stream);
        // Its order relative to other streams is no longer known, so the work that it waited for counts as complete.
        for work in ended.iter().flat_map(|stream| stream.waits_before(u64::MAX)) {
            self.finish(work);
        }
    }

    /// Restores a stream that was marked as destroyed but still exists.
    pub fn restore(&self, stream: &Arc<StreamProgress>) {
        let mut streams = self.streams.write();
        streams.known.insert(stream.id, stream.clone());
    }

    pub fn get(&self, stream: u32) -> Option<Arc<StreamProgress>> {
        self.streams.read().known.get(&stream).cloned()
    }

    /// Notes that a stream waits for work on another.
    #[inline]
    pub fn wait(&self, stream: &StreamProgress, waiting: WorkId, work: WorkId) {
        if let Some(forgotten) = stream.wait(Wait { at: waiting.number, work }) {
            self.finish(forgotten);
        }
    }

    /// Returns true if the work is known to be done, or its stream was destroyed.
    pub fn is_done(&self, work: WorkId) -> bool {
        self.get(work.stream).is_none_or(|stream| stream.done.load(Ordering::Relaxed) >= work.number)
    }

    /// Returns true if a callback may have told the program that the work is done.
    pub fn is_announced(&self, work: WorkId) -> bool {
        self.get(work.stream).is_none_or(|stream| stream.announced.load(Ordering::Relaxed) >= work.number)
    }

    /// Notes that a callback was queued. All work before it may become known to the program without a call.
    pub fn announce(&self, callback: WorkId) {
        if let Some(stream) = self.get(callback.stream) {
            let first = stream.first_callback.load(Ordering::Relaxed);
            if first <= stream.done.load(Ordering::Relaxed) {
                stream.first_callback.store(callback.number, Ordering::Relaxed);
            }
        }
        let before = WorkId::new(callback.stream, callback.number.saturating_sub(1));
        self.reaches(before, |stream, number| {
            stream.announced.fetch_max(number, Ordering::Relaxed);
            false
        });
    }

    /// Returns true if work is done before later work starts, or before a call if there is none, as far as can be
    /// known: after a callback anything may be.
    pub fn comes_before(&self, work: WorkId, later: Option<WorkId>) -> bool {
        let is_it = |stream: &StreamProgress, number| stream.id == work.stream && number >= work.number;
        let is_held_back = |stream: &StreamProgress, number| stream.is_held_back(number);
        self.is_done(work)
            || self.is_announced(work)
            || later.is_some_and(|later| self.reaches(later, |a, b| is_it(a, b) || is_held_back(a, b)))
            || self.reaches(work, is_held_back)
    }

    /// Visits work and all that it waits for, until `found` returns true.
    fn reaches(&self, work: WorkId, found: impl Fn(&StreamProgress, u64) -> bool) -> bool {
        let (mut open, mut visited) = (vec![work], Map::<u32, u64>::default());
        while let Some(work) = open.pop() {
            let seen = visited.entry(work.stream).or_default();
            if *seen >= work.number {
                continue;
            }
            *seen = work.number;
            let Some(stream) = self.get(work.stream) else { continue };
            if found(&stream, work.number) {
                return true;
            }
            open.extend(stream.waits_before(work.number));
        }
        false
    }

    /// Marks work as done, with all work that it waited for.
    pub fn finish(&self, work: WorkId) {
        let mut open = vec![work];
        while let Some(work) = open.pop() {
            let Some(stream) = self.get(work.stream) else { continue };
            stream.done.fetch_max(work.number, Ordering::Relaxed);
            let mut waits = stream.waits.lock();
            waits.retain(|wait| {
                let passed = wait.at <= work.number;
                if passed {
                    open.push(wait.work);
                }
                !passed
            });
        }
    }

    /// Returns the streams of a device.
    pub fn of_device(&self, device: i32) -> Vec<Arc<StreamProgress>> {
        let streams = self.streams.read();
        streams.known.values().filter(|stream| stream.device == device).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stream_waited_for_is_done_with_it() {
        let progress = Progress::default();
        let [a, b, c] = [1, 2, 3].map(|address| progress.begin(0, address));
        let on_a = a.queue();
        progress.wait(&b, b.queue(), on_a);
        let on_b = b.queue();
        progress.wait(&c, c.queue(), on_b);
        let later = a.queue();
        assert!(!progress.is_done(on_a) && !a.is_done());
        progress.finish(c.until_now());
        assert!(progress.is_done(on_a) && progress.is_done(on_b) && c.is_done());
        assert!(!progress.is_done(later), "nobody waited for it");
        progress.end(a.id);
        assert!(progress.is_done(later), "of a stream that is gone nothing is known");
    }

    #[test]
    fn order_goes_through_waits_and_not_against_them() {
        let progress = Progress::default();
        let [a, b, c] = [1, 2, 3].map(|address| progress.begin(0, address));
        let on_a = a.queue();
        progress.wait(&b, b.queue(), on_a);
        let (after, on_b) = (a.queue(), b.queue());
        progress.wait(&c, c.queue(), on_b);
        let on_c = c.queue();
        assert!(progress.comes_before(on_a, Some(on_c)));
        assert!(!progress.comes_before(after, Some(on_c)));
        assert!(!progress.comes_before(on_c, Some(a.queue())));
        assert!(!progress.comes_before(on_a, None), "nobody waited for it");
        progress.end(b.id);
        assert!(
            progress.comes_before(on_a, Some(c.queue())),
            "the order stays, although its stream has ended"
        );
    }

    #[test]
    fn a_callback_may_order_anything() {
        let progress = Progress::default();
        let (a, b) = (progress.begin(0, 1), progress.begin(0, 2));
        let before = a.queue();
        assert!(!progress.comes_before(before, Some(b.queue())));
        progress.announce(a.queue());
        assert!(progress.comes_before(before, Some(b.queue())), "the callback may have told the program");
        let behind = a.queue();
        assert!(progress.comes_before(behind, Some(b.queue())), "the callback may still wait");
        progress.finish(behind);
        assert!(!progress.comes_before(a.queue(), Some(b.queue())), "the callback has returned");
    }

    #[test]
    fn a_wait_that_was_not_passed_says_nothing() {
        let progress = Progress::default();
        let (a, b) = (progress.begin(0, 1), progress.begin(0, 2));
        let (on_a, early) = (a.queue(), b.queue());
        progress.wait(&b, b.queue(), on_a);
        progress.finish(early);
        assert!(!progress.is_done(on_a));
    }

    #[test]
    fn many_waits_take_bounded_room_and_claim_nothing_in_flight() {
        let progress = Progress::default();
        let (a, b) = (progress.begin(0, 1), progress.begin(0, 2));
        for _ in 0..1000 {
            let on_a = a.queue();
            progress.wait(&b, b.queue(), on_a);
        }
        assert!(b.waits.lock().len() <= StreamProgress::WAITS);
        progress.finish(b.until_now());
        assert!(a.is_done());
    }

    #[test]
    fn a_use_survives_packing() {
        let id = WorkId::new(0xff_ffff, (1 << NUMBER_BITS) - 1);
        assert_eq!(WorkId::unpack(id.pack()), Some(id));
        assert_eq!(WorkId::unpack(0), None);
    }
}
