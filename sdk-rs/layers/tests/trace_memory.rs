//! The memory that a trace needs while it records. In a program of its own: other tests allocate memory too.

mod common;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use common::{ID, cpu};
use tenon::device::*;
use tenon_cpu::Cpu;
use tenon_layers::trace::summary::Summary;
use tenon_layers::trace::{Options, Trace};

/// Options for a file of one test.
fn named(name: &str) -> Options {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.json", std::process::id()));
    Options { file, ..Options::default() }
}

fn traced(options: Options) -> (Trace, Layered<WithFallbacks<&'static Cpu>>) {
    let trace = Trace::start(options).unwrap();
    let cpu = cpu();
    let layer = trace.layer("cpu", cpu) as Arc<dyn Layer>;
    (trace, Layered::new(WithFallbacks(cpu), vec![layer]))
}

/// Keeps the other tests from running.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the resident anonymous memory of this process, in bytes.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn traces_one_after_the_other_need_the_room_of_one() {
    let _alone = alone();
    let one = |round: u64| {
        let (trace, device) = traced(named("again"));
        for _ in 0..=round {
            device.get_device().unwrap();
        }
        trace.finish();
        let calls = Summary::read(&std::fs::read(trace.file()).unwrap()[..]).unwrap().calls;
        assert_eq!(calls, round + 1, "what an earlier trace recorded is not in this one");
    };
    one(0);
    let before = resident();
    (1..100).for_each(one);
    let more = resident().saturating_sub(before);
    assert!(more < 50 << 20, "{more} bytes more after 99 traces");
}

#[test]
fn threads_that_have_ended_need_no_memory() {
    let _alone = alone();
    const THREADS: usize = 5000;
    let (trace, device) = traced(Options { streams: false, ..named("short-threads") });
    let round = || {
        for _ in 0..THREADS {
            std::thread::scope(|scope| {
                scope.spawn(|| device.set_device(ID).unwrap());
            });
        }
        trace.flush();
        resident()
    };
    round();
    let before = round();
    let more = (0..3).map(|_| round()).min().unwrap().saturating_sub(before);
    trace.finish();
    assert!(more < 16 * THREADS, "{more} bytes more after {THREADS} threads");
    std::fs::remove_file(trace.file()).unwrap();
}
