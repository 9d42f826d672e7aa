//! A mock device without real memory. It counts everything, and fails on request.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use tenon::support::Mutex;

use tenon::DevicePtr;
use tenon::device::*;
use tenon_testing::stub_device;

/// A device whose streams do not execute work until `run` is called.
pub struct Mock {
    /// Bytes that can be allocated.
    pub capacity: usize,
    /// The result of `device_min_chunk_size`.
    pub unit: usize,
    /// Offset of addresses from a page.
    pub skew: usize,
    pub fail_in: AtomicU64,
    pub state: Mutex<State>,
}

#[derive(Default)]
pub struct State {
    next: usize,
    memory: BTreeMap<usize, usize>,
    bytes: usize,
    /// The live events, each with what it recorded.
    events: HashMap<usize, Option<(usize, u64)>>,
    /// For each stream, the number of queued and of completed work items.
    streams: HashMap<usize, (u64, u64)>,
}

impl Default for Mock {
    fn default() -> Self {
        Mock { capacity: 1 << 40, unit: 64, skew: 0, fail_in: AtomicU64::new(0), state: Mutex::default() }
    }
}

impl Mock {
    /// Makes one call fail: the one after `calls - 1` other calls.
    pub fn fail_in(&self, calls: u64) {
        self.fail_in.store(calls, Ordering::Relaxed);
    }

    /// Returns true if the requested failure has not happened yet.
    pub fn will_fail(&self) -> bool {
        self.fail_in.load(Ordering::Relaxed) > 0
    }

    pub fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    pub fn events(&self) -> usize {
        self.state.lock().events.len()
    }

    /// Returns true if one allocation contains the whole range.
    pub fn holds(&self, at: DevicePtr, size: usize) -> bool {
        let state = self.state.lock();
        let before = state.memory.range(..=at.addr()).next_back();
        before.is_some_and(|(start, length)| at.addr() + size <= start + length)
    }

    /// Queues work on a stream; returns the number of work items queued so far.
    pub fn work(&self, stream: Stream) -> u64 {
        let mut state = self.state.lock();
        let (given, _) = state.streams.entry(stream.addr()).or_default();
        *given += 1;
        *given
    }

    /// Completes all queued work of a stream.
    pub fn run(&self, stream: Stream) {
        let mut state = self.state.lock();
        let (given, done) = state.streams.entry(stream.addr()).or_default();
        *done = *given;
    }

    /// Returns the number of queued and of completed work items of a stream.
    pub fn progress(&self, stream: Stream) -> (u64, u64) {
        self.state.lock().streams.get(&stream.addr()).copied().unwrap_or_default()
    }

    fn call(&self) -> Result<std::sync::MutexGuard<'_, State>> {
        let left = self.fail_in.load(Ordering::Relaxed);
        self.fail_in.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 1 { Err(Error::new(Status::FAILED, "as ordered")) } else { Ok(self.state.lock()) }
    }
}

stub_device! {
    #[tenon::device]
    impl Mock {
        fn create_event(&self, _: DeviceId) -> Result<Event> {
            let mut state = self.call()?;
            state.next += 1;
            let event = state.next;
            state.events.insert(event, None);
            Ok(Event::from_addr(event))
        }

        fn destroy_event(&self, _: DeviceId, event: Event) -> Result<()> {
            assert!(self.call()?.events.remove(&event.addr()).is_some(), "{event:?} does not exist");
            Ok(())
        }

        fn record_event(&self, _: DeviceId, stream: Stream, event: Event) -> Result<()> {
            let mut state = self.call()?;
            let (given, _) = state.streams.get(&stream.addr()).copied().unwrap_or_default();
            *state.events.get_mut(&event.addr()).expect("the event exists") = Some((stream.addr(), given));
            Ok(())
        }

        fn synchronize_event(&self, _: DeviceId, _: Event) -> Result<()> {
            panic!("a pool must not wait")
        }

        fn device_memory_allocate(&self, _: DeviceId, size: usize) -> Result<DevicePtr> {
            let mut state = self.call()?;
            if size > self.capacity - state.bytes {
                return Ok(DevicePtr::NULL);
            }
            // No address is returned twice, so an address identifies an allocation.
            state.next = state.next.next_multiple_of(4 << 20) + self.skew;
            let at = state.next.max(64 << 20) + if state.next < 64 << 20 { self.skew } else { 0 };
            state.next = at + size;
            state.bytes += size;
            state.memory.insert(at, size);
            Ok(DevicePtr::from_addr(at))
        }

        fn device_memory_deallocate(&self, _: DeviceId, ptr: DevicePtr, size: usize) -> Result<()> {
            let mut state = self.call()?;
            assert_eq!(state.memory.remove(&ptr.addr()), Some(size), "{ptr:?} of {size} bytes is not allocated");
            state.bytes -= size;
            Ok(())
        }
    }
    optional {
        fn synchronize_stream(&self, _: DeviceId, stream: Stream) -> Result<()> {
            drop(self.call()?);
            self.run(stream);
            Ok(())
        }

        fn query_event(&self, _: DeviceId, event: Event) -> Result<bool> {
            let state = self.call()?;
            let record = state.events.get(&event.addr()).expect("the event exists");
            Ok(record
                .is_none_or(|(stream, point)| state.streams.get(&stream).is_none_or(|(_, done)| *done >= point)))
        }

        fn device_min_chunk_size(&self, _: DeviceId) -> Result<usize> {
            Ok(self.unit)
        }
    }
}
