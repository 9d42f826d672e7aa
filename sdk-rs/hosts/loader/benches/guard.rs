//! Measures what surrounds each call of a plugin and each call that queues work: the guard against exceptions, and the check
//! that the host has memory left.
//!
//! The call is made with and without it in turn, many rounds of many calls each; the figures are medians of the rounds.

use std::hint::black_box;
use std::time::Instant;

use tenon::support::{guard, has_room};

const CALLS: u32 = 200_000;
const ROUNDS: usize = 101;

#[inline(never)]
extern "C" fn idle(number: u64) -> u64 {
    black_box(number)
}

/// Nanoseconds a call, the medians of the rounds.
fn side_by_side(without: impl Fn(u64) -> u64, with: impl Fn(u64) -> u64) -> [f64; 2] {
    let round = |call: &dyn Fn()| {
        let start = Instant::now();
        call();
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(round(&|| (0..CALLS).for_each(|number| _ = black_box(without(number.into())))));
        times[1].push(round(&|| (0..CALLS).for_each(|number| _ = black_box(with(number.into())))));
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    })
}

fn main() {
    let call: extern "C" fn(u64) -> u64 = black_box(idle);
    println!("a call without and with it ({ROUNDS} rounds of {CALLS} calls)\n");
    println!("{:<12} {:>11} {:>9} {:>9} {:>9}", "", "without ns", "with ns", "more ns", "ratio");
    let rows = [
        ("guard", side_by_side(call_by(call), |number| guard(Some("idle"), "idle", || call(number)))),
        ("room check", side_by_side(call_by(call), |number| if has_room() { call(number) } else { 0 })),
    ];
    for (name, [without, with]) in rows {
        let (more, ratio) = (with - without, with / without);
        println!("{name:<12} {without:>11.2} {with:>9.2} {more:>9.2} {ratio:>9.2}");
    }
}

fn call_by(call: extern "C" fn(u64) -> u64) -> impl Fn(u64) -> u64 {
    move |number| call(number)
}
