//! The loops that the generator writes for formulas, next to the same loops written by hand.
//!
//! The loops by hand are plain Rust: the compiler vectorises them for the oldest processors of the target.
//!
//! `cargo bench -p tenon-kernels --bench formulas`

#[path = "../../cpu/benches/common/mod.rs"]
mod common;

use common::{compare, head};
use std::hint::black_box;
use tenon_kernels::formulas::{activation, arithmetic, elementary};
use tenon_kernels::{View, ViewMut};

/// Numbers of elements: the caches of the first and second level, and memory.
const SIZES: [usize; 3] = [1 << 12, 1 << 16, 1 << 22];

fn main() {
    for size in SIZES {
        head(&format!("{size} numbers of float32, per number"), "generated", "by hand");
        let x: Vec<f32> = (0..size).map(|index| (index % 1000) as f32 / 250.0 - 2.0).collect();
        let y: Vec<f32> = x.iter().rev().copied().collect();
        contiguous(&x, &y);
        broadcast(&x);
        transposed(&x);
    }
}

fn view(values: &[f32]) -> View<'_> {
    View::of_slice(values, &[values.len()]).unwrap()
}

fn contiguous(x: &[f32], y: &[f32]) {
    let (mut ours, mut theirs) = (vec![0_f32; x.len()], vec![0_f32; x.len()]);
    let dims = [x.len()];
    compare(
        "relu",
        x.len(),
        || activation::relu(&mut ViewMut::of_slice(&mut ours, &dims).unwrap(), &view(x)).unwrap(),
        || by_hand(&mut theirs, x, |x| if x > 0.0 { x } else { 0.0 }),
    );
    compare(
        "relu, its gradient",
        x.len(),
        || {
            let mut dx = ViewMut::of_slice(&mut ours, &dims).unwrap();
            activation::relu_dx(&mut dx, &view(x), &view(y)).unwrap();
        },
        || by_hand_of_two(&mut theirs, x, y, |out, dout| if out > 0.0 { dout } else { 0.0 }),
    );
    compare(
        "add",
        x.len(),
        || {
            let mut out = ViewMut::of_slice(&mut ours, &dims).unwrap();
            arithmetic::add(&mut out, &view(x), &view(y)).unwrap();
        },
        || by_hand_of_two(&mut theirs, x, y, |x, y| x + y),
    );
    compare(
        "exp",
        x.len(),
        || elementary::exp(&mut ViewMut::of_slice(&mut ours, &dims).unwrap(), &view(x)).unwrap(),
        || by_hand(&mut theirs, x, f32::exp),
    );
    compare(
        "silu",
        x.len(),
        || activation::silu(&mut ViewMut::of_slice(&mut ours, &dims).unwrap(), &view(x)).unwrap(),
        || by_hand(&mut theirs, x, |x| x / (1.0 + (-x).exp())),
    );
}

fn broadcast(x: &[f32]) {
    let (mut ours, mut theirs) = (vec![0_f32; x.len()], vec![0_f32; x.len()]);
    let width = 64;
    let dims = [x.len() / width, width];
    let (matrix, row) = (View::of_slice(x, &dims).unwrap(), view(&x[..width]));
    compare(
        "add a row to each row",
        x.len(),
        || arithmetic::add(&mut ViewMut::of_slice(&mut ours, &dims).unwrap(), &matrix, &row).unwrap(),
        || {
            for (out, x_row) in theirs.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
                by_hand_of_two(out, x_row, &x[..width], |x, y| x + y);
            }
        },
    );
}

fn transposed(x: &[f32]) {
    let (mut ours, mut theirs) = (vec![0_f32; x.len()], vec![0_f32; x.len()]);
    let width = 64;
    let rows = x.len() / width;
    let columns = View::of_strided(x, &[width, rows], &[1, width as isize]).unwrap();
    compare(
        "relu of a transposed matrix",
        x.len(),
        || {
            let mut out = ViewMut::of_slice(&mut ours, &[width, rows]).unwrap();
            activation::relu(&mut out, &columns).unwrap();
        },
        || {
            for (column, out) in theirs.chunks_exact_mut(rows).enumerate() {
                for (row, out) in out.iter_mut().enumerate() {
                    let x = x[row * width + column];
                    *out = if x > 0.0 { x } else { 0.0 };
                }
            }
            black_box(&theirs);
        },
    );
}

#[inline(never)]
fn by_hand(out: &mut [f32], x: &[f32], each: impl Fn(f32) -> f32) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = each(x);
    }
}

#[inline(never)]
fn by_hand_of_two(out: &mut [f32], x: &[f32], y: &[f32], each: impl Fn(f32, f32) -> f32) {
    for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
        *out = each(x, y);
    }
}
