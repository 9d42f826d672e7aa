//! The share of the processor's peak that operators reach on one thread.
//!
//! Products and convolutions are compared with multiply-adds in registers, other operators with a plain copy or sum of
//! as many bytes. `TENON_DNNL` chooses the library for products and convolutions, as in the CPU device.
//!
//! `cargo bench -p tenon-cpu-operators --bench peak`

#[path = "../../cpu/benches/common/mod.rs"]
mod common;

use common::medians;
use cpu_operators::{Computing, use_onednn};
use std::hint::black_box;
use tenon_kernels::attributes::{ConvAttributes, SumAttributes};
use tenon_kernels::conv::conv;
use tenon_kernels::formulas::{activation, arithmetic, reduction};
use tenon_kernels::matmul::matmul;
use tenon_kernels::{View, ViewMut};

/// Numbers of elements whose tensors fit in the cache of the second level, and only in memory.
const SIZES: [(&str, usize); 2] = [("caches", 1 << 15), ("memory", 1 << 24)];

fn main() {
    match use_onednn() {
        // Without the path of the library, which is that of one machine.
        Ok(Computing::OneDnn(library)) => {
            let [major, minor, patch] = library.version();
            println!("\nWith oneDNN {major}.{minor}.{patch}:\n");
        }
        Ok(Computing::Kernels(_)) => println!("\nWithout oneDNN:\n"),
        Err(bad) => panic!("{bad}"),
    }
    println!("| Operator of `float32` | Rate | Peak | Share |\n|---|--:|--:|--:|");
    for side in [256, 512, 1024, 2048] {
        product(side);
    }
    for (channels, side, kernel) in [(64, 56, 3), (128, 28, 3), (256, 14, 3), (64, 56, 1)] {
        convolution(channels, side, kernel);
    }
    for (place, size) in SIZES {
        loops(place, size);
    }
}

/// Prints the rate of an operator, the peak, and the share.
///
/// Both rates are in operations or bytes per nanosecond, and are measured alternately.
fn row(name: &str, unit: &str, [work, most]: [f64; 2], mut operator: impl FnMut(), mut peak: impl FnMut()) {
    let [time, best] = medians([&mut operator, &mut peak]);
    let (rate, peak) = (work / time, most / best);
    println!("| {name} | {rate:.0} {unit} | {peak:.0} {unit} | {:.0} % |", 100.0 * rate / peak);
}

/// Numbers in memory that is aligned as that of the device.
struct Numbers {
    lines: Vec<Line>,
    count: usize,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

impl Numbers {
    fn new(count: usize) -> Self {
        let line = |start: usize| Line(std::array::from_fn(|n| ((start + n) % 1000) as f32 / 500.0 - 1.0));
        Self { lines: (0..count).step_by(16).map(line).collect(), count }
    }

    fn all(&self) -> &[f32] {
        // SAFETY: a line is 16 numbers.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.count) }
    }

    fn all_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.count) }
    }
}

fn product(side: usize) {
    let [x, y, mut out] = [(); 3].map(|()| Numbers::new(side * side));
    let dims = [side, side];
    let (x, y) = (View::of_slice(x.all(), &dims).unwrap(), View::of_slice(y.all(), &dims).unwrap());
    let operations = 2.0 * (side as f64).powi(3);
    row(
        &format!("`matmul` of {side} x {side}"),
        "GFLOP/s",
        [operations, REGISTER_OPERATIONS],
        || matmul(&mut ViewMut::of_slice(out.all_mut(), &dims).unwrap(), &x, &y, false, false).unwrap(),
        multiply_adds,
    );
}

