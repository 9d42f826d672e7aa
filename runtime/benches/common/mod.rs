//! Medians, side by side.
#![allow(dead_code)]

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long each contender is measured.
const BUDGET: Duration = Duration::from_millis(300);
const SAMPLES: usize = 31;

/// The median time of one call, in nanoseconds.
///
/// Samples are long enough to hide the clock; the first ones only warm up.
fn median(mut call: impl FnMut()) -> f64 {
    let mut rounds = 1_u32;
    loop {
        let time = time(&mut call, rounds);
        if time > BUDGET / SAMPLES as u32 || rounds >= 1 << 24 {
            break;
        }
        rounds *= 2;
    }
    let mut samples: Vec<f64> =
        (0..SAMPLES).map(|_| time(&mut call, rounds).as_nanos() as f64 / f64::from(rounds)).collect();
    samples.sort_unstable_by(f64::total_cmp);
    samples[SAMPLES / 2]
}

fn time(call: &mut impl FnMut(), rounds: u32) -> Duration {
    let start = Instant::now();
    for _ in 0..rounds {
        call();
        black_box(());
    }
    start.elapsed()
}

/// The head of a table.
pub fn head(title: &str, ours: &str, theirs: &str) {
    println!("\n{title:<44} {ours:>14} {theirs:>14} {:>8}", "ratio");
}

/// Measures both and prints a row: the times of one call in nanoseconds, and ours over theirs.
pub fn compare(name: &str, per_call: usize, ours: impl FnMut(), theirs: impl FnMut()) -> (f64, f64) {
    let (ours, theirs) = (median(ours) / per_call as f64, median(theirs) / per_call as f64);
    println!("{name:<44} {ours:>11.1} ns {theirs:>11.1} ns {:>7.2}x", ours / theirs);
    (ours, theirs)
}

/// Measures one and prints it.
pub fn show(name: &str, per_call: usize, call: impl FnMut()) {
    println!("{name:<44} {:>11.1} ns", median(call) / per_call as f64);
}

/// A size in the largest unit that fits.
pub fn size_name(size: usize) -> String {
    match size {
        _ if size >= 1 << 20 => format!("{} MiB", size >> 20),
        _ if size >= 1 << 10 => format!("{} KiB", size >> 10),
        _ => format!("{size} B"),
    }
}
