//! A provider that is called by several threads, each for a part of the work.

use std::sync::atomic::{AtomicUsize, Ordering};

use tenon_kernels::attributes::ConvAttributes;
use tenon_kernels::provider::{self, Geometry, Operand, Pass, Provider};
use tenon_kernels::{Copies, DType, View, ViewMut, conv};

use crate::{numbers, with_threads};

/// Computes convolutions of images in `f64`, element by element.
struct Plain {
    calls: AtomicUsize,
    /// The number of the call that it declines.
    declined: AtomicUsize,
}

static PLAIN: Plain = Plain { calls: AtomicUsize::new(0), declined: AtomicUsize::new(usize::MAX) };

impl Provider for Plain {
    fn convolve(
        &self,
        _: Pass,
        dtype: DType,
        geometry: &Geometry,
        result: &mut [u8],
        [large, kernels]: [Operand<'_>; 2],
        bias: Option<&[u8]>,
    ) -> bool {
        if dtype != DType::F64 {
            return false;
        }
        let read = |elements: &[u8]| bytemuck::pod_collect_to_vec::<u8, f64>(elements);
        let weights = match kernels.copies {
            None => read(kernels.elements),
            // A copy of another part would have other elements.
            Some(copies) => {
                copies.copy(|_: &Vec<f64>| true, || Some(read(kernels.elements))).unwrap().to_vec()
            }
        };
        let (large, bias) = (read(large.elements), bias.map(read));
        let g = geometry;
        let ([_, height, width], [_, small_height, small_width], [_, tall, wide]) =
            (g.large, g.small, g.kernel);
        let mut out = Vec::new();
        for channel in (0..g.batch * g.groups * g.small_channels).map(|n| n % (g.groups * g.small_channels)) {
            let sample = out.len() / (g.groups * g.small_channels * small_height * small_width);
            let group = channel / g.small_channels;
            for (y, x) in (0..small_height).flat_map(|y| (0..small_width).map(move |x| (y, x))) {
                let mut sum = bias.as_ref().map_or(0.0, |bias| bias[channel]);
                for from in 0..g.large_channels {
                    for (j, i) in (0..tall).flat_map(|j| (0..wide).map(move |i| (j, i))) {
                        let (row, column) = (y * g.strides[1] + j, x * g.strides[2] + i);
                        let image = (sample * g.groups + group) * g.large_channels + from;
                        let place = (image * height + row) * width + column;
                        let weight = ((channel * g.large_channels + from) * tall + j) * wide + i;
                        sum += large[place] * weights[weight];
                    }
                }
                out.push(sum);
            }
        }
        result.copy_from_slice(bytemuck::cast_slice(&out));
        self.calls.fetch_add(1, Ordering::Relaxed) != self.declined.load(Ordering::Relaxed)
    }
}

#[test]
fn parts_of_convolutions_are_those_of_the_whole() {
    provider::set(&PLAIN);
    // Samples, groups, channels of both images in a group.
    for [batch, groups, large, small] in [[5, 1, 8, 40], [5, 2, 8, 20], [1, 50, 8, 1], [1, 1, 8, 50]] {
        let (x, filter) = ([batch, groups * large, 18, 18], [groups * small, large, 3, 3]);
        let out = [batch, groups * small, 16, 16];
        let make = |dims: &[usize], seed| -> Vec<f64> {
            numbers(dims.iter().product(), seed).into_iter().map(f64::from).collect()
        };
        let (elements, weights, bias) = (make(&x, 1), make(&filter, 2), make(&out[1..2], 3));
        let copies = Copies::default();
        let view = |elements, dims: &[usize]| View::of_slice(elements, dims).unwrap();
        let run = |count: usize| {
            let mut result = vec![f64::NAN; out.iter().product()];
            let with = ConvAttributes {
                strides: &[1, 1],
                paddings: &[0, 0],
                dilations: &[1, 1],
                groups: groups as i64,
                data_format: "NCHW",
                padding_algorithm: "EXPLICIT",
            };
            let mut target = ViewMut::of_slice(&mut result, &out).unwrap();
            let filter = view(&weights, &filter).with_copies(Some(&copies));
            let (x, bias) = (view(&elements, &x), view(&bias, &out[1..2]));
            let (done, parts) =
                with_threads(count, || conv::conv_bias(&mut target, &x, &filter, &bias, &with));
            done.unwrap();
            (result, parts)
        };
        let (expected, _) = run(1);
        for (count, declined) in [(3, usize::MAX), (3, usize::MAX), (4, 0), (4, 2)] {
            PLAIN.calls.store(0, Ordering::Relaxed);
            PLAIN.declined.store(declined, Ordering::Relaxed);
            let (found, parts) = run(count);
            assert!(parts > 1);
            let difference = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(difference < 1e-9, "{x:?} {filter:?} {count} {declined}: {difference}");
        }
        PLAIN.declined.store(usize::MAX, Ordering::Relaxed);
    }
}
