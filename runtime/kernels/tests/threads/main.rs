//! Kernels on several threads: the results are those of one thread, bit for bit.

mod cases;
mod provided;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenon_kernels::threads::{self, Threads};
use tenon_kernels::{View, ViewMut, elementwise};

/// Threads that are started for each kernel.
struct Started {
    count: AtomicUsize,
    /// The number of parts of all kernels.
    parts: AtomicUsize,
}

static STARTED: Started = Started { count: AtomicUsize::new(1), parts: AtomicUsize::new(0) };

impl Threads for Started {
    fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn run(&self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        self.parts.fetch_add(parts, Ordering::Relaxed);
        std::thread::scope(|scope| {
            (0..parts).for_each(|part| drop(scope.spawn(move || work(part))));
        });
    }
}

/// Calls a function with a number of threads. Returns its result and the number of parts.
fn with_threads<R>(count: usize, function: impl FnOnce() -> R) -> (R, usize) {
    // The tests share the number of threads.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    threads::set(&STARTED);
    STARTED.count.store(count, Ordering::Relaxed);
    STARTED.parts.store(0, Ordering::Relaxed);
    (function(), STARTED.parts.load(Ordering::Relaxed))
}

/// Generates reproducible numbers from -1 to 1.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn panic_of_a_part_is_one_of_the_kernel() {
    let (x, mut y) = (vec![1.0_f32; 1 << 20], vec![0.0_f32; 1 << 20]);
    let (x, place) = (View::of_slice(&x, &[1 << 20]).unwrap(), &AtomicUsize::new(0));
    let mut out = ViewMut::of_slice(&mut y, &[1 << 20]).unwrap();
    let each = |_: &mut [f32], _: [&[f32]; 1]| {
        assert_ne!(place.fetch_add(1, Ordering::Relaxed), 1, "the second part");
    };
    let call = || elementwise::float(&mut out, [&x], each, |_, _| panic!("float64"));
    let (result, parts) = with_threads(4, || catch_unwind(AssertUnwindSafe(call)));
    assert_eq!(result.unwrap_err().downcast_ref::<String>().unwrap().lines().last(), Some(" right: 1"));
    assert_eq!((parts, place.load(Ordering::Relaxed)), (4, 4));
}
