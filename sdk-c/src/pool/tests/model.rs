//! Random programs, checked against a model of the pool.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use proptest::prelude::*;
use tenon::DevicePtr;
use tenon::device::Stream;

use super::mock::Mock;
use super::{MIB, pool};
use crate::pool::{Pool, PoolError};

const STREAMS: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Allocate {
        size: usize,
        stream: usize,
    },
    Free {
        which: usize,
        stream: usize,
    },
    /// Frees an address at some distance from a block.
    FreeWrong {
        which: usize,
        by: usize,
    },
    Work {
        stream: usize,
    },
    Run {
        stream: usize,
    },
    Retire {
        stream: usize,
    },
    Trim {
        keep: usize,
    },
    /// Makes a later device call fail.
    Fail {
        calls: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![
        3 => 0..300_usize,
        3 => prop::sample::select(vec![64, 4096, 40_000, MIB]),
        2 => 1..3 * MIB,
        1 => prop::sample::select(vec![2 * MIB, 4 * MIB]),
    ];
    let stream = || 0..STREAMS;
    prop_oneof![
        12 => (size, stream()).prop_map(|(size, stream)| Step::Allocate { size, stream }),
        10 => (any::<usize>(), stream()).prop_map(|(which, stream)| Step::Free { which, stream }),
        2 => (any::<usize>(), 0..9000_usize).prop_map(|(which, by)| Step::FreeWrong { which, by }),
        6 => stream().prop_map(|stream| Step::Work { stream }),
        4 => stream().prop_map(|stream| Step::Run { stream }),
        1 => stream().prop_map(|stream| Step::Retire { stream }),
        1 => (0..4 * MIB).prop_map(|keep| Step::Trim { keep }),
        2 => (1..6_u64).prop_map(|calls| Step::Fail { calls }),
    ]
}

/// The expected state of the pool.
struct Model {
    mock: Arc<Mock>,
    pool: Pool,
    /// The streams. A retired stream is replaced by one with a new or the same handle.
    streams: [Stream; STREAMS],
    used: BTreeMap<usize, usize>,
    /// For each block, the stream on which it was freed last, and the number of work items queued before that.
    freed: HashMap<usize, (Stream, u64)>,
    given: Vec<usize>,
    allocations: u64,
    peak: usize,
}