fn convolution(channels: usize, side: usize, kernel: usize) {
    let (image, filter) = ([4, channels, side, side], [channels, channels, kernel, kernel]);
    let [x, mut out] = [(); 2].map(|()| Numbers::new(image.iter().product()));
    let w = Numbers::new(filter.iter().product());
    let (x, w) = (View::of_slice(x.all(), &image).unwrap(), View::of_slice(w.all(), &filter).unwrap());
    let operations = 2.0 * (out.count * channels * kernel * kernel) as f64;
    row(
        &format!("`conv` {kernel} x {kernel} of 4 images, {channels} channels of {side} x {side}"),
        "GFLOP/s",
        [operations, REGISTER_OPERATIONS],
        || {
            let (out, paddings) =
                (&mut ViewMut::of_slice(out.all_mut(), &image).unwrap(), [(kernel / 2) as i64; 2]);
            conv(
                out,
                &x,
                &w,
                &ConvAttributes {
                    strides: &[1; 2],
                    paddings: &paddings,
                    padding_algorithm: "EXPLICIT",
                    dilations: &[1; 2],
                    groups: 1,
                    data_format: "NCHW",
                },
            )
            .unwrap();
        },
        multiply_adds,
    );
}

fn loops(place: &str, size: usize) {
    let [x, y, mut out, mut copied] = [(); 4].map(|()| Numbers::new(size));
    let (dims, bytes) = ([size], size_of::<f32>() as f64 * size as f64);
    let (left, right) = (View::of_slice(x.all(), &dims).unwrap(), View::of_slice(y.all(), &dims).unwrap());
    let mut result = |name: &str, read: f64, operator: &dyn Fn(&mut ViewMut<'_>)| {
        row(
            &format!("`{name}` of {size} elements, in {place}"),
            "GB/s",
            [(read + 1.0) * bytes, 2.0 * bytes],
            || operator(&mut ViewMut::of_slice(out.all_mut(), &dims).unwrap()),
            || black_box(copied.all_mut()).copy_from_slice(black_box(x.all())),
        );
    };
    result("relu", 1.0, &|out| activation::relu(out, &left).unwrap());
    result("add", 2.0, &|out| arithmetic::add(out, &left, &right).unwrap());
    let mut total = [0.0];
    row(
        &format!("`sum` of {size} elements, in {place}"),
        "GB/s",
        [bytes; 2],
        || {
            reduction::sum(
                &mut ViewMut::of_slice(&mut total, &[]).unwrap(),
                &left,
                &SumAttributes { axis: &[], keep_dim: false, reduce_all: true },
            )
            .unwrap()
        },
        || {
            black_box(read(black_box(x.all())));
        },
    );
}

/// The numbers that [`multiply_adds`] keeps in registers, and how often it changes them.
const REGISTERS: usize = 128;
const ROUNDS: usize = 4096;
const REGISTER_OPERATIONS: f64 = (2 * REGISTERS * ROUNDS) as f64;

/// Multiplies and adds numbers in registers, with the widest vectors of the processor.
fn multiply_adds() {
    let [factor, summand] = black_box([0.5_f32, 0.25]);
    black_box(widest(
        #[inline(always)]
        || {
            let mut sums = [1.0_f32; REGISTERS];
            for _ in 0..ROUNDS {
                for sum in &mut sums {
                    *sum = sum.mul_add(factor, summand);
                }
            }
            sums
        },
    ));
}

/// Reads numbers, with the widest vectors of the processor.
fn read(x: &[f32]) -> [f32; 128] {
    widest(
        #[inline(always)]
        || {
            let mut sums = [0.0; 128];
            for chunk in x.as_chunks::<128>().0 {
                for n in 0..128 {
                    sums[n] += chunk[n];
                }
            }
            sums
        },
    )
}

/// Runs a function that is compiled for the widest vectors of the processor.
fn widest<R>(function: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        fn with_avx512<R>(function: impl FnOnce() -> R) -> R {
            function()
        }
        #[target_feature(enable = "avx2,fma")]
        fn with_avx2<R>(function: impl FnOnce() -> R) -> R {
            function()
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has these instructions.
            return unsafe { with_avx512(function) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return unsafe { with_avx2(function) };
        }
    }
    function()
}
