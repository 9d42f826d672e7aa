//! Medians, side by side.
#![allow(dead_code)]

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Duration of the measurement of each contender.
const BUDGET: Duration = Duration::from_millis(300);
const SAMPLES: usize = 31;

/// Returns the median times of one call of each, in nanoseconds.
///
/// The contenders take turns, so that what else the machine does falls on all of them. Samples
/// are long enough to hide the clock; finding out how long warms up.
pub fn medians<const N: usize>(mut calls: [&mut dyn FnMut(); N]) -> [f64; N] {
    let rounds = calls.each_mut().map(|call| {
        let mut rounds = 1_u32;
        while time(call, rounds) < BUDGET / SAMPLES as u32 && rounds < 1 << 24 {
            rounds *= 2;
        }
        rounds
    });
    let mut samples = [const { Vec::new() }; N];
    for _ in 0..SAMPLES {
        for (index, call) in calls.iter_mut().enumerate() {
            let time = time(call, rounds[index]);
            samples[index].push(time.as_nanos() as f64 / f64::from(rounds[index]));
        }
    }
    samples.map(|mut samples| {
        samples.sort_unstable_by(f64::total_cmp);
        samples[SAMPLES / 2]
    })
}

fn time(call: &mut dyn FnMut(), rounds: u32) -> Duration {
    let start = Instant::now();
    for _ in 0..rounds {
        call();
        black_box(());
    }
    start.elapsed()
}

/// Prints the head of a table.
pub fn head(title: &str, ours: &str, theirs: &str) {
    println!("\n{title:<44} {ours:>14} {theirs:>14} {:>8}", "ratio");
}

/// Measures both and prints a row: the times of one call in nanoseconds, and ours over theirs.
pub fn compare(name: &str, per_call: usize, mut ours: impl FnMut(), mut theirs: impl FnMut()) -> (f64, f64) {
    let [ours, theirs] = medians([&mut ours, &mut theirs]).map(|time| time / per_call as f64);
    println!("{name:<44} {ours:>11.1} ns {theirs:>11.1} ns {:>7.2}x", ours / theirs);
    (ours, theirs)
}

/// Measures one and prints it.
pub fn show(name: &str, per_call: usize, mut call: impl FnMut()) {
    let [time] = medians([&mut call]);
    println!("{name:<44} {:>11.1} ns", time / per_call as f64);
}

/// Returns a size in the largest unit that fits.
pub fn size_name(size: usize) -> String {
    match size {
        _ if size >= 1 << 20 => format!("{} MiB", size >> 20),
        _ if size >= 1 << 10 => format!("{} KiB", size >> 10),
        _ => format!("{size} B"),
    }
}