impl Model {
    fn new(capacity: usize, skew: usize) -> Self {
        let mock = Arc::new(Mock { capacity, skew, ..Mock::default() });
        let pool = pool(&mock);
        let streams = [0, 1, 2].map(Stream::from_addr);
        let (used, freed) = Default::default();
        Model { mock, pool, streams, used, freed, given: Vec::new(), allocations: 0, peak: 0 }
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Allocate { size, stream } => self.allocate(size, self.streams[stream]),
            Step::Free { which, stream } => self.free(which, self.streams[stream]),
            Step::FreeWrong { which, by } => self.free_wrong(which, by),
            Step::Work { stream } => drop(self.mock.work(self.streams[stream])),
            Step::Run { stream } => self.mock.run(self.streams[stream]),
            Step::Retire { stream } => self.pool.retire(self.streams[stream]),
            Step::Trim { keep } => self.trim(keep),
            Step::Fail { calls } => self.mock.fail_in(calls),
        }
        self.check();
    }

    fn allocate(&mut self, size: usize, stream: Stream) {
        let ordered = self.mock.will_fail();
        match self.pool.allocate(size, stream) {
            Ok(at) => {
                assert!(self.mock.holds(at, size.max(1)) && at.addr().is_multiple_of(64));
                let next = self.used.range(at.addr()..).next();
                assert!(next.is_none_or(|(start, _)| at.addr() + size.max(1) <= *start), "{at:?} is in use");
                let before = self.used.range(..at.addr()).next_back();
                assert!(before.is_none_or(|(start, length)| start + length <= at.addr()), "{at:?} is in use");
                if let Some((of, point)) = self.freed.remove(&at.addr()) {
                    let (_, done) = self.mock.progress(of);
                    assert!(of == stream || done >= point, "{at:?} was freed on {of:?}, which still uses it");
                }
                self.used.insert(at.addr(), size.max(1));
                self.given.push(at.addr());
                self.allocations += 1;
            }
            Err(PoolError::OutOfMemory { .. }) => {
                let statistics = self.pool.statistics();
                let room = self.mock.capacity - statistics.from_device;
                assert!(ordered || room < size + size / 8 + 8192, "{size} of {room} bytes failed");
            }
            Err(PoolError::Device(_)) => assert!(ordered && !self.mock.will_fail()),
            Err(other) => panic!("{other}"),
        }
    }

    fn free(&mut self, which: usize, stream: Stream) {
        if self.used.is_empty() {
            return;
        }
        let (&at, _) = self.used.iter().nth(which % self.used.len()).unwrap();
        self.pool.free(DevicePtr::from_addr(at), stream).unwrap();
        self.used.remove(&at);
        self.freed.insert(at, (stream, self.mock.progress(stream).0));
    }

    fn free_wrong(&mut self, which: usize, by: usize) {
        if self.given.is_empty() {
            return;
        }
        let ptr = DevicePtr::from_addr(self.given[which % self.given.len()] + by);
        if !self.used.contains_key(&ptr.addr()) {
            self.pool.free(ptr, self.streams[0]).unwrap_err();
        }
    }

    fn trim(&mut self, keep: usize) {
        let before = self.pool.statistics();
        if let Ok(given) = self.pool.trim(keep) {
            let after = self.pool.statistics();
            assert_eq!(before.from_device - after.from_device, given);
            assert!(
                after.cached <= keep || after.in_use > 0,
                "{} bytes are left of {}",
                after.cached,
                before.cached
            );
        }
    }

    fn check(&mut self) {
        let now = self.pool.statistics();
        assert_eq!((now.from_device, now.cached), (self.mock.bytes(), self.mock.bytes() - now.in_use));
        let requested: usize = self.used.values().sum();
        let most: usize = self.used.values().map(|size| size + (size / 8).max(63)).sum();
        assert!((requested..=most).contains(&now.in_use), "{} bytes in use for {requested}", now.in_use);
        assert_eq!(now.hits + now.misses, self.allocations);
        assert!(now.splits <= now.misses);
        self.peak = self.peak.max(now.in_use);
        assert_eq!(now.peak, self.peak);
        for (&at, &size) in &self.used {
            assert!(self.mock.holds(DevicePtr::from_addr(at), size), "{at:#x} was freed by the pool");
        }
    }

    /// Checks that all blocks in use can be freed, and that no device memory stays allocated.
    fn end(mut self) {
        self.mock.fail_in(0);
        for at in std::mem::take(&mut self.used).into_keys() {
            self.pool.free(DevicePtr::from_addr(at), self.streams[0]).unwrap();
        }
        let cached = self.pool.statistics().from_device;
        assert_eq!(self.pool.trim(0), Ok(cached));
        drop(self.pool);
        assert_eq!((self.mock.bytes(), self.mock.events()), (0, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_program_matches_the_model(
        steps in prop::collection::vec(step(), 1..250),
        capacity in prop::sample::select(vec![128 << 10, 8 * MIB, 1 << 40]),
        skew in prop::sample::select(vec![0, 64]),
    ) {
        let mut model = Model::new(capacity, skew);
        for step in &steps {
            model.run(step);
        }
        model.end();
    }
}

/// Runs a program that makes every kind of device call, once per call, with that call failing.
#[test]
fn program_survives_failure_of_each_device_call() {
    let work = |stream| Step::Work { stream };
    let allocate = |size, stream| Step::Allocate { size, stream };
    let free = |stream| Step::Free { which: 0, stream };
    let program = [
        allocate(100, 1),
        work(1),
        free(1),
        allocate(100, 2),
        free(2),
        allocate(5 * MIB, 1),
        work(1),
        free(1),
        allocate(5 * MIB, 2),
        Step::Run { stream: 1 },
        allocate(5 * MIB, 0),
        work(2),
        free(2),
        Step::Retire { stream: 2 },
        allocate(5 * MIB, 2),
        Step::Trim { keep: 0 },
        free(0),
        free(0),
        allocate(12 * MIB, 0),
        Step::Trim { keep: 0 },
    ];
    let mut calls = 0;
    loop {
        calls += 1;
        let mut model = Model::new(16 * MIB, 0);
        model.run(&Step::Fail { calls });
        for step in &program {
            model.run(step);
        }
        let was_last = model.mock.will_fail();
        model.end();
        if was_last {
            break;
        }
    }
    assert!(calls > 15, "the program makes only {calls} calls");
}
